# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The device nodes and driver files of this machine, read without the driver's help."""

from __future__ import annotations

import os
import re
import stat

_CARD = re.compile(r"^nvidia([0-9]+)$")
# "NVIDIA UNIX x86_64 Kernel Module  550.54.14" and "NVIDIA UNIX Open Kernel Module for x86_64  590.48.01"
_VERSION = re.compile(r"Kernel Module(?: for \S+)?\s+([0-9]+(?:\.[0-9]+)+)")


class Nodes:
    """What lies in ``/dev`` and ``/proc`` of a machine about NVIDIA.

    cards (list of int): N of each /dev/nvidiaN; control, uvm (bool): /dev/nvidiactl and /dev/nvidia-uvm exist;
    denied (dict path -> words): nodes of the driver that this user cannot open; kernel_version: the loaded module's, or None;
    container (bool): this is a guest or another container, where nodes are not made on demand.
    ``root`` is put before every path (tests).
    """

    def __init__(self, root="/", dev=None):
        self._root = root
        self._dev = dev or os.path.join(root, "dev")
        self.cards = sorted(int(m.group(1)) for m in map(_CARD.match, _names(self._dev)) if m)
        self.control = os.path.exists(os.path.join(self._dev, "nvidiactl"))
        self.uvm = os.path.exists(os.path.join(self._dev, "nvidia-uvm"))
        self.denied = {}
        for name in ["nvidiactl"] * self.control + [f"nvidia{n}" for n in self.cards]:
            self._try_open(name)
        self.kernel_version = _first(_VERSION, _text(os.path.join(root, "proc/driver/nvidia/version")))
        self.container = _in_container(root)

    @property
    def any_present(self):
        return self.control or bool(self.cards)

    def _try_open(self, name):
        path = os.path.join(self._dev, name)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        except PermissionError as error:
            self.denied[f"/dev/{name}"] = error.strerror
        except OSError:
            pass  # ENXIO: a node without a driver; whether one answers is NVML's to say

    def denied_text(self):
        """`` (/dev/nvidia0: Permission denied, mode 0660, owner 0:44)`` or an empty string."""
        for path, words in self.denied.items():
            try:
                status = os.stat(os.path.join(self._dev, os.path.basename(path)))
            except OSError:
                return f" ({path}: {words})"
            return f" ({path}: {words}, mode {stat.S_IMODE(status.st_mode):04o}, owner {status.st_uid}:{status.st_gid})"
        return ""

    def uvm_state(self):
        """What is wrong with /dev/nvidia-uvm ("is missing", ...), or None.

        Outside a container a missing node is no fault: nvidia-modprobe makes it at the first use of CUDA.
        """
        if not self.uvm:
            return "is missing" if self.container and self.any_present else None
        path = os.path.join(self._dev, "nvidia-uvm")
        try:
            major = os.major(os.stat(path).st_rdev)
            if stat.S_ISCHR(os.stat(path).st_mode):
                os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        except PermissionError:
            return "may not be opened by this user or control group"
        except OSError:
            pass  # no driver behind it; the majors below say whether that is the fault
        expected = _first(re.compile(r"^\s*([0-9]+) nvidia-uvm$", re.M), _text(os.path.join(self._root, "proc/devices")))
        if expected is not None and int(expected) != major:
            return f"has major number {major}, the loaded driver has {expected}"
        return None


def _names(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(path):
    try:
        with open(path, "rb") as handle:
            return handle.read(65536).decode("utf-8", "replace")
    except OSError:
        return ""


def _first(pattern, text):
    match = pattern.search(text)
    return match.group(1) if match else None


def _in_container(root):
    if os.path.isdir(os.path.join(root, "etc/pve/lxc")):
        return False  # a Proxmox node, also one that is itself played by a container
    # systemd as PID 1 of a container writes this file for everybody; other inits leave PID 1's environment (root only)
    if _text(os.path.join(root, "run/systemd/container")).strip():
        return True
    if os.path.exists(os.path.join(root, ".dockerenv")):
        return True
    return bool(re.search(r"(^|\0)container=", _text(os.path.join(root, "proc/1/environ"))))
