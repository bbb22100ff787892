"""The bounded runner with real processes: an answer always comes, whole, in bounded time, and nothing is left running."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import time

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._process.runner import run

FAR = 60  # seconds; no test here comes near it


def python(code, *words, **options):
    return run([sys.executable, "-c", code, *words], **{"timeout": FAR, **options})


def gone(pid):
    """Wait until a process is gone or a zombie (bounded by the test's own patience)."""
    for _look in range(2000):
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            return True
        if state in (b"Z", b"X"):
            return True
        time.sleep(0.005)
    return False


def test_exit_status_and_both_streams_apart():
    done = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (done.rc, done.out, done.err, done.timed_out, done.truncated) == (7, "out\n", "err\n", False, False)
    assert done.argv[0] == sys.executable and done.seconds > 0


def test_no_shell_stands_between():
    done = run(["echo", "$HOME", "a b", "*", "; true"], timeout=FAR)
    assert done.out == "$HOME a b * ; true\n"


def test_words_may_be_bytes_that_are_no_text():
    assert run([b"printf", b"%s", b"\xff\xfe"], timeout=FAR).stdout == b"\xff\xfe"


def test_output_that_is_no_utf8_becomes_valid_text():
    done = python("import os; os.write(1, b'caf\\xe9'); os.write(2, b'\\xff')")
    assert (done.out, done.err) == ("caf\ufffd", "\ufffd")
    assert done.stdout == b"caf\xe9"


def test_a_signal_is_a_negative_status():
    assert python("import os; os.kill(os.getpid(), 15)").rc == -signal.SIGTERM


def test_stdin_is_given_whole_and_closed():
    data = os.urandom(3_000_000)
    assert python("import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())", stdin=data).rc == 0
    done = run(["sha256sum"], timeout=FAR, stdin=data)
    import hashlib

    assert done.out.split()[0] == hashlib.sha256(data).hexdigest()


def test_without_stdin_a_reader_sees_the_end_at_once():
    assert run(["cat"], timeout=FAR).rc == 0


def test_a_child_that_does_not_read_its_stdin_is_no_error():
    assert python("pass", stdin=b"x" * 3_000_000).rc == 0


def test_a_child_that_writes_much_to_both_streams_does_not_block():
    done = python("import os\nfor _ in range(64):\n    os.write(1, b'o' * 65536); os.write(2, b'e' * 65536)", output_limit=1 << 30)
    assert (len(done.stdout), len(done.stderr), done.truncated) == (64 * 65536, 64 * 65536, False)


@pytest.mark.parametrize(("size", "cut"), [(999, False), (1000, False), (1001, True), (500_000, True)])
def test_output_is_cut_at_the_limit_and_said_so(size, cut):
    done = python(f"import os; data = b'a' * {size}\nwhile data:\n    data = data[os.write(1, data):]", output_limit=1000)
    assert (len(done.stdout), done.truncated, done.rc) == (min(size, 1000), cut, 0)


def test_env_replaces_the_environment_and_cwd_is_used(tmp_path):
    done = run(["/bin/sh", "-c", 'echo "$A:$HOME"; pwd'], timeout=FAR, env={"A": "1"}, cwd=str(tmp_path))
    assert done.out == f"1:\n{tmp_path}\n"


def test_a_time_out_ends_the_whole_group_and_keeps_what_was_said(tmp_path):
    note = tmp_path / "pids"
    script = f"sleep 1000 & echo $! $$ >{note}; echo before; wait"
    done = run(["/bin/sh", "-c", script], timeout=2)
    assert (done.rc, done.timed_out) == (124, True)
    assert done.out in ("before\n", "")
    assert all(gone(int(pid)) for pid in note.read_text().split())


def test_a_child_that_ignores_sigterm_is_ended_too():
    done = python("import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(1000)", timeout=0.3)
    assert (done.rc, done.timed_out) == (124, True)


def test_a_command_that_exits_124_itself_did_not_time_out():
    done = python("import sys; sys.exit(124)")
    assert (done.rc, done.timed_out) == (124, False)


def test_a_grandchild_that_holds_the_pipes_is_not_waited_for(tmp_path):
    note = tmp_path / "pid"
    done = run(["/bin/sh", "-c", f"sleep 1000 & echo $! >{note}; echo done"], timeout=FAR)
    child = int(note.read_text())
    os.kill(child, signal.SIGKILL)
    assert (done.rc, done.out, done.timed_out) == (0, "done\n", False)


def test_a_program_that_is_not_there_or_may_not_run(tmp_path):
    with pytest.raises(FileNotFoundError):
        run([str(tmp_path / "none")], timeout=FAR)
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    plain.chmod(0o644)
    with pytest.raises(PermissionError):
        run([str(plain)], timeout=FAR)


def test_the_child_is_in_a_session_of_its_own():
    done = python("import os; print(os.getsid(0) == os.getpid())")
    assert done.out == "True\n"


def test_no_descriptor_is_left_open_after_many_runs():
    run(["true"], timeout=FAR)
    before = len(os.listdir("/proc/self/fd"))
    for _turn in range(20):
        run(["true"], timeout=FAR)
    assert len(os.listdir("/proc/self/fd")) <= before + 1
