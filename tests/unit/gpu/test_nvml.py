"""The NVML reader on a stand-in for nvidia-ml-py: what one card refuses, MIG, old bindings and drivers, failures."""

from __future__ import annotations

import types

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._gpu.nvml import NvmlReader

MIB = 1 << 20
H200 = {"total": 150754820096, "reserved": 644939776, "free": 144092299264, "used": 6017581056}  # seen on driver 580.159.04


class NVMLError(Exception):
    def __init__(self, value):
        super().__init__(f"NVML error {value}")
        self.value = value


def stand_in(**functions):
    """A module with one card; what is not given answers "not supported", and None takes a function away."""
    module = types.SimpleNamespace(NVMLError=NVMLError, nvmlMemory_v2=0x02000028)

    def refuse(*_arguments):
        raise NVMLError(3)

    for name in [
        "SystemGetDriverVersion",
        "SystemGetCudaDriverVersion_v2",
        "SystemGetProcessName",
        "DeviceGetUUID",
        "DeviceGetName",
        "DeviceGetPciInfo",
        "DeviceGetMinorNumber",
        "DeviceGetCudaComputeCapability",
        "DeviceGetPersistenceMode",
        "DeviceGetEccMode",
        "DeviceGetMigMode",
        "DeviceGetComputeRunningProcesses",
        "DeviceGetGraphicsRunningProcesses",
        "DeviceGetMPSComputeRunningProcesses",
        "DeviceGetTotalEccErrors",
        "DeviceGetMaxMigDeviceCount",
        "DeviceGetMigDeviceHandleByIndex",
        "DeviceGetGpuInstanceId",
        "DeviceGetComputeInstanceId",
        "DeviceGetMemoryInfo",
        "DeviceGetTopologyCommonAncestor",
        "DeviceGetP2PStatus",
        "DeviceGetNvLinkState",
    ]:
        setattr(module, "nvml" + name, refuse)
    module.nvmlInit = module.nvmlShutdown = lambda: None
    module.nvmlDeviceGetCount = lambda: 1
    module.nvmlDeviceGetHandleByIndex = lambda index: f"card{index}"
    for name, function in functions.items():
        if function is None:
            delattr(module, name)
        else:
            setattr(module, name, function)
    return module


def failing(code):
    def function(*_arguments):
        raise NVMLError(code)

    return function


def memory(handle, version=None):
    figures = dict(H200)
    if version is None:  # version 1 counts what is reserved as used
        figures["used"] += figures.pop("reserved")
    return types.SimpleNamespace(**figures)


def process(pid, mib):
    return types.SimpleNamespace(pid=pid, usedGpuMemory=None if mib is None else mib * MIB)


def ask(module, nodes, links=False):
    with NvmlReader(module, nodes) as reader:
        return reader.read(links)


def test_figures_are_rounded_as_nvidia_smi_rounds_them(nodes):
    (gpu,) = ask(stand_in(nvmlDeviceGetMemoryInfo=memory), nodes("nvidiactl", "nvidia0")).gpus
    assert (gpu.total_mib, gpu.used_mib, gpu.free_mib, gpu.reserved_mib) == (143771, 5739, 137418, 616)  # what nvidia-smi said then


def test_a_card_that_refuses_everything_is_still_listed(nodes):
    snapshot = ask(stand_in(), nodes("nvidiactl", "nvidia0"))
    (gpu,) = snapshot.gpus
    assert (gpu.index, gpu.uuid, gpu.total_mib, gpu.mig, gpu.processes, gpu.ecc_enabled) == (0, None, None, None, [], None)
    assert snapshot.problem is None


def test_old_binding_and_old_driver(nodes):
    def version_1_only(handle):
        return memory(handle)

    (gpu,) = ask(stand_in(nvmlMemory_v2=None, nvmlDeviceGetMemoryInfo=version_1_only), nodes()).gpus
    assert (gpu.used_mib, gpu.reserved_mib) == (6354, None)
    (gpu,) = ask(stand_in(nvmlDeviceGetMemoryInfo=version_1_only), nodes()).gpus  # the constant is there, the parameter is not
    assert gpu.used_mib == 6354

    def old_driver(handle, version=None):
        if version:
            raise NVMLError(13)
        return memory(handle)

    (gpu,) = ask(stand_in(nvmlDeviceGetMemoryInfo=old_driver), nodes()).gpus
    assert gpu.used_mib == 6354


def test_texts_as_bytes_or_str(nodes):
    pci = types.SimpleNamespace(busId=b"00000000:21:00.0")
    module = stand_in(
        nvmlDeviceGetPciInfo=lambda h: pci,
        nvmlDeviceGetName=lambda h: b"Card \xff",
        nvmlDeviceGetUUID=lambda h: "GPU-1",
        nvmlSystemGetDriverVersion=lambda: b"1.2",
        nvmlSystemGetCudaDriverVersion_v2=lambda: 12080,
    )
    snapshot = ask(module, nodes())
    assert (snapshot.driver_version, snapshot.cuda_version) == ("1.2", "12.8")
    assert (snapshot.gpus[0].pci_bus_id, snapshot.gpus[0].name, snapshot.gpus[0].uuid) == ("00000000:21:00.0", "Card \ufffd", "GPU-1")


def test_processes_of_all_kinds_count_once(nodes):
    module = stand_in(
        nvmlDeviceGetComputeRunningProcesses=lambda h: [process(9, 100), process(5, None)],
        nvmlDeviceGetGraphicsRunningProcesses=lambda h: [process(9, 120), process(3, 4)],
        nvmlSystemGetProcessName=lambda pid: f"program{pid}",
    )
    (gpu,) = ask(module, nodes()).gpus
    assert [(p.pid, p.used_mib, p.kind, p.name) for p in gpu.processes] == [
        (3, 4, "graphics", "program3"),
        (5, None, "compute", "program5"),
        (9, 120, "compute", "program9"),
    ]


def test_ecc_only_where_it_is_on(nodes):
    def errors(_handle, kind, counter):
        return 7 if (kind, counter) == (1, 0) else -1  # uncorrected, volatile

    on = stand_in(nvmlDeviceGetEccMode=lambda h: [1, 1], nvmlDeviceGetTotalEccErrors=errors)
    off = stand_in(nvmlDeviceGetEccMode=lambda h: [0, 0], nvmlDeviceGetTotalEccErrors=errors)
    assert [(g.ecc_enabled, g.ecc_uncorrected) for g in (ask(on, nodes()).gpus + ask(off, nodes()).gpus)] == [(True, 7), (False, None)]


def test_mig_instances_and_their_processes(nodes):
    def instance(_card, index):
        if index > 1:
            raise NVMLError(6)
        return f"mig{index}"

    module = stand_in(
        nvmlDeviceGetMigMode=lambda h: [1, 1],
        nvmlDeviceGetMaxMigDeviceCount=lambda h: 7,
        nvmlDeviceGetMigDeviceHandleByIndex=instance,
        nvmlDeviceGetMemoryInfo=memory,
        nvmlDeviceGetUUID=lambda h: f"MIG-{h}",
        nvmlDeviceGetGpuInstanceId=lambda h: 3,
        nvmlDeviceGetComputeInstanceId=lambda h: 0,
        nvmlDeviceGetComputeRunningProcesses=lambda h: [process(8, 50)] if h == "mig1" else [],
    )
    (gpu,) = ask(module, nodes()).gpus
    assert gpu.mig.enabled
    assert [(i.index, i.uuid, i.gpu_instance) for i in gpu.mig.instances] == [(0, "MIG-mig0", 3), (1, "MIG-mig1", 3)]
    assert [i.total_mib for i in gpu.mig.instances] == [143771, 143771]
    assert [p.pid for p in gpu.processes] == [8]


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (9, "gpu_not_passed_through"),
        (12, "driver_library_missing"),
        (18, "driver_library_mismatch"),
        (4, "gpu_not_passed_through"),
        (17, "gpu_not_passed_through"),
        (15, "gpu_fell_off_bus"),
        (999, "gpu_cgroup_lost"),
        (10, "gpu_memory_query_failed"),
    ],
)
def test_failures_of_init(nodes, code, cause):
    snapshot = ask(stand_in(nvmlInit=failing(code)), nodes("nvidiactl", "nvidia0"))
    assert (snapshot.gpus, snapshot.problem.cause) == ([], cause)
    assert snapshot.backend == "nvml"


def test_mismatch_names_the_version_to_install(nodes):
    version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder@host)  \n"
    here = nodes("nvidiactl", files={"proc/driver/nvidia/version": version})
    problem = ask(stand_in(nvmlInit=failing(18), nvmlSystemGetNVMLVersion=lambda: "12.575.51.03"), here).problem
    assert "580.159.04" in problem.text
    assert problem.evidence == "NVML error 18 NVML library version: 12.575.51.03."
    assert ask(stand_in(nvmlInit=failing(18)), here).problem.evidence == "NVML error 18"


def test_library_missing_where_no_device_is_either(nodes):
    assert ask(stand_in(nvmlInit=failing(12)), nodes()).problem.cause == "gpu_not_passed_through"


def test_lost_card_keeps_the_others(nodes):
    def handle(index):
        if index == 0:
            raise NVMLError(15)
        return index

    snapshot = ask(stand_in(nvmlDeviceGetCount=lambda: 2, nvmlDeviceGetHandleByIndex=handle), nodes("nvidiactl"))
    assert [gpu.index for gpu in snapshot.gpus] == [1]
    assert snapshot.problem.cause == "gpu_fell_off_bus"
    lost_later = stand_in(nvmlDeviceGetMemoryInfo=failing(15))
    assert ask(lost_later, nodes("nvidiactl")).problem.cause == "gpu_fell_off_bus"


def test_no_devices(nodes):
    snapshot = ask(stand_in(nvmlDeviceGetCount=lambda: 0), nodes("nvidiactl"))
    assert snapshot.problem.cause == "gpu_not_passed_through"
    assert "/dev/nvidiaN" in snapshot.problem.text


def test_links(nodes):
    module = stand_in(
        nvmlDeviceGetCount=lambda: 3,
        nvmlDeviceGetTopologyCommonAncestor=lambda a, b: 50,
        nvmlDeviceGetP2PStatus=lambda a, b, kind: 0 if kind < 2 else 5,
        nvmlDeviceGetNvLinkState=lambda h, link: 1 if link < 4 else 0,
    )
    links = ask(module, nodes(), links=True).links
    assert [link["gpus"] for link in links] == [[0, 1], [0, 2], [1, 2]]
    assert links[0] == {"gpus": [0, 1], "level": "system", "p2p_read": True, "p2p_write": True, "p2p_nvlink": False, "nvlinks_active": 4}
    refused = ask(stand_in(nvmlDeviceGetCount=lambda: 2), nodes(), links=True).links
    assert refused == [{"gpus": [0, 1], "level": None, "p2p_read": None, "p2p_write": None, "p2p_nvlink": None, "nvlinks_active": 0}]


def test_memory_for_waiting(nodes):
    with NvmlReader(stand_in(nvmlDeviceGetMemoryInfo=memory), nodes()) as reader:
        assert reader.memory() == [(0, 137418)]
    with NvmlReader(stand_in(nvmlDeviceGetCount=failing(999)), nodes()) as reader:
        assert reader.memory() is None


def test_shut_down_once_and_only_after_init(nodes):
    calls = []
    ask(stand_in(nvmlShutdown=lambda: calls.append("down")), nodes())
    assert calls == ["down"]
    ask(stand_in(nvmlInit=failing(9), nvmlShutdown=lambda: calls.append("down")), nodes())
    assert calls == ["down"]
