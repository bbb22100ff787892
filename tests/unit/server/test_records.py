"""Launch records, logs that are kept, the kept configuration, the lock, ends, the status file, the account."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import pwd
import subprocess
import sys

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._process.runner import Completed
from ansible_collections.kpro.sglang.plugins.module_utils._server import account, ends, environment, files, previous, records
from ansible_collections.kpro.sglang.plugins.module_utils._server.desired import File
from ansible_collections.kpro.sglang.plugins.module_utils._server.lock import only_one
from ansible_collections.kpro.sglang.plugins.module_utils._server.status import Status


@pytest.fixture(autouse=True)
def chown(monkeypatch):
    if os.getuid() != 0:
        monkeypatch.setattr(os, "chown", lambda *_unused: None)


# -- records ---------------------------------------------------------------------------------------------------------------


class Tracker:
    def __init__(self, *history):
        self.history = list(history)


class Outcome:
    def __init__(self, tracker, seconds, silent_start=0.0):
        self.tracker, self.seconds, self.silent_start = tracker, seconds, silent_start


def test_stages_take_all_of_the_time_and_the_silent_start_counts_to_the_first():
    outcome = Outcome(Tracker(("launch", 0.0), ("weights_load", 2.0), ("ready", 7.0)), 19.5, silent_start=10.0)
    assert records.stages(outcome) == [
        {"name": "launch", "seconds": 12.0},
        {"name": "weights_load", "seconds": 5.0},
        {"name": "ready", "seconds": 2.5},
    ]


def test_stages_of_a_launch_that_said_nothing():
    assert records.stages(Outcome(Tracker(), 5.0)) == []


def test_no_stage_takes_less_than_nothing():
    assert all(stage["seconds"] >= 0 for stage in records.stages(Outcome(Tracker(("launch", 0.0), ("ready", 9.0)), 3.0)))


def make_launch(layout, name, age, state="ready"):
    for path in (layout.log(name), layout.launch_record(name), os.path.join(layout.ends, name)):
        pathlib.Path(path).write_text(json.dumps({"state": state}))
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))


def kept(layout):
    logs, launches, at_end = (sorted(os.listdir(folder)) for folder in (layout.logs, layout.launches, layout.ends))
    assert [name.removesuffix(".log") for name in logs] == [name.removesuffix(".json") for name in launches] == at_end
    return at_end


def test_prune_keeps_the_newest_and_the_last_failed(layout):
    for age in range(6):
        make_launch(layout, f"launch{age}", age)
    records.prune(layout, 2, "launch4")
    assert kept(layout) == ["launch0", "launch1", "launch4"]


def test_prune_keeps_all_where_there_are_few(layout):
    for age in range(3):
        make_launch(layout, f"launch{age}", age)
    records.prune(layout, 10, None)
    assert kept(layout) == ["launch0", "launch1", "launch2"]


def test_prune_leaves_what_is_no_launch_alone(layout):
    make_launch(layout, "launch0", 0)
    for folder, name in ((layout.logs, "notes.txt"), (layout.logs, ".hidden.log"), (layout.launches, ".part.json")):
        pathlib.Path(folder, name).write_text("")
    records.prune(layout, 1, None)
    assert (
        "notes.txt" in os.listdir(layout.logs) and ".hidden.log" in os.listdir(layout.logs) and ".part.json" in os.listdir(layout.launches)
    )


def test_prune_without_folders_is_no_error(layout):
    os.rmdir(layout.logs)
    records.prune(layout, 1, None)


def test_the_last_failed_launch_is_found_from_the_records(layout):
    assert records.last_failed(layout) is None
    make_launch(layout, "good", 0)
    assert records.last_failed(layout) is None
    make_launch(layout, "old", 9, "failed")
    make_launch(layout, "new", 5, "failed")
    pathlib.Path(layout.launches, "broken.json").write_text("{")
    assert records.last_failed(layout) == "new"


# -- the kept configuration ------------------------------------------------------------------------------------------------


def own(layout):
    return [File(layout.config, "new: 1\n", 0o600, service=True), File(layout.launch, "#!/bin/sh\n", 0o755)]


def test_keep_and_restore(layout):
    pathlib.Path(layout.config).write_text("old: 1\n")
    pathlib.Path(layout.launch).write_text("#!/bin/sh\n# old\n")
    previous.keep(layout, own(layout), {"accepted_digest": "d", "digest": "d"})
    assert os.stat(layout.previous).st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in pathlib.Path(layout.previous).iterdir())
    for file in own(layout):
        pathlib.Path(file.path).write_text("new")
    record = previous.restore(layout, own(layout), os.getuid(), os.getgid())
    assert record == files.read_json(layout.record) == {"accepted_digest": "d", "digest": "d"}
    assert files.read(layout.config) == "old: 1\n" and files.read(layout.launch) == "#!/bin/sh\n# old\n"
    assert os.stat(layout.launch).st_mode & 0o777 == 0o755 and os.stat(layout.config).st_mode & 0o777 == 0o600
    previous.forget(layout)
    assert not os.path.exists(layout.previous)
    previous.forget(layout)


def test_nothing_to_go_back_to(layout):
    assert previous.restore(layout, own(layout), 0, 0) is None
    previous.keep(layout, own(layout), {"digest": "never accepted"})
    assert previous.restore(layout, own(layout), 0, 0) is None
    assert not os.path.exists(layout.config)


# -- the lock --------------------------------------------------------------------------------------------------------------


def test_the_lock_is_free_again_after_a_failure(layout):
    with contextlib.suppress(RuntimeError), only_one(layout):
        raise RuntimeError
    with only_one(layout):
        assert files.read(layout.lock) == str(os.getpid())


def test_the_kernel_frees_the_lock_when_its_holder_is_killed(layout):
    code = (
        "import fcntl, sys; f = open(sys.argv[1], 'a+'); fcntl.flock(f, fcntl.LOCK_EX); f.truncate(0); f.write('77'); f.flush(); "
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code, layout.lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(KproError, match=r"another deployment of server main is at work on this host \(pid 77\)"), only_one(layout):
            pass
        holder.kill()
        holder.wait()
        with only_one(layout):
            assert files.read(layout.lock) == str(os.getpid())


# -- ends ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("oom-kill killed KILL\n", ("oom-kill", "killed", "KILL")),
        ("exit-code exited 3\n", ("exit-code", "exited", "3")),
        ("success  \n", ("success", None, None)),
        ("", (None, None, None)),
        (None, (None, None, None)),
        ("a b c d\n", ("a", "b", "c")),
    ],
)
def test_what_the_end_script_wrote(layout, text, end):
    if text is not None:
        pathlib.Path(layout.ends, "launch-1").write_text(text)
    assert ends.read_end(layout, "launch-1") == dict(zip(("result", "code", "status"), end, strict=True))


class Shown:
    """A unit that is active for a number of looks."""

    def __init__(self, looks):
        self.looks = looks
        self.active = True

    def show(self):
        self.looks -= 1
        self.active = self.looks > 0
        return self


def test_the_end_is_waited_for_until_systemd_noticed_it_and_not_for_ever():
    assert ends.wait_for_end(Shown(3)).looks == 0
    assert ends.wait_for_end(Shown(10**9), seconds=0.0).active


def test_the_journal_is_asked_for_one_invocation(monkeypatch):
    ran = []

    def run(argv, timeout):
        ran.append(argv)
        return Completed(argv, 0, b"sh: cannot create log\n", b"", False, False, 0.1)

    monkeypatch.setattr(ends, "run", run)
    assert ends.journal("abc") == b"sh: cannot create log\n"
    assert ran[0][0] == "journalctl" and ran[0][-1] == "_SYSTEMD_INVOCATION_ID=abc"


# -- status ----------------------------------------------------------------------------------------------------------------


def test_the_status_file_grows_by_whole_lines(tmp_path):
    status = Status(str(tmp_path / "status.jsonl"), "launch-1")
    status.write("launch", pid=7)
    status.stage("weights_load", 1.234, "Loading 1/2\n")
    lines = [json.loads(line) for line in (tmp_path / "status.jsonl").read_text().splitlines()]
    assert [(line["event"], line["launch_id"]) for line in lines] == [("launch", "launch-1"), ("stage", "launch-1")]
    assert (lines[1]["stage"], lines[1]["seconds"], lines[1]["progress"]) == ("weights_load", 1.23, "Loading 1/2\n")
    assert lines[0]["time"] <= lines[1]["time"]


def test_a_status_that_cannot_be_written_stops_nothing(tmp_path):
    Status(str(tmp_path / "none" / "status.jsonl"), "x").write("launch")
    assert os.listdir(tmp_path) == []


# -- account and environment -----------------------------------------------------------------------------------------------


def test_the_service_user():
    me = pwd.getpwuid(os.getuid())
    found = account.find(me.pw_name)
    assert (found.name, found.uid, found.gid) == (me.pw_name, me.pw_uid, me.pw_gid) and found.group


def test_an_unknown_user_is_named_or_none():
    with pytest.raises(KproError, match=r"user is 'no-such-user-7'.*create it first"):
        account.find("no-such-user-7")
    assert account.find("no-such-user-7", required=False) is None


def test_the_release_of_an_environment(tmp_path):
    python = tmp_path / "python"
    assert environment.release(str(python)) is None
    python.write_text("#!/bin/sh\necho 0.5.17\n")
    python.chmod(0o755)
    assert environment.release(str(python)) == "0.5.17"
    python.write_text("#!/bin/sh\necho 'Traceback:' >&2\necho 'PackageNotFoundError: sglang' >&2\nexit 1\n")
    with pytest.raises(KproError, match=r"holds no SGLang \(PackageNotFoundError: sglang\).*sglang_environment"):
        environment.release(str(python))


@pytest.mark.parametrize(
    ("rc", "timed_out", "refused"),
    [(0, False, None), (124, True, None), (2, False, (b"out\nusage: error\n", 2)), (1, False, (b"out\nusage: error\n", 1))],
)
def test_flags_are_tried_as_the_service_user_without_our_environment(monkeypatch, rc, timed_out, refused):
    ran = []

    def run(argv, timeout, env, cwd):
        ran.append((argv, env, cwd))
        return Completed(argv, rc, b"out\n", b"usage: error\n", timed_out, False, 0.1)

    monkeypatch.setattr(environment, "run", run)
    monkeypatch.setenv("KPRO_LEAK", "1")
    assert environment.try_flags("/opt/bin/python", "llm", ["--config", "/x"], {"A": "1"}) == refused
    argv, env, cwd = ran[0]
    assert argv[:5] == ["runuser", "-u", "llm", "--", "/opt/bin/python"] and argv[-2:] == ["--config", "/x"]
    assert set(env) == {"PATH", "A"} and cwd == "/"
