"""The program on the node that the connection plugin runs pct under."""

from __future__ import annotations

import pathlib
import shlex
import subprocess
import sys

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._pct.attach import attach_argv
from ansible_collections.kpro.sglang.plugins.module_utils._pct.exec_script import plain_words
from ansible_collections.kpro.sglang.plugins.module_utils._pct.exec_supervisor import supervised
from ansible_collections.kpro.sglang.plugins.module_utils._pct.marker import Report, new_token

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from local_pct import write_pct


@pytest.fixture
def enter(tmp_path):
    """Return a function (words, …) -> (CompletedProcess, Report) that goes the whole way: login shell, supervisor, pct, guest."""
    pct = write_pct(tmp_path)

    def run(*words, vmid=100, stdin=b"", feed=False, limit=30, executable=pct):
        token = new_token()
        argv = attach_argv(vmid, plain_words(token, "root", list(words)), executable=executable)
        line = shlex.join(supervised(argv, token, vmid, limit, feed))
        done = subprocess.run(["/bin/sh", "-c", line], input=stdin, capture_output=True, check=False, timeout=60)
        return done, Report(done.stderr, token)

    return run


def test_output_and_status(enter):
    done, report = enter("/bin/sh", "-c", "printf 'a\\0b'; printf 'x\\377' >&2; exit 7")
    assert (done.returncode, done.stdout, report.stderr, report.rc) == (7, b"a\0b", b"x\xff", 7)


def test_255_is_left_to_ssh(enter):
    done, report = enter("/bin/sh", "-c", "exit 255")
    assert (done.returncode, report.rc) == (254, 255)
    done, report = enter("/bin/true", vmid=101)
    assert (done.returncode, report.started) == (254, False)
    assert report.preface == b"container '101' not running!\n"


def test_much_on_both_streams_at_once(enter):
    done, report = enter("/bin/sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' e >&2 & head -c 5000000 /dev/zero; wait")
    assert (len(done.stdout), len(report.stderr), report.rc) == (5000000, 5000000, 0)


def test_stdin_is_passed_on_only_when_asked_for(enter):
    assert enter("/bin/cat", stdin=b"a\0b", feed=True)[0].stdout == b"a\0b"
    assert enter("/bin/cat", stdin=b"a\0b", feed=False)[0].stdout == b""


def test_a_reader_that_stops_early(enter):
    done, report = enter("/usr/bin/head", "-c", "3", stdin=b"x" * 3000000, feed=True)
    assert (done.stdout, report.rc) == (b"xxx", 0)


def test_a_child_in_the_background_does_not_hold_the_call(enter):
    done, report = enter("/bin/sh", "-c", "sleep 50 & echo hi")
    assert (done.stdout, report.rc) == (b"hi\n", 0)


def test_a_pct_that_hangs_is_given_up(enter):
    done, report = enter("/bin/true", vmid=105, limit=1)
    assert (done.returncode, report.stalled, report.started) == (254, "hung", False)


def test_a_command_may_take_longer_than_the_start(enter):
    assert enter("/bin/sleep", "2", limit=1)[1].rc == 0


def test_no_pct(enter):
    done, report = enter("/bin/true", executable="/nonexistent/pct")
    assert (done.returncode, report.preface) == (127, b"/nonexistent/pct: No such file or directory\n")
