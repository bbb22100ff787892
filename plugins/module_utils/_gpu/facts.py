# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""gpu_memory_facts as one call: choose a reader, read, name the owners, wait for memory."""

from __future__ import annotations

import time

from .._errors import KproError
from . import binding, kernel_log, nvidia_smi, owners, problems
from .devices import Nodes
from .nvml import NvmlReader
from .record import Snapshot
from .selection import select

BACKENDS = ("auto", "nvml", "nvidia_smi")
_POLL = 0.25  # seconds; memory of a killed process comes back within some 100 ms


class _NoReader:
    """Stands for a reader where nobody can be asked."""

    backend = None

    def __init__(self, tried, nodes):
        self._problem = problems.no_reader(tried, nodes)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        return False

    def read(self, links=False):
        """The empty answer with its problem."""
        del links
        return Snapshot(problem=self._problem)

    def memory(self):
        """Nothing to tell."""


def readers(backend, python, nodes):
    """The readers to try in turn, best first; ``python`` names an environment that may hold nvidia-ml-py (binding.candidates)."""
    found: list = []
    tried = []
    if backend in ("auto", "nvml"):
        pynvml, where = binding.load(python)
        if pynvml is not None:
            found.append(NvmlReader(pynvml, nodes))
        else:
            tried.append(where)
    if backend in ("auto", "nvidia_smi"):
        program = nvidia_smi.find()
        if program:
            found.append(nvidia_smi.NvidiaSmiReader(program, nodes))
        else:
            tried.append("no nvidia-smi on the PATH")
    return found or [_NoReader("; ".join(tried), nodes)]


def gather(backend="auto", python=None, gpus=None, links=False, wait_for_free_mib=None, timeout=60.0, nodes=None, kmsg="/dev/kmsg"):
    """Return the dict of ``ansible_facts.gpu_memory``; see the module's RETURN.

    gpus: names as selection.select() takes them; None for all. wait_for_free_mib (MiB on each of them) and timeout (seconds).
    Raises KproError for a name that fits no GPU, and when the memory did not come back; its result then holds ``gpu_memory``.
    """
    if backend not in BACKENDS:
        raise KproError(f"backend: {backend!r} is none of {', '.join(BACKENDS)}.")
    if wait_for_free_mib is not None and wait_for_free_mib < 0:
        raise KproError(f"wait_for_free_mib: {wait_for_free_mib} is negative; give MiB that shall be free on each GPU.")
    if timeout < 0:
        raise KproError(f"timeout: {timeout:g} is negative; give the seconds that wait_for_free_mib may take.")
    nodes = nodes or Nodes()
    waited = None
    answer = None
    for reader in readers(backend, python, nodes):
        with reader:
            snapshot = reader.read(links)
            if answer is not None and not snapshot.gpus:
                break  # the second reader knows no better: the first one's problem stands
            answer = snapshot
            waited = _wait(reader, snapshot, gpus, wait_for_free_mib, timeout) if snapshot.gpus else None
            if waited is not None:
                answer = snapshot = reader.read(links)
            if snapshot.gpus:
                break
    return _result(answer, nodes, gpus, wait_for_free_mib, waited, kmsg)


def _result(snapshot, nodes, gpus, wanted_mib, waited, kmsg):
    owners.resolve(snapshot)
    snapshot.hints = kernel_log.hints(snapshot, kernel_log.read_ring(kmsg))
    if snapshot.gpus and snapshot.problem is None:
        snapshot.problem = problems.uvm(nodes)
    chosen = []
    if snapshot.gpus:
        chosen = snapshot.gpus = select(snapshot.gpus, gpus)
    facts = snapshot.as_dict()
    facts["kernel_driver_version"] = nodes.kernel_version
    facts["waited"] = None
    if wanted_mib is None:
        return facts
    if not chosen:
        raise KproError(f"wait_for_free_mib: there is no GPU to wait for. {_because(snapshot)}", gpu_memory=facts)
    missing = [gpu for gpu in chosen if gpu.available_mib < wanted_mib]
    facts["waited"] = {"wanted_mib": wanted_mib, "satisfied": not missing, "seconds": round(waited or 0.0, 2)}
    if missing:
        sentences = [_shortage(gpu, nodes.container) for gpu in missing]
        raise KproError(
            f"wait_for_free_mib: {wanted_mib} MiB wanted on each GPU, not there after {waited or 0.0:.0f} s. " + " ".join(sentences),
            gpu_memory=facts,
        )
    return facts


def _because(snapshot):
    return f"{snapshot.problem.text} {snapshot.problem.remedy}" if snapshot.problem else "The machine has none."


def _wait(reader, snapshot, names, wanted_mib, timeout):
    """Seconds waited until each chosen card has ``wanted_mib`` free, or the time was over; None when there was nothing to wait for."""
    if wanted_mib is None:
        return None
    chosen = select(snapshot.gpus, names)
    for gpu in chosen:
        if gpu.total_mib is not None and wanted_mib > gpu.total_mib - (gpu.reserved_mib or 0):
            raise KproError(
                f"wait_for_free_mib: {wanted_mib} MiB can never be free on GPU {gpu.index}, which has {gpu.total_mib} MiB"
                f" ({gpu.reserved_mib or 0} of them reserved by the driver).",
                gpu_memory=owners.resolve(snapshot).as_dict(),
            )
    if all(gpu.available_mib >= wanted_mib for gpu in chosen):
        return None
    indexes = {gpu.index for gpu in chosen}
    mig = any(gpu.mig_enabled for gpu in chosen)
    begin = time.monotonic()
    while True:
        waited = time.monotonic() - begin
        if waited >= timeout:
            return waited
        time.sleep(min(_POLL, timeout - waited))
        told = [(gpu.index, gpu.available_mib) for gpu in reader.read().gpus] if mig else reader.memory()
        free = {index: mib or 0 for index, mib in told or [] if index in indexes}
        if set(free) == indexes and min(free.values()) >= wanted_mib:
            return time.monotonic() - begin


def _shortage(gpu, in_guest):
    """One sentence: what is free, and who holds the rest."""
    holders = [_holder(process) for process in sorted(gpu.processes, key=lambda process: -(process.used_mib or 0))]
    # a few hundred MiB belong to no process on any driver: only more than that is worth naming
    if gpu.unowned_mib is not None and gpu.unowned_mib > 1024:
        place = "from outside this guest" if in_guest else "by no process that can be seen"
        holders.append(f"{gpu.unowned_mib} MiB held {place}" + (" (ask the node)" if in_guest else ""))
    held = "; ".join(holders) if holders else "no process that can be seen"
    return f"GPU {gpu.index} ({gpu.uuid}) has {gpu.free_mib} of {gpu.total_mib} MiB free, held by: {held}."


def _holder(process):
    where = [f"pid {process.pid}"]
    if process.unit:
        where.append(f"unit {process.unit}")
    if process.vmid is not None:
        where.append(f"guest {process.vmid}")
    used = "an unknown amount" if process.used_mib is None else f"{process.used_mib} MiB"
    return f"{process.name or 'a process'} ({', '.join(where)}) {used}"
