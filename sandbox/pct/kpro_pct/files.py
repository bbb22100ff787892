# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``pct push`` and ``pct pull``: one file into or out of a running guest.

As the real ones they exit 0 when the copy fails, and a full file system cuts the copy short without a word. The copy runs in
the guest's user and mount namespace, so paths, names and owners are the guest's.
"""

from __future__ import annotations

import os
import re

from . import hotplug, node, runtime
from .errors import PctError
from .shell_text import warn

CLONE_NEWUSER = 0x10000000
CHUNK = 65536


def push(vmid, file, destination, perms=None, user=None, group=None):
    with node.locked(vmid):
        if not runtime.is_running(vmid):
            raise PctError("can only push files to a running CT")
        try:
            source = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            warn(f"failed to open {file} for reading")
            return
        in_guest(vmid, lambda: copy_in(source, destination, perms, user, group))
        os.close(source)


def pull(vmid, path, destination, perms=None, user=None, group=None):
    with node.locked(vmid):
        if not runtime.is_running(vmid):
            raise PctError("can only pull files from a running VM at /usr/share/perl5/PVE/CLI/pct.pm line 519.")
        try:
            target = os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            finish(target, perms, user, group)
        except (OSError, LookupError) as error:
            warn(f"failed to create file: {getattr(error, 'strerror', None) or error}")
            return
        in_guest(vmid, lambda: copy_out(path, target))
        os.close(target)


def in_guest(vmid, work):
    """Run ``work`` in a child that has entered the guest's namespaces; its complaints go to stderr, its exit code nowhere.

    Nothing can be imported any more where the guest's files are seen, so ``work`` imports nothing.
    """
    pid = runtime.init_pid(vmid)
    spaces = [(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC), flag)
              for kind, flag in (("user", CLONE_NEWUSER), ("mnt", hotplug.CLONE_NEWNS))
              if kind == "mnt" or os.readlink(f"/proc/{pid}/ns/user") != os.readlink("/proc/self/ns/user")]
    child = os.fork()
    if child == 0:
        try:
            for descriptor, flag in spaces:
                hotplug.enter_namespace(descriptor, flag)
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            os.chdir("/")
            work()
        except Complaint as complaint:
            warn(str(complaint))
        except OSError as error:
            warn(str(error))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    for descriptor, _flag in spaces:
        os.close(descriptor)


class Complaint(Exception):
    """The text that the copy ends with."""


def copy_in(source, destination, perms, user, group):
    try:
        target = os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise Complaint(f"failed to create file: {error.strerror}") from None
    try:
        finish(target, perms, user, group)
    except LookupError as error:
        raise Complaint(str(error.args[0])) from None
    copy(source, target)


def copy_out(path, target):
    try:
        source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Complaint(f"failed to open {path}: {error.strerror}") from None
    copy(source, target)


def finish(target, perms, user, group):
    """Mode and owner of the target, by number or by the names of where this runs."""
    if perms is not None:
        if not re.fullmatch(r"[0-7]{1,4}", perms):
            raise LookupError(f"invalid mode: '{perms}'")
        os.fchmod(target, int(perms, 8))
    if user is not None or group is not None:
        os.fchown(target, number_of(user, "/etc/passwd", "uid"), number_of(group, "/etc/group", "gid"))


def number_of(name, table, kind):
    if name is None or name.isdigit():
        return -1 if name is None else int(name)
    with open(table, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            fields = line.split(":")
            if fields[0] == name:
                return int(fields[2])
    raise LookupError(f"failed to get {kind} for: {name}")


def copy(source, target):
    """Copy all that fits. The result of a write is not looked at: that is how a copy comes to be short with nothing said."""
    while True:
        block = os.read(source, CHUNK)
        if not block:
            return
        try:
            while block:
                block = block[os.write(target, block):]
        except OSError:
            return
