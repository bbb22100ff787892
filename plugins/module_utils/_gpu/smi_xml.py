# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What only ``nvidia-smi -q -x`` tells: processes of every kind, MIG devices, minor numbers, the CUDA version."""

from __future__ import annotations

from dataclasses import dataclass, field

from .record import GpuProcess, MigInstance, normalise_pci
from .smi_values import number, told

_KINDS = {"C": "compute", "G": "graphics", "C+G": "compute", "M": "mps", "M+C": "mps"}


@dataclass
class Told:
    """One <gpu> element."""

    minor: int | None = None
    processes: list[GpuProcess] = field(default_factory=list)
    instances: list[MigInstance] = field(default_factory=list)


@dataclass
class XmlReport:
    """A whole report; ``gpus`` by normalised PCI address."""

    cuda_version: str | None = None
    gpus: dict[str, Told] = field(default_factory=dict)


def parse(data):
    """XmlReport of the bytes that ``nvidia-smi -q -x`` printed; None when that is no such report (a failure, an older form)."""
    from xml.etree import ElementTree

    try:
        # bytes with an encoding that lies (process names are bytes) must not lose the report
        root = ElementTree.fromstring(data.decode("utf-8", "replace"))  # the driver's own tool wrote it
    except (ElementTree.ParseError, ValueError):
        return None
    if root.tag != "nvidia_smi_log":
        return None
    report = XmlReport(cuda_version=told(root.findtext("cuda_version")) or told(root.findtext("cuda_umd_version")))
    for element in root.findall("gpu"):
        address = normalise_pci(element.get("id") or "")
        if address is not None:
            report.gpus[address] = _gpu(element)
    return report


def _gpu(element):
    card = Told(minor=number(element.findtext("minor_number")))
    found: dict[int, GpuProcess] = {}
    for info in element.findall("processes/process_info"):
        pid = number(info.findtext("pid"))
        if pid is None:
            continue
        used = number(info.findtext("used_memory"))
        if pid in found:
            found[pid].used_mib = max(used or 0, found[pid].used_mib or 0)
            continue
        kind = _KINDS.get((info.findtext("type") or "").strip(), "compute")
        found[pid] = GpuProcess(pid=pid, name=told(info.findtext("process_name")), used_mib=used, kind=kind)
    card.processes = sorted(found.values(), key=lambda process: process.pid)
    for mig in element.findall("mig_devices/mig_device"):
        index = number(mig.findtext("index"))
        if index is None:
            continue
        memory = "fb_memory_usage/"
        card.instances.append(
            MigInstance(
                index=index,
                uuid=told(mig.findtext("uuid")),
                gpu_instance=number(mig.findtext("gpu_instance_id")),
                compute_instance=number(mig.findtext("compute_instance_id")),
                total_mib=number(mig.findtext(memory + "total")),
                used_mib=number(mig.findtext(memory + "used")),
                free_mib=number(mig.findtext(memory + "free")),
            )
        )
    return card
