# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The host itself: its name, init system, disk, memory, shared memory, interpreter."""

from __future__ import annotations

import os
import socket
import sys

from .._process.runner import run

_GIB = 1 << 30
# Resolving may stand still for more than a minute, and then a launch does too; five seconds are enough for any DNS that works.
RESOLVE_SECONDS = 5
_RESOLVE = "import socket, sys; print(socket.getaddrinfo(sys.argv[1], None)[0][4][0])"


def check_hostname(report, name=None, seconds=RESOLVE_SECONDS):
    """Does this host resolve its own name? torch.distributed looks it up at every start."""
    name = name or socket.gethostname()
    do = f"Add a line such as '127.0.1.1 {name}' to /etc/hosts."
    done = run([sys.executable, "-I", "-S", "-c", _RESOLVE, name], timeout=seconds)
    if done.timed_out:
        report.bad(
            "hostname", f"resolving this host's own name {name!r} takes longer than {seconds} s", do, evidence="no answer from the resolver"
        )
    elif done.rc != 0:
        last = ([line for line in done.err.splitlines() if line.strip()] or ["no output"])[-1]
        report.bad(
            "hostname", f"this host cannot resolve its own name {name!r}, so every start waits about a minute", do, evidence=last.strip()
        )
    else:
        report.good("hostname", f"{name} is {done.out.strip()} ({done.seconds:.1f} s)")


def check_init(report, supervisor="auto", run_dir="/run"):
    """Is systemd in charge (sd_booted(3): the directory /run/systemd/system exists)? Without it servers run detached."""
    booted = os.path.isdir(f"{run_dir}/systemd/system")
    if supervisor == "systemd" and not booted:
        report.bad(
            "supervisor",
            "supervisor is 'systemd', and systemd does not run this host",
            "Set supervisor to auto or detached, or use a guest with systemd.",
            evidence=f"{run_dir}/systemd/system does not exist",
        )
    else:
        report.good("supervisor", "systemd" if booted and supervisor != "detached" else "detached")
    return booted


def check_disk(report, wanted):
    """``wanted``: [{path, min_free_gib}]; a path that is not there yet counts as its nearest directory."""
    for entry in wanted:
        place = os.path.abspath(entry["path"])
        while not os.path.isdir(place) and place != "/":
            place = os.path.dirname(place)
        status = os.statvfs(place)
        free = status.f_bavail * status.f_frsize / _GIB
        least = entry["min_free_gib"]
        if free < least:
            report.bad(
                "disk",
                f"{entry['path']} has {free:.1f} GiB free, and {least:g} GiB are needed",
                "Free space there, enlarge the volume, or use another path.",
                cause="disk_full",
                evidence=f"file system of {place}: {free:.1f} of {status.f_blocks * status.f_frsize / _GIB:.1f} GiB free",
            )
        elif status.f_files and not status.f_favail:
            report.bad(
                "disk",
                f"{entry['path']} has no inodes left",
                "Remove files there: the file system cannot hold more of them.",
                cause="disk_full",
                evidence=f"file system of {place}: 0 of {status.f_files} inodes free",
            )
        else:
            report.good("disk", f"{entry['path']}: {free:.1f} GiB free")


def check_python(report, python):
    """Is the interpreter of the environment there? ``python``: path or None."""
    if not python:
        return
    if os.access(python, os.X_OK) and not os.path.isdir(python):
        report.good("python", python)
        return
    evidence = f"{python} is a link to {os.readlink(python)}" if os.path.islink(python) else f"{python} is not there or not executable"
    report.bad(
        "python",
        f"the Python of the environment is missing: {python}",
        "Install the environment first (role sglang_install), or correct python.",
        cause="python_package_missing",
        evidence=evidence,
    )


def check_shm(report, servers, least_gib, shm="/dev/shm"):
    """NCCL's ranks on one host talk through /dev/shm: large enough when any server has more than one."""
    parallel = [server for server in servers if server.ranks > 1 and not server.on_cpu]
    try:
        status = os.statvfs(shm)
        size = status.f_blocks * status.f_frsize / _GIB
        mounted = os.path.ismount(shm)
    except OSError:
        size, mounted = 0.0, False
    if not parallel:
        report.good("shm", f"{shm}: {size:.2f} GiB")
    elif size < least_gib or not mounted:
        report.bad(
            "shm",
            f"{shm} has {size:.2f} GiB, and servers with more than one GPU need {least_gib:g} GiB",
            f"LXC: 'lxc.mount.entry: tmpfs dev/shm tmpfs rw,nosuid,nodev,create=dir,size={least_gib:g}G 0 0'; Docker: --shm-size.",
            server=parallel[0].name,
            cause="shm_too_small",
            evidence=f"{shm} is {'a file system of ' + format(size, '.2f') + ' GiB' if mounted else 'not mounted'}",
        )
    else:
        report.good("shm", f"{shm}: {size:.1f} GiB")


def check_memory(report, least_gib, proc="/proc", cgroup="/sys/fs/cgroup"):
    """Memory of the host or guest, whichever limit is lower. ``least_gib``: GiB it must have in all, or None to tell it only."""
    total, available = _meminfo(proc)
    limit = _cgroup_limit(proc, cgroup)
    size = min(total, limit) if limit else total
    detail = f"{size:.1f} GiB in all, {available:.1f} GiB available" + (f" (limit of the control group {limit:.1f} GiB)" if limit else "")
    if least_gib is not None and size < least_gib:
        report.bad(
            "memory",
            f"this host has {size:.1f} GiB of memory, and {least_gib:g} GiB are needed",
            "Give the guest more memory, or lower the requirement.",
            cause="host_oom_killed",
            evidence=detail,
        )
    else:
        report.good("memory", detail)


def _meminfo(proc):
    values = {}
    try:
        with open(f"{proc}/meminfo", encoding="ascii", errors="replace") as stream:
            for line in stream:
                name, _colon, rest = line.partition(":")
                values[name] = int(rest.split()[0]) * 1024 / _GIB
    except (OSError, ValueError, IndexError):
        pass
    return values.get("MemTotal", 0.0), values.get("MemAvailable", 0.0)


def _cgroup_limit(proc, cgroup):
    """GiB of the nearest memory limit of our own control group (v2), or None."""
    try:
        with open(f"{proc}/self/cgroup", encoding="utf-8", errors="replace") as stream:
            own = next((line.strip().partition("::")[2] for line in stream if line.startswith("0::")), "")
    except OSError:
        return None
    limits = []
    place = own
    while True:
        try:
            with open(f"{cgroup}{place.rstrip('/')}/memory.max", encoding="ascii") as stream:
                limits.append(int(stream.read()))
        except (OSError, ValueError):
            pass  # no such file at the root, or "max"
        if place in ("", "/"):
            break
        place = os.path.dirname(place)
    return min(limits) / _GIB if limits else None
