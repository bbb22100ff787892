# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The marker of a finished environment: a file written last, so that a directory without it is the leftover of an interrupted run."""

from __future__ import annotations

import json
import os
import tempfile

NAME = ".kpro-environment.json"


def read_marker(path):
    """The marker (dict) of the environment in ``path``, or None when it has none that can be read."""
    try:
        with open(os.path.join(path, NAME), encoding="utf-8") as stream:
            marker = json.load(stream)
    except (OSError, ValueError):
        return None
    return marker if isinstance(marker, dict) else None


def write_marker(path, marker):
    """Write ``marker`` into the environment in ``path``: complete or not at all, readable by all."""
    handle, temporary = tempfile.mkstemp(dir=path, prefix=NAME)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(marker, stream, indent=1, sort_keys=True)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.rename(temporary, os.path.join(path, NAME))
    except BaseException:
        os.unlink(temporary)
        raise
