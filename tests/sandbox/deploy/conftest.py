"""Real deployments: ansible-playbook against the sandbox."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from playing import GUEST, OUTPUT, Guest, Player


@pytest.fixture
def play(request):
    """A Player whose output goes to a folder named after the test."""
    return Player(request.node.name)


@pytest.fixture
def guest(node):
    """Guest 129."""
    return Guest(node)


@pytest.fixture(scope="session")
def deployed(node):
    """The main job was run once: server main of guest 129 is ready."""
    played = Player("first-deploy").run("deploy.yml")
    assert played.rc == 0, played.out[-4000:]
    return played


@pytest.fixture(scope="session")
def interpreter(deployed, node):
    """Path of the interpreter that role sglang_install made in the guest."""
    return Guest(node).sh("ls -d /opt/sglang/venvs/*/bin/python").split()[0]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Keep the guest's logs as files when a deployment test fails."""
    outcome = yield
    report = outcome.get_result()
    if report.failed and "node" in item.fixturenames and report.when == "call":
        _collect(item.funcargs.get("node"), OUTPUT / item.name)


def _collect(node, folder):
    if node is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, script in (
        ("guest-journal.txt", "journalctl --no-pager -n 400"),
        ("guest-units.txt", "systemctl --no-pager --all list-units 'sglang-*'; systemctl --no-pager --failed"),
        ("launch-logs.txt", 'for f in /var/log/sglang/*/*.log; do echo "== $f"; tail -n 80 "$f"; done'),
    ):
        try:
            done = node.pct("exec", GUEST, "--", "sh", "-c", script, timeout=30)
        except subprocess.TimeoutExpired:
            continue
        (folder / name).write_bytes(done.stdout + done.stderr)
