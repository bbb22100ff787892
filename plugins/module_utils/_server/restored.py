# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Waiting for the previous configuration after a failed replacement, with its own model and address."""

from __future__ import annotations

from .._sglang.http import Client
from .._supervise.process import ProcessWatch
from . import files
from .observed import owns_port
from .status import Status
from .watch import READY, LaunchWatch


class _Previous:
    """As much of the old options as the watch needs (from server.json)."""

    def __init__(self, record, options):
        flags = record.get("args") or {}
        self.model = flags.get("model-path")
        self.host = flags.get("host")
        self.port = flags.get("port")
        self.args = flags
        self.timeout = options.timeout
        self.stage_timeouts = options.stage_timeouts


def wait(layout, state, record, options):
    """True when the restored server became ready. ``state``: UnitState of its new launch."""
    old = _Previous(record, options)
    process = ProcessWatch(state.pid)
    try:
        watch = LaunchWatch(
            layout.log(state.invocation),
            process,
            Client(old.host, old.port, _key(layout)),
            old,
            lambda: owns_port(layout.unit, old.host, old.port),
            Status(layout.status, state.invocation).stage,
        )
        return watch.run().kind == READY
    finally:
        process.close()


def _key(layout):
    """The API key of the restored server, from its own --config file (never kept anywhere else)."""
    for line in (files.read(layout.config) or "").splitlines():
        name, _colon, value = line.partition(": ")
        if name == "api-key":
            import json

            try:
                return json.loads(value)
            except ValueError:
                return None
    return None
