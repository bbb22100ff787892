# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""One launch: start the unit, watch it, accept it or say why not."""

from __future__ import annotations

import os
import time

from .._errors import KproError
from .._sglang import output_check
from .._sglang.capacity import from_server_info
from .._supervise.process import ProcessWatch
from . import diagnose, ends, files, records
from .observed import owns_port
from .status import Status
from .watch import DIED, PORT_TAKEN, READY, STUCK, TIMEOUT, LaunchWatch


class LaunchFailed(KproError):
    """A launch that was started and is not serving; ``result`` holds the attempt."""


class Launch:
    """One start of a server under its unit. ``watched()`` returns the attempt of a ready server or raises LaunchFailed."""

    def __init__(self, layout, desired, systemd, client):
        self.layout = layout
        self.desired = desired
        self.options = desired.options
        self.systemd = systemd
        self.client = client
        self.launch_id = None
        self.pid = 0

    def start(self):
        """Start the unit; returns the launch id (systemd's invocation id)."""
        self.systemd.start()
        state = self.systemd.show()
        self.launch_id = state.invocation
        self.pid = state.pid
        return self.launch_id

    def attach(self, state):
        """Take over a launch that already runs (UnitState)."""
        self.launch_id, self.pid = state.invocation, state.pid

    def watched(self):
        """Wait until ready and check the output. Returns the attempt (dict)."""
        status = Status(self.layout.status, self.launch_id)
        status.write("launch", pid=self.pid)
        outcome = self._watch(status)
        if outcome.kind != READY:
            raise self._failed(outcome, status)
        answers = self._check_output(outcome)
        bad = [answer for answer in answers if answer["fault"]]
        if bad and self.options.output_check == "fail":
            raise self._degenerate(outcome, answers, bad[0], status)
        attempt = self._attempt(outcome, "ready", None, answers)
        self._write(outcome, attempt)
        status.write("ready", seconds=round(outcome.seconds, 2))
        return attempt

    def _watch(self, status):
        process = ProcessWatch(self.pid)
        try:
            return LaunchWatch(
                self.layout.log(self.launch_id),
                process,
                self.client,
                self.options,
                lambda: owns_port(self.layout.unit, self.options.host, self.options.port),
                status.stage,
            ).run()
        finally:
            process.close()

    def _check_output(self, outcome):
        if self.options.output_check == "disabled" or (outcome.info or {}).get("is_embedding"):
            return []
        return output_check.ask(self.client, timeout=120)

    def _failed(self, outcome, status):
        """Diagnose, end what is left, and return the error to raise."""
        if outcome.kind != DIED:
            # Diagnosed before it is ended: its end would only add echoes to the log.
            state = self.systemd.show()
            diagnosis, text = diagnose.failed_launch(self.layout, self.launch_id, outcome, state, self.options.secrets)
            self.end(hard=outcome.kind in (PORT_TAKEN, STUCK, TIMEOUT))
        else:
            state = ends.wait_for_end(self.systemd)
            diagnosis, text = diagnose.failed_launch(self.layout, self.launch_id, outcome, state, self.options.secrets)
        attempt = self._attempt(outcome, "failed", diagnosis, [])
        end = ends.read_end(self.layout, self.launch_id)
        attempt["end"] = {**end, "exit_code": ends.exit_code(end, state), "reason": outcome.kind, "detail": outcome.detail}
        self._write(outcome, attempt)
        status.write("failed", cause=diagnosis.get("cause"), seconds=round(outcome.seconds, 2))
        when = f"after {outcome.seconds:.1f} s in stage {outcome.tracker.stage}"
        lead = f"Server {self.options.name} did not become ready: {outcome.detail} {when}."
        return LaunchFailed(f"{lead}\n{text}", attempt=attempt)

    def _degenerate(self, outcome, answers, bad, status):
        self.end(hard=False)
        attempt = self._attempt(outcome, "failed", None, answers)
        attempt["end"] = {**ends.read_end(self.layout, self.launch_id), "exit_code": None, "reason": "output_check", "detail": bad["fault"]}
        self._write(outcome, attempt)
        status.write("failed", cause="output_check")
        shown = (bad["text"] or "")[:120]
        return LaunchFailed(
            f"Server {self.options.name} came up and does not answer with text: {bad['fault']}.\n"
            f"  prompt: {bad['prompt']!r}\n  answer: {shown!r}\n"
            "  change: turn speculation off (no speculative-* flags), compare the weights with their source, or set output_check: warn to "
            "keep it anyway",
            attempt=attempt,
        )

    def end(self, hard):
        """Stop by the unit's cgroup. ``hard``: SIGKILL first, for a process that ignores SIGTERM (a taken port, a hang)."""
        if hard:
            self.systemd.kill()
        self.systemd.stop(timeout=self.options.stop_timeout + 30)

    def _write(self, outcome, attempt):
        records.write_launch(self.layout, self.launch_id, self.desired, outcome, attempt, self.options.secrets)

    def _attempt(self, outcome, state, diagnosis, answers):
        return {
            "launch_id": self.launch_id,
            "pid": self.pid,
            "state": state,
            "stage": outcome.tracker.stage,
            "stages": records.stages(outcome),
            "seconds": round(outcome.seconds, 2),
            "capacity": from_server_info(outcome.info, outcome.tracker.capacity) if outcome.info else None,
            "output_check": _verdict(answers),
            "diagnosis": diagnosis,
            "log": self.layout.log(self.launch_id),
        }


def _verdict(answers):
    if not answers:
        return None
    faults = [answer for answer in answers if answer["fault"]]
    return {"ok": not faults, "answers": answers}


def first_launch_drop_in(systemd, present):
    """No automatic restart before a first launch was accepted: a failing deploy would loop for ever, and a watcher would see launch n+1."""
    path = systemd.first_launch_drop_in
    if present:
        files.folder(os.path.dirname(path), 0o755)
        files.write(path, "[Service]\nRestart=no\n", 0o644)
    elif os.path.exists(path):
        os.unlink(path)
        try:
            os.rmdir(os.path.dirname(path))
        except OSError:
            pass  # somebody else's drop-in lives there
    else:
        return
    systemd.reload()


def now():
    """Time for records, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
