"""A host for the transaction: real files, real processes, real HTTP; only systemd and SGLang are played.

The played systemd reads the unit that was written, runs its ExecStart with its EnvironmentFile in a process group, and its
ExecStopPost afterwards. The played SGLang is fake_sglang.py; what it does is told by KPRO_BEHAVIOUR in its environment.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import uuid

from systemd_rules import command, environment_file, sections, setting, specifiers

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._server import (
    checks,
    desired,
    ends,
    environment,
    observed,
    stopping,
    transaction,
)
from ansible_collections.kpro.sglang.plugins.module_utils._supervise import listeners
from ansible_collections.kpro.sglang.plugins.module_utils._supervise.systemd import UnitState

HERE = pathlib.Path(__file__).resolve().parent
_RESULTS = {0: "success", -signal.SIGKILL: "success", -signal.SIGTERM: "success"}


class Account:
    """The account that runs the tests stands in for the service user."""

    name, group = "sglang", "sglang"
    uid, gid = os.getuid(), os.getgid()


class PlayedSystemd:
    """The verbs of _supervise.systemd.Systemd for one unit. ``refuse``: {verb: sentence} of verbs that fail."""

    def __init__(self, machine, unit):
        self.machine = machine
        self.unit = unit
        self.path = str(machine.units / unit)
        self.first_launch_drop_in = str(machine.runtime / (unit + ".d") / "50-first-launch.conf")
        self.child = None
        self.invocation = None
        self.enabled = False
        self.loaded_text = None
        self.restart_at_start = None
        self.verbs = []
        self.refuse = {}
        self._ended = True

    def _say(self, verb):
        self.verbs.append(verb)
        if verb in self.refuse:
            raise KproError(self.refuse[verb])

    def _look(self):
        """Notice an end: run ExecStopPost once."""
        if self.child is None or self.child.poll() is None or self._ended:
            return
        self._ended = True
        code, status = (
            ("exited", str(self.child.returncode))
            if self.child.returncode >= 0
            else ("killed", signal.Signals(-self.child.returncode).name[3:])
        )
        reason = {"SERVICE_RESULT": self._result(), "EXIT_CODE": code, "EXIT_STATUS": status, "INVOCATION_ID": self.invocation}
        subprocess.run(command(setting(self.loaded_text, "Service", "ExecStopPost")), env={**os.environ, **reason}, check=True)

    def _result(self):
        return _RESULTS.get(self.child.returncode, "exit-code" if self.child.returncode > 0 else "signal")

    def show(self):
        self._look()
        running = self.child is not None and self.child.poll() is None
        values = {
            "LoadState": "loaded" if os.path.exists(self.path) else "not-found",
            "ActiveState": "active" if running else "inactive",
            "SubState": "running" if running else "dead",
            "UnitFileState": "enabled" if self.enabled else "disabled",
            "MainPID": str(self.child.pid) if running else "0",
            "InvocationID": self.invocation or "",
            "Result": "success",
            "ExecMainCode": "0",
            "ExecMainStatus": "0",
        }
        if self.child is not None and not running:
            killed = self.child.returncode < 0
            values.update(Result=self._result(), ExecMainCode="2" if killed else "1", ExecMainStatus=str(abs(self.child.returncode)))
        return UnitState(values)

    def reload(self):
        self._say("reload")
        self.loaded_text = pathlib.Path(self.path).read_text() if os.path.exists(self.path) else None

    def start(self):
        self._say("start")
        assert self.loaded_text is not None, "started before daemon-reload"
        assert self.loaded_text == pathlib.Path(self.path).read_text(), "the unit on disk is not the one that was loaded"
        sections(self.loaded_text)
        assert self.child is None or self.child.poll() is not None, "started while it runs"
        drop_in = pathlib.Path(self.first_launch_drop_in)
        self.restart_at_start = "no" if drop_in.exists() and "Restart=no" in drop_in.read_text() else "always"
        self.invocation = uuid.uuid4().hex
        variables = environment_file(pathlib.Path(specifiers(setting(self.loaded_text, "Service", "EnvironmentFile"))).read_text())
        self._ended = False
        self.child = subprocess.Popen(
            command(setting(self.loaded_text, "Service", "ExecStart")),
            env={"PATH": os.environ["PATH"], "INVOCATION_ID": self.invocation, **variables},
            cwd=specifiers(setting(self.loaded_text, "Service", "WorkingDirectory")),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )

    def stop(self, timeout):
        self._say("stop")
        if self.child is not None and self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGTERM)
            self.child.wait(timeout)
        self._look()

    def kill(self):
        self._say("kill")
        if self.child is not None and self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()

    def enable(self):
        self._say("enable")
        self.enabled = True

    def disable(self):
        self._say("disable")
        self.enabled = False

    def forget_failure(self):
        self._say("forget_failure")


class Machine:
    """Folders below ``root``, one unit ``sglang-main.service``, a model, an interpreter that plays SGLang, a free port."""

    def __init__(self, root, monkeypatch):
        self.root = root
        self.units = root / "etc-systemd"
        self.runtime = root / "run-systemd"
        self.model = root / "models" / "tiny"
        for folder in (self.units, self.runtime, self.model):
            folder.mkdir(parents=True)
        self.python = root / "python"
        self.python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(HERE / "fake_sglang.py"))} "$@"\n')
        self.python.chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.systemd = PlayedSystemd(self, "sglang-main.service")
        self.refused = None
        self.tried = []
        self.complete = True
        self.release = "0.5.17"
        self.fingerprint = "f" * 16
        self._wire(monkeypatch)

    def _wire(self, monkeypatch):
        monkeypatch.setattr(desired, "UNIT_DIR", str(self.units))
        for module in (transaction, stopping):
            monkeypatch.setattr(module, "Systemd", self._unit)
            monkeypatch.setattr(module, "require_init", lambda: None)
        monkeypatch.setattr(transaction, "find", lambda _name, required=True: Account())
        monkeypatch.setattr(transaction, "inspect", self._inspect)
        monkeypatch.setattr(transaction, "summary", lambda _model: "the model lacks a shard")
        monkeypatch.setattr(environment, "release", lambda _python: self.release)
        monkeypatch.setattr(environment, "try_flags", self._try_flags)
        for module in (checks, observed):
            monkeypatch.setattr(module, "holders", self._holders)
        monkeypatch.setattr(ends, "journal", lambda _launch_id: b"")
        if os.getuid() != 0:
            monkeypatch.setattr(os, "chown", lambda *_unused: None)

    def _unit(self, unit):
        assert unit == self.systemd.unit
        return self.systemd

    def _inspect(self, _path, user=None):
        assert user in (None, "sglang")
        problems = [] if self.complete else [{"cause": "shard_missing"}]
        return {"complete": self.complete, "problems": problems, "fingerprint": self.fingerprint}

    def _try_flags(self, _python, _user, words, variables, **_options):
        self.tried.append((words, variables))
        return self.refused

    def _holders(self, port, host):
        """Who really listens; the played unit has no control group, so its process is told by its number."""
        found, unseen = listeners.holders(port, host)
        for holder in found:
            if self.systemd.child is not None and holder.pid == self.systemd.child.pid:
                holder.unit = self.systemd.unit
        return found, unseen

    def wanted(self, behaviour="serve", **changed):
        """Parameters of the module for this machine, without its defaults."""
        values = {
            "name": "main",
            "model": str(self.model),
            "python": str(self.python),
            "port": self.port,
            "stop_timeout": 20,
            "timeout": 60,
            "state_dir": str(self.root / "state"),
            "log_dir": str(self.root / "log"),
            "environment": {"KPRO_BEHAVIOUR": behaviour},
        }
        values["environment"].update(changed.pop("environment", {}))
        return {**values, **changed}

    def hash(self):
        """One digest of every file and folder: names, modes, contents, times."""
        digest = hashlib.sha256()
        for path in sorted(self.root.rglob("*")):
            status = path.lstat()
            digest.update(f"{path} {status.st_mode} {status.st_uid} {status.st_mtime_ns}".encode())
            digest.update(path.read_bytes() if path.is_file() else b"")
        return digest.hexdigest()

    def end(self):
        """End what still runs."""
        if self.systemd.child is not None:
            try:
                os.killpg(self.systemd.child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.systemd.child.wait()
