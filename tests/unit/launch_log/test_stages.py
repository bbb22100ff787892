"""One launch through its stages, over real launches and small logs."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.lines import Line
from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.markers import STAGES
from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.reader import Source
from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.server_args import is_server_args, parse_server_args
from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.stages import StageTracker

LAB = pathlib.Path(__file__).resolve().parents[2] / "corpus" / "lab"


def follow(path):
    tracker = StageTracker()
    with Source(str(path)) as source:
        for line in source.lines():
            tracker.feed(line)
    return tracker


@pytest.mark.parametrize(
    "run, stage, ready",
    (
        ("a01_healthy_full", "shutdown", True),
        ("a03_port_in_use", "ready", False),
        ("a04_unknown_flag", "args", False),
        ("a17_truncated_safetensors", "weights_load", False),
        ("a10_mem_fraction_too_low", "memory_pool", False),
        ("b02_080_nomtp", "serving", True),
        ("e12_087_mtp_extrabuffer", "cuda_graph", False),
        ("e33_tp1_085_mtp_noradix_maxrun16", "warmup", False),
        ("a40_gpu_id_not_there", "distributed_init", False),
    ),
)
def test_stage(run, stage, ready):
    tracker = follow(LAB / run / "server.log")
    assert (tracker.stage, tracker.ready) == (stage, ready)
    assert bool(tracker.bind_error) == (run == "a03_port_in_use")
    names = [name for name, _unused in tracker.history]
    assert len(set(names)) == len(names) and set(names) <= set(STAGES)


def test_a_whole_launch():
    tracker = follow(LAB / "b05_080_mtp" / "server.log")
    assert [name for name, _unused in tracker.history] == [
        "launch",
        "tokenizer",
        "distributed_init",
        "weights_load",
        "memory_pool",
        "attention_backend",
        "cuda_graph",
        "warmup",
        "ready",
        "serving",
    ]
    times = [seconds for _unused, seconds in tracker.history]
    assert times == sorted(times)
    assert tracker.capacity == {
        "max_total_num_tokens": 167344,
        "chunked_prefill_size": 8192,
        "max_prefill_tokens": 16384,
        "max_running_requests": 6,
        "context_len": 32768,
        "available_gpu_mem_gib": 21.83,
    }
    assert tracker.server_args["mem_fraction_static"] == 0.8
    assert (tracker.figures.avail_before, tracker.figures.avail_after, round(tracker.figures.weights, 2)) == (93.93, 37.33, 56.58)
    assert tracker.figures.mamba_slots == 34


def test_a_clock_of_the_caller():
    tracker = StageTracker()
    tracker.feed(Line(1, "server_args=ServerArgs(model_path='/m')"), now=100.0)
    tracker.feed(Line(2, "Init torch distributed begin."), now=107.5)
    assert tracker.history == [("launch", 0.0), ("distributed_init", 7.5)]


def test_the_bar_in_words():
    tracker = StageTracker()
    tracker.feed(Line(1, "Loading safetensors checkpoint shards:  31% Completed | 13/41 [00:13<00:28, 1.42s/it]"))
    assert tracker.progress == "Loading safetensors checkpoint shards 13/41 (31 %)"
    assert tracker.stage == "weights_load"


def test_quoted_words_are_no_marks():
    tracker = StageTracker()
    tracker.feed(
        Line(
            1,
            "[2026-01-01 00:00:00] Receive: obj=GenerateReqInput(text='The server is fired up and ready to roll! [Errno 98] error "
            "while attempting to bind on address')",
        )
    )
    assert not tracker.ready and tracker.bind_error is None and tracker.stage == "launch"


def test_both_forms_of_the_settings():
    old = parse_server_args(
        "[x] server_args=ServerArgs(model_path='/m, (a)', port=30000, api_key=None, f=0.85, b=True, l=['x', 'y'], d={'a': 1}, "
        "o=<Enum.X: 'x'>)"
    )
    assert old == {
        "model_path": "/m, (a)",
        "port": 30000,
        "api_key": None,
        "f": 0.85,
        "b": True,
        "l": ["x", "y"],
        "d": {"a": 1},
        "o": "<Enum.X: 'x'>",
    }
    new = parse_server_args("server_args={'model_path': \"/m's\", 'port': 1, 'x': None, 'nested': {'a': [1, 2]}}")
    assert new == {"model_path": "/m's", "port": 1, "x": None, "nested": {"a": [1, 2]}}
    assert parse_server_args("server_args=ServerArgs(a=1, b='cut of") == {"a": 1}
    assert parse_server_args("no settings") is None and not is_server_args("server_args=None")


def test_values_that_no_result_could_carry():
    parsed = parse_server_args("server_args=ServerArgs(a='\\udcff', b={1, 2}, c={(1, 2): b'x'}, d=1e999, e=(1, 'x'))")
    assert parsed == {"a": "?", "b": [1, 2], "c": {"(1, 2)": "b'x'"}, "d": "inf", "e": [1, "x"]}
