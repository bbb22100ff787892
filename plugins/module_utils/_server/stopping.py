# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Stopping and removing a server. Logs and launch records stay: they say what happened."""

from __future__ import annotations

import os

from .._supervise.systemd import Systemd, require_init
from . import previous
from .launch import first_launch_drop_in
from .layout import Layout


def stop(name, state_dir, log_dir, stop_timeout, check, remove):
    """Return (changed, server, diff). ``remove``: also take unit, configuration and secrets away (state absent)."""
    require_init()
    layout = Layout(name, state_dir, log_dir)
    systemd = Systemd(layout.unit)
    unit = systemd.show()
    running = unit.busy
    ours = [
        path
        for path in (systemd.path, layout.config, layout.environment, layout.launch, layout.end, layout.record)
        if os.path.lexists(path)
    ]
    changed = running or unit.enabled or (remove and bool(ours))
    diff = [{"before_header": path, "after_header": path, "before": "present\n", "after": ""} for path in ours] if remove else []
    server = {"name": name, "state": "absent" if remove else "stopped", "unit": layout.unit, "launch_id": unit.invocation, "pid": None}
    if check or not changed:
        return changed, server, diff
    if unit.loaded:
        if running:
            systemd.stop(timeout=stop_timeout + 30)
        systemd.disable()
    first_launch_drop_in(systemd, False)
    if remove:
        for path in ours:
            os.unlink(path)
        previous.forget(layout)
        systemd.forget_failure()
        systemd.reload()
    return changed, server, diff
