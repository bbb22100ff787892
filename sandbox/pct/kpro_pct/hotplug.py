# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A device node or a folder added to a running guest.

The node's mount is cloned (open_tree), then a child enters the guest's mount namespace and attaches the clone there
(move_mount): the way mounts cross namespaces since Linux 5.2. Python has no wrappers for these system calls.
"""

from __future__ import annotations

import ctypes
import os

from . import cgroup, runtime
from .errors import PctError

SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_MOUNT_SETATTR = 428, 429, 442  # the same on all architectures (unified numbers)
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
MOVE_MOUNT_F_EMPTY_PATH, AT_EMPTY_PATH, AT_FDCWD = 4, 0x1000, -100
MOUNT_ATTR_RDONLY = 1
CLONE_NEWNS = 0x00020000


def call(number, *arguments):
    """One system call; OSError when it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def enter_namespace(descriptor, kind):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, kind) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def clone(path, read_only):
    tree = call(SYS_OPEN_TREE, AT_FDCWD, path.encode(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)
    if read_only:
        attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY, 0, 0, 0)
        call(SYS_MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, ctypes.byref(attributes), ctypes.sizeof(attributes))
    return tree


def add_device(vmid, source, target, root_uid):
    """Bind the node ``source`` at ``target`` of the guest; a privileged guest's group has to allow the device as well."""
    if not root_uid:
        number = os.stat(source).st_rdev
        reason = cgroup.set_value(vmid, "devices.allow", f"c {os.major(number)}:{os.minor(number)} rw")
        if reason and not cgroup.is_v2():
            raise PctError(reason)
    attach(vmid, source, target, root_uid, is_folder=False, read_only=False)


def add_folder(vmid, source, target, root_uid, read_only):
    if not os.path.isdir(source):
        raise PctError(f"directory '{source}' does not exist")
    attach(vmid, source, target, root_uid, is_folder=True, read_only=read_only)


def attach(vmid, source, target, root_uid, is_folder, read_only):
    """Mount ``source`` of the node at ``target`` of the guest, whose root is ``root_uid`` on the node."""
    pid = runtime.init_pid(vmid)
    tree = clone(source, read_only)
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        os._exit(attach_in_guest(tree, namespace, target, root_uid, is_folder))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(tree)
    os.close(namespace)
    if code:
        raise PctError(f"unable to mount {source} on {target}: {os.strerror(code)}" if code > 0 else f"unable to mount {source}")


def attach_in_guest(tree, namespace, target, root_uid, is_folder):
    """Runs in the child: returns 0 or an errno."""
    try:
        enter_namespace(namespace, CLONE_NEWNS)
        # A file system of the guest's user namespace takes new files only from an id that is mapped there.
        os.setegid(root_uid)
        os.seteuid(root_uid)
        make_target(target, is_folder)
        os.seteuid(0)
        os.setegid(0)
        call(SYS_MOVE_MOUNT, tree, b"", AT_FDCWD, target.encode(), MOVE_MOUNT_F_EMPTY_PATH)
    except OSError as error:
        return error.errno or 1
    return 0


def make_target(target, is_folder):
    os.makedirs(target if is_folder else os.path.dirname(target), exist_ok=True)
    if not is_folder and not os.path.exists(target):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
