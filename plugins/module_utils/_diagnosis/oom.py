# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Which out-of-memory it is: the text is the same everywhere, stage, frames and owners of the memory tell them apart."""

from __future__ import annotations

import re

_OTHER = re.compile(r"Process (\d+) has ([\d.]+) (GiB|MiB) memory in use")
_OWN = re.compile(r"this process has ([\d.]+) (GiB|MiB) memory in use")
_TOTAL = re.compile(r"total capacity (?:of )?([\d.]+) (GiB|MiB)|([\d.]+) GiB total capacity")
_FREE = re.compile(r"of which ([\d.]+) (GiB|MiB) is free|([\d.]+) (GiB|MiB) free")
_ASKED = re.compile(r"Tried to allocate ([\d.]+) (GiB|MiB)")


def _gib(number, unit):
    return float(number) / (1024.0 if unit == "MiB" else 1.0)


def figures_of_oom(text):
    """Numbers of PyTorch's message in GiB: asked, free, total, own, others (sum); None where it names none."""
    asked, free, total, own = _ASKED.search(text), _FREE.search(text), _TOTAL.search(text), _OWN.search(text)
    others = [_gib(size, unit) for _unused, size, unit in _OTHER.findall(text)]
    return {
        "asked": _gib(*asked.groups()) if asked else None,
        "free": _gib(*(free.groups()[:2] if free.group(1) else free.groups()[2:])) if free else None,
        "total": (_gib(total.group(1), total.group(2)) if total.group(1) else float(total.group(3))) if total else None,
        "own": _gib(*own.groups()) if own else None,
        "others": sum(others) if others else None,
        "other_pids": [int(pid) for pid, _unused, _unused2 in _OTHER.findall(text)],
    }


def is_foreign(numbers, figures):
    """Whether another process holds the memory. numbers: of the message. figures: of the launch."""
    own, others, total = numbers["own"] or 0.0, numbers["others"], numbers["total"]
    if others is not None:
        return others > own and (total is None or others > 0.2 * total)
    before = figures.avail_before
    if before is not None and total is not None and before < 0.5 * total and (own == 0.0 or own < 0.5 * total):
        return True
    return before is not None and before < 2.0


def kind_of_oom(match, context):
    """Cause id for an out-of-memory text at this place. match: Match. context: Context."""
    stage = match.stage
    numbers = figures_of_oom(match.message())
    foreign = is_foreign(numbers, context.tracker.figures)
    if context.in_host_pool(match):
        return "hicache_host_memory"
    if stage in ("launch", "args", "imports", "tokenizer", "distributed_init", "weights_load"):
        return "gpu_busy_by_other_process" if foreign else "weights_oom"
    if foreign and numbers["others"] is not None and numbers["others"] > 2 * (numbers["own"] or 0.0):
        return "gpu_busy_by_other_process"
    if stage == "cuda_graph":
        return "cuda_graph_oom"
    if stage == "memory_pool" or (stage == "attention_backend" and context.tracker.figures.pool_avail is None):
        return "pool_allocation_oom"
    return "activation_oom"
