# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Waiting until GPU memory is back, and saying who holds it when it is not."""

from __future__ import annotations

import time

_POLL = 0.25  # seconds; memory of a killed process comes back within some 100 ms
# A few hundred MiB of contexts and driver belong to no process on any card: only more than that is worth naming.
_WORTH_NAMING_MIB = 1024


def wait(reader, gpus, wanted_mib, timeout):
    """Wait until each of ``gpus`` (records just read by ``reader``) has ``wanted_mib`` free, at most ``timeout`` seconds.

    Returns the seconds waited; None when there was nothing to wait for: it is free already, or can never be.
    """
    if any(_too_small(gpu, wanted_mib) for gpu in gpus) or all(gpu.available_mib >= wanted_mib for gpu in gpus):
        return None
    indexes = {gpu.index for gpu in gpus}
    mig = any(gpu.mig_enabled for gpu in gpus)
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


def failure(snapshot, wanted_mib, waited, in_guest):
    """The sentence that says why not every GPU of ``snapshot`` has ``wanted_mib`` free after ``waited`` seconds, or None when each has.

    ``in_guest``: whether memory without a visible owner may belong to others on the node.
    """
    if not snapshot.gpus:
        because = f"{snapshot.problem.text} {snapshot.problem.remedy}" if snapshot.problem else "The machine has none."
        return f"wait_for_free_mib: there is no GPU to wait for. {because}"
    for gpu in snapshot.gpus:
        if _too_small(gpu, wanted_mib):
            return (
                f"wait_for_free_mib: {wanted_mib} MiB can never be free on GPU {gpu.index}, which has {gpu.total_mib} MiB"
                f" ({gpu.reserved_mib or 0} of them reserved by the driver)."
            )
    missing = [_shortage(gpu, in_guest) for gpu in snapshot.gpus if gpu.available_mib < wanted_mib]
    if not missing:
        return None
    return f"wait_for_free_mib: {wanted_mib} MiB wanted on each GPU, not there after {waited or 0.0:.0f} s. " + " ".join(missing)


def _too_small(gpu, wanted_mib):
    return gpu.total_mib is not None and wanted_mib > gpu.total_mib - (gpu.reserved_mib or 0)


def _shortage(gpu, in_guest):
    """One sentence: what is free, and who holds the rest."""
    holders = [_holder(process) for process in sorted(gpu.processes, key=lambda process: -(process.used_mib or 0))]
    if gpu.unowned_mib is not None and gpu.unowned_mib > _WORTH_NAMING_MIB:
        place = "from outside this guest" if in_guest else "by no process that can be seen"
        holders.append(f"{gpu.unowned_mib} MiB held {place}" + (" (ask the node)" if in_guest else ""))
    held = "; ".join(holders) if holders else "no process that can be seen"
    return f"GPU {gpu.index} ({gpu.uuid}) has {gpu.available_mib} of {gpu.total_mib} MiB free, held by: {held}."


def _holder(process):
    where = [f"pid {process.pid}"]
    if process.unit:
        where.append(f"unit {process.unit}")
    if process.vmid is not None:
        where.append(f"guest {process.vmid}")
    used = "an unknown amount" if process.used_mib is None else f"{process.used_mib} MiB"
    return f"{process.name or 'a process'} ({', '.join(where)}) {used}"
