"""The module: options through, facts and failures out; its documentation names every field it returns."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._gpu.record import Gpu, GpuProcess, Problem, Snapshot
from ansible_collections.kpro.sglang.plugins.modules import gpu_memory_facts


@pytest.mark.parametrize("check", [False, True])
def test_facts(run_module, monkeypatch, check):
    seen = {}

    def gather(**options):
        seen.update(options)
        return {"gpus": []}

    monkeypatch.setattr(gpu_memory_facts, "gather", gather)
    result = run_module(gpu_memory_facts, {"gpus": [0, "GPU-1"], "python": "/v", "wait_for_free_mib": 5, "timeout": 2}, check=check)
    assert (result["ansible_facts"], result["changed"], result["failed"]) == ({"gpu_memory": {"gpus": []}}, False, False)
    assert seen == {"backend": "auto", "python": "/v", "gpus": ["0", "GPU-1"], "links": False, "wait_for_free_mib": 5, "timeout": 2.0}


def test_failure_keeps_what_was_read(run_module, monkeypatch):
    def gather(**_options):
        raise KproError("wait_for_free_mib: no.", gpu_memory={"gpus": []})

    monkeypatch.setattr(gpu_memory_facts, "gather", gather)
    result = run_module(gpu_memory_facts, {})
    assert (result["failed"], result["msg"], result["gpu_memory"]) == (True, "wait_for_free_mib: no.", {"gpus": []})


def test_a_machine_without_gpu_is_an_answer(run_module, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    result = run_module(gpu_memory_facts, {"backend": "nvidia_smi"})
    assert result["failed"] is False
    assert set(result["ansible_facts"]["gpu_memory"]) >= {"backend", "driver_version", "cuda_version", "gpus", "problem"}


def test_every_field_is_documented():
    returned = yaml.safe_load(gpu_memory_facts.RETURN)["ansible_facts"]["contains"]["gpu_memory"]["contains"]
    record = Snapshot(gpus=[Gpu(index=0, processes=[GpuProcess(1)])], problem=Problem("a", "b", "c")).as_dict()
    assert set(returned) == set(record) | {"kernel_driver_version", "waited"}
    assert set(returned["gpus"]["contains"]) == set(record["gpus"][0])
    assert set(returned["gpus"]["contains"]["processes"]["contains"]) == set(record["gpus"][0]["processes"][0])
    assert set(returned["problem_detail"]["contains"]) == set(record["problem_detail"])


def test_every_option_is_documented(run_module, monkeypatch):
    options = yaml.safe_load(gpu_memory_facts.DOCUMENTATION)["options"]
    seen = {}
    monkeypatch.setattr(gpu_memory_facts, "gather", lambda **given: seen.update(given) or {})
    run_module(gpu_memory_facts, {})
    assert {name: option.get("default") for name, option in options.items()} == seen
