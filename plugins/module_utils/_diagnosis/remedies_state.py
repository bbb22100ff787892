# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Remedies for the state caches of hybrid models (Mamba, linear attention)."""

from __future__ import annotations

import re

from .record import remedy
from .remedies_memory import FRACTION_LIMIT, fraction_of, less_state, percent, smaller_model

_STATE = re.compile(r"total_rest_memory=(-?[\d.]+) GB, mamba_cache_per_req=([\d.]+) MB")


def _slots_for_one(context):
    """State slots of one running request (SGLang 0.5.13 and later): 5 with extra_buffer, 3 with no_buffer, 1 without prefix cache."""
    if context.args.get("disable_radix_cache"):
        return 1
    strategy = context.args.get("mamba_radix_cache_strategy") or context.args.get("mamba_scheduler_strategy")
    return 3 if strategy == "no_buffer" else 5


def _fraction_for_states(match, context, fraction):
    """Static fraction that leaves room for the states of one request, by the sizes the message prints, or None."""
    printed, before = _STATE.search(match.message()), context.tracker.figures.avail_before
    if not printed or not before or fraction is None:
        return None
    rest, slot = float(printed.group(1)), float(printed.group(2)) / 1024.0
    slots = _slots_for_one(context)
    drafted = context.args.get("speculative_num_draft_tokens") if context.speculative else 0
    need = slot * (slots + (drafted if isinstance(drafted, int) else 0))
    ratio = context.args.get("mamba_full_memory_ratio")
    ratio = float(ratio) if isinstance(ratio, (int, float)) and ratio > 0 else 0.9
    return fraction + (need * (1 + ratio) / ratio - rest) / before


def mamba_cache(match, context):
    """Remedies for a state cache without room for one request: the fraction goes up, the states get smaller."""
    figures = context.tracker.figures
    fraction = fraction_of(match, context)
    old = match.rule.until is not None and context.speculative and not context.new_names
    floor = 1.0 - figures.avail_after / figures.avail_before if figures.avail_before and figures.avail_after is not None else None
    wanted = _fraction_for_states(match, context, fraction)
    if wanted is None and fraction is not None:
        wanted = max(fraction, floor or 0.0) + 0.04
    found = less_state(context, fraction, floor) if old else []
    flag = context.flag("mem-fraction-static")
    why = "After the weights too little is left for the states of even one request."
    if wanted is None:
        found.append(remedy("Raise " + flag, flag, "raise", None, why))
    elif wanted + 0.01 <= FRACTION_LIMIT:
        value = "%.2f" % (wanted + 0.01)
        found.append(
            remedy("Raise %s%s to %s" % (flag, " from %s" % percent(fraction) if fraction else "", value), flag, "raise", value, why)
        )
    elif wanted <= 0.97:
        found.append(
            remedy(
                "Raise %s to %.2f, which leaves little for graphs and prefill" % (flag, wanted + 0.005),
                flag,
                "raise",
                "%.2f" % (wanted + 0.005),
                why,
            )
        )
    if not old and context.args.get("mamba_ssm_dtype") not in ("bfloat16", "float16"):
        found.append(
            remedy(
                "Halve the state size", context.flag("mamba-ssm-dtype"), "set", "bfloat16", "States are float32 unless said otherwise."
            )
        )
    if context.speculative:
        tokens = context.args.get("speculative_num_draft_tokens")
        found.append(
            remedy(
                "Draft fewer tokens, or none",
                context.flag("speculative-num-draft-tokens"),
                "lower",
                str(tokens - 1) if isinstance(tokens, int) and tokens > 2 else None,
                "Each drafted token keeps a state of its own.",
            )
        )
    return found + smaller_model(context)


def mamba_slots(match, context):
    """Remedies for slots that ran out while serving."""
    slots = context.tracker.figures.mamba_slots
    running = (context.tracker.capacity or {}).get("max_running_requests")
    return [
        remedy(
            "Run fewer requests at once",
            context.flag("max-running-requests"),
            "lower",
            str(max(1, running - 1)) if running else None,
            "%s slots were shared by up to %s requests." % (slots, running) if slots and running else None,
        ),
        remedy(
            "Give the state cache more slots",
            context.flag("max-mamba-cache-size"),
            "raise",
            str(slots * 2) if slots else None,
            "Or raise its share with --mamba-full-memory-ratio.",
        ),
    ] + (
        [
            remedy(
                "Switch the hierarchical cache off",
                context.flag("enable-hierarchical-cache"),
                "remove",
                None,
                "It keeps states locked.",
            )
        ]
        if context.args.get("enable_hierarchical_cache")
        else []
    )
