"""Real virtual environments made from tiny wheels."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import stat
import subprocess
import sys

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._environment import build, usage
from ansible_collections.kpro.sglang.plugins.module_utils._environment import environment as environment_module
from ansible_collections.kpro.sglang.plugins.modules import sglang_environment

from .conftest import make_wheel

LOCK = ["sglang==0.5.17", "dep==1.0"]
DIGEST = hashlib.sha256(b"dep==1.0\nsglang==0.5.17\n").hexdigest()


UV = """#!{python}
import json, os, subprocess, sys
words = sys.argv[1:]
with open({calls!r}, "a") as calls:
    calls.write(json.dumps([words, dict(os.environ)]) + "\\n")
if words[0] == "venv":
    sys.exit(subprocess.call([words[words.index("--python") + 1], "-m", "venv", "--without-pip", words[-1]]))
if "index.example" in os.environ.get("UV_INDEX_URL", ""):
    words += ["--no-index", "--find-links", {wheels!r}]
sys.exit(subprocess.call([{python!r}, "-m", "pip", "--python", words[3], "install", "--no-compile", *words[4:]]))
"""


@pytest.fixture
def uv_calls(tmp_path, wheels, monkeypatch):
    """A stand-in for uv on the PATH that notes its words and settings and lets venv and pip do the work; the file of notes."""
    calls = tmp_path / "calls"
    program = tmp_path / "bin" / "uv"
    program.parent.mkdir()
    program.write_text(UV.format(python=sys.executable, calls=str(calls), wheels=str(wheels)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return calls


@pytest.fixture
def options(tmp_path, wheels, uv_calls):
    """Options of the module for an offline installation below tmp_path, by the stand-in for uv (a pip of its own costs seconds)."""
    return {
        "root": str(tmp_path / "venvs"),
        "version": "0.5.17",
        "lock": LOCK,
        "wheel_dir": str(wheels),
        "installer": "uv",
        "python": sys.executable,
        "min_free_gib": 0.01,
        "timeout": 300,
    }


def snapshot(directory):
    """{path: (mtime in ns, mode)} of everything below ``directory``."""
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_mode) for path in sorted(pathlib.Path(directory).rglob("*"))}


@pytest.fixture
def no_build(monkeypatch):
    """Building fails the test."""

    def refuse(self):
        raise AssertionError("an environment was built")

    monkeypatch.setattr(build.Builder, "build", refuse)


def test_install_and_do_nothing_the_second_time(run_module, options):
    previous = os.umask(0o077)
    try:
        options["installer"] = "pip"
        result = run_module(sglang_environment, options, diff=True)
    finally:
        os.umask(previous)
    assert not result["failed"], result
    path = pathlib.Path(options["root"]) / f"0.5.17-{DIGEST[:12]}"
    environment = result["environment"]
    assert result["changed"] and environment["path"] == str(path) and environment["lock_digest"] == DIGEST
    assert environment["python"] == str(path / "bin" / "python") and environment["installer"] == "pip"
    assert environment["python_version"] == "{}.{}.{}".format(*sys.version_info[:3]) and environment["existing"] is False
    assert result["diff"]["before"] == "" and result["diff"]["after"] == "sglang==0.5.17\ndep==1.0\n"
    marker = json.loads((path / ".kpro-environment.json").read_text())
    assert {"sglang==0.5.17", "dep==1.0"} <= set(marker["packages"]) and marker["compiled"] is True
    assert len(marker["packages"]) == environment["packages_count"] and marker["created"] == environment["created"]
    packages = next(path.glob("lib/python*/site-packages"))
    assert list(packages.glob("sglang/__pycache__/launch_server.*.pyc"))
    for place in (path.parent, path, packages, packages / "sglang" / "launch_server.py", path / ".kpro-environment.json"):
        mode = stat.S_IMODE(place.stat().st_mode)
        assert mode & 0o044 == 0o044 and not mode & 0o022, (place, oct(mode))
    assert sorted(entry.name for entry in path.parent.iterdir()) == [".kpro-lock", path.name]

    before = snapshot(options["root"])
    again = run_module(sglang_environment, options, diff=True)
    assert not again["changed"] and again["environment"] == environment and "diff" not in again
    assert snapshot(options["root"]) == before


def test_check_mode_says_what_it_would_do(run_module, options):
    result = run_module(sglang_environment, options, check=True, diff=True)
    assert result["changed"] and result["msg"].startswith("Would install")
    assert not os.path.exists(options["root"])
    environment = result["environment"]
    assert environment["path"].endswith(DIGEST[:12]) and environment["installer"] == "uv"
    assert environment["python_version"] is environment["packages_count"] is environment["created"] is None
    assert "dep==1.0" in result["diff"]["after"]


def test_a_leftover_is_built_again(run_module, options):
    path = pathlib.Path(options["root"]) / f"0.5.17-{DIGEST[:12]}"
    path.mkdir(parents=True)
    (path / "junk").write_text("x")
    (path.parent / ".kpro-tmp-killed").mkdir()
    check = run_module(sglang_environment, options, check=True)
    assert check["changed"] and "left over" in check["msg"] and (path / "junk").exists()
    result = run_module(sglang_environment, options)
    assert result["changed"] and not (path / "junk").exists() and not (path.parent / ".kpro-tmp-killed").exists()
    os.unlink(path / "bin" / "python")
    assert "does not run" in run_module(sglang_environment, options, check=True)["msg"]


def test_marker_of_another_lock_and_another_sglang(run_module, options):
    run_module(sglang_environment, {**options, "compile": False})
    path = pathlib.Path(options["root"]) / f"0.5.17-{DIGEST[:12]}"
    metadata = next(path.glob("lib/python*/site-packages/sglang-0.5.17.dist-info/METADATA"))
    metadata.write_text(metadata.read_text().replace("0.5.17", "0.5.16"))
    assert "has sglang 0.5.16" in run_module(sglang_environment, options, check=True)["msg"]
    marker = json.loads((path / ".kpro-environment.json").read_text())
    (path / ".kpro-environment.json").write_text(json.dumps({**marker, "lock_digest": "0"}))
    assert "another lock" in run_module(sglang_environment, options, check=True)["msg"]


def test_bytecode_can_be_made_later(run_module, options):
    first = run_module(sglang_environment, {**options, "compile": False})
    path = pathlib.Path(first["environment"]["path"])
    package = next(path.glob("lib/python*/site-packages/sglang"))
    assert not list(package.glob("__pycache__/*"))
    assert "compile the bytecode" in run_module(sglang_environment, options, check=True)["msg"]
    second = run_module(sglang_environment, options)
    assert second["changed"] and "bytecode" in second["msg"] and list(package.glob("__pycache__/*"))
    assert not run_module(sglang_environment, options)["changed"]


def test_without_a_lock_the_installer_resolves_within_constraints(run_module, options):
    options["lock"] = []
    options["constraints"] = ["dep<2"]
    result = run_module(sglang_environment, options)
    assert not result["failed"], result
    marker = json.loads(pathlib.Path(result["environment"]["path"], ".kpro-environment.json").read_text())
    assert "dep==1.0" in marker["packages"]


def test_a_lock_is_exactly_what_is_installed(run_module, options):
    options["lock"] = ["sglang==0.5.17"]  # sglang requires dep, and nothing is resolved
    result = run_module(sglang_environment, options)
    marker = json.loads(pathlib.Path(result["environment"]["path"], ".kpro-environment.json").read_text())
    assert not any(name.startswith("dep==") for name in marker["packages"])


def test_no_such_version(run_module, options):
    options["lock"] = [*LOCK, "missing==9.9"]
    result = run_module(sglang_environment, options)
    assert result["failed"] and "missing==9.9" in result["msg"] and "wheel_dir" in result["msg"]
    assert [entry.name for entry in pathlib.Path(options["root"]).iterdir()] == [".kpro-lock"]


def test_hash_mismatch(run_module, options, wheels):
    hashes = {}
    for name in ("sglang-0.5.17", "dep-1.0"):
        hashes[name] = hashlib.sha256((wheels / f"{name}-py3-none-any.whl").read_bytes()).hexdigest()
    good = [f"sglang==0.5.17 --hash=sha256:{hashes['sglang-0.5.17']}", f"dep==1.0 --hash=sha256:{hashes['dep-1.0']}"]
    bad = [good[0], f"dep==1.0 --hash=sha256:{'0' * 64}"]
    result = run_module(sglang_environment, {**options, "lock": bad})
    assert result["failed"] and "hash" in result["msg"].lower() and "lock" in result["msg"]
    assert run_module(sglang_environment, {**options, "lock": good})["changed"]


def test_a_wheel_without_the_server(run_module, options, tmp_path):
    wheels = tmp_path / "hollow"
    wheels.mkdir()
    make_wheel(wheels, "sglang", "0.5.17", {"sglang/__init__.py": ""})
    result = run_module(sglang_environment, {**options, "lock": ["sglang==0.5.17"], "wheel_dir": str(wheels)})
    assert result["failed"] and "launch_server.py" in result["msg"]


def test_uv_gets_the_credentials_by_environment(run_module, options, uv_calls, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nonexistent")
    del options["wheel_dir"]
    options.update(
        installer="auto", index_url="https://robot:p%40ss@w0rd@index.example/simple", extra_index_urls=["https://tok@b.example/x"]
    )
    result = run_module(sglang_environment, options)
    assert not result["failed"], result
    assert result["environment"]["installer"] == "uv" and result["changed"]
    calls = [json.loads(line) for line in uv_calls.read_text().splitlines()]
    assert [words[0] for words, _env in calls] == ["venv", "pip"]
    for words, env in calls:
        assert not any("w0rd" in word or "tok@" in word for word in words)
        assert env["UV_INDEX_URL"] == options["index_url"] and env["UV_EXTRA_INDEX_URL"] == "https://tok@b.example/x"
        assert "PYTHONPATH" not in env and env["TMPDIR"].startswith(options["root"])
    assert "--no-deps" in calls[1][0] and "w0rd" not in json.dumps(result)


def test_an_unreachable_index_is_named_without_its_password(run_module, options, monkeypatch):
    del options["wheel_dir"]
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    options["index_url"] = "http://robot:geheim99@127.0.0.1:9/simple"
    result = run_module(sglang_environment, options)
    assert result["failed"] and "does not reach the package index" in result["msg"], result
    assert "geheim99" not in json.dumps(result)


def test_timeout(run_module, options, tmp_path):
    python = tmp_path / "slow-python"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    result = run_module(sglang_environment, {**options, "python": str(python), "timeout": 1})
    assert result["failed"] and "timeout (1" in result["msg"]


def test_disk_space(run_module, options):
    result = run_module(sglang_environment, {**options, "min_free_gib": 1e9})
    assert result["failed"] and result["cause"] == "disk_full" and "min_free_gib" in result["msg"]


def test_check_mode_only_warns_of_what_another_task_may_bring(run_module, options):
    options.update(wheel_dir="/nonexistent/wheels", python="/nonexistent/python3")
    result = run_module(sglang_environment, options, check=True)
    assert result["changed"] and not result["failed"] and result["msg"].startswith("Would install") and "notes" not in result


@pytest.mark.parametrize(
    "change, word",
    [
        ({"root": "/proc/nothing", "min_free_gib": 0}, "root is '/proc/nothing'"),
        ({"python": "/nonexistent/python3"}, "python is '/nonexistent/python3'"),
        ({"wheel_dir": "/nonexistent/wheels"}, "wheel_dir is '/nonexistent/wheels'"),
        ({"wheel_dir": "/proc/self/fdinfo"}, "holds no wheels"),
        ({"root": "relative"}, "root is 'relative'"),
        ({"version": "../0.5"}, "version is '../0.5'"),
        ({"version": "0.5.16"}, "lock holds sglang==0.5.17, and version is 0.5.16"),
        ({"lock": ["dep==1.0"]}, "lock does not hold sglang==0.5.17"),
        ({"lock": [*LOCK, "torch>=2"]}, "'torch>=2'"),
        ({"lock": [*LOCK, "x @ https://u:p@h/x.whl"]}, "https://***@h"),
        ({"lock": [*LOCK, "-r other.txt"]}, "'-r other.txt'"),
        ({"lock": [*LOCK, "Dep==2.0"]}, "pins dep twice"),
        ({"constraints": ["dep<2"]}, "lock and constraints exclude"),
        ({"index_url": "https://x"}, "mutually exclusive"),
        ({"installer": "uv"}, "installer is 'uv'"),
    ],
)
def test_wrong_options(run_module, options, no_build, monkeypatch, change, word):
    if change == {"installer": "uv"}:
        monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    result = run_module(sglang_environment, {**options, **change})
    assert result["failed"] and word in result["msg"], result


def test_absent(run_module, options):
    path = pathlib.Path(run_module(sglang_environment, options)["environment"]["path"])
    assert run_module(sglang_environment, {**options, "state": "absent"}, check=True)["changed"] and path.exists()
    server = subprocess.Popen(
        [str(path / "bin" / "python"), "-c", "import sys; print('up', flush=True); sys.stdin.read()"], stdin=-1, stdout=-1
    )
    try:
        server.stdout.readline()
        assert [pid for pid, _program in usage.users_of(str(path))] == [server.pid]
        result = run_module(sglang_environment, {**options, "state": "absent"})
        assert result["failed"] and f"process {server.pid} (python)" in result["msg"] and path.exists()
    finally:
        server.communicate()
    result = run_module(sglang_environment, {**options, "state": "absent"}, diff=True)
    assert result["changed"] and not path.exists() and "dep==1.0" in result["diff"]["before"]
    assert not run_module(sglang_environment, {**options, "state": "absent"})["changed"]


def test_existing(run_module, options, tmp_path):
    made = run_module(sglang_environment, {**options, "compile": False})["environment"]
    before = snapshot(made["path"])
    result = run_module(sglang_environment, {"version": "0.5.17", "existing": made["python"]})
    environment = result["environment"]
    assert not result["changed"] and environment["existing"] is True and environment["lock_digest"] is None
    assert environment["path"] == made["path"] and environment["packages_count"] == made["packages_count"]
    assert snapshot(made["path"]) == before
    assert "set version to 0.5.17" in run_module(sglang_environment, {"version": "0.5.16", "existing": made["python"]})["msg"]
    missing = run_module(sglang_environment, {"version": "0.5.17", "existing": str(tmp_path / "nothing")})
    assert missing["failed"] and "cannot be run" in missing["msg"]
    assert "absolute" in run_module(sglang_environment, {"version": "0.5.17", "existing": "python3"})["msg"]
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho oops >&2\nexit 3\n")
    broken.chmod(0o755)
    assert "oops" in run_module(sglang_environment, {"version": "0.5.17", "existing": str(broken)})["msg"]


def test_two_runs_at_once_do_not_meet(run_module, options, monkeypatch):
    """A run that waited for the lock takes the environment that the other made."""
    run_module(sglang_environment, options)
    real = environment_module._state
    answers = iter([(None, "absent")])
    monkeypatch.setattr(environment_module, "_state", lambda *args: next(answers, None) or real(*args))
    monkeypatch.setattr(build.Builder, "build", lambda self: pytest.fail("built twice"))
    result = run_module(sglang_environment, options)
    assert not result["changed"] and result["msg"].startswith("Another run made")


def test_a_lock_held_too_long(run_module, options):
    import fcntl

    os.makedirs(options["root"])
    with open(os.path.join(options["root"], ".kpro-lock"), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = run_module(sglang_environment, {**options, "timeout": 0})
    assert result["failed"] and "Another run" in result["msg"]
