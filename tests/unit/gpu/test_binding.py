"""Finding nvidia-ml-py in a server's environment."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._gpu import binding


@pytest.fixture(autouse=True)
def unloaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)  # importing it fails, and the former state comes back afterwards


def environment(tmp_path, text, name="pynvml.py", lib="lib/python3.12/site-packages"):
    file = tmp_path / "venv" / lib / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    (tmp_path / "venv/bin").mkdir(exist_ok=True)
    (tmp_path / "venv/bin/python").symlink_to(sys.executable)
    return tmp_path / "venv"


# nvidia-ml-py looks itself up in sys.modules while it is executed
SELF = "import sys\nsys.modules[__name__].seen = True\nMARK = 1\n"


@pytest.mark.parametrize("which", ["", "/", "/bin/python"])
def test_by_venv_or_interpreter(tmp_path, which):
    venv = environment(tmp_path, SELF)
    module, where = binding.load(str(venv) + which)
    assert (module.MARK, module.seen) == (1, True)
    assert where == str(venv / "lib/python3.12/site-packages/pynvml.py")


@pytest.mark.parametrize("lib", ["lib64/python3.9/site-packages", "local/lib/python3.12/dist-packages", "lib/python3/dist-packages"])
def test_other_places(tmp_path, lib):
    assert binding.load(str(environment(tmp_path, SELF, lib=lib)))[0].MARK == 1


def test_the_older_package_form(tmp_path):
    venv = environment(tmp_path, "from .inner import MARK\n", "pynvml/__init__.py")
    (venv / "lib/python3.12/site-packages/pynvml/inner.py").write_text("MARK = 2\n")
    assert binding.load(str(venv))[0].MARK == 2


def test_a_broken_one_is_said_and_leaves_nothing_behind(tmp_path):
    venv = environment(tmp_path, "raise RuntimeError('half installed')\n")
    module, looked = binding.load(str(venv))
    assert module is None
    assert "RuntimeError: half installed" in looked
    assert sys.modules["pynvml"] is None


def test_none_anywhere(tmp_path):
    module, looked = binding.load(str(tmp_path))
    assert module is None
    assert f"no nvidia-ml-py in the environment of {tmp_path}" in looked
    assert binding.load(None)[0] is None


def test_imported_when_no_environment_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", sys)
    assert binding.load() == (sys, "pynvml")
