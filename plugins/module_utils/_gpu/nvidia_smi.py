# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The reader that asks nvidia-smi: CSV for the cards, XML for processes, MIG and the CUDA version (CSV again where there is no XML)."""

from __future__ import annotations

import os
import re

from .._process.runner import run
from . import problems, smi_xml
from .record import Gpu, GpuProcess, Mig, MigInstance, Snapshot, normalise_pci
from .smi_values import flag, number, told

# SGLang's images and WSL keep it off the PATH of a login shell
_PLACES = ("/usr/bin", "/usr/local/bin", "/usr/local/nvidia/bin", "/opt/bin", "/usr/lib/wsl/lib")
# The name comes last: it is the only field that may hold a comma.
_BASE = ("index", "uuid", "pci.bus_id", "memory.total", "memory.used", "memory.free", "driver_version")
_NEWER = (
    "memory.reserved",
    "compute_cap",
    "mig.mode.current",
    "persistence_mode",
    "ecc.mode.current",
    "ecc.errors.uncorrected.volatile.total",
)
_INVALID = re.compile(r'Field "([^"]+)" is not a valid field to query')
_APPS = ("gpu_uuid", "pid", "used_gpu_memory", "process_name")
_LISTED_GPU = re.compile(r"^GPU [0-9]+: .*\(UUID: (GPU-[^)]+)\)")
_LISTED_MIG = re.compile(r"^\s+MIG .*Device\s+([0-9]+): \(UUID: (MIG-[^)]+)\)")
_LOST = re.compile(r"Unable to determine the device handle for (?:GPU|gpu)\s*([^\n]*)")


def find(path=None):
    """The program's path, or None. ``path`` is a PATH to search before the usual places."""
    for folder in (os.environ.get("PATH", "") if path is None else path).split(os.pathsep) + list(_PLACES):
        file = os.path.join(folder, "nvidia-smi")
        if folder and os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return None


class NvidiaSmiReader:
    """nvidia-smi at ``program``; every call is bounded by ``timeout`` seconds, for it is known to hang with its driver."""

    backend = "nvidia_smi"

    def __init__(self, program, nodes, timeout=20.0):
        self._program = program
        self._nodes = nodes
        self._timeout = timeout
        self._failure = None

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        return False

    def read(self, links=False):
        """A Snapshot, with failures as its ``problem``. ``links`` is not told by nvidia-smi in a form for programs: None."""
        del links
        snapshot = Snapshot(backend=self.backend)
        rows = self._cards()
        if rows is None:
            snapshot.problem = self._failure
            return snapshot
        for row in rows:
            snapshot.gpus.append(_gpu(row))
            snapshot.driver_version = snapshot.driver_version or told(row.get("driver_version"))
        snapshot.problem = self._failure
        if not snapshot.gpus:
            snapshot.problem = snapshot.problem or problems.no_device(self._nodes, "nvidia-smi lists no GPU")
            return snapshot
        if not self._from_xml(snapshot):
            self._from_apps(snapshot)
        return snapshot

    def memory(self):
        """[(index, free_mib)] of all cards; None when it cannot be answered."""
        done = self._ask("--query-gpu=index,memory.free", "--format=csv,noheader,nounits")
        if done is None or done.rc:
            return None
        return [(number(index), number(free)) for index, free in (line.split(",", 1) for line in done.out.splitlines() if "," in line)]

    def _ask(self, *arguments):
        environment = dict(os.environ, LC_ALL="C")
        try:
            done = run([self._program, *arguments], self._timeout, env=environment, output_limit=8 * 1024 * 1024)
        except OSError as error:
            self._failure = problems.no_reader(f"{self._program}: {error.strerror}", self._nodes)
            return None
        if done.timed_out:
            self._failure = problems.timed_out(self._timeout)
            return None
        return done

    def _cards(self):
        """A list of dicts field -> text; None (and self._failure) when nvidia-smi fails altogether."""
        newer = list(_NEWER)
        while True:
            fields = [*_BASE, *newer, "name"]
            done = self._ask("--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits")
            if done is None:
                return None
            unknown = _INVALID.search(done.out + done.err)
            if not unknown or unknown.group(1) not in newer:
                break
            newer.remove(unknown.group(1))  # an older release
        rows, rest = [], []
        for line in done.out.splitlines():
            values = [value.strip() for value in line.split(",", len(fields) - 1)]
            if len(values) == len(fields) and values[0].isdigit():
                rows.append(dict(zip(fields, values)))
            elif line.strip():
                rest.append(line.strip())
        said = " ".join([*rest, done.err.strip()]).strip()
        if done.rc or (said and not rows):
            self._failure = self._explain(done.rc, said)
            return rows or None
        return rows

    def _explain(self, rc, said):
        evidence = f"nvidia-smi: {said[:500]}" if said else f"nvidia-smi ended with exit status {rc}"
        if "No devices were found" in said:
            return problems.no_device(self._nodes, evidence)
        code = problems.code_of_text(said, rc)
        if code == problems.UNKNOWN and _LOST.search(said):
            code = problems.GPU_IS_LOST  # 570 and later word a card that fell off the bus as "Unknown Error" of its handle
        return problems.from_code(code, evidence, self._nodes)

    def _from_xml(self, snapshot):
        """Add processes, MIG and the CUDA version; False when there is no usable XML."""
        done = self._ask("-q", "-x")
        report = smi_xml.parse(done.stdout) if done is not None and not done.truncated else None
        if report is None:
            return False
        snapshot.cuda_version = report.cuda_version
        for gpu in snapshot.gpus:
            card = report.gpus.get(gpu.pci_bus_id)
            if card is not None:
                gpu.processes, gpu.minor = card.processes, card.minor
                if gpu.mig is not None:
                    gpu.mig.instances = card.instances
        if any(instance.uuid is None for gpu in snapshot.gpus if gpu.mig is not None for instance in gpu.mig.instances):
            self._name_mig_devices(snapshot)
        return True

    def _name_mig_devices(self, snapshot):
        """Add the UUIDs of MIG devices, which many releases tell only with ``-L``: ``  MIG 1g.18gb  Device  0: (UUID: MIG-...)``."""
        done = self._ask("-L")
        instances: dict[int, MigInstance] = {}
        for line in done.out.splitlines() if done is not None else []:
            gpu, mig = _LISTED_GPU.match(line), _LISTED_MIG.match(line)
            if gpu:
                instances = {}
                for known in snapshot.gpus:
                    if known.uuid == gpu.group(1) and known.mig is not None:
                        instances = {instance.index: instance for instance in known.mig.instances}
            elif mig and int(mig.group(1)) in instances:
                instances[int(mig.group(1))].uuid = mig.group(2)

    def _from_apps(self, snapshot):
        """The same from CSV: compute processes only, the CUDA version from --version."""
        by_uuid = {gpu.uuid: gpu for gpu in snapshot.gpus}
        done = self._ask("--query-compute-apps=" + ",".join(_APPS), "--format=csv,noheader,nounits")
        for line in done.out.splitlines() if done is not None and not done.rc else []:
            values = [value.strip() for value in line.split(",", len(_APPS) - 1)]
            if len(values) == len(_APPS) and values[0] in by_uuid and values[1].isdigit():
                by_uuid[values[0]].processes.append(GpuProcess(pid=int(values[1]), used_mib=number(values[2]), name=told(values[3])))
        for gpu in snapshot.gpus:
            gpu.processes.sort(key=lambda process: process.pid)
        done = self._ask("--version")
        match = re.search(r"CUDA (?:UMD )?Version\s*:\s*([0-9]+\.[0-9]+)", done.out, re.I) if done is not None else None
        snapshot.cuda_version = match.group(1) if match else None


def _gpu(row):
    gpu = Gpu(index=int(row["index"]), uuid=told(row["uuid"]), name=told(row["name"]), pci_bus_id=normalise_pci(row["pci.bus_id"]))
    gpu.total_mib, gpu.used_mib, gpu.free_mib = (number(row[key]) for key in ("memory.total", "memory.used", "memory.free"))
    gpu.reserved_mib = number(row.get("memory.reserved"))
    gpu.compute_capability = told(row.get("compute_cap"))
    gpu.persistence_mode = flag(row.get("persistence_mode"))
    gpu.ecc_enabled = flag(row.get("ecc.mode.current"))
    gpu.ecc_uncorrected = number(row.get("ecc.errors.uncorrected.volatile.total")) if gpu.ecc_enabled else None
    mig = flag(row.get("mig.mode.current"))
    gpu.mig = None if mig is None else Mig(enabled=mig)
    return gpu
