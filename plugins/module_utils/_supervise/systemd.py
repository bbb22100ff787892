# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""A systemd unit of ours: its state, and the few verbs that a server needs."""

from __future__ import annotations

import os

from .._errors import KproError
from .._process.runner import run

UNIT_DIR = "/etc/systemd/system"
RUNTIME_DIR = "/run/systemd/system"
# ActiveState and friends are documented in org.freedesktop.systemd1(5); ExecMainCode is si_code of waitid(2): 1 exited, 2 killed, 3 dumped.
_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "MainPID",
    "InvocationID",
    "Result",
    "ExecMainCode",
    "ExecMainStatus",
    "NRestarts",
    "FragmentPath",
    "ExecMainStartTimestampMonotonic",
)
_EXITED, _KILLED, _DUMPED = "1", "2", "3"


def is_init():
    """True where PID 1 is systemd (sd_booted(3): this folder exists)."""
    return os.path.isdir("/run/systemd/system")


def require_init():
    """Raise KproError where PID 1 is something else."""
    if not is_init():
        raise KproError("PID 1 of this host is not systemd; sglang_server needs systemd in this release")


class UnitState:
    """What ``systemctl show`` said: attributes active, enabled, pid (0 without), invocation, result, exit_code, sub."""

    def __init__(self, values):
        self.values = values
        self.loaded = values.get("LoadState") == "loaded"
        self.sub = values.get("SubState", "")
        self.active_state = values.get("ActiveState", "inactive")
        self.enabled = values.get("UnitFileState") == "enabled"
        self.pid = int(values.get("MainPID") or 0)
        self.invocation = values.get("InvocationID") or None
        self.result = values.get("Result") or None
        self.restarts = int(values.get("NRestarts") or 0)

    @property
    def active(self):
        return self.active_state in ("active", "activating", "reloading", "deactivating") and self.sub != "auto-restart"

    @property
    def busy(self):
        """True when there is something to stop, a pending automatic restart included."""
        return self.loaded and self.active_state not in ("inactive", "failed")

    @property
    def exit_code(self):
        """Exit status of the main process as a shell gives it (128 + N for signal N), or None while it runs or never ran."""
        code, status = self.values.get("ExecMainCode"), self.values.get("ExecMainStatus")
        if code not in (_EXITED, _KILLED, _DUMPED):
            return None
        return int(status) if code == _EXITED else 128 + int(status)


class Systemd:
    """Verbs for one unit. Every call is bounded; failures carry systemctl's own words."""

    def __init__(self, unit):
        self.unit = unit
        self.path = os.path.join(UNIT_DIR, unit)
        self.first_launch_drop_in = os.path.join(RUNTIME_DIR, unit + ".d", "50-first-launch.conf")

    def show(self):
        """Return UnitState."""
        done = run(["systemctl", "show", "--no-pager", "--property=" + ",".join(_PROPERTIES), "--", self.unit], timeout=30)
        if done.rc != 0:
            raise KproError(f"systemctl show {self.unit} failed: {_words(done)}")
        return UnitState(dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line))

    def reload(self):
        self._do("daemon-reload", unit=False, timeout=90)

    def forget_failure(self):
        """Clear the failed state and the start limit; systemd lists a removed unit that failed until then."""
        self._do("reset-failed", check=False)

    def start(self):
        """Start and return when the program was executed (Type=exec); a unit that cannot be started raises."""
        self.forget_failure()
        self._do("start", timeout=120)

    def stop(self, timeout):
        """Stop by the unit's cgroup and wait for it, ``timeout`` seconds at most."""
        self._do("stop", timeout=timeout)

    def kill(self):
        """SIGKILL for everything in the unit's cgroup, for a server that ignores SIGTERM."""
        self._do("kill", "--signal=SIGKILL", check=False)

    def enable(self):
        self._do("enable", "--quiet")

    def disable(self):
        self._do("disable", "--quiet", check=False)

    def _do(self, verb, *options, unit=True, check=True, timeout=60):
        done = run(["systemctl", verb, *options, *(["--", self.unit] if unit else [])], timeout=timeout)
        if check and done.rc != 0:
            what = f"{verb} {self.unit}" if unit else verb
            reason = f"did not end within {timeout} s" if done.timed_out else _words(done)
            raise KproError(f"systemctl {what}: {reason}")
        return done


def _words(done):
    lines = (done.err or done.out).strip().splitlines()
    return " ".join(line.strip() for line in lines[:3]) or f"exit status {done.rc}"
