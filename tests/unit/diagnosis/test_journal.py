"""The log of a unit: its own file, or the journal of one invocation with what systemd and the kernel said."""

from __future__ import annotations

import json

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis import journal
from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.engine import diagnose
from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._process.runner import Completed

ID = "0123456789abcdef0123456789abcdef"


def record(message, at, **fields):
    return json.dumps(
        {
            "MESSAGE": message,
            "__REALTIME_TIMESTAMP": str(1700000000000000 + at * 1000000),
            "_TRANSPORT": "stdout",
            "_COMM": "python3",
            **fields,
        }
    )


UNIT = [
    record("Started sglang.service - SGLang.", 0, _TRANSPORT="journal", _COMM="systemd"),
    record("[2026-01-01 00:00:00] server_args=ServerArgs(model_path='/m')", 1),
    record(
        [91, 50, 48, 50, 54, 45, 48, 49, 45, 48, 49, 32, 48, 48, 58, 48, 48, 58, 48, 49, 93, 32]
        + list(b"Load weight begin. avail mem=46.00 GB"),
        2,
    ),
    record(None, 3),
    record("sglang.service: Main process exited, code=killed, status=9/KILL", 9, _TRANSPORT="journal", _COMM="systemd"),
    "not json",
]
KERNEL = [
    record("Memory cgroup out of memory: Killed process 12 (sglang::schedul) total-vm:1kB", 8, _TRANSPORT="kernel"),
    record("usb 1-1: new device", 4, _TRANSPORT="kernel"),
]


@pytest.fixture
def system(monkeypatch):
    """Answers of systemctl and journalctl; `calls` keeps the argument vectors."""
    state = {
        "LoadState": "loaded",
        "ActiveState": "failed",
        "SubState": "failed",
        "Result": "signal",
        "InvocationID": ID,
        "MainPID": "0",
        "ExecMainCode": "2",
        "ExecMainStatus": "9",
    }
    calls = []

    def run(argv, timeout, **unused):
        calls.append(argv)
        if argv[0] == "systemctl":
            out = "".join("%s=%s\n" % pair for pair in state.items())
        elif "_TRANSPORT=kernel" in argv:
            out = "\n".join(KERNEL)
        else:
            out = "\n".join(UNIT)
        return Completed(argv, 0, out.encode(), b"", False, False, 0.1)

    monkeypatch.setattr(journal, "run", run)
    run.state, run.calls = state, calls
    return run


def test_the_journal_of_one_invocation(system):
    data, where, facts = journal.unit_log("sglang.service")
    lines = data.decode().split("\n")
    assert lines[1:3] == [
        "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='/m')",
        "[2026-01-01 00:00:01] Load weight begin. avail mem=46.00 GB",
    ]
    assert "host kernel: Memory cgroup out of memory" in data.decode() and "usb" not in data.decode()
    assert where == "journal of sglang.service"
    assert facts == {"process_alive": False, "exit_code": 137, "service_result": "signal"}
    diagnosis = diagnose(data, facts=facts)
    assert (diagnosis["cause"], diagnosis["stage"]) == ("host_oom_killed", "weights_load")
    query = next(call for call in system.calls if call[0] == "journalctl")
    assert "--all" in query and "--output=json" in query and "_SYSTEMD_INVOCATION_ID=" + ID in query
    assert not any(argument.startswith("--since") for argument in query)


def test_the_file_of_a_launch(system, tmp_path):
    log = tmp_path / "logs dir" / (ID + ".log")
    log.parent.mkdir()
    log.write_text("x")
    script = tmp_path / "launch.sh"
    script.write_text("#!/bin/sh\numask 077\nexec >>'%s/'\"$INVOCATION_ID\".log 2>&1\nexec x\n" % log.parent)
    system.state["ExecStart"] = "{ path=/bin/sh ; argv[]=/bin/sh %s ; ignore_errors=no }" % script
    assert journal.unit_log("sglang-a.service")[:2] == (str(log), str(log))
    log.unlink()
    assert isinstance(journal.unit_log("sglang-a.service")[0], bytes)


def test_a_file_named_by_the_unit(system, tmp_path):
    log = tmp_path / "x.log"
    log.write_text("x")
    system.state["StandardOutput"] = "append:%s" % log
    assert journal.unit_log("x.service")[0] == str(log)


@pytest.mark.parametrize(
    "change, facts",
    (
        ({"ActiveState": "active", "MainPID": "12", "ExecMainCode": "0", "Result": "success"}, {"process_alive": True}),
        (
            {
                "ActiveState": "activating",
                "SubState": "auto-restart",
                "ExecMainCode": "1",
                "ExecMainStatus": "2",
                "Result": "exit-code",
            },
            {"process_alive": False, "exit_code": 2, "service_result": "exit-code"},
        ),
        ({"Result": "oom-kill"}, {"process_alive": False, "exit_code": 137, "service_result": "oom-kill", "oom_killed": True}),
    ),
)
def test_facts(system, change, facts):
    system.state.update(change)
    assert journal.facts_of(system.state) == facts


def test_no_such_unit(system):
    system.state["LoadState"] = "not-found"
    with pytest.raises(KproError, match="no systemd unit"):
        journal.unit_log("x.service")
    with pytest.raises(KproError, match="no name of a systemd unit"):
        journal.unit_log("x; rm -rf /")
    with pytest.raises(KproError, match="no invocation id"):
        journal.journal("x")


def test_no_systemd(monkeypatch):
    def run(argv, timeout, **unused):
        raise FileNotFoundError(argv[0])

    monkeypatch.setattr(journal, "run", run)
    with pytest.raises(KproError, match="needs systemd"):
        journal.unit_log("x.service")
