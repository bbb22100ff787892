# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What a ready server says it can hold, from /server_info (srt/entrypoints/http_server.py) and its own capacity line."""

from __future__ import annotations


def from_server_info(info, logged=None):
    """Return a dict: max_total_num_tokens, max_running_requests, context_length, weights_gib, kv_cache_gib, graphs_gib, version.

    ``info``: parsed /server_info. ``logged``: capacity that the launch log printed (fills what the answer lacks). Unknown
    values are None. SGLang writes GB and means GiB.
    """
    info, logged = info if isinstance(info, dict) else {}, logged or {}
    states = info.get("internal_states") or [{}]
    state = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else {}
    memory = state.get("memory_usage")
    memory = memory if isinstance(memory, dict) else {}
    graph = memory.get("graph")
    if isinstance(graph, dict):  # from 0.5.19 on: one figure for each phase
        graph = sum(value for value in graph.values() if isinstance(value, (int, float)))
    return {
        "max_total_num_tokens": _first(info.get("max_total_num_tokens"), logged.get("max_total_num_tokens")),
        "max_running_requests": _first(
            state.get("effective_max_running_requests_per_dp"), logged.get("max_running_requests"), info.get("max_running_requests")
        ),
        "context_length": _first(logged.get("context_len"), info.get("context_length")),
        "weights_gib": memory.get("weight"),
        "kv_cache_gib": memory.get("kvcache"),
        "graphs_gib": graph,
        "version": info.get("version"),
    }


def _first(*values):
    return next((value for value in values if value is not None), None)
