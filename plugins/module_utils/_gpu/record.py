# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The one record that both readers (NVML and nvidia-smi) fill: what is said about GPUs, whoever was asked.

Memory figures are whole MiB, rounded up as nvidia-smi rounds them (driver 580.159.04: 615.06 MiB are told as 616). ``used_mib``
leaves out what the driver reserves for itself (``reserved_mib``), so that total = used + free + reserved, give or take the
rounding. ``None`` always means "not told".
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

MIB = 1024 * 1024


def mib_of(size):
    """Bytes -> MiB as nvidia-smi rounds them, which is up."""
    return -(-size // MIB)


@dataclass
class GpuProcess:
    """A process that holds memory of a GPU. ``unit`` and ``vmid`` are filled by owners.resolve()."""

    pid: int
    name: str | None = None
    used_mib: int | None = None
    kind: str = "compute"  # compute | graphics | mps
    unit: str | None = None
    vmid: int | None = None


@dataclass
class MigInstance:
    """One MIG device of a GPU: the slice that CUDA sees under the name ``uuid``."""

    index: int
    uuid: str | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    total_mib: int | None = None
    used_mib: int | None = None
    free_mib: int | None = None


@dataclass
class Mig:
    """MIG of a GPU that is capable of it (``Gpu.mig`` is None where the card is not)."""

    enabled: bool
    instances: list[MigInstance] = field(default_factory=list)


@dataclass
class Gpu:
    """One GPU as the driver counts them here; ``index`` changes between boots and guests, ``uuid`` and ``pci_bus_id`` do not."""

    index: int
    uuid: str | None = None
    name: str | None = None
    pci_bus_id: str | None = None  # 00000000:21:00.0, upper-case hexadecimal digits
    minor: int | None = None  # N of /dev/nvidiaN; nvidia-smi tells it only with its XML
    total_mib: int | None = None
    used_mib: int | None = None
    free_mib: int | None = None
    reserved_mib: int | None = None
    compute_capability: str | None = None  # "8.6"
    persistence_mode: bool | None = None
    ecc_enabled: bool | None = None
    ecc_uncorrected: int | None = None  # since the driver was loaded
    mig: Mig | None = None
    processes: list[GpuProcess] = field(default_factory=list)
    unowned_mib: int | None = None  # used_mib that no visible process accounts for

    @property
    def mig_enabled(self):
        return self.mig is not None and self.mig.enabled

    @property
    def available_mib(self):
        """What can still be allocated: of a card that is cut into MIG instances, nvidia-smi tells only the instances' memory."""
        if self.free_mib is None and self.mig is not None and self.mig.instances:
            return sum(instance.free_mib or 0 for instance in self.mig.instances)
        return self.free_mib or 0

    def account(self):
        """Fill ``unowned_mib``: the part of the used memory that belongs to no process that can be seen from here."""
        known = [process.used_mib for process in self.processes if process.used_mib is not None]
        if self.used_mib is None or len(known) < len(self.processes):
            self.unowned_mib = None
        else:
            self.unowned_mib = max(0, self.used_mib - sum(known))


@dataclass
class Problem:
    """Why there is no (full) answer. ``cause`` is an id of the collection's causes; ``text`` what was seen, ``remedy`` what to do."""

    cause: str
    text: str
    remedy: str
    evidence: str | None = None  # the driver's or tool's own words

    def as_dict(self):
        return asdict(self)


@dataclass
class Snapshot:
    """What one reader saw at one moment."""

    backend: str | None = None  # nvml | nvidia_smi | None (nobody could be asked)
    driver_version: str | None = None
    cuda_version: str | None = None  # the newest CUDA that this driver serves, "13.0"
    gpus: list[Gpu] = field(default_factory=list)
    problem: Problem | None = None
    hints: list[dict] = field(default_factory=list)
    links: list[dict] | None = None

    def as_dict(self):
        """The value of ``ansible_facts.gpu_memory``: ``problem`` is the cause id or None, ``problem_detail`` the rest of it."""
        result = asdict(self)
        result["problem"] = self.problem.cause if self.problem else None
        result["problem_detail"] = self.problem.as_dict() if self.problem else None
        return result


def normalise_pci(address):
    """``0000:21:00.0``, ``21:00.0`` or ``00000000:21:00.0`` in any case -> ``00000000:21:00.0``; None when it is no PCI address."""
    parts = str(address).strip().upper().split(":")
    if len(parts) == 2:
        parts.insert(0, "0")
    if len(parts) != 3 or "." not in parts[2]:
        return None
    device, _dot, function = parts[2].partition(".")
    try:
        return f"{int(parts[0], 16):08X}:{int(parts[1], 16):02X}:{int(device, 16):02X}.{int(function, 16):X}"
    except ValueError:
        return None
