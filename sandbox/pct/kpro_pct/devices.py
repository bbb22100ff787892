# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``dev[n]``: device nodes of this node made available in a guest.

The guest gets a device node of its own (same major and minor; owner, group and mode as configured, 0660 root:root by
default, seen through the guest's id map), kept under ``/var/lib/lxc/<vmid>/passthrough`` and bound over a file in its /dev.
"""

from __future__ import annotations

import os
import stat

from . import cgroup, guest_options, node, property_string, storage
from .errors import ENOENT, PctError


def parsed(config):
    """[(index, {key: value})] of the configured devices."""
    return [(index, property_string.values(text, guest_options.DEVICE)) for index, text in config.numbered("dev")]


def check(path):
    """Return ``os.stat`` of a device node, or refuse with the reason."""
    try:
        state = os.stat(path)
    except FileNotFoundError:
        raise PctError(f"Device {path} does not exist", ENOENT) from None
    except OSError:
        raise PctError(f"Could not get mode or device ID of {path}", ENOENT) from None
    if not (stat.S_ISCHR(state.st_mode) or stat.S_ISBLK(state.st_mode)):
        raise PctError(f"{path} is not a device", ENOENT)
    return state


def lines(vmid, config):
    """Mount entries and, for a privileged guest, cgroup rules. An unprivileged guest's group allows all devices; file modes decide."""
    found = []
    for _index, device in parsed(config):
        path = device.get("path", "")
        found.append(f"lxc.mount.entry = {copy_path(vmid, path)} {path.lstrip('/')} none bind,create=file 0 0")
        if not config.flag("unprivileged") and os.path.exists(path):
            state = check(path)
            kind = "b" if stat.S_ISBLK(state.st_mode) else "c"
            access = "r" if property_string.parse_boolean(device.get("deny-write", "0")) else "rw"
            prefix = "lxc.cgroup2" if cgroup.is_v2() else "lxc.cgroup"
            found.append(f"{prefix}.devices.allow = {kind} {os.major(state.st_rdev)}:{os.minor(state.st_rdev)} {access}")
    return found


def folder(vmid):
    return f"{node.LXC_PATH}/{vmid}/passthrough"


def copy_path(vmid, path):
    return folder(vmid) + os.path.normpath(path)


def create_copies(vmid, config, root_uid):
    """Make the guest's device nodes afresh, for a start. Majors and minors are those of now."""
    storage.remove_folder(folder(vmid))
    for _index, device in parsed(config):
        create_copy(vmid, device, root_uid)


def create_copy(vmid, device, root_uid):
    """One device node, owned by the mapped ids; returns its path."""
    state = check(device["path"])
    target = copy_path(vmid, device["path"])
    os.makedirs(os.path.dirname(target), exist_ok=True)
    mode = int(device.get("mode", "0660"), 8)
    if os.path.lexists(target):
        os.unlink(target)
    os.mknod(target, stat.S_IFMT(state.st_mode) | mode, state.st_rdev)
    os.chown(target, root_uid + int(device.get("uid", 0)), root_uid + int(device.get("gid", 0)))
    os.chmod(target, mode)
    return target
