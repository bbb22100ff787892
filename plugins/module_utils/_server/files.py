# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Files written whole or not at all, with owner and mode set before the content can be seen."""

from __future__ import annotations

import json
import os
import tempfile

from .._errors import KproError


def write(path, content, mode, uid=0, gid=0):
    """Write text by a temporary file and rename. ``mode`` like 0o600."""
    folder = os.path.dirname(path)
    try:
        handle, part = tempfile.mkstemp(prefix="." + os.path.basename(path) + ".", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(part, mode)
            os.chown(part, uid, gid)
            os.rename(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise
    except OSError as error:
        raise KproError(f"{path} cannot be written: {error.strerror or error}") from error


def write_json(path, value, mode=0o600):
    """Write a JSON document for people to read as well."""
    write(path, json.dumps(value, indent=1, sort_keys=True) + "\n", mode)


def read(path):
    """Content as text, or None when the file is not there."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise KproError(f"{path} cannot be read: {error.strerror or error}") from error


def read_json(path):
    """A JSON object, or {} when the file is missing or broken (a record is a help, never a condition)."""
    try:
        value = json.loads(read(path) or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def folder(path, mode, uid=0, gid=0):
    """Make a folder (parents 0755 root) with this owner and mode; True when something changed."""
    changed = False
    try:
        if not os.path.isdir(path):
            os.makedirs(path, 0o755)
            changed = True
        status = os.stat(path)
        if (status.st_uid, status.st_gid) != (uid, gid):
            os.chown(path, uid, gid)
            changed = True
        if status.st_mode & 0o7777 != mode:
            os.chmod(path, mode)
            changed = True
    except OSError as error:
        raise KproError(f"the folder {path} cannot be made: {error.strerror or error}") from error
    return changed
