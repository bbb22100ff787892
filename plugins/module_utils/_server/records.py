# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Launch records and launch logs: written, kept, pruned."""

from __future__ import annotations

import os
import time

from .._launch_log.redact import redact_all
from . import files


def stages(outcome):
    """[{name, seconds}] of a watched launch, in order: how long each stage took, the silent start (imports) counted to the first."""
    history = outcome.tracker.history
    if not history:
        return []
    begins = [0.0, *(begin + outcome.silent_start for _name, begin in history[1:]), outcome.seconds]
    return [{"name": name, "seconds": round(max(0.0, end - begin), 2)} for (name, _begin), begin, end in zip(history, begins, begins[1:])]


def write_launch(layout, launch_id, desired, outcome, extra, secrets):
    """Write the launch record. ``extra``: state, capacity, output_check, diagnosis, end."""
    record = {
        "launch_id": launch_id,
        "server": layout.name,
        "written_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "args": desired.options.flags,
        "release": desired.release,
        "python": desired.options.python,
        "model_fingerprint": desired.fingerprint,
        "log": layout.log(launch_id),
        "stages": stages(outcome),
        "seconds": round(outcome.seconds, 2),
        **extra,
    }
    files.write_json(layout.launch_record(launch_id), redact_all(record, secrets))


def prune(layout, keep, failed):
    """Keep the newest ``keep`` launch logs and records, and those of the last failed launch (``failed``: its id or None)."""
    for folder, ending in ((layout.logs, ".log"), (layout.launches, ".json"), (layout.ends, "")):
        try:
            names = [name for name in os.listdir(folder) if name.endswith(ending) and not name.startswith(".")]
        except OSError:
            continue
        names.sort(key=lambda name: _mtime(os.path.join(folder, name)), reverse=True)
        for name in names[keep:]:
            if failed is None or not name.startswith(failed):
                try:
                    os.unlink(os.path.join(folder, name))
                except OSError:
                    continue


def last_failed(layout):
    """Id of the newest launch whose record says that it failed, or None."""
    failed = [name for name in os.listdir(layout.launches) if files.read_json(os.path.join(layout.launches, name)).get("state") == "failed"]
    newest = max(failed, key=lambda name: _mtime(os.path.join(layout.launches, name)), default=None)
    return newest and newest.removesuffix(".json")


def _mtime(path):
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
