"""The live view: what is shown of status.jsonl, and that the module's own answer is all that counts."""

from __future__ import annotations

import json
import threading
import types

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure

from ansible_collections.kpro.sglang.plugins.action import sglang_server as action


def event(**fields):
    return json.dumps({"time": 1.0, "launch_id": "abc", **fields})


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (event(event="launch", pid=7), "launch abc, pid 7"),
        (
            event(event="stage", stage="weights_load", seconds=12.34, progress="shards 3/15 (20 %)"),
            "   12.3 s  weights_load  shards 3/15 (20 %)",
        ),
        (event(event="stage", stage="args", seconds=0, progress=""), "    0.0 s  args"),
        (event(event="failed", cause="port_in_use", seconds=74.5), "   74.5 s  failed: port_in_use"),
        (event(event="ready", seconds=20), "   20.0 s  ready"),
        ("half a li", None),
        ("[1, 2]", None),
        (event(event="unknown"), None),
    ],
)
def test_sentence(line, shown):
    assert action._sentence(line) == shown


class Target:
    """Stands for a host: the status file's text, and how long the module runs."""

    def __init__(self, text, ends_after):
        self.text = text
        self.polls = 0
        self.ends_after = ends_after
        self.done = threading.Event()

    def command(self, script, sudoable=True):
        if script.startswith("stat"):
            return {"rc": 0, "stdout": "0\n"}
        self.polls += 1
        if self.polls >= self.ends_after:
            self.done.set()
        offset = int(script.split("-gt ")[1].split("]")[0])
        return {"rc": 0, "stdout": self.text[offset : offset + 60]}


@pytest.fixture
def make(monkeypatch):
    """Return a function that builds the action around a Target and a module's answer."""

    def build(target, answer, args=None, check=False, async_val=0):
        plugin = object.__new__(action.ActionModule)
        plugin._task = types.SimpleNamespace(args={"name": "main", **(args or {})}, check_mode=check, async_val=async_val)
        plugin._connection = types.SimpleNamespace(_options={"a": 1})
        plugin._low_level_execute_command = target.command
        plugin.calls = []

        def execute(task_vars=None, wrap_async=0):
            plugin.calls.append(wrap_async)
            if not (check or async_val):
                target.done.wait(10)
            if isinstance(answer, Exception):
                raise answer
            return answer

        plugin._execute_module = execute
        monkeypatch.setattr(action.ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
        monkeypatch.setattr(action, "_PATIENCE", 0.01)
        return plugin

    return build


def shown_by(monkeypatch):
    lines = []
    monkeypatch.setattr(action.display, "display", lambda text, stderr=False: lines.append((text, stderr)))
    return lines


def test_stages_are_printed_with_the_host_to_stderr(make, monkeypatch):
    lines = shown_by(monkeypatch)
    text = (
        "\n".join(
            [event(event="launch", pid=7), event(event="stage", stage="args", seconds=1, progress=""), event(event="ready", seconds=9)]
        )
        + "\n"
    )
    plugin = make(Target(text, 8), {"changed": True})
    assert plugin.run(task_vars={"inventory_hostname": "sglang129"}) == {"changed": True}
    assert [line for line, _stderr in lines] == [
        "  [sglang129] launch abc, pid 7",
        "  [sglang129]     1.0 s  args",
        "  [sglang129]     9.0 s  ready",
    ]
    assert all(stderr for _line, stderr in lines)


def test_a_lost_view_is_no_failed_deployment(make, monkeypatch):
    shown_by(monkeypatch)
    target = Target("", 1)

    def broken(script, sudoable=True):
        if script.startswith("stat"):
            return {"rc": 0, "stdout": "0"}
        target.done.set()
        raise AnsibleConnectionFailure("gone")

    plugin = make(target, {"changed": False})
    plugin._low_level_execute_command = broken
    assert plugin.run(task_vars={}) == {"changed": False}


def test_the_modules_own_failure_is_raised(make, monkeypatch):
    shown_by(monkeypatch)
    plugin = make(Target("", 1), AnsibleConnectionFailure("guest 129 is frozen"))
    with pytest.raises(AnsibleConnectionFailure, match="frozen"):
        plugin.run(task_vars={})


@pytest.mark.parametrize("how", [{"check": True}, {"async_val": 60}, {"args": {"state": "stopped"}}])
def test_no_view_where_there_is_nothing_to_watch(make, monkeypatch, how):
    shown_by(monkeypatch)
    target = Target("", 1)
    target.done.set()
    plugin = make(target, {"changed": True}, **how)
    assert plugin.run(task_vars={}) == {"changed": True}
    assert target.polls == 0
    assert plugin.calls == [how.get("async_val", 0)]


def test_the_view_has_a_connection_of_its_own(make):
    plugin = make(Target("", 1), {})
    viewer = plugin._second_pair_of_eyes()
    viewer._connection._options["a"] = 2
    assert plugin._connection._options == {"a": 1}


def test_unknown_mode_names_the_choices(make):
    plugin = make(Target("", 1), {})
    with pytest.raises(AnsibleActionFail, match="sglang_server_progress is 'loud'; it must be one of auto, lines, none"):
        plugin.run(task_vars={"sglang_server_progress": "loud"})
