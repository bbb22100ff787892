# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Xid messages of the NVIDIA driver in the kernel's log ring: what the driver itself complained about, and on which card."""

from __future__ import annotations

import os
import re

from .record import normalise_pci

# NVRM: Xid (PCI:0000:21:00): 79, pid=1234, name=python, GPU has fallen off the bus.
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9A-Fa-f:.]+)\): ([0-9]+)(?:, (.*))?$")
_CAUSES = {
    13: "gpu_kernel_exception",
    31: "xid_application_fault",
    43: "xid_application_fault",
    45: "xid_application_fault",
    48: "gpu_hardware_ecc",
    64: "gpu_hardware_ecc",
    79: "gpu_fell_off_bus",
    94: "gpu_hardware_ecc",
    95: "gpu_hardware_ecc",
}
_RING = 16 * 1024 * 1024  # more than any kernel's ring: a bound against endless writers
_TEXT_LIMIT = 200


def read_ring(path="/dev/kmsg"):
    """Lines of the kernel log as text, oldest first; [] where this user or guest may not read it. Never blocks."""
    lines: list[str] = []
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return lines
    total = 0
    try:
        while total < _RING:
            try:
                record = os.read(handle, 8192)  # one message each, "6,1234,98765432,-;text\n KEY=value\n"
            except BrokenPipeError:
                continue  # overwritten while we read: the next read goes on with the oldest one left
            except OSError:
                break
            if not record:
                break
            total += len(record)
            for line in record.decode("utf-8", "replace").splitlines():
                if not line.startswith(" "):
                    lines.append(line.split(";", 1)[-1])
    finally:
        os.close(handle)
    return lines


def xids(lines):
    """[{xid, pci_bus_id, cause, text}] of the Xid messages in ``lines``; ``cause`` is a cause id or None for other numbers."""
    found = []
    for line in lines:
        match = _XID.search(line)
        if match:
            address = match.group(1)
            number = int(match.group(2))
            found.append(
                {
                    "xid": number,
                    "pci_bus_id": normalise_pci(address if "." in address else address + ".0"),
                    "cause": _CAUSES.get(number),
                    "text": (match.group(3) or "")[:_TEXT_LIMIT],
                }
            )
    return found


def hints(snapshot, lines):
    """What speaks against a card although it answers: [{gpu, cause, text}]. ``lines`` as read_ring() gives them.

    Per card and Xid number one hint with the count and the latest text.
    """
    result = []
    by_card: dict[tuple, list[dict]] = {}
    for xid in xids(lines):
        by_card.setdefault((xid["pci_bus_id"], xid["xid"]), []).append(xid)
    indexes = {gpu.pci_bus_id: gpu.index for gpu in snapshot.gpus}
    for (address, number), group in sorted(by_card.items(), key=lambda item: (str(item[0][0]), item[0][1])):
        times = f"{len(group)} times" if len(group) > 1 else "once"
        text = f"The kernel log names Xid {number} {times} for {address}: {group[-1]['text']}".rstrip(": ")
        result.append({"gpu": indexes.get(address), "cause": group[-1]["cause"], "text": text})
    for gpu in snapshot.gpus:
        if gpu.ecc_uncorrected:
            result.append(
                {
                    "gpu": gpu.index,
                    "cause": "gpu_hardware_ecc",
                    "text": f"GPU {gpu.index} has counted {gpu.ecc_uncorrected} uncorrectable ECC errors since the driver was loaded.",
                }
            )
        if gpu.mig_enabled and not gpu.mig.instances:
            result.append(
                {"gpu": gpu.index, "cause": "mig_mode_mismatch", "text": f"MIG is on for GPU {gpu.index}, but it has no instance."}
            )
    return result
