"""The module from its arguments to its result, on the played host of the server tests: shape of results, secrets, check mode, states."""

from __future__ import annotations

import json
import os
import pathlib
import sys

import pytest
import yaml

SHARED = str(pathlib.Path(__file__).resolve().parents[1] / "server")
if SHARED not in sys.path:
    sys.path.insert(0, SHARED)

from machine import Machine  # noqa: E402

from ansible_collections.kpro.sglang.plugins.modules import sglang_server  # noqa: E402

KEY, TOKEN = "key-of-the-server-1", "hf_token_of_the_server"
SECRETS = {"api_key": KEY, "secret_environment": {"HF_TOKEN": TOKEN}}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    machine = Machine(tmp_path, monkeypatch)
    yield machine
    machine.end()


@pytest.fixture
def run(run_module, machine):
    """Return a function (behaviour, check, diff, **options) -> result."""

    def call(behaviour="serve", check=False, diff=False, **options):
        return run_module(sglang_server, machine.wanted(behaviour, **options), check=check, diff=diff)

    return call


@pytest.fixture
def stop(run_module, machine):
    def call(state, check=False):
        return run_module(
            sglang_server, {key: value for key, value in machine.wanted(state=state).items() if key not in ("model", "python")}, check=check
        )

    return call


def own(machine):
    base = machine.root / "state" / "main"
    return [
        path
        for path in (
            pathlib.Path(machine.systemd.path),
            *(base / name for name in ("config.yaml", "environment", "launch", "end", "server.json")),
        )
        if path.exists()
    ]


def test_documentation_and_argument_spec_say_the_same():
    documented = yaml.safe_load(sglang_server.DOCUMENTATION)["options"]
    spec = sglang_server.argument_spec()
    assert set(documented) == set(spec)
    for name, entry in spec.items():
        for key in ("type", "default", "choices", "elements", "aliases", "required"):
            assert entry.get(key) == documented[name].get(key), (name, key)


def test_every_secret_option_is_no_log_and_no_other():
    hidden = {name for name, entry in sglang_server.argument_spec().items() if entry.get("no_log")}
    assert hidden == {"api_key", "admin_api_key", "secret_environment"}


def test_started_then_the_same_again(run):
    first = run(**SECRETS)
    assert (first["failed"], first["changed"], first["server"]["state"]) == (False, True, "started")
    second = run(**SECRETS)
    assert (second["failed"], second["changed"], second["diff"]) == (False, False, [])
    assert second["server"]["launch_id"] == first["server"]["launch_id"]
    assert set(first["server"]) == set(second["server"])


def test_documented_return_values_are_returned(run):
    contains = yaml.safe_load(sglang_server.RETURN)["server"]["contains"]
    assert set(contains) - set(run()["server"]) == set()


def test_secrets_are_in_no_result(run):
    for result in (run(**SECRETS, diff=True), run("crash", **SECRETS), run(**SECRETS, check=True, diff=True)):
        shown = json.dumps(result)
        assert KEY not in shown and TOKEN not in shown


def test_check_mode_changes_nothing_and_says_what_would_change(run, machine):
    before = machine.hash()
    predicted = run(check=True, diff=True)
    assert predicted["changed"] and predicted["server"]["state"] == "would_start"
    assert {os.path.basename(entry["after_header"]) for entry in predicted["diff"]} == {
        "sglang-main.service",
        "launch",
        "end",
        "config.yaml",
        "environment",
    }
    assert machine.hash() == before
    assert set(run()["server"]) == set(predicted["server"])


def test_restarted(run):
    first = run()["server"]["launch_id"]
    again = run(state="restarted")
    assert again["changed"] and again["server"]["launch_id"] != first


def test_a_failed_launch_fails_with_text_for_people_and_the_diagnosis(run):
    result = run("crash")
    assert result["failed"] and "did not become ready" in result["msg"]
    assert result["diagnosis"] == result["server"]["diagnosis"] and result["diagnosis"]["verdict"] == "fault"
    assert "rc" not in result
    assert len(result["msg"].splitlines()) < 25


def test_a_failed_replacement_says_both_and_the_old_one_serves(run, machine):
    run()
    result = run("crash")
    assert result["failed"] and "is serving again" in result["msg"]
    assert result["server"]["previous"]["ready"] is True and machine.systemd.show().active


def test_refused_options_are_one_sentence(run):
    for options, word in (
        ({"args": {"api-key": KEY}}, "args.api-key"),
        ({"host": "0.0.0.0"}, "allow_unauthenticated"),
        ({"keep_logs": 0}, "keep_logs"),
    ):
        result = run(**options)
        assert result["failed"] and word in result["msg"] and "\n" not in result["msg"]
        assert KEY not in result["msg"]


def test_a_key_and_its_file_exclude_each_other(run):
    assert "mutually exclusive" in run(api_key=KEY, api_key_file="/x")["msg"]


@pytest.mark.parametrize("state", ["stopped", "absent"])
def test_stopping_where_there_is_nothing(stop, machine, state):
    before = machine.hash()
    result = stop(state)
    assert (result["failed"], result["changed"], result["server"]["state"]) == (False, False, state)
    assert machine.hash() == before and machine.systemd.verbs == []


def test_stopped_keeps_the_files_and_is_stopped_the_second_time(run, stop, machine):
    run()
    files = own(machine)
    result = stop("stopped")
    assert result["changed"] and result["server"]["pid"] is None and result["server"]["state"] == "stopped"
    assert not machine.systemd.show().active and not machine.systemd.enabled
    assert own(machine) == files and len(files) == 6
    assert stop("stopped")["changed"] is False


def test_stopped_in_check_mode(run, stop, machine):
    run()
    before, verbs = machine.hash(), list(machine.systemd.verbs)
    assert stop("stopped", check=True)["changed"] is True
    assert machine.hash() == before and machine.systemd.verbs == verbs and machine.systemd.show().active


def test_a_stopped_server_starts_again(run, stop):
    first = run()["server"]["launch_id"]
    stop("stopped")
    again = run()
    assert again["changed"] and again["server"]["launch_id"] != first


def test_absent_takes_unit_and_secrets_away_and_leaves_logs_and_records(run, stop, machine):
    launch = run(**SECRETS)["server"]["launch_id"]
    before = machine.hash()
    predicted = stop("absent", check=True)
    assert predicted["changed"] and len(predicted["diff"]) == 6 and machine.hash() == before
    result = stop("absent")
    assert result["changed"] and result["server"]["state"] == "absent" and len(result["diff"]) == 6
    assert own(machine) == [] and not machine.systemd.show().active
    assert (machine.root / "log/main" / f"{launch}.log").exists()
    assert (machine.root / "state/main/launches" / f"{launch}.json").exists()
    assert stop("absent")["changed"] is False


def test_absent_after_a_failed_first_launch_leaves_no_secret_but_the_logs(run, stop, machine):
    run("crash", **SECRETS)
    assert stop("absent")["changed"]
    holding = [str(path) for path in machine.root.rglob("*") if path.is_file() and (KEY in path.read_text() or TOKEN in path.read_text())]
    assert all(path.endswith(".log") for path in holding)
    assert not os.path.exists(machine.systemd.first_launch_drop_in)


def test_a_name_that_is_none_is_refused_before_anything_is_stopped(run_module, machine):
    result = run_module(sglang_server, {"name": "../etc", "state": "absent"})
    assert result["failed"] and "name is '../etc'" in result["msg"] and machine.systemd.verbs == []


def test_the_output_check_warns(run, monkeypatch):
    warned = []
    monkeypatch.setattr(sglang_server.AnsibleModule, "warn", lambda _module, text, **_more: warned.append(text))
    assert run("rubbish", output_check="warn")["server"]["output_check"]["ok"] is False
    assert len(warned) == 1 and "output check of server main" in warned[0]
