"""The sandbox's library and nvidia-smi: nvidia-ml-py can use them, and their words and exit statuses are the original's."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

ASK = """
import json, pynvml as n
def text(v): return v.decode() if isinstance(v, bytes) else v
n.nvmlInit()
out = []
for i in range(n.nvmlDeviceGetCount()):
    h = n.nvmlDeviceGetHandleByIndex(i)
    m, v1 = n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2), n.nvmlDeviceGetMemoryInfo(h)
    out.append({
        "uuid": n.nvmlDeviceGetUUID(h), "name": n.nvmlDeviceGetName(h), "pci": text(n.nvmlDeviceGetPciInfo(h).busId),
        "memory": [m.total >> 20, m.reserved >> 20, m.used >> 20, m.free >> 20], "v1": [v1.total >> 20, v1.used >> 20, v1.free >> 20],
        "minor": n.nvmlDeviceGetMinorNumber(h), "cc": n.nvmlDeviceGetCudaComputeCapability(h), "index": n.nvmlDeviceGetIndex(h),
        "compute": [[p.pid, p.usedGpuMemory >> 20, n.nvmlSystemGetProcessName(p.pid)] for p in n.nvmlDeviceGetComputeRunningProcesses(h)],
        "graphics": [p.pid for p in n.nvmlDeviceGetGraphicsRunningProcesses(h)],
        "same": n.nvmlDeviceGetMinorNumber(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(h))),
    })
print(json.dumps({"driver": n.nvmlSystemGetDriverVersion(), "nvml": n.nvmlSystemGetNVMLVersion(),
                  "cuda": n.nvmlSystemGetCudaDriverVersion(), "gpus": out}))
n.nvmlShutdown()
"""
INIT = """
import json, pynvml as n
try:
    n.nvmlInit()
    print(n.nvmlDeviceGetCount())
except n.NVMLError as error:
    print(json.dumps([error.value, str(error)]))
"""


def test_two_a6000_by_default(fake_gpu):
    answer = fake_gpu.python(ASK)
    assert (answer["driver"], answer["nvml"], answer["cuda"]) == ("580.159.04", "13.580.159.04", 13000)
    assert [gpu["name"] for gpu in answer["gpus"]] == ["NVIDIA RTX A6000"] * 2
    assert [gpu["memory"] for gpu in answer["gpus"]] == [[49140, 0, 0, 49140]] * 2
    assert [gpu["cc"] for gpu in answer["gpus"]] == [[8, 6]] * 2
    assert [gpu["pci"] for gpu in answer["gpus"]] == ["00000000:21:00.0", "00000000:41:00.0"]
    assert len({gpu["uuid"] for gpu in answer["gpus"]}) == 2


def test_state_file_is_what_nvidia_ml_py_reads(fake_gpu):
    fake_gpu.state(
        "# comment\ndriver 570.1.2\ncuda 12.8\n"
        "gpu 0 total=1000 used=600 reserved=100 pci=00000000:AF:00.0 uuid=GPU-aaaa cc=9.0 name=NVIDIA Test Card, big\n"
        "gpu 1 name=Other\n"
        "proc gpu=0 pid=41 used=500 name=sglang::scheduler TP0\nproc gpu=0 pid=42 used=90 name=x\n"
        "proc gpu=0 pid=7 used=3 type=G name=Xorg\n"
    )
    answer = fake_gpu.python(ASK)
    first, second = answer["gpus"]
    assert (answer["driver"], answer["cuda"]) == ("570.1.2", 12080)
    assert first["memory"] == [1000, 100, 600, 300]
    assert first["v1"] == [1000, 700, 300]
    assert (first["uuid"], first["name"], first["cc"]) == ("GPU-aaaa", "NVIDIA Test Card, big", [9, 0])
    assert first["compute"] == [[41, 500, "sglang::scheduler TP0"], [42, 90, "x"]]
    assert first["graphics"] == [7]
    assert (second["name"], second["compute"], second["index"], second["same"]) == ("Other", [], 1, 1)


@pytest.mark.parametrize(
    ("word", "code", "rc", "text"),
    [
        ("no_driver", 9, 9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "),
        ("version_mismatch", 18, 18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.159\n"),
        ("no_permission", 4, 4, "Failed to initialize NVML: Insufficient Permissions\n"),
        ("blocked", 17, 17, "Failed to initialize NVML: GPU access blocked by the operating system\n"),
        ("unknown", 999, 255, "Failed to initialize NVML: Unknown Error\n"),
    ],
)
def test_forced_errors(fake_gpu, word, code, rc, text):
    fake_gpu.state(f"error {word}\n")
    assert fake_gpu.python(INIT)[0] == code
    done = fake_gpu.smi()
    assert (done.returncode, done.stdout[: len(text)], done.stderr) == (rc, text, "")


def test_cards_are_seen_by_their_device_nodes(fake_gpu):
    (fake_gpu.dev / "nvidia0").unlink()
    done = fake_gpu.smi("--query-gpu=index,uuid", "--format=csv,noheader")
    assert done.stdout == "0, GPU-6b70726f-0000-4000-8000-000000000001\n"  # the card that is left counts from 0
    (fake_gpu.dev / "nvidia1").unlink()
    done = fake_gpu.smi()
    assert (done.returncode, done.stdout) == (6, "No devices were found\n")
    (fake_gpu.dev / "nvidiactl").unlink()
    assert fake_gpu.smi().returncode == 9
    assert fake_gpu.python(INIT)[0] == 9


def test_lost_card(fake_gpu):
    fake_gpu.state("gpu 0 lost=1\ngpu 1\n")
    done = fake_gpu.smi()
    assert (done.returncode, "GPU is lost" in done.stdout) == (15, True)


def test_without_the_library(fake_gpu):
    fake_gpu.env["LD_LIBRARY_PATH"] = "/nonexistent"
    done = fake_gpu.smi()
    assert (done.returncode, done.stdout.startswith("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.")) == (12, True)


def test_what_sglang_asks(fake_gpu):
    done = fake_gpu.smi("--query-gpu=memory.total", "--format=csv,noheader,nounits")
    assert (done.returncode, done.stdout) == (0, "49140\n49140\n")


def test_csv_headers_units_and_unknown_fields(fake_gpu):
    assert fake_gpu.smi("--query-gpu=index,memory.used", "--format=csv").stdout == "index, memory.used [MiB]\n0, 0 MiB\n1, 0 MiB\n"
    done = fake_gpu.smi("--query-gpu=index,nonsense", "--format=csv,noheader")
    assert (done.returncode, done.stdout) == (2, 'Field "nonsense" is not a valid field to query.\n\n')
    done = fake_gpu.smi("-i", "7", "--query-gpu=index", "--format=csv")
    assert (done.returncode, done.stdout) == (6, "No devices were found\n")
    assert fake_gpu.smi("--nonsense").returncode == 255


def test_bare_table_and_list(fake_gpu):
    fake_gpu.state("gpu 0 used=512\nproc gpu=0 pid=77 used=500 name=python3\n")
    table = fake_gpu.smi().stdout
    assert "512MiB /  49140MiB" in table
    assert "Driver Version: 580.159.04     CUDA Version: 13.0" in table
    assert next(line for line in table.splitlines() if " 77 " in line).split()[6:8] == ["python3", "500MiB"]
    assert len({len(line) for line in table.splitlines()[1:] if line}) == 1, "the frame is straight"
    assert fake_gpu.smi("-L").stdout == "GPU 0: NVIDIA RTX A6000 (UUID: GPU-6b70726f-0000-4000-8000-000000000000)\n"


def test_memory_of_a_holder_comes_back_when_it_is_killed(fake_gpu):
    holder = fake_gpu.hold(1, 5120)
    try:
        done = fake_gpu.smi("--query-compute-apps=pid,used_gpu_memory,gpu_uuid", "--format=csv,noheader,nounits")
        assert done.stdout == f"{holder.pid}, 5120, GPU-6b70726f-0000-4000-8000-000000000001\n"
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert fake_gpu.smi("--query-gpu=memory.used", "--format=csv,noheader,nounits").stdout == "0\n0\n"


def test_what_is_built_here_runs_in_older_guests(gpu_build):
    for name in ("libnvidia-ml.so.1", "nvidia-smi"):
        done = subprocess.run(["readelf", "-W", "--dyn-syms", str(gpu_build / name)], capture_output=True, text=True, check=True)
        versions = {tuple(map(int, found)) for found in re.findall(r"@GLIBC_([0-9]+)\.([0-9]+)", done.stdout)}
        assert versions
        assert max(versions) <= (2, 34), "Debian 12 has glibc 2.36, Ubuntu 22.04 has 2.35"


def test_library_needs_only_the_c_library(gpu_build):
    for name in ("libnvidia-ml.so.1", "nvidia-smi"):
        done = subprocess.run(["readelf", "-d", str(gpu_build / name)], capture_output=True, text=True, check=True)
        assert [line.split("[")[1].rstrip("]") for line in done.stdout.splitlines() if "NEEDED" in line] == ["libc.so.6"]
    assert os.access(gpu_build / "nvidia-smi", os.X_OK)
