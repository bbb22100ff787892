"""Taking the sandbox away without a trace, from any half-dead state."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import time

from . import namespaces, network, node, settings
from .shell import SandboxError, run, say, works


def remember_before():
    """Keep which LXC control groups this machine had before the node was raised: they are somebody else's."""
    path = settings.STATE / "cgroups.before"
    if not path.exists():
        path.write_text("".join(f"{folder}\n" for folder in _lxc_cgroups()))


def _lxc_cgroups():
    """Every control group folder that LXC makes for a container; a name that is taken gets a suffix like -1."""
    names = re.compile(r"lxc\.(payload|monitor|pivot)(\.\S+)?$")
    roots = [pathlib.Path("/sys/fs/cgroup"), *(path for path in pathlib.Path("/sys/fs/cgroup").iterdir() if path.is_dir())]
    return sorted(path for root in roots for path in root.iterdir() if path.is_dir() and names.match(path.name))


def _own_cgroups():
    """Those that appeared since the node was raised, of destroyed guests as well."""
    before = settings.STATE / "cgroups.before"
    foreign = set(before.read_text().splitlines()) if before.exists() else set()
    return [path for path in _lxc_cgroups() if str(path) not in foreign]


def remember():
    """Keep what identifies the node's processes should its pins be lost."""
    path = settings.STATE / "node.json"
    path.write_text(json.dumps({"net": namespaces.inode("net"), "mnt": namespaces.inode("mnt")}) + "\n")


def _remembered():
    try:
        return json.loads((settings.STATE / "node.json").read_text())
    except (OSError, ValueError):
        return {}


def vmids():
    """The guests that the node has or had (from its configuration files and rootfs folders)."""
    base = settings.node_dir()
    names = {path.stem for path in base.glob("etc.upper/pve/nodes/*/lxc/*.conf")} | {
        path.name for path in base.glob("var/lib/lxc/*") if path.is_dir()
    }
    return sorted(name for name in names if name.isdigit())


def _end_guests():
    """Stop the guests by LXC where it still answers, then by their control groups."""
    for vmid in vmids():
        say(f"ending guest {vmid}")
        if namespaces.alive("net") and namespaces.alive("mnt"):
            run(*namespaces.enter_argv("lxc-stop", "-P", "/var/lib/lxc", "-n", vmid, "-k"), check=False, timeout=30)
    deadline = time.monotonic() + 20
    while pids := _pids(vmids()):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        if time.monotonic() > deadline:
            raise SandboxError(f"processes of guests do not end: {sorted(pids)}")
        time.sleep(0.05)


def _pids(numbers):
    """Processes in the control groups of these guests, each thawed: a frozen one does not die (cgroup v1)."""
    found = set()
    of_guests = re.compile(rf"lxc\.(payload|monitor)\.({'|'.join(numbers)})(-\d+)?$")
    for folder in (path for path in _own_cgroups() if of_guests.match(path.name)):
        for procs in folder.rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                found |= {int(pid) for pid in procs.read_text().split()}
        for state in folder.rglob("freezer.state"):
            with contextlib.suppress(OSError):
                state.write_text("THAWED")
    return found - {0}


def _remove_cgroups():
    """Empty ones only; a container that somebody else started on this machine meanwhile keeps its own."""
    for folder in _own_cgroups():
        for path in sorted((p for p in folder.rglob("*") if p.is_dir()), key=lambda p: -len(p.parts)):
            _rmdir(path)
        _rmdir(folder)


def _rmdir(path):
    with contextlib.suppress(OSError):  # one with a process in it stays
        path.rmdir()


def end_what_runs():
    """End guests and every process of the node; needed before a lost network namespace can be replaced."""
    _end_guests()
    for kind in ("net", "mnt"):
        for number in {namespaces.inode(kind), _remembered().get(kind)} - {None}:
            namespaces.end_processes(kind, number)
    _remove_cgroups()


def clean():
    """Take away guests, processes, namespaces, interfaces, rules, mounts, cgroups and files; keep the cache."""
    if not settings.STATE.exists():
        say("nothing to clean")
        return
    end_what_runs()
    network.down()
    namespaces.release_all()
    _unmount_below(settings.STATE)
    node.forget_mount_points()
    shutil.rmtree(settings.STATE)
    say(f"gone; downloads are kept in {settings.CACHE}")


def _unmount_below(folder):
    """Unmount whatever still lies below the state folder in this mount namespace, innermost first."""
    points = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in sorted((p for p in points if p.startswith(f"{folder}/")), key=len, reverse=True):
        if not works("umount", "-l", point):
            raise SandboxError(f"{point} cannot be unmounted")
