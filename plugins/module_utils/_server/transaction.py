# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""One call, one transaction: look, check, write, stop the old, start the new, watch, accept; on failure put the old one back."""

from __future__ import annotations

import os
import secrets as random

from .._errors import KproError
from .._model.inspection import inspect, summary
from .._sglang.capacity import from_server_info
from .._sglang.http import Client
from .._supervise.systemd import Systemd, require_init
from . import checks, environment, files, previous, records
from .account import find
from .desired import Desired
from .launch import Launch, LaunchFailed, first_launch_drop_in, now
from .layout import Layout
from .lock import only_one
from .observed import Observed, ready_now


class Transaction:
    """Brings one server to ``started``. ``check``: say what would change and touch nothing."""

    def __init__(self, options, check, restart):
        self.options = options
        self.check = check
        self.restart = restart
        self.warnings = []
        self.attempts = []
        self.ready, self.info = False, None
        self.layout = Layout(options.name, options.state_dir, options.log_dir)
        self.systemd = Systemd(self.layout.unit)
        self.client = Client(options.host, options.port, options.secret_args.get("api-key"))
        self.account = find(options.user, required=not check)
        self.desired = self._desire()
        self._look()

    def _look(self):
        record = files.read_json(self.layout.record)
        self.salt = record.get("salt") or random.token_hex(16)
        self.digest = self.desired.digest(self.salt)
        self.observed = Observed(self.layout, self.desired, self.systemd, self.digest, self.account.uid if self.account else None)
        self.diff = self._diff()  # now: afterwards the files on disk are the new ones

    def _desire(self):
        require_init()
        options = self.options
        release = environment.release(options.python)
        if release is None:
            self._lack(f"python is {options.python}, which does not exist; make the environment first (module sglang_environment)")
        model = inspect(options.model, user=options.user if self.account else None)
        if options.model_check == "enforce" and not model["complete"]:
            cause = model["problems"][0]["cause"]
            self._lack(f"{summary(model)} [{cause}]", cause=cause, problems=model["problems"])
        group = self.account.group if self.account else options.user
        return Desired(options, self.layout, release, model["fingerprint"], group, cache_name=release or "unknown")

    def _lack(self, sentence, **result):
        """In check mode a thing that an earlier task would have made is a warning, else it ends the call."""
        if not self.check:
            raise KproError(sentence, **result)
        self.warnings.append(sentence)

    # -- what is returned ---------------------------------------------------------------------------------------------
    def _diff(self):
        """[{before_header, after_header, before, after}] of the files that differ, secrets masked."""
        return [
            {
                "before_header": file.path,
                "after_header": file.path,
                "before": self.desired.shown(files.read(file.path)),
                "after": self.desired.shown(file.content),
            }
            for file in self.observed.differing
        ]

    def _server(self, attempt, state, **more):
        attempt = attempt or {}
        result = {
            "name": self.options.name,
            "state": state,
            "degraded": False,
            "unit": self.layout.unit,
            "url": self.client.url,
            "release": self.desired.release,
            "python": self.options.python,
            "model": self.options.model,
            "launch_id": attempt.get("launch_id"),
            "pid": attempt.get("pid"),
            "stage": attempt.get("stage"),
            "stages": attempt.get("stages") or [],
            "seconds": attempt.get("seconds"),
            "capacity": attempt.get("capacity"),
            "output_check": attempt.get("output_check"),
            "log": attempt.get("log"),
            "attempts": self.attempts,
            "previous": None,
            "diagnosis": attempt.get("diagnosis"),
        }
        result.update(more)
        return result

    # -- the call -----------------------------------------------------------------------------------------------------
    def run(self):
        """Return (changed, server). Every failure carries ``server`` as well."""
        try:
            return self._run()
        except KproError as error:
            if "server" not in error.result:
                error.result["server"] = self._untouched()
            raise

    def _untouched(self):
        """The server after a refusal: whatever ran before runs on."""
        if self.observed.running and self.systemd.show().invocation == self.observed.unit.invocation:
            return self._server(self._attempt_of_running(), "started")
        return self._server(None, "failed")

    def _run(self):
        if self._serves_as_wanted() and self._ready_now():
            return self._leave_running()
        if self.check:
            return self._say_what_would_change()
        self._make_folders()
        with only_one(self.layout):
            self._look()  # another call may have come to its end since
            if self._serves_as_wanted():
                return self._leave_running()
            if self.observed.unfinished and not self.restart:
                return self._finish()
            return self._replace()

    def _serves_as_wanted(self):
        return self.observed.as_wanted and self.observed.running and not self.restart

    def _ready_now(self):
        """One look at the server that runs; what it says of itself is kept for the result."""
        self.ready, self.info = ready_now(self.layout, self.observed.unit.pid, self.client, self.options)
        return self.ready

    def _say_what_would_change(self):
        if not self._serves_as_wanted():
            return True, self._server(None, "would_start")
        self.warnings.append(f"server {self.options.name} runs but is not ready at the moment")
        return not self.observed.unit.enabled, self._server(self._attempt_of_running(), "started")

    def _attempt_of_running(self):
        unit = self.observed.unit
        return {"launch_id": unit.invocation, "pid": unit.pid, "stage": "serving", "log": self.layout.log(unit.invocation)}

    def _leave_running(self):
        """The wanted server runs: make sure that it is ready, restart nothing."""
        unit = self.observed.unit
        attempt = self._attempt_of_running()
        if self.ready:
            attempt["capacity"] = from_server_info(self.info)
        elif self.options.wait:
            # After a reboot or an automatic restart it may still be loading.
            launch = self._launch()
            launch.attach(unit)
            try:
                attempt = self._watched(launch)
            except LaunchFailed as failure:
                raise self._failed(failure.message, failure.result["attempt"]) from failure
        changed = not unit.enabled
        if not self.check:
            if changed:
                self.systemd.enable()
            if self.observed.record.get("accepted_launch") != unit.invocation:
                files.write_json(self.layout.record, {**self.observed.record, "accepted_launch": unit.invocation})
        return changed, self._server(attempt, "started")

    def _replace(self):
        seen = self.observed
        if seen.running and not seen.as_wanted:
            checks.flags(self.layout, self.desired, self.account)
        checks.port(self.layout, self.options)
        if seen.record.get("accepted_digest") is not None:
            previous.keep(self.layout, self.desired.files, seen.record)
        first_launch_drop_in(self.systemd, True)
        if seen.unit.busy:
            try:
                self.systemd.stop(timeout=self.options.stop_timeout + 30)
            except KproError:
                first_launch_drop_in(self.systemd, False)  # the old one goes on, and restarts by itself as before
                raise
        return self._carry_through(self._start)

    def _finish(self):
        """Take over the launch of a deployment that was cut off before it could accept it (Ctrl-C, module killed)."""
        launch = self._launch()
        launch.attach(self.observed.unit)
        return self._carry_through(lambda: launch)

    def _carry_through(self, started):
        """Watch the launch that ``started()`` returns and accept it; when it fails, put the previous configuration back."""
        try:
            attempt = self._watched(started())
        except LaunchFailed as failure:
            records.prune(self.layout, self.options.keep_logs, failure.result["attempt"]["launch_id"])
            raise self._taken_back(failure) from failure
        if self.options.wait:
            self._accept(attempt)
        return True, self._server(attempt, "started")

    def _launch(self):
        return Launch(self.layout, self.desired, self.systemd, self.client)

    def _start(self):
        """Write the files and start the unit; returns the Launch."""
        launch = self._launch()
        self._write_files()
        try:
            self.systemd.reload()
            launch.start()
        except KproError as error:
            raise self._not_started(error) from error
        return launch

    def _watched(self, launch):
        """The attempt of a launch that became ready (or was only started, without wait)."""
        if not self.options.wait:
            return {"launch_id": launch.launch_id, "pid": launch.pid, "stage": "launch", "log": self.layout.log(launch.launch_id)}
        try:
            attempt = launch.watched()
        except LaunchFailed as failure:
            self.attempts.append(failure.result["attempt"])
            raise
        self.attempts.append(attempt)
        return attempt

    def _not_started(self, error):
        nothing = {"launch_id": None, "diagnosis": None}
        return LaunchFailed(f"Server {self.options.name} was not started: {error.message}", attempt=nothing)

    def _accept(self, attempt):
        record = {
            "digest": self.digest,
            "salt": self.salt,
            "accepted_digest": self.digest,
            "accepted_launch": attempt["launch_id"],
            "accepted_at": now(),
            "release": self.desired.release,
            "model": self.options.model,
            "args": self.options.flags,
        }
        files.write_json(self.layout.record, record)
        first_launch_drop_in(self.systemd, False)
        self.systemd.enable()
        previous.forget(self.layout)
        records.prune(self.layout, self.options.keep_logs, records.last_failed(self.layout))

    def _taken_back(self, failure):
        """After a failed replacement the previous configuration comes back by itself; the error says both things."""
        message, attempt = failure.message, failure.result["attempt"]
        try:
            restored = previous.restore(self.layout, self.desired.files, self.account.uid, self.account.gid)
        except KproError as error:
            restored = None
            message = f"{message}\nThe previous configuration could not be put back: {error.message}"
        if restored is None:
            return self._failed(message, attempt)
        outcome = {"restored": True, "ready": False, "launch_id": None}
        if not self.observed.running:
            self.systemd.reload()
            return self._failed(
                f"{message}\nThe previous configuration of server {self.options.name}, which was not running, was put back.",
                attempt,
                outcome,
            )
        try:
            self.systemd.reload()
            self.systemd.start()
            state = self.systemd.show()
            outcome.update(launch_id=state.invocation, ready=self._wait_for_previous(state, restored))
        except KproError as error:
            outcome["error"] = error.message
        if outcome["ready"]:
            first_launch_drop_in(self.systemd, False)
            files.write_json(self.layout.record, {**restored, "accepted_launch": outcome["launch_id"]})
        word = "is serving again" if outcome["ready"] else "was put back but is not ready"
        return self._failed(f"{message}\nThe previous configuration of server {self.options.name} {word}.", attempt, outcome)

    def _failed(self, message, attempt, previous_outcome=None):
        """The error of a launch: sentence, server, diagnosis."""
        server = self._server(attempt, "failed", previous=previous_outcome)
        return KproError(message, server=server, diagnosis=attempt.get("diagnosis"))

    def _wait_for_previous(self, state, restored):
        """Wait for the old configuration with its own address and model."""
        from .restored import wait

        return wait(self.layout, state, restored, self.options)

    # -- files --------------------------------------------------------------------------------------------------------
    def _make_folders(self):
        layout, uid, gid = self.layout, self.account.uid, self.account.gid
        for path, mode, owner in (
            (layout.state_dir, 0o755, (0, 0)),
            (layout.base, 0o755, (0, 0)),
            (layout.launches, 0o700, (0, 0)),
            (layout.home, 0o700, (uid, gid)),
            (layout.ends, 0o700, (uid, gid)),
            (layout.caches, 0o755, (0, 0)),
            (self.desired.cache, 0o700, (uid, gid)),
            (os.path.dirname(layout.logs), 0o755, (0, 0)),
            (layout.logs, 0o700, (uid, gid)),
        ):
            files.folder(path, mode, *owner)

    def _write_files(self):
        try:
            files.write_json(self.layout.record, {"digest": self.digest, "salt": self.salt})
            for file in self.desired.files:
                owner = (self.account.uid, self.account.gid) if file.service else (0, 0)
                files.write(file.path, file.content, file.mode, *owner)
        except KproError as error:  # a full disk: the old one was stopped and comes back
            raise self._not_started(error) from error
