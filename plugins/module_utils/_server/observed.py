# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What is there now: files, unit, record, and whether the server that runs is the wanted one and ready."""

from __future__ import annotations

import os

from .._sglang import readiness
from .._supervise.listeners import holders
from .._supervise.process import ProcessWatch
from . import files


class Observed:
    """State of one server before anything is done.

    record: server.json. unit: UnitState. differing: the desired files whose content, mode or owner is not what is wanted.
    ``owner``: uid of the service user, or None when there is none yet.
    """

    def __init__(self, layout, desired, systemd, digest, owner):
        self.record = files.read_json(layout.record)
        self.unit = systemd.show()
        self.differing = [file for file in desired.files if not _same(file, owner)]
        self.digest = digest

    @property
    def running(self):
        return bool(self.unit.active and self.unit.pid)

    @property
    def as_wanted(self):
        """The wanted configuration is in force and was accepted once."""
        return not self.differing and self.record.get("digest") == self.digest and self.record.get("accepted_digest") == self.digest

    @property
    def unfinished(self):
        """The wanted launch runs, and whoever started it was gone before it could be accepted."""
        record = self.record
        return self.running and not self.differing and record.get("digest") == self.digest and record.get("accepted_digest") != self.digest


def _same(file, owner):
    """Content, mode and, for what the service user must read, owner (uid or None)."""
    if files.read(file.path) != file.content:
        return False
    status = os.stat(file.path)
    return status.st_mode & 0o7777 == file.mode and (owner is None or not file.service or status.st_uid == owner)


def owns_port(unit, host, port):
    """True when every process that listens where this server is to listen belongs to our unit, and there is one."""
    found, unseen = holders(port, host)
    return bool(found) and not unseen and all(holder.unit == unit for holder in found)


def ready_now(layout, pid, client, options):
    """One look at a server that was accepted before: (ready, parsed /server_info). A busy server may need 20 s for /health."""
    process = ProcessWatch(pid)
    try:
        snapshot = readiness.Snapshot(process.alive, owns_port(layout.unit, options.host, options.port), None)
        if snapshot.ready_line:
            snapshot.health = client.get("/health", timeout=25).status
            answer = client.get("/server_info", timeout=10)
            snapshot.info = answer.json() if answer.ok else None
        return not readiness.lacks(snapshot, options.model), snapshot.info
    finally:
        process.close()
