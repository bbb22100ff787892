"""The whole transaction on a played host: real files, processes, logs and HTTP; systemd and SGLang are played (machine.py)."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import socket

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._server import checks, environment, files, observed, stopping, transaction
from ansible_collections.kpro.sglang.plugins.module_utils._server.lock import only_one
from ansible_collections.kpro.sglang.plugins.module_utils._server.options import Options
from ansible_collections.kpro.sglang.plugins.module_utils._supervise import systemd
from ansible_collections.kpro.sglang.plugins.modules.sglang_server import argument_spec

KEY = "key-of-the-server-1"
TOKEN = "token-that-nobody-may-see"
DEFAULTS = {name: spec.get("default") for name, spec in argument_spec().items()}


def prepare(wanted, check=False, restart=False):
    return transaction.Transaction(Options({**DEFAULTS, **wanted}), check, restart)


def deploy(wanted, check=False, restart=False):
    return prepare(wanted, check, restart).run()


def failed(wanted, restart=False):
    with pytest.raises(KproError) as caught:
        deploy(wanted, restart=restart)
    return caught.value


def contents(machine):
    """{path: text} of the server's own files that a failed replacement must leave as they were."""
    base = machine.root / "state" / "main"
    paths = [pathlib.Path(machine.systemd.path), *(base / name for name in ("launch", "end", "config.yaml", "environment"))]
    return {str(path): (path.read_text(), path.stat().st_mode) for path in paths}


def record(machine):
    return json.loads((machine.root / "state" / "main" / "server.json").read_text())


def events(machine):
    lines = (machine.root / "state" / "main" / "status.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


# -- a first deployment ----------------------------------------------------------------------------------------------------


def test_a_first_deployment_is_started_watched_accepted_and_recorded(machine):
    changed, server = deploy(machine.wanted(api_key=KEY, secret_environment={"HF_TOKEN": TOKEN}))
    assert changed
    assert (server["name"], server["state"], server["degraded"], server["unit"]) == ("main", "started", False, "sglang-main.service")
    assert server["pid"] == machine.systemd.child.pid and server["launch_id"] == machine.systemd.invocation
    assert [stage["name"] for stage in server["stages"]] == ["launch", "weights_load", "memory_pool", "warmup", "ready"]
    assert server["capacity"]["max_total_num_tokens"] == 8192 and server["capacity"]["max_running_requests"] == 4
    assert server["output_check"]["ok"] and len(server["output_check"]["answers"]) == 3
    assert server["diagnosis"] is None and server["previous"] is None and len(server["attempts"]) == 1
    assert machine.systemd.enabled
    assert [event["event"] for event in events(machine)][0] == "launch" and events(machine)[-1]["event"] == "ready"
    assert {event["launch_id"] for event in events(machine)} == {server["launch_id"]}
    launch = json.loads((machine.root / "state/main/launches" / f"{server['launch_id']}.json").read_text())
    assert (launch["state"], launch["release"], launch["args"]["port"]) == ("ready", "0.5.17", machine.port)
    json.dumps(server)


def test_no_automatic_restart_before_the_first_launch_is_accepted(machine):
    deploy(machine.wanted())
    assert machine.systemd.restart_at_start == "no"
    assert not os.path.exists(os.path.dirname(machine.systemd.first_launch_drop_in))


def test_modes_of_the_files_and_secrets_only_where_0600_keeps_them(machine):
    deploy(machine.wanted(api_key=KEY, secret_environment={"HF_TOKEN": TOKEN}))
    open_to_others, holding = [], []
    for path in machine.root.rglob("*"):
        if not path.is_file():
            continue
        if KEY in path.read_text() or TOKEN in path.read_text():
            holding.append(path.name)
            if path.stat().st_mode & 0o077:
                open_to_others.append(str(path))
    assert open_to_others == []
    assert {"config.yaml", "environment"} <= set(holding)
    assert {name for name in holding if not name.endswith(".log")} == {"config.yaml", "environment"}  # SGLang itself prints its key


def test_the_key_is_nowhere_in_the_result_or_the_diff(machine):
    job = prepare(machine.wanted(api_key=KEY, secret_environment={"HF_TOKEN": TOKEN}))
    _changed, server = job.run()
    shown = json.dumps([server, job.diff])
    assert KEY not in shown and TOKEN not in shown
    assert len(job.diff) == 5


# -- the second call -------------------------------------------------------------------------------------------------------


def test_the_second_call_changes_nothing_and_restarts_nothing(machine):
    _changed, first = deploy(machine.wanted(api_key=KEY))
    before, verbs = machine.hash(), list(machine.systemd.verbs)
    changed, second = deploy(machine.wanted(api_key=KEY))
    assert not changed
    assert (second["launch_id"], second["pid"], second["state"]) == (first["launch_id"], first["pid"], "started")
    assert second["attempts"] == [] and second["capacity"]["max_total_num_tokens"] == 8192
    assert machine.hash() == before and machine.systemd.verbs == verbs


def test_restarted_makes_a_new_launch_of_the_same_configuration(machine):
    _changed, first = deploy(machine.wanted())
    changed, second = deploy(machine.wanted(), restart=True)
    assert changed and second["launch_id"] != first["launch_id"] and second["pid"] != first["pid"]


def test_a_changed_flag_replaces_the_server(machine):
    _changed, first = deploy(machine.wanted())
    changed, second = deploy(machine.wanted(args={"context-length": 2048}))
    assert changed and second["launch_id"] != first["launch_id"]
    assert not (machine.root / "state/main/previous").exists()


@pytest.mark.parametrize("damage", ["edited", "mode", "removed"])
def test_a_file_that_somebody_touched_is_put_right(machine, damage):
    deploy(machine.wanted())
    path = machine.root / "state/main/environment"
    wanted = (path.read_text(), path.stat().st_mode)
    if damage == "edited":
        path.write_text(path.read_text() + 'EXTRA="1"\n')
    elif damage == "mode":
        path.chmod(0o644)
    else:
        path.unlink()
    changed, _server = deploy(machine.wanted())
    assert changed and (path.read_text(), path.stat().st_mode) == wanted


def test_a_server_that_was_stopped_by_hand_is_started_again(machine):
    deploy(machine.wanted())
    machine.systemd.stop(20)
    changed, server = deploy(machine.wanted())
    assert changed and server["pid"] == machine.systemd.child.pid


def test_a_unit_that_somebody_disabled_is_enabled_without_a_restart(machine):
    _changed, first = deploy(machine.wanted())
    machine.systemd.enabled = False
    assert deploy(machine.wanted(), check=True)[0] and not machine.systemd.enabled
    changed, second = deploy(machine.wanted())
    assert changed and machine.systemd.enabled and second["launch_id"] == first["launch_id"]


def test_after_an_automatic_restart_the_record_follows_and_nothing_is_restarted(machine):
    deploy(machine.wanted())
    machine.systemd.stop(20)
    machine.systemd.start()
    changed, server = deploy(machine.wanted())
    assert not changed and server["launch_id"] == machine.systemd.invocation == record(machine)["accepted_launch"]


# -- check mode ------------------------------------------------------------------------------------------------------------


def test_check_mode_touches_nothing_on_an_empty_host_and_has_the_same_shape(machine):
    before = machine.hash()
    changed, predicted = deploy(machine.wanted(), check=True)
    assert changed and predicted["state"] == "would_start" and predicted["launch_id"] is None
    assert machine.hash() == before and machine.systemd.verbs == []
    _changed, real = deploy(machine.wanted())
    assert set(predicted) == set(real)


def test_check_mode_touches_nothing_where_a_server_would_be_replaced(machine):
    deploy(machine.wanted())
    before, verbs = machine.hash(), list(machine.systemd.verbs)
    job = prepare(machine.wanted(args={"context-length": 1024}), check=True)
    changed, _server = job.run()
    assert changed and [entry["after_header"] for entry in job.diff] == [str(machine.root / "state/main/config.yaml")]
    assert "context-length: 1024" in job.diff[0]["after"] and "context-length" not in job.diff[0]["before"]
    assert machine.hash() == before and machine.systemd.verbs == verbs


def test_check_mode_says_no_change_where_there_is_none(machine):
    deploy(machine.wanted())
    before = machine.hash()
    assert deploy(machine.wanted(), check=True)[0] is False
    assert machine.hash() == before


def test_check_mode_warns_of_what_an_earlier_task_would_have_made(machine):
    machine.release, machine.complete = None, False
    job = prepare(machine.wanted(), check=True)
    assert job.run()[0]
    assert len(job.warnings) == 2 and str(machine.python) in job.warnings[0] and "shard_missing" in job.warnings[1]


# -- refusals before anything is touched -----------------------------------------------------------------------------------


def test_without_systemd(machine, monkeypatch):
    monkeypatch.setattr(systemd, "is_init", lambda: False)
    monkeypatch.setattr(transaction, "require_init", systemd.require_init)
    assert "systemd" in failed(machine.wanted()).message


def test_a_missing_interpreter_and_an_incomplete_model_end_the_call(machine):
    machine.release = None
    assert str(machine.python) in failed(machine.wanted()).message
    machine.release, machine.complete = "0.5.17", False
    error = failed(machine.wanted())
    assert "shard_missing" in error.message and error.result["cause"] == "shard_missing"
    assert deploy(machine.wanted(model_check="disabled"))[0]


def test_refused_flags_leave_the_running_server_and_all_its_files(machine):
    _changed, first = deploy(machine.wanted())
    files_before, record_before = contents(machine), record(machine)
    machine.refused = (b"usage: launch_server.py\nlaunch_server.py: error: unrecognized arguments: --contxt-length 2048\n", 2)
    error = failed(machine.wanted(args={"contxt-length": 2048}, secret_environment={"HF_TOKEN": TOKEN}))
    assert "refuses the flags" in error.message and "was not touched" in error.message and "contxt-length" in error.message
    assert error.result["server"]["state"] == "started" and error.result["diagnosis"]["verdict"] == "fault"
    assert contents(machine) == files_before and record(machine) == record_before
    assert machine.systemd.show().pid == first["pid"] and machine.systemd.enabled
    assert not (machine.root / "state/main/next").exists()
    assert TOKEN not in json.dumps([error.message, error.result])


def test_flags_are_tried_only_where_a_server_would_be_stopped_for_them(machine):
    deploy(machine.wanted())
    assert machine.tried == []
    deploy(machine.wanted(args={"context-length": 2048}))
    ((words, variables),) = machine.tried
    assert words[0] == "--config" and variables["KPRO_BEHAVIOUR"] == "serve"


def test_a_port_that_another_program_holds_is_refused_before_anything_stops(machine):
    with socket.create_server(("127.0.0.1", machine.port)):
        error = failed(machine.wanted())
    assert f"port {machine.port}" in error.message and f"process {os.getpid()} (" in error.message and "port_in_use" in error.message
    assert error.result["cause"] == "port_in_use"
    assert machine.systemd.verbs == [] and not os.path.exists(machine.systemd.path)


def test_two_at_once_the_second_is_refused_and_says_who_holds_it(machine):
    job = prepare(machine.wanted())
    job._make_folders()
    with only_one(job.layout):
        error = failed(machine.wanted())
    assert "another deployment of server main" in error.message and str(os.getpid()) in error.message
    assert machine.systemd.verbs == []
    assert deploy(machine.wanted())[0]


def test_a_call_that_looked_before_another_one_came_to_its_end_does_not_start_the_server_anew(machine):
    late = prepare(machine.wanted())
    _changed, first = deploy(machine.wanted())
    changed, server = late.run()
    assert not changed and server["launch_id"] == first["launch_id"] and late.diff == []


# -- failures --------------------------------------------------------------------------------------------------------------


def test_a_first_launch_that_crashes_is_diagnosed_and_leaves_nothing_running(machine):
    error = failed(machine.wanted("crash", secret_environment={"HF_TOKEN": TOKEN}))
    assert error.message.startswith("Server main did not become ready: the process died after ")
    assert "in stage weights_load" in error.message
    server = error.result["server"]
    assert (server["state"], server["stage"], len(server["attempts"])) == ("failed", "weights_load", 1)
    assert any("the last line has no end" in item["text"] for item in error.result["diagnosis"]["evidence"])
    assert server["attempts"][0]["end"] == {
        "result": "exit-code",
        "code": "exited",
        "status": "3",
        "exit_code": 3,
        "reason": "died",
        "detail": "the process died",
    }
    assert TOKEN not in json.dumps([error.message, error.result])
    assert not machine.systemd.show().active and not machine.systemd.enabled
    assert events(machine)[-1]["event"] == "failed"
    assert TOKEN not in (machine.root / "state/main/launches" / f"{server['launch_id']}.json").read_text()


def test_a_server_without_its_port_is_ended_hard_because_it_ignores_sigterm(machine):
    error = failed(machine.wanted("port_taken"))
    assert "the HTTP address was taken by another process" in error.message
    assert error.result["diagnosis"]["cause"] == "port_in_use"
    assert "kill" in machine.systemd.verbs and not machine.systemd.show().active


def test_a_stage_that_is_silent_for_too_long(machine):
    error = failed(machine.wanted("hang", stage_timeouts={"weights_load": 0.2, "launch": 30}))
    assert "no new output for 0 s in stage weights_load" in error.message
    assert error.result["server"]["attempts"][0]["end"]["reason"] == "stuck"
    assert not machine.systemd.show().active


def test_rubbish_answers_fail_the_call_and_end_the_server(machine):
    error = failed(machine.wanted("rubbish"))
    assert "does not answer with text" in error.message and "white space" in error.message
    assert error.result["server"]["output_check"]["ok"] is False
    assert not machine.systemd.show().active


@pytest.mark.parametrize(("mode", "ok"), [("warn", False), ("disabled", None)])
def test_rubbish_answers_are_kept_where_the_caller_says_so(machine, mode, ok):
    _changed, server = deploy(machine.wanted("rubbish", output_check=mode))
    assert server["state"] == "started" and machine.systemd.show().active
    assert (server["output_check"] or {"ok": None})["ok"] is ok


def test_a_failed_replacement_brings_the_previous_server_back_and_says_both(machine):
    _changed, first = deploy(machine.wanted(api_key=KEY))
    before, accepted = contents(machine), record(machine)
    error = failed(machine.wanted("crash", api_key="another-key-of-it", args={"context-length": 1024}))
    assert "the process died" in error.message and "The previous configuration of server main is serving again." in error.message
    server = error.result["server"]
    assert server["state"] == "failed" and server["previous"]["restored"] and server["previous"]["ready"]
    assert server["previous"]["launch_id"] == machine.systemd.invocation
    assert machine.systemd.invocation not in (first["launch_id"], server["launch_id"])
    assert contents(machine) == before
    assert record(machine) == {**accepted, "accepted_launch": machine.systemd.invocation}
    assert not os.path.exists(machine.systemd.first_launch_drop_in)
    # And it counts as what is wanted when the old configuration is asked for again.
    assert deploy(machine.wanted(api_key=KEY))[0] is False


@pytest.mark.parametrize("key", ['quote"and\\backslash', "dollar$and`tick", "hash # and: colon", "{braces} [x] 'y'", "0123456789"])
def test_the_previous_server_is_asked_with_its_own_key_whatever_is_in_it(machine, key):
    deploy(machine.wanted(api_key=key))
    error = failed(machine.wanted("crash", api_key="another-key-of-it"))
    assert error.result["server"]["previous"]["ready"] is True
    assert key not in json.dumps([error.message, error.result])


def test_a_failed_replacement_on_another_port_comes_back_on_the_old_one(machine):
    deploy(machine.wanted())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        other = listener.getsockname()[1]
    error = failed(machine.wanted("crash", port=other))
    assert error.result["server"]["previous"]["ready"] is True
    assert record(machine)["args"]["port"] == machine.port


def test_a_failed_replacement_of_a_stopped_server_puts_the_files_back_and_starts_nothing(machine):
    deploy(machine.wanted())
    machine.systemd.stop(20)
    before = contents(machine)
    error = failed(machine.wanted("crash"))
    assert "which was not running, was put back" in error.message
    assert contents(machine) == before and not machine.systemd.show().active


def no_room(monkeypatch, ending):
    """Let the first rename to a path with this ending fail as on a full disk; returns the list of what failed."""
    real, full = os.rename, []

    def rename(source, target):
        if target.endswith(ending) and not full:
            full.append(target)
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    return full


@pytest.mark.parametrize(
    "ending",
    ["state/main/server.json", "state/main/launch", "state/main/config.yaml", "state/main/environment", "etc-systemd/sglang-main.service"],
)
def test_a_replacement_that_the_disk_has_no_room_for_brings_the_old_server_back(machine, monkeypatch, ending):
    deploy(machine.wanted())
    before = contents(machine)
    full = no_room(monkeypatch, ending)
    error = failed(machine.wanted(args={"context-length": 1024}))
    assert full and "No space left on device" in error.message and "is serving again" in error.message
    assert contents(machine) == before and machine.systemd.show().active
    assert deploy(machine.wanted())[0] is False


def test_where_not_even_the_old_files_can_be_kept_nothing_is_stopped(machine, monkeypatch):
    _changed, first = deploy(machine.wanted())
    before = contents(machine)
    no_room(monkeypatch, "previous/config.yaml")
    assert "No space left on device" in failed(machine.wanted(args={"context-length": 1024})).message
    assert contents(machine) == before and machine.systemd.show().pid == first["pid"]
    assert deploy(machine.wanted())[0] is False


def test_a_replacement_that_systemd_refuses_to_start(machine):
    deploy(machine.wanted())
    before = contents(machine)
    machine.systemd.refuse["start"] = "systemctl start sglang-main.service: Access denied"
    error = failed(machine.wanted(args={"context-length": 1024}))
    assert "was not started" in error.message and "was put back but is not ready" in error.message
    assert error.result["server"]["previous"]["error"] == machine.systemd.refuse["start"]
    assert contents(machine) == before


def test_a_wanted_server_that_runs_and_never_answers_ends_with_the_full_result(machine, monkeypatch):
    """After a reboot it may still be loading; here it hangs."""
    deploy(machine.wanted())
    machine.systemd.stop(20)
    path = machine.root / "state/main/environment"
    kept = path.read_text()
    path.write_text(kept.replace('"serve"', '"hang"'))
    machine.systemd.start()
    path.write_text(kept)
    error = failed(machine.wanted(stage_timeouts={"weights_load": 0.2, "launch": 30}))
    assert error.result["server"]["state"] == "failed" and error.result["diagnosis"] is not None
    assert len(error.result["server"]["attempts"]) == 1


def test_a_server_that_cannot_be_stopped_is_left_with_its_files(machine):
    deploy(machine.wanted())
    before = contents(machine)
    machine.systemd.refuse["stop"] = "systemctl stop sglang-main.service: did not end within 50 s"
    assert machine.systemd.refuse["stop"] in failed(machine.wanted(args={"context-length": 1024})).message
    assert contents(machine) == before


def test_without_wait_the_call_returns_at_once_and_accepts_nothing(machine):
    changed, server = deploy(machine.wanted("hang", wait=False))
    assert changed and server["pid"] == machine.systemd.child.pid and server["stage"] == "launch"
    assert "accepted_digest" not in record(machine)
    assert machine.systemd.restart_at_start == "no" and not machine.systemd.enabled


# -- what is kept ----------------------------------------------------------------------------------------------------------


def test_logs_of_old_launches_go_and_that_of_the_last_failure_stays(machine):
    deploy(machine.wanted())
    failure = failed(machine.wanted("crash")).result["server"]["launch_id"]
    for _turn in range(3):
        _changed, last = deploy(machine.wanted(keep_logs=1), restart=True)
    logs = {path.stem for path in (machine.root / "log/main").glob("*.log")}
    assert logs == {failure, last["launch_id"]}
    assert {path.stem for path in (machine.root / "state/main/launches").glob("*.json")} == logs


def test_a_new_salt_for_each_server_and_the_same_one_for_its_life(machine):
    deploy(machine.wanted())
    salt = record(machine)["salt"]
    deploy(machine.wanted(args={"context-length": 1024}))
    assert record(machine)["salt"] == salt and len(salt) == 32


def test_modules_of_the_played_host_are_those_that_the_transaction_uses():
    """The names that machine.py replaces exist; a renamed one would make it replace nothing."""
    for module, names in (
        (transaction, ("Systemd", "require_init", "find", "inspect")),
        (stopping, ("Systemd", "require_init")),
        (checks, ("holders",)),
        (environment, ("release", "try_flags")),
        (observed, ("holders",)),
    ):
        assert all(hasattr(module, name) for name in names)
    assert files.write
