# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Who a process is: its program, its systemd unit, and the guest it runs in, from /proc."""

from __future__ import annotations

import os
import re

# PVE: /lxc/129/ns/system.slice/x.service (before 7.0: /lxc/129/system.slice); plain LXC 4 and later: /lxc.payload.129/...
_GUEST = re.compile(r"(?:^|/)lxc(?:/|\.payload\.)([0-9]+)(?:/|$)")
_UNIT = re.compile(r"^.+\.(?:service|scope)$")
# made by systemd for itself, or for a login: they name nobody
_NOBODY = re.compile(r"^(?:init\.scope|session-[^/]*\.scope|user@[0-9]+\.service)$")
_NAME_LIMIT = 256


def parse_cgroup(text):
    """(unit, vmid) of the text of a /proc/PID/cgroup; None for what it does not say. Understands cgroup v1, v2 and hybrid."""
    paths = []
    for line in text.splitlines():
        fields = line.split(":", 2)
        if len(fields) == 3:
            paths.append((fields[1], fields[2]))
    # v2's own line and systemd's v1 hierarchy name units; other v1 controllers may stop at the guest
    paths.sort(key=lambda item: item[0] not in ("", "name=systemd"))
    unit = vmid = None
    for _controllers, path in paths:
        guest = _GUEST.search(path)
        if guest and vmid is None:
            vmid = int(guest.group(1))
        if unit is None:
            unit = _unit(path[guest.end() :] if guest else path)
    return unit, vmid


def _unit(path):
    names = [name for name in path.split("/") if _UNIT.match(name)]
    # systemd writes "x\x2dy.service" for itself; a path component holds that text as it is
    for name in reversed(names):
        if not _NOBODY.match(name):
            return name
    return names[-1] if names and names[-1] != "init.scope" else None


def program(pid, proc="/proc"):
    """The program of ``pid``: argv[0] (a title set by setproctitle included, as nvidia-smi shows it), else the kernel's name; or None.

    Nothing after argv[0] is looked at: arguments may hold secrets.
    """
    command = _read(os.path.join(proc, str(pid), "cmdline"))
    first = command.split(b"\0", 1)[0].decode("utf-8", "replace").strip()
    if first:
        return first[:_NAME_LIMIT]
    return _read(os.path.join(proc, str(pid), "comm")).decode("utf-8", "replace").strip() or None


def resolve(snapshot, proc="/proc"):
    """Fill name, unit and vmid of every process of ``snapshot`` (a record.Snapshot), and what no visible process owns."""
    seen = {}
    for gpu in snapshot.gpus:
        for process in gpu.processes:
            if process.pid not in seen:
                unit, vmid = parse_cgroup(_read(os.path.join(proc, str(process.pid), "cgroup")).decode("utf-8", "replace"))
                seen[process.pid] = (program(process.pid, proc), unit, vmid)
            name, process.unit, process.vmid = seen[process.pid]
            process.name = name or process.name
        gpu.account()
    return snapshot


def _read(path):
    try:
        with open(path, "rb") as handle:
            return handle.read(16384)
    except OSError:
        return b""
