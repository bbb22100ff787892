"""What this machine must offer; every lack is named before anything is changed."""

from __future__ import annotations

import os
import pathlib
import shutil

from . import settings

_PROGRAMS = {
    "lxc-start": "lxc",
    "lxc-attach": "lxc",
    "mmdebstrap": "mmdebstrap",
    "nft": "nftables",
    "ip": "iproute2",
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "zstd": "zstd",
    "gcc": "gcc",
    "newuidmap": "uidmap",
}


def lacks():
    """Return one sentence for each thing that is missing; an empty list means that the sandbox can be raised."""
    found = []
    if os.geteuid() != 0:
        found.append("the sandbox needs root: it makes namespaces, mounts and containers")
    missing = sorted({package for program, package in _PROGRAMS.items() if not _which(program)})
    if missing:
        found.append(f"these packages are missing: {' '.join(missing)} (tools/bootstrap.sh installs them)")
    found += _kernel_lacks()
    free = _free_gib(settings.STATE)
    if free < settings.DISK_NEEDED_GIB:
        found.append(f"{settings.STATE} has {free:.1f} GiB free, the sandbox needs {settings.DISK_NEEDED_GIB} GiB")
    return found


def _which(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def _kernel_lacks():
    found = []
    filesystems = pathlib.Path("/proc/filesystems").read_text()
    for name, use in (("overlay", "the node's own /etc and /usr"), ("tmpfs", "the node's /dev")):
        if f"\t{name}\n" not in filesystems and not _module(name):
            found.append(f"this kernel has no {name} file system, which {use} needs")
    for kind in ("net", "mnt", "uts", "user", "pid", "ipc"):
        if not pathlib.Path(f"/proc/self/ns/{kind}").exists():
            found.append(f"this kernel has no {kind} namespaces, which LXC needs")
    if not pathlib.Path("/sys/fs/cgroup").is_dir() or not any(pathlib.Path("/sys/fs/cgroup").iterdir()):
        found.append("no control groups are mounted at /sys/fs/cgroup, which LXC needs")
    if os.path.exists("/run/systemd/container") or os.environ.get("container"):
        found.append("this machine is itself a container: a container inside a container does not start here")
    return found


def _module(name):
    release = os.uname().release
    return any(pathlib.Path(f"/lib/modules/{release}").rglob(f"{name}.ko*"))


def _free_gib(path):
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free / 2**30
