# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Where a server's files are."""

from __future__ import annotations

import os


class Layout:
    """Paths of one server; the unit's name follows from the server's name."""

    def __init__(self, name, state_dir, log_dir):
        self.name = name
        self.unit = f"sglang-{name}.service"
        self.state_dir = state_dir
        self.base = os.path.join(state_dir, name)
        self.config = os.path.join(self.base, "config.yaml")
        self.environment = os.path.join(self.base, "environment")
        self.launch = os.path.join(self.base, "launch")
        self.end = os.path.join(self.base, "end")
        self.home = os.path.join(self.base, "home")
        self.ends = os.path.join(self.base, "ends")
        self.record = os.path.join(self.base, "server.json")
        self.status = os.path.join(self.base, "status.jsonl")
        self.launches = os.path.join(self.base, "launches")
        self.previous = os.path.join(self.base, "previous")
        self.lock = os.path.join(self.base, ".lock")
        self.caches = os.path.join(state_dir, "cache")
        self.logs = os.path.join(log_dir, name)

    def log(self, launch_id):
        """The launch log of one launch."""
        return os.path.join(self.logs, f"{launch_id}.log")

    def launch_record(self, launch_id):
        """The launch record of one launch."""
        return os.path.join(self.launches, f"{launch_id}.json")
