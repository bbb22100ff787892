"""UnitState from outputs in the form of `systemctl show` (data/), and the verbs with the argument vectors they run."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._process.runner import Completed
from ansible_collections.kpro.sglang.plugins.module_utils._supervise import systemd
from ansible_collections.kpro.sglang.plugins.module_utils._supervise.systemd import Systemd, UnitState

OUTPUTS = pathlib.Path(__file__).parent / "data"


def output(name):
    text = (OUTPUTS / f"{name}.txt").read_text()
    return UnitState(dict(line.split("=", 1) for line in text.splitlines()))


# name: (loaded, active, busy, enabled, pid, exit_code, result)
EXPECTED = {
    "running": (True, True, True, True, 4711, None, "success"),
    "starting": (True, True, True, False, 4711, None, "success"),
    "stopping": (True, True, True, True, 4711, None, "success"),
    "never_started": (True, False, False, False, 0, None, "success"),
    "not_found": (False, False, False, False, 0, None, "success"),
    "masked": (False, False, False, False, 0, None, "success"),
    "stopped_cleanly_by_its_own_sigkill": (True, False, False, True, 0, 137, "success"),
    "exited_1": (True, False, False, False, 0, 1, "exit-code"),
    "segmentation_fault": (True, False, False, False, 0, 139, "core-dump"),
    "oom_killed": (True, False, False, True, 0, 137, "oom-kill"),
    "sigabrt_without_dump": (True, False, False, False, 0, 134, "signal"),
    "waiting_for_restart": (True, False, True, True, 0, 1, "exit-code"),
    "start_limit_hit": (True, False, False, True, 0, 1, "start-limit-hit"),
    "stop_timed_out": (True, False, False, True, 0, 137, "timeout"),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_state_of_every_output(name):
    state = output(name)
    assert (state.loaded, state.active, state.busy, state.enabled, state.pid, state.exit_code, state.result) == EXPECTED[name]


def test_every_output_is_looked_at():
    assert {path.stem for path in OUTPUTS.glob("*.txt")} == set(EXPECTED)


def test_invocation_and_restarts():
    state = output("waiting_for_restart")
    assert (state.invocation, state.restarts) == ("6f1c0c0f8f0a4c26a5b2f4d0b6d9c1aa", 2)
    assert output("never_started").invocation is None


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [("1", "0", 0), ("1", "255", 255), ("2", "9", 137), ("2", "15", 143), ("3", "11", 139), ("0", "0", None), ("4", "5", None)],
)
def test_exit_code_as_a_shell_gives_it(code, status, expected):
    assert UnitState({"ExecMainCode": code, "ExecMainStatus": status}).exit_code == expected


def test_nothing_said_is_no_unit_and_no_exception():
    state = UnitState({})
    assert (state.loaded, state.active, state.busy, state.enabled, state.pid, state.invocation, state.exit_code, state.restarts) == (
        False,
        False,
        False,
        False,
        0,
        None,
        None,
        0,
    )


class Recorder:
    """Stands in for the runner: keeps what would be run and answers from a list."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.ran = []

    def __call__(self, argv, timeout, **_options):
        self.ran.append((argv, timeout))
        rc, out, err, timed_out = self.answers.pop(0) if self.answers else (0, "", "", False)
        return Completed(argv, rc, out.encode(), err.encode(), timed_out, False, 0.1)


@pytest.fixture
def recorder(monkeypatch):
    def use(*answers):
        recorder = Recorder(*answers)
        monkeypatch.setattr(systemd, "run", recorder)
        return recorder

    return use


def test_show_asks_for_properties_of_one_unit_and_keeps_equal_signs(recorder):
    ran = recorder((0, "LoadState=loaded\nFragmentPath=/etc/a=b.service\nMainPID=12\n\n", "", False))
    state = Systemd("sglang-main.service").show()
    assert (state.loaded, state.pid, state.values["FragmentPath"]) == (True, 12, "/etc/a=b.service")
    argv, timeout = ran.ran[0]
    assert argv[:2] == ["systemctl", "show"] and argv[-2:] == ["--", "sglang-main.service"] and timeout > 0
    asked = set(argv[3].removeprefix("--property=").split(","))
    assert {
        "LoadState",
        "ActiveState",
        "SubState",
        "UnitFileState",
        "MainPID",
        "InvocationID",
        "Result",
        "ExecMainCode",
        "ExecMainStatus",
    } <= asked


def test_show_that_fails_carries_systemctls_words(recorder):
    recorder((1, "", "System has not been booted with systemd as init system (PID 1). Can't operate.\n", False))
    with pytest.raises(KproError, match=r"systemctl show u\.service failed: System has not been booted"):
        Systemd("u.service").show()


@pytest.mark.parametrize(
    ("act", "argvs"),
    [
        (lambda unit: unit.start(), [["reset-failed", "--", "u.service"], ["start", "--", "u.service"]]),
        (lambda unit: unit.stop(timeout=7), [["stop", "--", "u.service"]]),
        (lambda unit: unit.kill(), [["kill", "--signal=SIGKILL", "--", "u.service"]]),
        (lambda unit: unit.enable(), [["enable", "--quiet", "--", "u.service"]]),
        (lambda unit: unit.disable(), [["disable", "--quiet", "--", "u.service"]]),
        (lambda unit: unit.forget_failure(), [["reset-failed", "--", "u.service"]]),
        (lambda unit: unit.reload(), [["daemon-reload"]]),
    ],
    ids=["start", "stop", "kill", "enable", "disable", "forget_failure", "reload"],
)
def test_verbs_run_systemctl_bounded_and_for_this_unit_only(recorder, act, argvs):
    ran = recorder()
    act(Systemd("u.service"))
    assert [argv for argv, _timeout in ran.ran] == [["systemctl", *argv] for argv in argvs]
    assert all(timeout > 0 for _argv, timeout in ran.ran)


def test_stop_waits_as_long_as_it_is_told(recorder):
    ran = recorder((124, "", "", True))
    with pytest.raises(KproError, match=r"systemctl stop u\.service: did not end within 210 s"):
        Systemd("u.service").stop(timeout=210)
    assert ran.ran[0][1] == 210


def test_a_start_that_fails_says_why_in_one_line(recorder):
    recorder((0, "", "", False), (1, "", "Failed to start u.service: Unit u.service not found.\nSee the manual.\n", False))
    with pytest.raises(
        KproError, match=r"^systemctl start u\.service: Failed to start u\.service: Unit u\.service not found\. See the manual\.$"
    ):
        Systemd("u.service").start()


def test_a_failure_without_words_gives_its_status(recorder):
    recorder((5, "", "", False))
    with pytest.raises(KproError, match="exit status 5"):
        Systemd("u.service").enable()


@pytest.mark.parametrize("verb", ["kill", "disable", "forget_failure"])
def test_verbs_that_may_find_nothing_to_do(recorder, verb):
    ran = recorder((1, "", "Unit u.service not loaded.", False))
    getattr(Systemd("u.service"), verb)()
    assert len(ran.ran) == 1


def test_places_of_a_units_files():
    unit = Systemd("sglang-main.service")
    assert unit.path == "/etc/systemd/system/sglang-main.service"
    assert unit.first_launch_drop_in == "/run/systemd/system/sglang-main.service.d/50-first-launch.conf"
