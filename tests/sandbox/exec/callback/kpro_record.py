"""Writes every task's result as one JSON line: (host, task, status, result)."""

from __future__ import annotations

import json
import os

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: kpro_record
short_description: Records results for tests
description: Records results for tests.
type: notification
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "kpro_record"
    CALLBACK_NEEDS_ENABLED = True

    def _note(self, result, status):
        line = [result._host.get_name(), result._task.get_name(), status, result._result]
        with open(os.environ["KPRO_RECORD"], "a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, default=str) + "\n")

    def v2_runner_on_ok(self, result, **kwargs):
        self._note(result, "ok")

    def v2_runner_on_failed(self, result, ignore_errors=False, **kwargs):
        self._note(result, "failed")

    def v2_runner_on_unreachable(self, result):
        self._note(result, "unreachable")

    def v2_runner_on_skipped(self, result):
        self._note(result, "skipped")
