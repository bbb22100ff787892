# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Is the model's path there, and may the user of the service go all the way down to it and read the files?"""

from __future__ import annotations

import os

from .access import components, obstacle
from .problems import MISSING, PERMISSION, problem


def find_location(path, account):
    """(stat result, []) or (None, problem records). ``account``: an access.Account, or None for the running user alone."""
    try:
        for _component, _status, _last in components(path):
            pass
        status = os.stat(path)
        if os.path.isdir(path):
            os.listdir(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        return None, [_missing(path, error.filename or path)]
    except PermissionError as error:
        return None, [_denied(error.filename or path, "the user running this module", "permission denied", "read")]
    except OSError as error:
        text = f"the path cannot be followed: {error.strerror or error}"
        return None, [problem(path, text, MISSING, expected="a directory", found=error.strerror, do="Repair the link or the mount.")]
    if account is not None:
        wrong = check_access(path, ["."], account)
        if wrong:
            return None, wrong
    return status, []


def _missing(path, where):
    parent = os.path.dirname(where) or "/"
    name = os.path.basename(where)
    if os.path.isfile(parent):
        found, close = f"{parent} is a file", []
    else:
        try:
            entries = sorted(os.listdir(parent))
        except OSError:
            entries = []
        import difflib

        close = difflib.get_close_matches(name, entries, n=1, cutoff=0.75)
        shown = [entry for entry in entries if not entry.startswith(".")]
        listed = ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")
        found = f"{listed} in {parent}" if shown else f"{parent} is empty"
    link = "a symbolic link to a place that does not exist" if os.path.islink(path) else "the directory does not exist"
    do = f"Did you mean {os.path.join(parent, close[0])}?" if close else "Mount or download the model there, or correct the path."
    return problem(path, link, MISSING, expected=where, found=found, do=do)


def check_access(directory, names, account):
    """Permission problems of ``account`` for ``names`` in ``directory``; a component that is in the way of many files comes once."""
    found, seen = [], set()
    for name in names:
        path = os.path.normpath(os.path.join(directory, name))
        try:
            wall = obstacle(path, account)
        except OSError:
            continue  # reported where the file itself was read
        if wall and wall["path"] not in seen:
            seen.add(wall["path"])
            found.append(_denied(_shown(wall["path"], directory), str(account), wall["found"], wall["needs"]))
    return found


def _shown(path, directory):
    inside = path.startswith(directory.rstrip("/") + "/")
    return os.path.relpath(path, directory) if inside else path


def _denied(path, who, found, needs):
    verb = "read" if needs == "read" else "enter (search permission)"
    bit = "r" if needs == "read" else "x"
    if found.startswith("mode") and needs == "read" and os.path.isdir(path):
        bit = "rx"
    return problem(
        path,
        f"{who} may not {verb} it",
        PERMISSION,
        expected=f"{needs} permission for {who}",
        found=found,
        do=f"Give that user the permission, for example: chmod o+{bit} '{path}' (in an unprivileged guest: from inside).",
    )
