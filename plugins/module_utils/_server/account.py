# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The service user."""

from __future__ import annotations

from .._errors import KproError


class Account:
    """name, uid, gid, group (name of the primary group)."""

    def __init__(self, entry, group):
        self.name = entry.pw_name
        self.uid = entry.pw_uid
        self.gid = entry.pw_gid
        self.group = group


def find(name, required=True):
    """Return the Account, or None when there is none and it is not required."""
    import grp
    import pwd

    try:
        entry = pwd.getpwnam(name)
    except KeyError as error:
        if not required:
            return None
        raise KproError(f"user is {name!r}, which this host does not know; create it first (role sglang_server does)") from error
    try:
        group = grp.getgrgid(entry.pw_gid).gr_name
    except KeyError:
        group = str(entry.pw_gid)
    return Account(entry, group)
