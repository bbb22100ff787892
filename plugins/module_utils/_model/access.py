# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""May a user read a file? Answered from the permission bits and ACLs of every component of its path, symbolic links followed.

``os.access`` answers for the running process only, and root may read everything: the question is about the user of the service.
What is not seen from here: read-only checks of a file system (NFS root squash, FUSE), and security modules.
"""

from __future__ import annotations

import os
import stat
import struct

from .._errors import KproError

READ = 4
SEARCH = 1
# More links than any sane path has; the kernel gives up after 40 (ELOOP).
_MAX_LINKS = 40
# Layout of the extended attribute: version 2, then entries of (tag, permission bits, id). Source: acl(5), linux/posix_acl_xattr.h.
_ACL_ATTRIBUTE = "system.posix_acl_access"
_ACL_USER_OBJ, _ACL_USER, _ACL_GROUP_OBJ, _ACL_GROUP, _ACL_MASK, _ACL_OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20


class NoSuchUser(KproError):
    """This host does not have the user whose permissions were asked for."""


class Account:
    """The user of a service: ``name`` (str), ``uid`` (int), ``gids`` (set of int)."""

    def __init__(self, name, uid, gids):
        self.name = name
        self.uid = uid
        self.gids = set(gids)

    def __str__(self):
        return f"user {self.name} (uid {self.uid})"


def find_account(name, option="user"):
    """Look ``name`` (a user name or a uid in digits) up on this host. KproError when there is no such user."""
    import grp
    import pwd

    try:
        entry = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
    except (KeyError, OverflowError):
        raise NoSuchUser(f"{option} is {name!r}, and this host has no such user; name the user that the server runs as, or leave it out")
    gids = {entry.pw_gid} | {group.gr_gid for group in grp.getgrall() if entry.pw_name in group.gr_mem}
    return Account(entry.pw_name, entry.pw_uid, gids)


def components(path):
    """Yield (path, stat result, is the last one) for every directory that must be searched and for the file itself, links followed.

    Raises OSError (FileNotFoundError, PermissionError, NotADirectoryError) at the component where the way ends, with its ``filename``.
    """
    pending = [part for part in os.path.abspath(path).split("/") if part][::-1]
    current = "/"
    yield current, os.lstat(current), not pending
    links = 0
    while pending:
        part = pending.pop()
        if part == "..":  # only from a link's target
            current = os.path.dirname(current)
            continue
        child = os.path.join(current, part)
        status = os.lstat(child)
        if not stat.S_ISLNK(status.st_mode):
            yield child, status, not pending
            current = child
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(40, "Too many levels of symbolic links", child)
        target = os.readlink(child)
        if target.startswith("/"):
            current = "/"
        pending.extend(piece for piece in target.split("/")[::-1] if piece not in ("", "."))


def obstacle(path, account):
    """The first component of ``path`` that keeps ``account`` from reading it: None, or {path, needs (read|search), found (str)}.

    A directory as the last component must be readable and searchable, a file readable.
    """
    for component, status, last in components(path):
        is_directory = stat.S_ISDIR(status.st_mode)
        needed = (SEARCH if is_directory else 0) | (READ if last else 0)
        granted = granted_bits(component, status, account)
        missing = needed & ~granted
        if missing:
            return {"path": component, "needs": "read" if missing & READ else "search", "found": describe(component, status)}
    return None


def granted_bits(path, status, account):
    """Permission bits (READ | 2 | SEARCH) that ``account`` has on this one component; uid 0 passes all checks of read and search."""
    if account.uid == 0:
        return 7
    acl = _acl(path)
    if acl:
        return _bits_by_acl(acl, status, account)
    mode = stat.S_IMODE(status.st_mode)
    if account.uid == status.st_uid:
        return (mode >> 6) & 7
    if status.st_gid in account.gids:
        return (mode >> 3) & 7
    return mode & 7


def _acl(path):
    """Entries [(tag, bits, id)] of an access ACL; [] when the file has none or the file system knows none."""
    try:
        raw = os.getxattr(path, _ACL_ATTRIBUTE)
    except (OSError, AttributeError):  # AttributeError: not Linux
        return []
    if len(raw) < 4 or struct.unpack_from("<I", raw)[0] != 2:
        return []
    return [struct.unpack_from("<HHI", raw, at) for at in range(4, len(raw) - 7, 8)]


def _bits_by_acl(acl, status, account):
    """The access check algorithm of acl(5), for reading and searching."""
    by_tag = {tag: bits for tag, bits, _id in acl}
    mask = by_tag.get(_ACL_MASK, 7)
    if account.uid == status.st_uid:
        return by_tag.get(_ACL_USER_OBJ, 0)
    for tag, bits, number in acl:
        if tag == _ACL_USER and number == account.uid:
            return bits & mask
    groups = [
        bits & mask
        for tag, bits, number in acl
        if (tag == _ACL_GROUP_OBJ and status.st_gid in account.gids) or (tag == _ACL_GROUP and number in account.gids)
    ]
    if groups:
        joined = 0
        for bits in groups:
            joined |= bits
        return joined
    return by_tag.get(_ACL_OTHER, 0)


def describe(path, status):
    """``mode 0750, owner root:sglang`` and a note when an ACL decides."""
    import grp
    import pwd

    try:
        owner = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = str(status.st_uid)
    try:
        group = grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        group = str(status.st_gid)
    note = ", with an ACL" if _acl(path) else ""
    return f"mode {stat.S_IMODE(status.st_mode):04o}, owner {owner}:{group}{note}"
