# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""``status.jsonl``: what a launch is doing, one JSON object a line, for people and for a live view on the controller."""

from __future__ import annotations

import json
import time


class Status:
    """Appends to one file; a full disk or a missing folder never stops a launch."""

    def __init__(self, path, launch_id):
        self.path = path
        self.launch_id = launch_id

    def write(self, event, **fields):
        """Append one event with the time in seconds since the epoch."""
        line = json.dumps({"time": round(time.time(), 3), "launch_id": self.launch_id, "event": event, **fields})
        try:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(line + "\n")
        except OSError:
            return

    def stage(self, stage, seconds, progress):
        """The launch reached a stage, or moved within it."""
        self.write("stage", stage=stage, seconds=round(seconds, 2), progress=progress)
