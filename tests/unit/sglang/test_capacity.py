"""What a ready server says it can hold, from answers of several releases."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._sglang.capacity import from_server_info

INFO = {
    "model_path": "/models/tiny",
    "version": "0.5.14",
    "max_total_num_tokens": 81920,
    "max_running_requests": 48,
    "context_length": None,
    "internal_states": [
        {
            "effective_max_running_requests_per_dp": 12,
            "memory_usage": {"weight": 15.2, "kvcache": 4.5, "token_capacity": 81920, "graph": 0.9},
        },
    ],
}
LOGGED = {"max_total_num_tokens": 81920, "max_running_requests": 48, "context_len": 32768}
NAMES = {"max_total_num_tokens", "max_running_requests", "context_length", "weights_gib", "kv_cache_gib", "graphs_gib", "version"}


def test_the_number_that_is_in_force_wins_over_the_one_that_was_wanted():
    capacity = from_server_info(INFO, LOGGED)
    assert capacity == {
        "max_total_num_tokens": 81920,
        "max_running_requests": 12,
        "context_length": 32768,
        "weights_gib": 15.2,
        "kv_cache_gib": 4.5,
        "graphs_gib": 0.9,
        "version": "0.5.14",
    }


def test_graph_memory_by_phase_is_summed():
    info = {"internal_states": [{"memory_usage": {"graph": {"decode": 0.5, "prefill": 0.25, "unit": "GB"}}}]}
    assert from_server_info(info)["graphs_gib"] == 0.75


def test_the_log_fills_what_the_answer_lacks():
    capacity = from_server_info({"internal_states": []}, LOGGED)
    assert (capacity["max_total_num_tokens"], capacity["max_running_requests"], capacity["context_length"]) == (81920, 48, 32768)


def test_without_a_log_the_wanted_number_is_better_than_none():
    assert from_server_info({"max_running_requests": 48})["max_running_requests"] == 48


def test_a_zero_is_a_figure_and_not_an_unknown():
    assert from_server_info({"max_total_num_tokens": 0}, {"max_total_num_tokens": 5})["max_total_num_tokens"] == 0


@pytest.mark.parametrize(
    "info",
    [
        None,
        {},
        [],
        "text",
        3,
        {"internal_states": None},
        {"internal_states": {}},
        {"internal_states": ["x"]},
        {"internal_states": [{"memory_usage": [1]}]},
    ],
)
def test_any_other_answer_gives_the_same_names_and_unknowns(info):
    capacity = from_server_info(info)
    assert set(capacity) == NAMES and set(capacity.values()) == {None}
