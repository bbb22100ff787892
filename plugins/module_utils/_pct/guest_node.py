# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The node's side of a guest: its configuration file, which node owns it, and the devices and directories it is to get."""

from __future__ import annotations

import errno
import json
import os
import stat
import time

from .._errors import KproError
from .conf import GuestConf, digest

PVE = "/etc/pve"
LOCKS = "/run/lock/lxc"
CGROUPS = "/sys/fs/cgroup"
# Proxmox itself waits this long for the lock of a guest's configuration (seconds).
LOCK_WAIT = 10.0


class ConfFile:
    """One reading of a guest's file: ``path``, ``raw`` (bytes, None when there is none), ``text``, ``conf``, ``digest``."""

    def __init__(self, path, raw):
        self.path = path
        self.raw = raw
        self.text = "" if raw is None else raw.decode("utf-8", "replace")
        self.conf = GuestConf.parse(self.text)
        self.digest = None if raw is None else digest(raw)

    @property
    def exists(self):
        return self.raw is not None


def conf_path(vmid):
    """Where Proxmox keeps the configuration of a guest of this node."""
    return os.path.join(PVE, "lxc", f"{vmid}.conf")


def node_name():
    """The name of this node in its cluster: what ``/etc/pve/local`` points at, else the host name's first label."""
    for link in ("local", "lxc"):
        try:
            target = os.readlink(os.path.join(PVE, link)).strip("/").split("/")
        except OSError:
            continue
        if "nodes" in target[:-1]:
            return target[target.index("nodes") + 1]
    import socket

    return socket.gethostname().split(".")[0]


def read_conf(vmid):
    """Read the guest's file now; a missing one is a ConfFile that does not exist, anything else that fails a KproError."""
    path = conf_path(vmid)
    try:
        with open(path, "rb") as stream:
            return ConfFile(path, stream.read())
    except FileNotFoundError:
        if os.path.isdir(os.path.join(PVE, "lxc")):
            return ConfFile(path, None)
        raise KproError(
            f"{PVE}/lxc does not exist here, so {node_name()} is no Proxmox node or its pmxcfs is down (systemctl status pve-cluster).",
            failure="cluster_unavailable",
        ) from None
    except OSError as error:
        kind = "not_permitted" if error.errno in (errno.EACCES, errno.EPERM) else "cluster_unavailable"
        hint = "; this needs root on the node (become: true)" if kind == "not_permitted" else ""
        raise KproError(f"{path} cannot be read: {error.strerror}{hint}.", failure=kind) from None


def refuse_foreign(vmid):
    """Raise when the cluster's list gives ``vmid`` to another node or to a virtual machine."""
    try:
        with open(os.path.join(PVE, ".vmlist"), "rb") as stream:
            entry = json.loads(stream.read().decode("utf-8", "replace")).get("ids", {}).get(str(vmid))
    except (OSError, ValueError, AttributeError):
        return
    if not isinstance(entry, dict):
        return
    here, owner = node_name(), entry.get("node")
    if entry.get("type", "lxc") != "lxc":
        raise KproError(f"vmid {vmid} is a virtual machine on node {owner}, no LXC guest; choose another.", failure="guest_missing")
    if owner and owner != here:
        raise KproError(f"Guest {vmid} is on node {owner}, not on {here}; delegate this task to {owner}.", failure="guest_on_other_node")


def write_raw_lxc(vmid, raw_lxc):
    """Give the raw keys in ``raw_lxc`` (dict of key to values) to the guest, under Proxmox's own lock; all else stays.

    pct cannot set ``lxc.*`` keys. The file is written anew beside the old one and renamed, with no call that changes
    metadata: pmxcfs refuses those.
    """
    lock = _take_lock(vmid)
    try:
        now = read_conf(vmid)
        if not now.exists:
            raise KproError(f"Guest {vmid} vanished while its configuration was being changed.", failure="guest_missing")
        if now.text.encode("utf-8") != now.raw:
            raise KproError(f"{now.path} holds bytes that are not UTF-8, so it is not rewritten; correct them by hand first.")
        for key, values in raw_lxc.items():
            now.conf.main.replace_lxc(key, values)
        temporary = f"{now.path}.tmp.{os.getpid()}"
        try:
            with open(temporary, "wb") as stream:
                stream.write(now.conf.render().encode("utf-8"))
            os.rename(temporary, now.path)
        except OSError as error:
            try:
                os.unlink(temporary)
            except OSError:
                pass
            raise KproError(
                f"{now.path} cannot be written: {error.strerror}; without quorum the cluster's file system is read-only (pvecm status).",
                failure="cluster_unavailable",
            ) from None
    finally:
        os.close(lock)


def _take_lock(vmid):
    import fcntl

    path = os.path.join(LOCKS, f"pve-config-{vmid}.lock")
    try:
        os.makedirs(LOCKS, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise KproError(f"{path} cannot be opened: {error.strerror}; this needs root on the node.", failure="not_permitted") from None
    deadline = time.monotonic() + LOCK_WAIT
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EINTR, errno.EACCES) or time.monotonic() > deadline:
                os.close(handle)
                raise KproError(
                    f"Guest {vmid} is locked: somebody else held {path} for {LOCK_WAIT:g} seconds.", failure="guest_locked"
                ) from None
        time.sleep(0.1)


def frozen(vmid):
    """Whether the guest's processes are frozen (a backup in suspend mode, lxc-freeze); pct cannot tell, it says running.

    The paths are those of LXC's payload group on cgroup v1 and v2, with and without PVE's ``ns`` below it.
    """
    for group in (f"lxc/{vmid}", f"lxc/{vmid}/ns", f"lxc.payload.{vmid}", f"lxc.payload/{vmid}"):
        for path in (f"freezer/{group}/freezer.state", f"{group}/cgroup.events", f"unified/{group}/cgroup.events"):
            try:
                with open(os.path.join(CGROUPS, path), encoding="ascii") as stream:
                    lines = stream.read().split("\n")
            except OSError:
                continue
            if {"FREEZING", "FROZEN", "frozen 1"} & set(lines):
                return True
    return False


def missing_on_node(desired):
    """Sentences about wanted devices and bind mounts that the node does not have; a guest with them would not start."""
    found, here = [], node_name()
    absent = [fields["path"] for fields in desired.devices or () if not _is_device(fields["path"])]
    if absent:
        advice = "load the driver there first"
        if any("/nvidia" in path for path in absent):
            advice = "load the NVIDIA driver there first (nvidia-smi, then nvidia-modprobe -u -c 0)"
        verb = "is no device node" if len(absent) == 1 else "are no device nodes"
        found.append(f"{', '.join(absent)} {verb} on {here}; {advice}, or take it out of devices.")
    for fields in desired.mountpoints or ():
        source = fields["volume"]
        if not source.startswith("/"):
            continue
        if not os.path.exists(source):
            found.append(f"The mount point's source {source} does not exist on {here}; without it the guest would not start.")
            continue
        real = os.path.realpath(source)
        if real != source:
            found.append(f"The mount point's source {source} leads through a symbolic link, which Proxmox refuses; write {real}.")
    return found


def _is_device(path):
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
