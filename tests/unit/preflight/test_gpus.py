"""GPUs of servers against what gpu_memory_facts told."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._preflight.gpus import check_gpus
from ansible_collections.kpro.sglang.plugins.module_utils._preflight.records import Report
from ansible_collections.kpro.sglang.plugins.module_utils._preflight.servers import read_servers

UUIDS = ["GPU-aaaa1111-0000-0000-0000-000000000000", "GPU-aabb2222-0000-0000-0000-000000000000"]
MEMORY = {
    "backend": "nvml",
    "driver_version": "580.159.04",
    "problem": None,
    "gpus": [
        {"index": 0, "uuid": UUIDS[0], "pci_bus_id": "00000000:21:00.0", "mig": None},
        {"index": 1, "uuid": UUIDS[1], "pci_bus_id": "00000000:C1:00.0", "mig": None},
    ],
}
NONE = {
    "backend": "nvml",
    "gpus": [],
    "problem": "driver_library_missing",
    "problem_detail": {"text": "No library.", "remedy": "Install it."},
}


def problems_of(entries, memory=..., require=False):
    memory = MEMORY if memory is ... else memory
    report = Report()
    servers = read_servers([{"model": "/m", "port": 31000 + number, **entry} for number, entry in enumerate(entries)], report)
    assert not report.problems
    check_gpus(servers, memory, require, report)
    return report.problems


@pytest.mark.parametrize("gpus", [["0", "1"], UUIDS, ["GPU-aaaa", "gpu-aabb"], ["21:00.0", "0000:c1:00.0"], None])
def test_names_of_gpus(gpus):
    assert problems_of([{"name": "a", "gpus": gpus, "args": {"tp": 2}}]) == []


@pytest.mark.parametrize(
    "gpus, word", [(["2"], "no GPU"), (["GPU-cc"], "no GPU"), (["GPU-aa"], "more than one"), (["22:00.0"], "no GPU"), (["x"], "no GPU")]
)
def test_names_that_fit_none_or_several(gpus, word):
    (problem,) = problems_of([{"name": "a", "gpus": gpus}])
    assert word in problem["problem"] and repr(gpus[0]) in problem["problem"] and UUIDS[0] in problem["evidence"]


@pytest.mark.parametrize("memory", [MEMORY, None])
def test_one_gpu_for_two_servers(memory):
    (problem,) = problems_of([{"name": "a", "gpus": ["1"]}, {"name": "b", "gpus": ["1"]}], memory)
    assert problem["server"] == "b" and "server a too" in problem["problem"]
    (problem,) = problems_of([{"name": "a", "gpus": ["0", "0"]}], memory)
    assert "twice" in problem["problem"]


def test_one_gpu_under_two_names():
    (problem,) = problems_of([{"name": "a", "gpus": ["1"]}, {"name": "b", "gpus": [UUIDS[1]]}])
    assert "server a too" in problem["problem"]
    (problem,) = problems_of([{"name": "a", "gpus": ["c1:00.0"]}, {"name": "b", "gpus": ["00000000:C1:00.0"]}], None)
    assert "server a too" in problem["problem"]


def test_more_ranks_than_gpus():
    (problem,) = problems_of([{"name": "a", "gpus": ["0"], "args": {"tp": 2}}])
    assert "is 2, and the server has 1 GPU" in problem["problem"]
    (problem,) = problems_of([{"name": "a", "args": {"tp": 4}}])
    assert "has 2 GPUs" in problem["problem"]
    assert problems_of([{"name": "a", "args": {"tp": 4, "nnodes": 2}}]) == []


def test_no_gpu():
    for entries, require in (([{"name": "a"}], True), ([{"name": "a", "gpus": ["0"]}], False)):
        (problem,) = problems_of(entries, NONE, require)
        assert (problem["problem"], problem["do"], problem["cause"]) == ("No library.", "Install it.", "driver_library_missing")
    assert problems_of([{"name": "a"}], NONE) == []
    assert problems_of([{"name": "a", "gpus": ["0"], "args": {"device": "cpu"}}], NONE) == []
    assert problems_of([{"name": "a"}], {"gpus": []}, True)[0]["cause"] == "gpu_not_passed_through"
    assert problems_of([{"name": "a", "args": {"tp": 4}}], None) == []
