# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs module sglang_server and shows, while it runs, which stage the launch is in."""

from __future__ import annotations

import contextvars
import copy
import json
import shlex
import threading

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

display = Display()

_MODES = ("auto", "lines", "none")
_STATE_DIR = "/var/lib/sglang"
# One remote call that returns as soon as the file grew, or after ten seconds: polling costs the target next to nothing.
# One line: core appends to it.
_LONG_POLL = (
    "i=0; while [ $i -lt 40 ]; do"
    ' if [ "$(stat -c %s {path} 2>/dev/null || echo 0)" -gt {offset} ]; then tail -c +{first} {path}; break; fi;'
    " i=$((i+1)); sleep 0.25; done"
)
# A module that ends before the first look needs no live view.
_PATIENCE = 3.0


class ActionModule(ActionBase):
    """The module runs in a thread of its own; this one reads ``status.jsonl`` and prints a line for each new stage."""

    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp=None, task_vars=None):
        task_vars = task_vars or {}
        result = super().run(tmp, task_vars)
        mode = task_vars.get("sglang_server_progress", "auto")
        if mode not in _MODES:
            raise AnsibleActionFail(f"sglang_server_progress is {mode!r}; it must be one of {', '.join(_MODES)}")
        watched = self._task.args.get("state", "started") in ("started", "restarted") and not self._task.check_mode
        if mode == "none" or self._task.async_val or not watched:
            result.update(self._execute_module(task_vars=task_vars, wrap_async=self._task.async_val))
            return result
        path = f"{self._task.args.get('state_dir', _STATE_DIR)}/{self._task.args.get('name', '')}/status.jsonl"
        viewer = self._second_pair_of_eyes()
        offset = viewer._size(path)
        answer = self._in_thread(task_vars)
        answer.thread.join(_PATIENCE)
        viewer._follow(answer, path, offset, task_vars.get("inventory_hostname", "?"))
        if answer.error is not None:
            raise answer.error
        result.update(answer.value)
        return result

    def _second_pair_of_eyes(self):
        """This action with a connection object of its own: connection plugins keep what belongs to one command in themselves."""
        viewer = copy.copy(self)
        viewer._connection = copy.copy(self._connection)
        if isinstance(getattr(self._connection, "_options", None), dict):
            viewer._connection._options = dict(self._connection._options)
        return viewer

    def _in_thread(self, task_vars):
        answer = _Answer()
        context = contextvars.copy_context()  # core keeps the task's context in context variables (2.19 and later)

        def work():
            try:
                answer.value = context.run(lambda: self._execute_module(task_vars=task_vars))
            except BaseException as error:  # noqa: BLE001  # raised again by the task's own thread
                answer.error = error

        answer.thread = threading.Thread(target=work, daemon=True)
        answer.thread.start()
        return answer

    def _size(self, path):
        said = self._low_level_execute_command(f"stat -c %s {shlex.quote(path)} 2>/dev/null || echo 0", sudoable=True)
        text = said.get("stdout", "").strip()
        return int(text) if text.isdigit() else 0

    def _follow(self, answer, path, offset, host):
        rest = ""
        while answer.thread.is_alive():
            script = _LONG_POLL.format(path=shlex.quote(path), offset=offset, first=offset + 1)
            try:
                said = self._low_level_execute_command(script, sudoable=True)
            except Exception as error:  # noqa: BLE001  # a lost view is no failed deployment: the module's own answer decides
                display.vv(f"[{host}] the live view stopped: {error}")
                break
            text = said.get("stdout", "")
            if said.get("rc"):
                break
            offset += len(text.encode())
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                shown = _sentence(line)
                if shown:
                    display.display(f"  [{host}] {shown}", stderr=True)
        answer.thread.join()


class _Answer:
    thread: threading.Thread
    value: dict | None = None
    error: BaseException | None = None


def _sentence(line):
    """One event of status.jsonl in a few words, or None when there is nothing to show."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    kind, seconds = event.get("event"), event.get("seconds")
    at = f"{seconds:7.1f} s  " if isinstance(seconds, (int, float)) else ""
    if kind == "launch":
        return f"launch {event.get('launch_id')}, pid {event.get('pid')}"
    if kind == "stage":
        progress = event.get("progress")
        return f"{at}{event.get('stage')}" + (f"  {progress}" if progress else "")
    if kind in ("ready", "failed"):
        return f"{at}{kind}" + (f": {event['cause']}" if event.get("cause") else "")
    return None
