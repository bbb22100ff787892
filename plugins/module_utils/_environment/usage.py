# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Who runs from an environment, and whether there is room for one."""

from __future__ import annotations

import os

from .._errors import KproError

_GIB = 1 << 30


def users_of(path):
    """[(pid, program)] of processes that were started from the environment ``path`` or have loaded a library from it."""
    prefix = os.path.realpath(path).rstrip("/") + "/"
    own = path.rstrip("/") + "/"
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as stream:
                words = stream.read(65536).decode("utf-8", "replace").split("\0")
        except OSError:
            continue  # it has ended
        # The interpreter of an environment is a link, so /proc/PID/exe names the base one. SGLang's workers rename themselves, and their
        # maps tell instead.
        if words[0].startswith((prefix, own)) or _maps(entry, prefix):
            found.append((int(entry), os.path.basename(words[0])))
    return sorted(found)


def _maps(pid, prefix):
    try:
        with open(f"/proc/{pid}/maps", "rb") as stream:
            return any(b" " + prefix.encode() in line for line in stream)
    except OSError:
        return False


def refuse_if_used(path, what):
    """KproError when a process runs from ``path``; ``what`` would be done to it."""
    users = users_of(path)
    if users:
        pid, program = users[0]
        raise KproError(f"The environment {path} would be {what}, but process {pid} ({program}) runs from it; stop that server first")


def check_space(root, min_free_gib):
    """KproError when the file system of ``root`` (it may not exist yet) has less than ``min_free_gib`` GiB for root to use."""
    place = root
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    status = os.statvfs(place)
    free = status.f_bavail * status.f_frsize / _GIB
    if free < min_free_gib:
        raise KproError(
            f"{place} has {free:.1f} GiB free, and min_free_gib asks for {min_free_gib:g} GiB for an environment in {root}; "
            "free space, put root on another file system, or lower min_free_gib",
            cause="disk_full",
        )
