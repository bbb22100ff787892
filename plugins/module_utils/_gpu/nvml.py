# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The reader that asks NVML through nvidia-ml-py."""

from __future__ import annotations

from . import problems
from .record import Gpu, GpuProcess, Mig, MigInstance, Snapshot, mib_of, normalise_pci

# nvml.h: values of enums that old releases of nvidia-ml-py do not name
_MEMORY_UNCORRECTED = 1
_VOLATILE = 0
_NOT_AVAILABLE = 2**64 - 1
_P2P_CAPS = (("read", 0), ("write", 1), ("nvlink", 2))
_P2P_OK = 0
_LEVELS = {0: "internal", 10: "single_switch", 20: "multiple_switches", 30: "host_bridge", 40: "numa_node", 50: "system"}
_NVLINKS = 18  # NVML_NVLINK_MAX_LINKS


class NvmlReader:
    """NVML for as long as the ``with`` lasts: the library is initialised once and asked as often as needed.

    pynvml: the module that binding.load() found. nodes: devices.Nodes of this machine, to explain failures.
    """

    backend = "nvml"

    def __init__(self, pynvml, nodes):
        self._nvml = pynvml
        self._nodes = nodes
        self._error = pynvml.NVMLError
        self._failure = None
        self._open = False

    def __enter__(self):
        try:
            self._nvml.nvmlInit()
            self._open = True
        except self._error as error:
            self._failure = error
        return self

    def __exit__(self, *_exception):
        if self._open:
            self._ask("nvmlShutdown")
            self._open = False
        return False

    def read(self, links=False):
        """A Snapshot; failures of NVML are its ``problem``, and what one card does not tell is None."""
        snapshot = Snapshot(backend=self.backend)
        if self._failure is not None:
            snapshot.problem = self._problem(self._failure)
            return snapshot
        snapshot.driver_version = _text(self._ask("nvmlSystemGetDriverVersion"))
        snapshot.cuda_version = _cuda(self._ask("nvmlSystemGetCudaDriverVersion_v2") or self._ask("nvmlSystemGetCudaDriverVersion"))
        try:
            count = self._nvml.nvmlDeviceGetCount()
        except self._error as error:
            snapshot.problem = self._problem(error)
            return snapshot
        handles = []
        for index in range(count):
            try:
                handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
                snapshot.gpus.append(self._gpu(index, handle))
                handles.append((index, handle))
            except self._error as error:
                # the others are still worth telling; indexes keep the driver's count
                snapshot.problem = snapshot.problem or self._problem(error)
        if not snapshot.gpus and snapshot.problem is None:
            snapshot.problem = problems.no_device(self._nodes, "NVML counts 0 devices")
        if links:
            snapshot.links = self._links(handles)
        return snapshot

    def memory(self):
        """[(index, free_mib)] of all cards, the cheap question of a waiting loop; None when it cannot be answered."""
        try:
            handles = [self._nvml.nvmlDeviceGetHandleByIndex(index) for index in range(self._nvml.nvmlDeviceGetCount())]
            return [(index, self._memory(handle)["free_mib"]) for index, handle in enumerate(handles)]
        except self._error:
            return None

    def _problem(self, error):
        code = getattr(error, "value", problems.UNKNOWN)
        evidence = str(error)
        if code == problems.LIB_RM_VERSION_MISMATCH:
            library = _text(self._ask("nvmlSystemGetNVMLVersion"))  # answers although the initialisation failed
            if library:
                evidence += f" NVML library version: {library}."
        return problems.from_code(code, evidence, self._nodes)

    def _ask(self, name, *arguments):
        """The answer of one NVML function, or None when card, driver or binding do not have it."""
        function = getattr(self._nvml, name, None)
        if function is None:
            return None
        try:
            return function(*arguments)
        except (self._error, TypeError, UnicodeDecodeError):
            return None

    def _gpu(self, index, handle):
        gpu = Gpu(index=index, **self._memory(handle))
        gpu.uuid = _text(self._ask("nvmlDeviceGetUUID", handle))
        gpu.name = _text(self._ask("nvmlDeviceGetName", handle))
        pci = self._ask("nvmlDeviceGetPciInfo", handle)
        gpu.pci_bus_id = normalise_pci(_text(pci.busId)) if pci is not None else None
        gpu.minor = self._ask("nvmlDeviceGetMinorNumber", handle)
        capability = self._ask("nvmlDeviceGetCudaComputeCapability", handle)
        gpu.compute_capability = "{}.{}".format(*capability) if capability else None
        gpu.persistence_mode = _flag(self._ask("nvmlDeviceGetPersistenceMode", handle))
        ecc = self._ask("nvmlDeviceGetEccMode", handle)
        gpu.ecc_enabled = _flag(ecc[0]) if ecc else None
        if gpu.ecc_enabled:
            gpu.ecc_uncorrected = self._ask("nvmlDeviceGetTotalEccErrors", handle, _MEMORY_UNCORRECTED, _VOLATILE)
        mode = self._ask("nvmlDeviceGetMigMode", handle)
        if mode is not None:
            gpu.mig = Mig(enabled=bool(mode[0]))
        handles = [handle]
        if gpu.mig_enabled and gpu.mig is not None:
            for instance, mig_handle in self._mig_instances(handle):
                gpu.mig.instances.append(instance)
                handles.append(mig_handle)
        gpu.processes = self._processes(handles)
        return gpu

    def _memory(self, handle):
        """The four memory figures in MiB. Raises NVMLError when the card is lost."""
        version = getattr(self._nvml, "nvmlMemory_v2", None)
        if version is not None:
            try:
                told = self._nvml.nvmlDeviceGetMemoryInfo(handle, version)
                return _figures(told, told.reserved)
            except (self._error, TypeError) as error:
                if getattr(error, "value", None) == problems.GPU_IS_LOST:
                    raise
        try:
            # drivers before 510: what is reserved counts as used
            return _figures(self._nvml.nvmlDeviceGetMemoryInfo(handle), None)
        except self._error as error:
            if getattr(error, "value", None) == problems.GPU_IS_LOST:
                raise
            return {"total_mib": None, "used_mib": None, "free_mib": None, "reserved_mib": None}

    def _mig_instances(self, handle):
        for index in range(self._ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
            mig = self._ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
            if mig is None:
                continue
            memory = self._memory(mig)
            yield (
                MigInstance(
                    index=index,
                    uuid=_text(self._ask("nvmlDeviceGetUUID", mig)),
                    gpu_instance=self._ask("nvmlDeviceGetGpuInstanceId", mig),
                    compute_instance=self._ask("nvmlDeviceGetComputeInstanceId", mig),
                    total_mib=memory["total_mib"],
                    used_mib=memory["used_mib"],
                    free_mib=memory["free_mib"],
                ),
                mig,
            )

    def _processes(self, handles):
        """One GpuProcess per pid; a process that computes and draws is told twice by NVML and counted once, as nvidia-smi does."""
        found = {}
        for handle in handles:
            for kind, name in (("compute", "Compute"), ("graphics", "Graphics"), ("mps", "MPSCompute")):
                for told in self._ask(f"nvmlDeviceGet{name}RunningProcesses", handle) or []:
                    used = getattr(told, "usedGpuMemory", None)
                    used = None if used is None or used == _NOT_AVAILABLE else mib_of(used)
                    if told.pid not in found:
                        found[told.pid] = GpuProcess(pid=told.pid, used_mib=used, kind=kind, name=self._process_name(told.pid))
                    elif used is not None:
                        found[told.pid].used_mib = max(used, found[told.pid].used_mib or 0)
        return sorted(found.values(), key=lambda process: process.pid)

    def _process_name(self, pid):
        # nvidia-ml-py decodes strictly; owners.resolve() replaces this by what /proc says wherever it can
        return _text(self._ask("nvmlSystemGetProcessName", pid))

    def _links(self, handles):
        """How each pair of cards is joined: PCIe level, P2P capabilities, active NVLinks (of the first card of the pair)."""
        active = {index: self._active_nvlinks(handle) for index, handle in handles}
        links = []
        for position, (first, a) in enumerate(handles):
            for second, b in handles[position + 1 :]:
                entry = {"gpus": [first, second], "level": _LEVELS.get(self._ask("nvmlDeviceGetTopologyCommonAncestor", a, b))}
                for name, capability in _P2P_CAPS:
                    status = self._ask("nvmlDeviceGetP2PStatus", a, b, capability)
                    entry["p2p_" + name] = None if status is None else status == _P2P_OK
                entry["nvlinks_active"] = active[first]
                links.append(entry)
        return links

    def _active_nvlinks(self, handle):
        return sum(1 for link in range(_NVLINKS) if self._ask("nvmlDeviceGetNvLinkState", handle, link) == 1)


def _figures(told, reserved):
    return {
        "total_mib": mib_of(told.total),
        "used_mib": mib_of(told.used),
        "free_mib": mib_of(told.free),
        "reserved_mib": None if reserved is None else mib_of(reserved),
    }


def _text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value


def _flag(value):
    return None if value is None else bool(value)


def _cuda(number):
    """13000 -> "13.0" (nvml.h: 1000 * major + 10 * minor)."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else None
