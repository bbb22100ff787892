# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""gpu_memory_facts as one call: choose a reader, read, name the owners, wait for memory."""

from __future__ import annotations

from .._errors import KproError
from . import binding, kernel_log, nvidia_smi, owners, problems, waiting
from .devices import Nodes
from .nvml import NvmlReader
from .record import Snapshot
from .selection import select

BACKENDS = ("auto", "nvml", "nvidia_smi")


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
            if snapshot.gpus and wait_for_free_mib is not None:
                waited = waiting.wait(reader, select(snapshot.gpus, gpus), wait_for_free_mib, timeout)
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
    if snapshot.gpus:
        snapshot.gpus = select(snapshot.gpus, gpus)
    facts = snapshot.as_dict()
    facts["kernel_driver_version"] = nodes.kernel_version
    facts["waited"] = None
    if wanted_mib is None:
        return facts
    failure = waiting.failure(snapshot, wanted_mib, waited, nodes.container)
    facts["waited"] = {"wanted_mib": wanted_mib, "satisfied": failure is None, "seconds": round(waited or 0.0, 2)}
    if failure is not None:
        raise KproError(failure, gpu_memory=facts)
    return facts
