# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Remedies for memory faults, with numbers from the log. The direction never contradicts the cause:

a pool that computes to nothing wants a higher static fraction (or less state), an allocation that fails beside the pools wants
a lower one, and weights that do not fit do not depend on it at all. All figures in GiB per GPU.
"""

from __future__ import annotations

import re

from .oom import figures_of_oom
from .record import remedy

#: Highest static fraction worth trying: above it graphs and activations run out.
FRACTION_LIMIT = 0.94
#: What a pool should be able to hold beyond weights, GiB, before a fraction is worth suggesting.
POOL_MARGIN = 1.0

_MINIMUM = re.compile(r"above (0?\.\d+)")
_CURRENT = re.compile(r"mem[_-]fraction[_-]static=(0?\.\d+)")


def percent(value):
    """A fraction as flags take it."""
    return "%.2f" % value


def fraction_of(match, context):
    """The static fraction of the launch: as the message prints it, else as the settings say; None when unknown."""
    found = _CURRENT.search(match.message())
    if found:
        return float(found.group(1))
    value = context.args.get("mem_fraction_static")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _lower_fraction(match, context, step, why):
    fraction = fraction_of(match, context)
    value = percent(max(0.3, round(fraction - step, 2))) if fraction else None
    return remedy(
        "Lower %s" % context.flag("mem-fraction-static")
        + (" from %s to %s" % (percent(fraction), value) if value else " by %.2f" % step),
        context.flag("mem-fraction-static"),
        "lower",
        value,
        why,
    )


def smaller_model(context):
    """Less weight on each GPU."""
    tp = context.tp_size
    return [
        remedy(
            "Spread the model over more GPUs",
            context.flag("tp-size"),
            "raise",
            str(tp * 2) if tp else None,
            "Each GPU then holds a smaller part of the weights.",
        ),
        remedy("Use a smaller quantisation of the model", None, None, None, "Fewer bytes of weights leave more for everything else."),
    ]


def weights_oom(match, context):
    """Remedies for weights that do not fit."""
    figures = context.tracker.figures
    numbers = figures_of_oom(match.message())
    found = []
    if len(figures.loads) > 1 and figures.pool_avail is not None:
        free = figures.loads[-1]["avail_before"]
        found.append(
            _lower_fraction(
                match, context, 0.05, "The draft model is loaded after the pools of the main model, which left only %.2f GiB." % free
            )
        )
        if context.speculative:
            found.append(
                remedy(
                    "Drop speculative decoding",
                    context.flag("speculative-algorithm"),
                    "remove",
                    None,
                    "Without the draft its weights are not loaded.",
                )
            )
        return found + smaller_model(context)
    found = smaller_model(context)
    if figures.avail_before is not None:
        found[0]["why"] = "Only %.2f GiB were free before the load%s." % (
            figures.avail_before,
            ", %.2f GiB were left when %.2f more were wanted" % (numbers["free"], numbers["asked"])
            if numbers["free"] is not None and numbers["asked"] is not None
            else "",
        )
    if context.speculative:
        found.append(
            remedy(
                "Drop speculative decoding", context.flag("speculative-algorithm"), "remove", None, "The draft layers need memory too."
            )
        )
    found.append(
        remedy(
            "Keep part of the weights in host memory",
            context.flag("cpu-offload-gb"),
            "set",
            None,
            "Slow, but it fits; the static fraction plays no part here.",
        )
    )
    return found


def gpu_busy(match, context):
    """Remedies for a GPU that is taken."""
    numbers = figures_of_oom(match.message())
    pids = ", ".join(str(pid) for pid in numbers["other_pids"])
    why = (
        "Process %s holds %.2f GiB." % (pids, numbers["others"])
        if numbers["others"]
        else "The memory was taken before this launch loaded anything."
    )
    return [
        remedy(
            "Stop the process that holds the GPU"
            + (
                " (process id %s; from a container look on the node)" % pids
                if pids
                else " (nvidia-smi; from a container look on the node)"
            ),
            None,
            None,
            None,
            why,
        ),
        remedy(
            "Choose a free GPU in CUDA_VISIBLE_DEVICES or with " + context.flag("base-gpu-id"),
            context.flag("base-gpu-id"),
            "set",
            None,
            None,
        ),
    ]


def graph_oom(match, context):
    """Remedies for too little memory beside the pools for graphs: the fraction goes down."""
    flag = context.flag("cuda-graph-max-bs")
    size = context.args.get("cuda_graph_max_bs_decode") or context.args.get("cuda_graph_max_bs")
    value = str(max(1, int(size) // 2)) if isinstance(size, int) and size > 1 else None
    left = context.tracker.figures.capture_avail
    return [
        _lower_fraction(
            match,
            context,
            0.04,
            "%sraising it would take still more from the graphs."
            % ("Only %.2f GiB were left when capture began; " % left if left is not None else "Graphs need memory beside the pools; "),
        ),
        remedy("Capture fewer or smaller graphs", flag, "lower", value, "Each captured batch size keeps its own buffers."),
        remedy("Switch CUDA graphs off as a last resort", context.flag("disable-cuda-graph"), "add", None, "Costs much speed."),
    ]


def pool_oom(match, context):
    """Remedies for pools larger than what is free: the fraction goes down."""
    return [
        _lower_fraction(match, context, 0.03, "The pools were sized larger than the memory that is really free."),
        remedy("Free memory that another process has taken since the launch began", None, None, None, "It was counted as free before."),
    ]


def activation_oom(match, context):
    """Remedies for a forward pass that does not fit: the fraction or the chunk goes down."""
    found = [_lower_fraction(match, context, 0.03, "A forward pass needs memory outside the pools.")]
    capacity = context.tracker.capacity or {}
    chunk = capacity.get("chunked_prefill_size") or context.args.get("chunked_prefill_size")
    value = str(max(512, int(chunk) // 2)) if isinstance(chunk, int) and chunk > 1024 else None
    found.append(
        remedy(
            "Prefill in smaller pieces",
            context.flag("chunked-prefill-size"),
            "lower",
            value,
            "Activations grow with the tokens of one prefill.",
        )
    )
    found.append(remedy("Run fewer requests at once", context.flag("max-running-requests"), "lower", None, None))
    return found


def kv_cache(match, context):
    """Remedies for a KV pool that computes to nothing: the fraction goes up, or the state down."""
    figures = context.tracker.figures
    fraction = fraction_of(match, context)
    printed = _MINIMUM.search(match.message())
    floor = float(printed.group(1)) if printed else None
    if floor is None and figures.avail_before and figures.avail_after is not None:
        floor = 1.0 - figures.avail_after / figures.avail_before
    state_first = context.hybrid and context.speculative
    found = []
    if state_first and (fraction is None or floor is None or fraction > floor):
        found += less_state(context, fraction, floor)
    wanted = None
    if floor is not None:
        margin = POOL_MARGIN / figures.avail_before if figures.avail_before else 0.05
        wanted = round(floor + max(0.03, margin) + 0.005, 2)
    if floor is not None and wanted is not None and wanted <= FRACTION_LIMIT and (fraction is None or fraction < wanted):
        found.append(
            remedy(
                "Raise %s%s to %s"
                % (context.flag("mem-fraction-static"), " from %s" % percent(fraction) if fraction else "", percent(wanted)),
                context.flag("mem-fraction-static"),
                "raise",
                percent(wanted),
                "The weights alone need %.3f of the memory that was free before the load; the KV pool comes on top." % floor,
            )
        )
    elif wanted is None and (fraction is None or fraction < 0.9):
        value = percent(min(0.92, (fraction or 0.85) + 0.04))
        found.append(
            remedy(
                "Raise %s" % context.flag("mem-fraction-static"),
                context.flag("mem-fraction-static"),
                "raise",
                value,
                "The static share must hold weights and pool.",
            )
        )
    if not state_first or not found:
        smaller = smaller_model(context)
        if figures.weights is not None and figures.avail_before:
            smaller[0]["why"] = "%.2f of %.2f GiB go to the weights." % (figures.weights, figures.avail_before)
        found += smaller
    return found


def less_state(context, fraction, floor):
    """Fewer or smaller states, for releases that count the states of all requests before the KV pool."""
    asked = context.args.get("max_running_requests")
    value = "16" if not isinstance(asked, int) or asked > 16 else str(max(1, asked // 2))
    why = "With speculation the states of all running requests (%s) are counted before the KV pool" % (
        asked if isinstance(asked, int) else "48 when not given"
    )
    if floor is not None and fraction is not None:
        why += "; the weights need only %.2f of the %.2f" % (floor, fraction)
    found = [
        remedy(
            "Lower %s to %s" % (context.flag("max-running-requests"), value),
            context.flag("max-running-requests"),
            "lower",
            value,
            why + ".",
        )
    ]
    if context.args.get("mamba_ssm_dtype") not in ("bfloat16", "float16"):
        found.append(
            remedy(
                "Halve the state size", context.flag("mamba-ssm-dtype"), "set", "bfloat16", "States are float32 unless said otherwise."
            )
        )
    return found


def balance(match, context):
    """Remedies for the check of equal free memory."""
    return [
        remedy("Make sure that no other process holds memory of these GPUs (nvidia-smi)", None, None, None, None),
        remedy(
            "Switch the check off: SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0 in the environment",
            "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK",
            "set",
            "0",
            "The difference comes from this server's own first model.",
        ),
    ]


def hicache(match, context):
    """Remedies for the host pool of the hierarchical cache."""
    size, ratio = context.args.get("hicache_size"), context.args.get("hicache_ratio")
    found = []
    if isinstance(size, (int, float)) and size > 0:
        found.append(
            remedy(
                "Lower --hicache-size from %g to %g" % (size, max(1, size // 2)),
                "--hicache-size",
                "lower",
                "%g" % max(1, size // 2),
                "The size counts for each rank.",
            )
        )
    elif isinstance(ratio, (int, float)) and ratio > 1:
        found.append(
            remedy(
                "Lower --hicache-ratio from %g to %g" % (ratio, max(1.1, ratio / 2)),
                "--hicache-ratio",
                "lower",
                "%g" % max(1.1, ratio / 2),
                None,
            )
        )
    else:
        found.append(
            remedy("Lower --hicache-size or --hicache-ratio", "--hicache-size", "lower", None, "The size counts for each rank.")
        )
    groups = match.groups
    if groups.get("free"):
        found[0]["why"] = (
            "%s GB were asked for and %s GB are free, of which SGLang keeps 10 GiB back; the size counts for each rank."
            % (groups["asked"], groups["free"])
        )
    found.append(remedy("Give the container more memory", None, "raise", None, None))
    return found


def host_oom(match, context):
    """Remedies for a kill for lack of host memory."""
    found = [
        remedy(
            "Raise the memory limit of the container (or add swap for the load)",
            None,
            "raise",
            None,
            "The kernel ended the process; nothing in SGLang failed.",
        )
    ]
    if context.args.get("enable_hierarchical_cache"):
        found.append(remedy("Lower --hicache-size", "--hicache-size", "lower", None, "The hierarchical cache pins host memory."))
    if context.tp_size and context.tp_size > 1:
        found.append(
            remedy(
                "Load with fewer threads",
                "--model-loader-extra-config",
                "set",
                '{"enable_multithread_load": false}',
                "Every rank reads shards at the same time.",
            )
        )
    return found
