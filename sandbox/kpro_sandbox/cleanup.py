"""Taking the sandbox away without a trace, from any half-dead state."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import time

from . import namespaces, network, node, settings
from .shell import SandboxError, run, say, works


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


def _cgroups(vmid):
    """Every cgroup folder of a guest: LXC's own names and Proxmox's (lxc/ID)."""
    found = []
    for root in pathlib.Path("/sys/fs/cgroup").iterdir():
        for base in (root, root.parent):
            for name in (f"lxc.payload.{vmid}", f"lxc.monitor.{vmid}", f"lxc/{vmid}", f"lxc.monitor/{vmid}", f"lxc.pivot/{vmid}"):
                path = base / name
                if path.is_dir() and path not in found:
                    found.append(path)
    return found


def _end_guest(vmid):
    """Stop by LXC where it still answers, then by the guest's own cgroups."""
    if namespaces.alive("net") and namespaces.alive("mnt"):
        run(*namespaces.enter_argv("lxc-stop", "-P", "/var/lib/lxc", "-n", vmid, "-k"), check=False, timeout=30)
    deadline = time.monotonic() + 20
    while True:
        pids = _pids(vmid)
        if not pids:
            break
        for pid in pids:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        if time.monotonic() > deadline:
            raise SandboxError(f"processes of guest {vmid} do not end: {sorted(pids)}")
        time.sleep(0.05)
    _thaw_and_remove(vmid)


def _pids(vmid):
    found = set()
    for folder in _cgroups(vmid):
        for procs in folder.rglob("cgroup.procs"):
            try:
                found |= {int(pid) for pid in procs.read_text().split()}
            except OSError:
                continue
        for state in folder.rglob("freezer.state"):  # a frozen process does not die before it is thawed (cgroup v1)
            try:
                state.write_text("THAWED")
            except OSError:
                continue
    return {pid for pid in found if pid > 0}


def _thaw_and_remove(vmid):
    for folder in _cgroups(vmid):
        for path in sorted((p for p in folder.rglob("*") if p.is_dir()), key=lambda p: -len(p.parts)):
            _rmdir(path)
        _rmdir(folder)


def _rmdir(path):
    try:
        path.rmdir()
    except OSError:
        pass


def clean():
    """Take away guests, processes, namespaces, interfaces, rules, mounts, cgroups and files; keep the cache."""
    if not settings.STATE.exists():
        say("nothing to clean")
        return
    for vmid in vmids():
        say(f"ending guest {vmid}")
        _end_guest(vmid)
    for kind in ("net", "mnt"):
        for number in {namespaces.inode(kind), _remembered().get(kind)} - {None}:
            namespaces.end_processes(kind, number)
    _remove_empty_parents()
    network.down()
    namespaces.release_all()
    _unmount_below(settings.STATE)
    node.forget_mount_points()
    shutil.rmtree(settings.STATE)
    say(f"gone; downloads are kept in {settings.CACHE}")


def _remove_empty_parents():
    for root in pathlib.Path("/sys/fs/cgroup").iterdir():
        for base in (root, root.parent):
            for name in ("lxc", "lxc.monitor", "lxc.pivot"):
                if (base / name).is_dir():
                    _rmdir(base / name)


def _unmount_below(folder):
    """Unmount whatever still lies below the state folder in this mount namespace, innermost first."""
    points = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in sorted((p for p in points if p.startswith(f"{folder}/")), key=len, reverse=True):
        if not works("umount", "-l", point):
            raise SandboxError(f"{point} cannot be unmounted")
