# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``pct list``, ``status``, ``config`` and ``pending``: they only read, and they take no lock."""

from __future__ import annotations

from . import node, runtime
from .errors import PctError
from .shell_text import out

ROW = "%-10s %-10s %-12s %-20s\n"


def guest_name(vmid, config):
    return config.get("hostname") or f"CT{vmid}"


def list_guests():
    """The guests of this node only; nothing at all, not even the heading, when there are none."""
    node.refresh_vmlist()
    rows = []
    for vmid in node.guests():
        config = node.load(vmid)
        state = "running" if runtime.is_running(vmid) else "stopped"
        rows.append(ROW % (vmid, state, config.get("lock", ""), guest_name(vmid, config)))
    if rows:
        out(ROW % ("VMID", "Status", "Lock", "Name") + "".join(rows))


def status(vmid, verbose=0):
    config = node.load(vmid)
    state = "running" if runtime.is_running(vmid) else "stopped"
    if not verbose:
        out(f"status: {state}\n")
        return
    figures = verbose_figures(vmid, config, state)
    out("".join(f"{name}: {figures[name]}\n" for name in sorted(figures)))


def verbose_figures(vmid, config, state):
    """{name: figure}; bytes for mem, swap, disk and net, seconds for uptime. Traffic and disk figures are 0: nothing counts them here."""
    import os

    from . import cgroup

    mebibyte = 1024 * 1024
    figures = dict.fromkeys(("disk", "diskread", "diskwrite", "maxdisk", "mem", "netin", "netout", "swap", "uptime"), 0)
    figures.update(
        cpus=config.get("cores") or os.cpu_count(), maxmem=int(config.get("memory", 512)) * mebibyte,
        maxswap=int(config.get("swap", 512)) * mebibyte, name=guest_name(vmid, config), status=state, type="lxc", vmid=vmid,
    )
    pid = runtime.init_pid(vmid) if state == "running" else None
    if pid:
        figures.update(pid=pid, uptime=runtime.uptime(pid), mem=cgroup.memory_used(pid))
    figures.update({name: config.get(name) for name in ("lock", "tags") if config.get(name)})
    return figures


def config(vmid, current=0, snapshot=None):
    """The configuration with what is pending merged in, unless ``current`` or a snapshot is asked for."""
    configuration = node.load(vmid)
    section, shown = configuration, configuration.shown()
    if snapshot is not None:
        if snapshot not in configuration.snapshots:
            raise PctError(f"snapshot '{snapshot}' does not exist")
        section = configuration.snapshots[snapshot]
        shown = section.shown()
    elif not current:
        shown.update(configuration.pending.shown())
        for name in [*configuration.pending_deletes(), "delete"]:
            shown.pop(name, None)
    lines = [f"{name}: {shown[name]}\n" for name in sorted(shown)]
    out("".join(lines + [f"{key}: {value}\n" for key, value in section.raw]))


def pending(vmid):
    """One line for each option: ``cur`` what runs, ``new`` what comes, ``del`` what goes at the next start."""
    configuration = node.load(vmid)
    current, coming = configuration.shown(), configuration.pending.shown()
    deletes = configuration.pending_deletes()
    coming.pop("delete", None)
    lines = []
    for name in sorted({*current, *coming}):
        if name in current:
            lines.append(f"{'del' if name in deletes else 'cur'} {name}: {current[name]}\n")
        if name in coming:
            lines.append(f"new {name}: {coming[name]}\n")
    out("".join(lines))
