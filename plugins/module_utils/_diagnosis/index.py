# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""All rules, imported by name: what a target gets is found by following imports, so a new file of rules must be named here."""

from __future__ import annotations

from .rules import arguments, distributed, gpu, host, memory, model, process, serving, software

RULES = (
    memory.RULES
    + software.RULES
    + host.RULES
    + gpu.RULES
    + arguments.RULES
    + model.RULES
    + distributed.RULES
    + serving.RULES
    + process.RULES
)
BY_NAME = {rule.name: rule for rule in RULES}
