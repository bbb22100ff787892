"""Both readers against one driver (the sandbox's): the same record, and failures with the same cause."""

from __future__ import annotations

import os

import pytest


def both(fake_gpu, **options):
    return fake_gpu.facts(backend="nvml", **options), fake_gpu.facts(backend="nvidia_smi", **options)


def test_same_record(fake_gpu):
    fake_gpu.state(
        "gpu 0 total=49140 used=40700 reserved=480\ngpu 1 used=12 name=NVIDIA A, with a comma\n"
        f"proc gpu=0 pid={os.getpid()} used=40000\nproc gpu=0 pid=4194000 used=600 name=gone, but listed\n"
        "proc gpu=1 pid=4194001 used=12 type=G name=Xorg <1>&\n"
    )
    nvml, smi = both(fake_gpu)
    assert (nvml.pop("backend"), smi.pop("backend")) == ("nvml", "nvidia_smi")
    assert nvml == smi
    first = nvml["gpus"][0]
    assert (first["used_mib"], first["free_mib"], first["reserved_mib"], first["unowned_mib"]) == (40700, 7960, 480, 100)
    assert [process["used_mib"] for process in first["processes"]] == [40000, 600]
    assert first["processes"][1]["name"] == "gone, but listed"
    assert "python" in first["processes"][0]["name"]
    assert nvml["gpus"][1]["processes"][0]["kind"] == "graphics"
    assert nvml["gpus"][1]["processes"][0]["name"] == "Xorg <1>&"
    assert (nvml["driver_version"], nvml["cuda_version"], nvml["problem"]) == ("580.159.04", "13.0", None)


@pytest.mark.parametrize(
    ("state", "missing", "cause"),
    [
        ("error no_driver", [], "gpu_not_passed_through"),
        ("error version_mismatch", [], "driver_library_mismatch"),
        ("error no_permission", [], "gpu_not_passed_through"),
        ("error blocked", [], "gpu_not_passed_through"),
        ("error unknown", [], "gpu_cgroup_lost"),
        ("gpu 0 lost=1", [], "gpu_fell_off_bus"),
        ("", ["nvidiactl"], "gpu_not_passed_through"),
        ("", ["nvidia0", "nvidia1"], "gpu_not_passed_through"),
        ("", ["nvidia0", "nvidia1", "nvidiactl"], "gpu_not_passed_through"),
    ],
)
def test_failures_are_answers_with_the_same_cause(fake_gpu, state, missing, cause):
    fake_gpu.state(state + "\n")
    for name in missing:
        (fake_gpu.dev / name).unlink()
    for facts in both(fake_gpu):
        assert facts["gpus"] == []
        assert facts["problem"] == cause
        assert facts["problem_detail"]["text"].endswith(".")
        assert facts["problem_detail"]["remedy"].endswith(".")


def test_library_missing(fake_gpu):
    fake_gpu.env["LD_LIBRARY_PATH"] = "/nonexistent"
    for facts in both(fake_gpu):
        assert facts["problem"] == "driver_library_missing"


def test_nothing_at_all(fake_gpu):
    fake_gpu.env.update(LD_LIBRARY_PATH="/nonexistent", PATH="/nonexistent")
    for name in ("nvidiactl", "nvidia0", "nvidia1", "nvidia-uvm"):
        (fake_gpu.dev / name).unlink()
    facts = fake_gpu.facts()
    assert (facts["gpus"], facts["problem"]) == ([], "gpu_not_passed_through")


def test_one_lost_card_leaves_the_other(fake_gpu):
    fake_gpu.state("gpu 0 lost=1\ngpu 1\n")
    facts = fake_gpu.facts(backend="nvml")
    assert [gpu["index"] for gpu in facts["gpus"]] == [1]
    assert facts["problem"] == "gpu_fell_off_bus"


def test_auto_prefers_nvml_and_falls_back(fake_gpu):
    assert fake_gpu.facts()["backend"] == "nvml"
    broken = fake_gpu.state_file.parent / "venv/lib/python3.11/site-packages"
    broken.mkdir(parents=True)
    (broken / "pynvml.py").write_text("raise RuntimeError('broken')\n")
    facts = fake_gpu.facts(python=str(fake_gpu.state_file.parent / "venv"), backend="nvidia_smi")
    assert facts["backend"] == "nvidia_smi"


def test_holder_is_found_named_and_waited_for(fake_gpu):
    holder = fake_gpu.hold(0, 5120)
    try:
        for backend in ("nvml", "nvidia_smi"):
            facts = fake_gpu.facts(backend=backend)
            (process,) = facts["gpus"][0]["processes"]
            assert (process["pid"], process["used_mib"]) == (holder.pid, 5120)
            short = fake_gpu.facts(backend=backend, gpus=["0"], wait_for_free_mib=49000, timeout=0.1)
            assert f"(pid {holder.pid}" in short["error"]
            assert "5120 MiB" in short["error"]
            assert short["result"]["gpu_memory"]["waited"]["satisfied"] is False
        # the other card is free at once
        assert fake_gpu.facts(gpus=["1"], wait_for_free_mib=49000)["waited"]["satisfied"] is True
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    facts = fake_gpu.facts(gpus=["0"], wait_for_free_mib=49000, timeout=30)
    assert facts["waited"]["satisfied"] is True
    assert facts["gpus"][0]["processes"] == []
