"""ProcessWatch with real processes: a zombie is dead, a number that came round again is another process, a death ends the wait."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._supervise import process
from ansible_collections.kpro.sglang.plugins.module_utils._supervise.process import ProcessWatch, start_ticks

LONG = 3000.0  # seconds: a wait that had to last this long would never end here


@pytest.fixture
def child():
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.wait()
    child.stdin.close()


@pytest.fixture(params=["pidfd", "looking"])
def watched(request, child, monkeypatch):
    """(child, its watch), once with a pidfd and once as on a kernel without."""
    if request.param == "looking":
        monkeypatch.delattr(os, "pidfd_open")
    watch = ProcessWatch(child.pid)
    yield child, watch
    watch.close()


def test_alive_while_it_runs(watched):
    _child, watch = watched
    assert watch.alive and watch.wait(0.01) and watch.alive


def test_a_zombie_is_dead(watched):
    child, watch = watched
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and not reaped
    assert b") Z " in open(f"/proc/{child.pid}/stat", "rb").read()
    assert not watch.alive and not watch.wait(LONG)


def test_a_reaped_process_is_dead(watched):
    child, watch = watched
    child.kill()
    child.wait()
    assert start_ticks(child.pid) is None
    assert not watch.alive and not watch.wait(LONG)


def test_a_death_ends_the_wait_without_its_full_length(watched):
    child, watch = watched
    threading.Timer(0.05, child.kill).start()
    assert watch.wait(LONG) is False


def test_another_process_with_the_same_number_is_not_ours(watched, monkeypatch):
    _child, watch = watched
    assert watch.alive
    real = start_ticks(watch.pid)
    monkeypatch.setattr(process, "start_ticks", lambda _pid: real + 1)
    assert not watch.alive and not watch.wait(LONG)


@pytest.mark.parametrize("pid", [0, 2**22 + 7])
def test_a_process_that_never_was(pid):
    watch = ProcessWatch(pid)
    assert not watch.alive and not watch.wait(LONG)
    watch.close()


def test_start_ticks_reads_past_a_name_with_spaces_and_brackets(tmp_path):
    program = tmp_path / "a) Z 1 (b"
    program.symlink_to("/bin/sleep")
    child = subprocess.Popen([str(program), "1000"])
    try:
        for _look in range(2000):
            if open(f"/proc/{child.pid}/comm").read() == "a) Z 1 (b\n":
                break
        assert open(f"/proc/{child.pid}/comm").read() == "a) Z 1 (b\n"
        assert start_ticks(child.pid) >= start_ticks(os.getpid())
    finally:
        child.kill()
        child.wait()


def test_close_gives_the_descriptor_back_and_may_be_called_twice(child):
    before = len(os.listdir("/proc/self/fd"))
    watch = ProcessWatch(child.pid)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    watch.close()
    watch.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert watch.alive
