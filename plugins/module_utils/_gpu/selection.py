# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Naming GPUs: by index, UUID or PCI address, as people and CUDA_VISIBLE_DEVICES do."""

from __future__ import annotations

from .._errors import KproError
from .record import normalise_pci


def select(gpus, wanted):
    """The Gpu records that ``wanted`` (list of str or int: index, UUID or its beginning, PCI address) names, in that order.

    An empty or missing list means all. A name that fits none or several, or one card named twice, raises KproError.
    """
    if not wanted:
        return list(gpus)
    chosen = []
    for name in wanted:
        found = _matches(gpus, str(name).strip())
        if not found:
            raise KproError(f"gpus: {name!r} names no GPU here; there is {_list(gpus)}.")
        if len(found) > 1:
            raise KproError(f"gpus: {name!r} fits several GPUs ({', '.join(gpu.uuid for gpu in found)}); give more of the UUID.")
        if found[0] in chosen:
            raise KproError(f"gpus: {name!r} names GPU {found[0].index} ({found[0].uuid}), which the list names already.")
        chosen.append(found[0])
    return chosen


def _matches(gpus, name):
    if name.isdigit():
        return [gpu for gpu in gpus if gpu.index == int(name)]
    if name.upper().startswith("MIG-"):
        return [gpu for gpu in gpus if gpu.mig and any((instance.uuid or "").upper() == name.upper() for instance in gpu.mig.instances)]
    address = normalise_pci(name)
    if address is not None:
        return [gpu for gpu in gpus if gpu.pci_bus_id == address]
    if not name.upper().startswith("GPU-"):
        return []
    return [gpu for gpu in gpus if (gpu.uuid or "").upper().startswith(name.upper())]


def _list(gpus):
    return ", ".join(f"{gpu.index} ({gpu.uuid}, {gpu.pci_bus_id})" for gpu in gpus) or "none"
