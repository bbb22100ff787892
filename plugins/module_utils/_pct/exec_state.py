# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What the node knows about a guest without asking pct: whether it is frozen, and which node of the cluster has it."""

from __future__ import annotations

import json
import os
import time

from .._errors import KproError
from .._process.runner import run
from .attach import LOCALE, SUDO

CGROUPS = "/sys/fs/cgroup"
VMLIST = "/etc/pve/.vmlist"
NODES = "/etc/pve/nodes"
PVESH = "/usr/bin/pvesh"


def frozen(vmid):
    """Return whether guest ``vmid`` is frozen (lxc-freeze, or a backup in suspend mode); None when the node does not show it.

    ``pct status`` says running, and a process that enters the guest waits, beyond the reach of signals on cgroup v1, until the
    guest is thawed.
    """
    known = None
    # Proxmox VE's own place and that of a plain LXC; cgroup v1, v2 and the mixture of both.
    for group in ("lxc/%s" % vmid, "lxc/%s/ns" % vmid, "lxc.payload.%s" % vmid, "lxc.payload/%s" % vmid):
        for name in ("freezer/%s/freezer.state", "%s/cgroup.events", "unified/%s/cgroup.events"):
            try:
                with open("%s/%s" % (CGROUPS, name % group), encoding="ascii") as stream:
                    lines = stream.read().splitlines()
            except (OSError, ValueError):
                continue
            known = bool(known)
            if {"FROZEN", "FREEZING", "frozen 1"} & set(lines):
                return True
    return known


def thawed_within(vmid, seconds):
    """Return False when guest ``vmid`` stays frozen for ``seconds``; otherwise True as soon as it is not."""
    deadline = time.monotonic() + seconds
    while frozen(vmid):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.2)
    return True


def owner(vmid, sudo=False):
    """Return the name of the cluster node that has guest ``vmid``, or None when no node has it or nothing tells.

    pmxcfs keeps a list in one file, and every node's guests in a folder of that name; a login that may read neither asks pvesh,
    if sudo lets it.
    """
    try:
        with open(VMLIST, encoding="utf-8") as stream:
            return json.load(stream)["ids"][str(vmid)]["node"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        return next(node for node in sorted(os.listdir(NODES)) if os.path.exists("%s/%s/lxc/%s.conf" % (NODES, node, vmid)))
    except (OSError, StopIteration):
        pass
    argv = [PVESH, "get", "/cluster/resources", "--type", "vm", "--output-format", "json"]
    try:
        answer = run([*SUDO, *argv] if sudo else argv, 20, env={"LC_ALL": LOCALE, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        entries = json.loads(answer.stdout) if answer.rc == 0 else []
        return next((entry["node"] for entry in entries if entry.get("vmid") == vmid), None)
    except (OSError, ValueError, KeyError, AttributeError, TypeError, KproError):
        return None
