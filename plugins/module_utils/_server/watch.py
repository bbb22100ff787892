# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Watching one launch until it is ready, dead or stuck: its own log, its process, then HTTP. No fixed sleep."""

from __future__ import annotations

import time

from .._launch_log.reader import LogFollower
from .._launch_log.stages import StageTracker
from .._sglang import readiness
from . import limits

# One look at log and process costs 50 microseconds; a death ends the wait at once.
_LOOK = 0.2
_QUIET_LEVELS = ("warning", "error", "critical")

READY, DIED, PORT_TAKEN, STUCK, TIMEOUT = "ready", "died", "port_taken", "stuck", "timeout"


class Outcome:
    """kind: one of the constants above. detail: one sentence. tracker; info: parsed /server_info or None.

    seconds: from the start to the end of the watch. silent_start: seconds until the first line. quiet_for: seconds since the last one.
    """

    def __init__(self, kind, detail, tracker, info, seconds, quiet_for, silent_start=0.0):
        self.kind = kind
        self.detail = detail
        self.tracker = tracker
        self.info = info
        self.seconds = seconds
        self.quiet_for = quiet_for
        self.silent_start = silent_start


class LaunchWatch:
    """Watches the launch whose log is ``log_path`` and whose main process is ``process`` (ProcessWatch).

    ``client``: HTTP client. ``owns_port``: function that says whether the launch's own processes listen on its port.
    ``report``: called with (stage, seconds, progress) when something moved. ``timeout``: seconds for all of it.
    """

    def __init__(self, log_path, process, client, options, owns_port, report, clock=time.monotonic):
        self.follower = LogFollower(log_path)
        self.tracker = StageTracker()
        self.process = process
        self.client = client
        self.options = options
        self.owns_port = owns_port
        self.report = report
        self.clock = clock
        self.began = clock()
        self.moved = self.began
        self.info = None
        self._told: tuple[str, str] | None = None
        self._old_bar = ""
        self._bytes = 0
        self._first = None
        self._missing = "nothing yet"
        # --log-level warning hides the ready line: then the port's owner has to stand in for it.
        self._prints_ready = str(options.args.get("log-level", "info")).lower() not in _QUIET_LEVELS

    def run(self):
        """Return the Outcome."""
        while True:
            alive = self.process.alive
            self._read()
            if not alive:
                return self._died()
            if self.tracker.bind_error:
                return self._end(PORT_TAKEN, "the HTTP address was taken by another process")
            if self._ready():
                return self._end(READY, "")
            now = self.clock()
            if now - self.began > self.options.timeout:
                return self._end(TIMEOUT, f"not ready after {self.options.timeout} s (option timeout); still missing: {self._missing}")
            allowed = limits.silence(self.tracker.stage, self.options.stage_timeouts)
            if now - self.moved > allowed:
                return self._end(STUCK, f"no new output for {allowed:.0f} s in stage {self.tracker.stage}")
            self.process.wait(_LOOK)

    def _read(self):
        lines = self.follower.poll()
        now = self.clock()
        for line in lines:
            self.tracker.feed(line, now)
        if lines and self._first is None:
            self._first = now - self.began
        if self.follower.offset != self._bytes:
            self._bytes = self.follower.offset
            self.moved = now
        stage, progress = self.tracker.stage, self.tracker.progress
        if self._told is None or stage != self._told[0]:
            self._old_bar = progress  # the bar of the stage before says nothing about this one
        state = (stage, "" if progress == self._old_bar else progress)
        if state != self._told:
            self._told = state
            self.report(stage, now - self.began, state[1])

    def _ready(self):
        snapshot = readiness.Snapshot(True, self.tracker.ready, self.tracker.bind_error)
        if not self._prints_ready:
            snapshot.ready_line = self.owns_port()
        if not readiness.worth_asking(snapshot):
            self._missing = "; ".join(readiness.lacks(snapshot, self.options.model)[:1])
            return False
        # A busy or starting server may take long over /health; a short limit keeps a death noticed.
        snapshot.health = self.client.get("/health", timeout=1.5).status
        if snapshot.health == 200:
            answer = self.client.get("/server_info", timeout=5)
            if answer.status == 404:
                answer = self.client.get("/get_server_info", timeout=5)
            snapshot.info = answer.json() if answer.ok else None
        snapshot.alive = self.process.alive
        missing = readiness.lacks(snapshot, self.options.model)
        if not missing and not self.owns_port():
            missing = [f"port {self.options.port} is not this launch's own"]
        self._missing = "; ".join(missing)
        if missing:
            return False
        self.info = snapshot.info
        self._read()
        return self.tracker.bind_error is None

    def _died(self):
        for line in self.follower.finish():
            self.tracker.feed(line, self.clock())
        return self._end(DIED, "the process died")

    def _end(self, kind, detail):
        now = self.clock()
        return Outcome(kind, detail, self.tracker, self.info, now - self.began, now - self.moved, self._first or 0.0)
