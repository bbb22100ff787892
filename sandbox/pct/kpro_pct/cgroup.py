# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of a guest for cgroup v1 and v2: lines for its LXC configuration, changes while it runs, and what it uses.

On v1 memory and swap have one file for memory and one for their sum, on v2 one for each. Controllers that the machine does
not have are left out.
"""

from __future__ import annotations

import os
import random

from . import runtime

ROOT = "/sys/fs/cgroup"
MEBIBYTE = 1024 * 1024
PERIOD = 100000


def is_v2():
    return os.path.exists(f"{ROOT}/cgroup.controllers")


def has(controller, file=None):
    """Whether v1 offers ``controller`` and, if given, the file in its root group."""
    return os.path.exists(f"{ROOT}/{controller}" + (f"/{file}" if file else ""))


def memory_settings(memory, swap):
    """[(cgroup file, value)] for ``memory`` and ``swap`` in MiB, in the order that lowers and raises limits safely from scratch."""
    if is_v2():
        # Throttling starts 128 MiB below the limit, or at 99.2 % of it for guests of less than 16 GiB.
        high = (memory - 128) * MEBIBYTE if memory >= 16 * 1024 else int(memory * MEBIBYTE * 0.992)
        return [("memory.max", memory * MEBIBYTE), ("memory.high", high), ("memory.swap.max", swap * MEBIBYTE)]
    if not has("memory"):
        return []
    settings = [("memory.limit_in_bytes", memory * MEBIBYTE)]
    if has("memory", "memory.memsw.limit_in_bytes"):
        settings.append(("memory.memsw.limit_in_bytes", (memory + swap) * MEBIBYTE))
    return settings


def cpu_settings(config):
    """[(cgroup file, value)] for cpulimit (CPUs) and cpuunits (weight)."""
    limit, units = float(config.get("cpulimit", 0)), config.get("cpuunits")
    settings = []
    if is_v2():
        settings += [("cpu.max", f"{int(limit * PERIOD)} {PERIOD}")] if limit else []
        settings += [("cpu.weight", units)] if units else []
    elif has("cpu"):
        settings += [("cpu.cfs_period_us", PERIOD), ("cpu.cfs_quota_us", int(limit * PERIOD))] if limit else []
        settings += [("cpu.shares", units)] if units else []
    return settings


def cpuset(config):
    """[(cgroup file, CPU list)]: ``cores`` CPUs of the machine, chosen at random at each start as on a real node."""
    cores = int(config.get("cores", 0))
    chosen_by_hand = any(key.endswith(".cpuset.cpus") for key, _value in config.raw)
    available = sorted(os.sched_getaffinity(0))
    if not cores or chosen_by_hand or cores >= len(available) or not (is_v2() or has("cpuset")):
        return []
    return [("cpuset.cpus", ",".join(map(str, sorted(random.sample(available, cores)))))]


def lines(config):
    """The limits as lines of an LXC configuration."""
    settings = memory_settings(int(config.get("memory", 512)), int(config.get("swap", 512))) + cpu_settings(config) + cpuset(config)
    prefix = "lxc.cgroup2" if is_v2() else "lxc.cgroup"
    return [f"{prefix}.{file} = {value}" for file, value in settings]


def apply(vmid, settings):
    """Change a running guest; return the reason of the first refusal, or None."""
    waiting = list(settings)
    for attempt in range(2):
        # v1 refuses a memory limit above the limit of the sum, and a sum below memory: whichever comes second wins then.
        refused = [(file, value, set_value(vmid, file, value)) for file, value in waiting]
        refused = [entry for entry in refused if entry[2]]
        waiting = [(file, value) for file, value, _reason in refused]
        if not refused or attempt:
            return refused[0][2] if refused else None
    return None


def set_value(vmid, file, value):
    answer = runtime.tool("lxc-cgroup", "-n", str(vmid), file, str(value))
    return None if answer.returncode == 0 else answer.stderr.strip() or f"unable to set {file}"


def payload_group(path):
    """The guest's own group, of which ``path`` (the group of its init) is a part."""
    parts = path.split("/")
    ends = [index for index, part in enumerate(parts) if part.startswith("lxc.payload.")]
    return "/".join(parts[: ends[-1] + 1]) if ends else path


def memory_used(pid):
    """Bytes of memory that the guest of this init process uses now; 0 when that cannot be read."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as stream:
            groups = dict(line.rstrip("\n").split(":", 2)[1:] for line in stream)
        group = payload_group(groups["" if is_v2() else "memory"])
        path = f"{ROOT}{group}/memory.current" if is_v2() else f"{ROOT}/memory{group}/memory.usage_in_bytes"
        with open(path, encoding="ascii") as stream:
            return int(stream.read())
    except (OSError, KeyError, ValueError):
        return 0
