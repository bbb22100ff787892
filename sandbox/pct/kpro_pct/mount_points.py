# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mp[n]``: folders of the node and volumes, mounted in a guest when it starts.

LXC makes a guest's mounts as the guest's root, who may not be able to reach the source (a folder below /root, say) and may
not bind a folder that has other mounts below it. So each source is bound to ``/var/lib/lxc/<vmid>/mounts/mp<n>`` while the
guest starts; the guest keeps its own mount of it.
"""

from __future__ import annotations

import contextlib
import os

from . import guest_options, node, property_string, runtime, storage
from .errors import DIED, PctError


def parsed(config):
    """[(index, source, {key: value})] of the configured mount points."""
    found = ((index, property_string.values(text, guest_options.MOUNT)) for index, text in config.numbered("mp"))
    return [(index, storage.volume_path(mount["volume"]), mount) for index, mount in found if "volume" in mount and "mp" in mount]


def stage(vmid, index):
    return f"{node.LXC_PATH}/{vmid}/mounts/mp{index}"


def lines(vmid, config):
    """Mount entries of the LXC configuration."""
    found = []
    for index, _source, mount in parsed(config):
        options = ["bind", "create=dir"] + (["ro"] if property_string.parse_boolean(mount.get("ro", "0")) else [])
        options += mount["mountoptions"].split(";") if "mountoptions" in mount else []
        found.append(f"lxc.mount.entry = {stage(vmid, index)} {escape(mount['mp'].lstrip('/'))} none {','.join(options)} 0 0")
    return found


def escape(path):
    """Blanks in a field of an fstab line."""
    return path.replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")


def missing_sources(config):
    """One line for each source that is not there."""
    return "".join(f"directory '{source}' does not exist\n" for _index, source, _mount in parsed(config) if not os.path.isdir(source))


@contextlib.contextmanager
def staged(vmid, config):
    """The sources where the LXC configuration has them, while the guest starts."""
    missing = missing_sources(config)
    if missing:
        raise PctError(f"{missing}startup for container '{vmid}' failed", DIED)
    folders = []
    try:
        for index, source, _mount in parsed(config):
            folders.append(stage(vmid, index))
            os.makedirs(folders[-1], exist_ok=True)
            done = runtime.tool("mount", "--bind", source, folders[-1])
            if done.returncode:
                raise PctError(f"{done.stderr}startup for container '{vmid}' failed", DIED)
        yield
    finally:
        for folder in folders:
            runtime.tool("umount", "-l", folder)
            os.rmdir(folder)
