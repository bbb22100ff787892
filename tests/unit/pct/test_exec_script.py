"""The scripts of the guest, run by the shells that guests have."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._pct import exec_script
from ansible_collections.kpro.sglang.plugins.module_utils._pct.marker import Report, new_token

SHELLS = [shell for shell in (["/bin/dash"], ["/bin/bash", "--posix"], ["/bin/bash"]) if shutil.which(shell[0])]
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "linux"}
ARGUMENT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=30)


@pytest.fixture(params=SHELLS, ids=" ".join)
def shell(request):
    return request.param


def run(shell, words, token, stdin=b"", environment=None):
    done = subprocess.run([*shell, *words[1:]], input=stdin, capture_output=True, env=environment or ENVIRONMENT, check=False, timeout=60)
    return done, Report(done.stderr, token)


def command(shell, *words, stdin=b"", **options):
    token = new_token()
    return run(shell, exec_script.command_words(token, options.pop("user", "root"), list(words), **options), token, stdin)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=st.lists(ARGUMENT, max_size=5), stdin=st.binary(max_size=2000))
def test_arguments_and_stdin_arrive_byte_for_byte(shell, arguments, stdin):
    done, report = command(shell, "bash", "-c", 'printf "%s\\0" "$@"; exec cat', "bash", *arguments, "end", stdin=stdin)
    assert done.stdout == b"".join(argument.encode() + b"\0" for argument in arguments) + b"end\0" + stdin
    assert (report.rc, report.stderr, report.preface) == (0, b"", b"")


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=ARGUMENT, stdin=st.binary(max_size=500))
def test_a_secret_arrives_and_the_rest_of_stdin_too(shell, value, stdin):
    lines = exec_script.secret_lines({"ONE": value, "TWO": "2 \\n %s\n"})
    done, _report = command(shell, "sh", "-c", 'printf "%s|" "$ONE" "$TWO"; exec cat', stdin=lines + stdin, secrets=2)
    assert done.stdout == value.encode() + b"|2 \\n %s\n|" + stdin


@pytest.mark.parametrize(
    ("script", "rc"),
    [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 254", 254),
        ("exit 255", 255),
        ("kill -9 $$", 137),
        ("kill -SEGV $$", 139),
        ("kill -INT $$", 130),
    ],
)
def test_status_and_signals_are_exact(shell, script, rc):
    done, report = command(shell, "sh", "-c", script)
    assert (done.returncode, report.rc, report.stderr) == (rc, rc, b"")


@pytest.mark.parametrize(("word", "rc"), [("nonexistent-cmd", 127), ("/etc/passwd", 126), ("", 127), ("exit", 127)])
def test_what_cannot_be_executed(shell, word, rc):
    done, report = command(shell, word)
    assert (done.returncode, report.rc) == (rc, rc)
    assert report.stderr


def test_a_builtin_of_the_shell_is_not_used(shell):
    done, _report = command(shell, "printf", "%b|%s", r"\x41", "-n")
    assert done.stdout == b"A|-n"  # dash's own printf knows no \x41


def test_environment_is_that_of_a_login(shell):
    done, _report = command(shell, "env")
    variables = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    assert {name: variables.get(name) for name in ("HOME", "USER", "LOGNAME", "LANG", "TERM")} == {
        "HOME": "/root", "USER": "root", "LOGNAME": "root", "LANG": "C.UTF-8", "TERM": "linux",
    }  # fmt: skip
    assert "/usr/local/bin" in variables["PATH"].split(":")
    assert not {name for name in variables if name in {"line", "value", "token", "limit", "OLDPWD"}}


def test_a_poor_path_is_replaced(shell):
    token = new_token()
    done, _report = run(
        shell, exec_script.plain_words(token, "root", ["/bin/sh", "-c", "echo $PATH"]), token, environment={"PATH": "/bin:/usr/bin"}
    )
    assert b"/usr/local/bin" in done.stdout


def test_chdir(shell, tmp_path):
    odd = tmp_path / "a b$(touch x)\n"
    odd.mkdir()
    done, _report = command(shell, "pwd", folder=str(odd))
    assert done.stdout == str(odd).encode() + b"\n"
    _done, report = command(shell, "pwd", folder="/nonexistent")
    assert not report.started
    assert "/nonexistent" in report.refused


def test_creates_and_removes(shell, tmp_path):
    (tmp_path / "a b").write_text("")
    assert command(shell, "true", creates=str(tmp_path / "a b"))[1].skipped == "creates"
    assert command(shell, "true", creates=str(tmp_path / "a*"))[1].skipped == "creates"
    assert command(shell, "true", creates="a ?", folder=str(tmp_path))[1].skipped == "creates"
    assert command(shell, "true", creates=str(tmp_path / "c*"))[1].rc == 0
    assert command(shell, "true", removes=str(tmp_path / "c*"))[1].skipped == "removes"
    assert command(shell, "true", removes=str(tmp_path / "a b"))[1].rc == 0
    ran = tmp_path / "ran"
    assert command(shell, "touch", str(ran), look=True)[1].skipped == "look"
    assert not ran.exists()


def test_user(shell):
    done, _report = command(shell, "sh", "-c", 'id -un; echo "$HOME $USER $LOGNAME"', user="nobody")
    assert done.stdout == b"nobody\n/nonexistent nobody nobody\n"
    done, _report = command(shell, "sh", "-c", "kill -9 $$", user="nobody")
    assert done.returncode == 137
    _done, report = command(shell, "id", user="no-such-user")
    assert report.refused == "user 'no-such-user' does not exist in the guest"
    for wrong in ("-u", "a b", "", "x;y", "$(id)"):
        with pytest.raises(KproError, match="account"):
            exec_script.check_user(wrong)


@pytest.fixture
def few_programs():
    """A folder that everybody may enter, with neither runuser nor getent in it."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)
        for name in ("su", "sh", "id", "setsid"):
            (pathlib.Path(folder) / name).symlink_to(shutil.which(name))
        yield folder


def test_user_without_runuser(shell, few_programs):
    token = new_token()
    words = exec_script.command_words(token, "nobody", ["sh", "-c", 'id -un; printf "%s|" "$@"; exit 7', "sh", "-l", "a b", "$(id)", ""])
    path = f"/usr/local/bin:{few_programs}"
    done, report = run(shell, words, token, environment={"PATH": path})
    assert done.stdout == b"nobody\n-l|a b|$(id)||"
    assert report.rc == 7


def holders(token):
    """Processes of this machine that carry the token in their arguments."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if token.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
    return found


STUBBORN = {
    "ignores-term": "trap '' TERM; echo printed; sleep 300; sleep 300 # @",
    "children-with-pipes": "sleep 300 & sh -c 'sleep 300; : @' & echo printed; sleep 300",
    "daemon-with-pipes": "(setsid sh -c 'trap \"\" TERM; sleep 300; : @' &); echo printed; sleep 300",
    "plain": "echo printed; exec sleep 300",
}


@pytest.mark.parametrize(
    ("kind", "user"), [*((kind, "root") for kind in STUBBORN), ("ignores-term", "nobody"), ("daemon-with-pipes", "nobody")]
)
def test_time_limit_ends_everything_and_keeps_the_output(shell, kind, user):
    tag = new_token()
    done, report = command(shell, "sh", "-c", STUBBORN[kind].replace("@", tag), limit=0.5, user=user)
    assert done.stdout == b"printed\n"
    assert report.timed_out
    assert report.rc in (143, 137)
    assert holders(tag) == []


def test_a_handler_of_term_may_speak_and_choose_its_status(shell):
    done, report = command(shell, "sh", "-c", "trap 'echo bye; exit 3' TERM; echo hi; sleep 300 & wait", limit=0.5)
    assert (done.stdout, report.rc, report.timed_out) == (b"hi\nbye\n", 3, True)


def test_a_quick_command_leaves_no_watch_behind(shell):
    _done, report = command(shell, "true", limit=12345)
    assert (report.rc, report.timed_out) == (0, False)
    sleeping = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if _text(path) == "sleep\00012345\0"]
    assert sleeping == []


def _text(path):
    try:
        return path.read_text()
    except OSError:
        return ""


def test_clean_up_ends_a_command_that_pct_left_behind(shell):
    token, tag = new_token(), new_token()
    words = exec_script.command_words(token, "root", ["sh", "-c", f"trap '' TERM; sleep 300; sleep 300 # {tag}"])
    process = subprocess.Popen(
        [*shell, *words[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    try:
        started = b""
        while not (report := Report(started, token)).started:
            started += os.read(process.stderr.fileno(), 1000)
        while not holders(tag):
            time.sleep(0.01)
        other = exec_script.clean_up_words(new_token(), report.pid)
        subprocess.run([*shell, *other[1:]], env=ENVIRONMENT, check=True, timeout=30)
        assert holders(tag)  # a number that has become another's is left alone
        words = exec_script.clean_up_words(token, report.pid)
        subprocess.run([*shell, *words[1:]], env=ENVIRONMENT, check=False, timeout=30)
        # The shell itself was killed, or it lived to tell that its command was.
        assert process.wait(10) in (-signal.SIGKILL, 128 + signal.SIGKILL)
        assert holders(tag) == []
    finally:
        process.kill()
        process.communicate()
