# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Who listens on a TCP port of this host."""

from __future__ import annotations

import os

_LISTEN = "0A"  # st column of /proc/net/tcp: TCP_LISTEN


def listening_inodes(port, proc="/proc"):
    """Socket inodes (str) that listen on ``port``, IPv4 and IPv6, any address."""
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            with open(f"{proc}/net/{table}", encoding="ascii") as stream:
                rows = stream.read().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found


def holders(port, proc="/proc"):
    """Processes that hold a listening socket of ``port``: list of pids. Empty when the port is free or the owner is out of sight."""
    inodes = {f"socket:[{inode}]" for inode in listening_inodes(port, proc)}
    if not inodes:
        return []
    return [int(name) for name in sorted(os.listdir(proc)) if name.isdigit() and _holds(f"{proc}/{name}/fd", inodes)]


def _holds(folder, links):
    try:
        for name in os.listdir(folder):
            try:
                if os.readlink(f"{folder}/{name}") in links:
                    return True
            except OSError:
                continue
    except OSError:
        return False
    return False


def unit_of(pid, proc="/proc"):
    """The systemd unit that a process belongs to (from its control group), or None."""
    try:
        with open(f"{proc}/{pid}/cgroup", encoding="utf-8") as stream:
            text = stream.read()
    except OSError:
        return None
    for line in text.splitlines():
        for part in reversed(line.rpartition(":")[2].split("/")):
            if part.endswith((".service", ".scope")):
                return part
    return None


def program_of(pid, proc="/proc"):
    """Name of the program of a process (comm), or "?"."""
    try:
        with open(f"{proc}/{pid}/comm", encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return "?"
