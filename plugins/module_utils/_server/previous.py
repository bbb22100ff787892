# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The last accepted configuration, kept so that a failed replacement can be taken back."""

from __future__ import annotations

import os
import shutil

from . import files


def keep(layout, desired_files, record):
    """Copy the files that are in force, and their record, before they are replaced."""
    files.folder(layout.previous, 0o700)
    for file in desired_files:
        content = files.read(file.path)
        if content is not None:
            files.write(os.path.join(layout.previous, os.path.basename(file.path)), content, 0o600)
    files.write_json(os.path.join(layout.previous, "server.json"), record)


def restore(layout, desired_files, uid, gid):
    """Put the kept files back; returns the kept record, or None when there is nothing to go back to."""
    record = files.read_json(os.path.join(layout.previous, "server.json"))
    if not record.get("accepted_digest"):
        return None
    for file in desired_files:
        content = files.read(os.path.join(layout.previous, os.path.basename(file.path)))
        if content is not None:
            files.write(file.path, content, file.mode, *((uid, gid) if file.service else (0, 0)))
    files.write_json(layout.record, record)
    return record


def forget(layout):
    """Nothing to go back to any more."""
    shutil.rmtree(layout.previous, ignore_errors=True)
