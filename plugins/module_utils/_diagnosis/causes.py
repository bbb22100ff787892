# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The causes of the contract, as far as they are needed at run time; the full texts are in docs/causes.md.

A test compares the table with the contract.
"""

from __future__ import annotations

from .cause_table import host, memory, model, running, software


class Cause:
    """One cause. severity: fault | warning | info | none. stages: where it typically occurs. confused_with: ids easily reported instead."""

    __slots__ = ("confused_with", "group", "id", "remedy", "severity", "stages")

    def __init__(self, name, group, severity, stages, confused_with, remedy):
        self.id = name
        self.group = group
        self.severity = severity
        self.stages = stages
        self.confused_with = confused_with
        self.remedy = remedy


CAUSES = {row[0]: Cause(*row) for row in memory.TABLE + software.TABLE + host.TABLE + model.TABLE + running.TABLE}
