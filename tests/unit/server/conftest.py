"""Options with the module's own defaults, a layout below tmp_path, and a machine whose systemd is played by a class."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from machine import Machine  # noqa: E402


@pytest.fixture
def params(tmp_path):
    """Return a function (**changed) -> the module's parameters, defaults from its argument_spec, folders below tmp_path."""
    from ansible_collections.kpro.sglang.plugins.modules.sglang_server import argument_spec

    defaults = {name: spec.get("default") for name, spec in argument_spec().items()}
    defaults.update(
        name="main", model="/models/tiny", python="/opt/sglang/bin/python", state_dir=str(tmp_path / "state"), log_dir=str(tmp_path / "log")
    )

    def make(**changed):
        assert set(changed) <= set(defaults)
        return {**defaults, **changed}

    return make


@pytest.fixture
def options(params):
    """Return a function (**changed) -> Options."""
    from ansible_collections.kpro.sglang.plugins.module_utils._server.options import Options

    return lambda **changed: Options(params(**changed))


@pytest.fixture
def layout(tmp_path):
    """The layout of server ``main`` with the folders that the transaction makes."""
    from ansible_collections.kpro.sglang.plugins.module_utils._server.layout import Layout

    layout = Layout("main", str(tmp_path / "state"), str(tmp_path / "log"))
    for folder in (layout.launches, layout.ends, layout.home, layout.logs):
        os.makedirs(folder)
    return layout


@pytest.fixture
def process():
    """Return a function (code, *words) -> a real child process, ended with the test."""
    started = []

    def start(code, *words):
        started.append(subprocess.Popen([sys.executable, "-c", code, *words], stdin=subprocess.PIPE))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.wait()
        child.stdin.close()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A host with a played systemd on which real processes run (see machine.py)."""
    machine = Machine(tmp_path, monkeypatch)
    yield machine
    machine.end()
