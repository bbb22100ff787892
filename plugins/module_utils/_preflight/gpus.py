# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The GPUs of a host's servers, checked against ``ansible_facts.gpu_memory`` (the result of gpu_memory_facts)."""

from __future__ import annotations

import re

_PCI = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")


def check_gpus(servers, gpu_memory, require_gpu, report):
    """``gpu_memory``: dict or None (not asked: then only names are compared); ``require_gpu``: no GPU at all is a problem."""
    needy = [server for server in servers if not server.on_cpu]
    known = (gpu_memory or {}).get("gpus") or []
    if gpu_memory is not None and not known and (require_gpu or any(server.gpus for server in needy)):
        detail = gpu_memory.get("problem_detail") or {}
        report.bad(
            "gpu_visible",
            detail.get("text") or "no NVIDIA GPU is visible on this host",
            detail.get("remedy")
            or "Pass the GPUs of the node to the guest (/dev/nvidia*), install the user space of the driver, and try again.",
            cause=gpu_memory.get("problem") or "gpu_not_passed_through",
            evidence=f"gpu_memory_facts by {gpu_memory.get('backend') or 'no backend'}: gpus is empty",
        )
        return
    if known:
        report.good("gpu_visible", f"{len(known)} GPUs, driver {gpu_memory.get('driver_version') or 'unknown'}")
    owners: dict = {}
    for server in needy:
        _check_server(server, known, gpu_memory is not None, owners, report)


def _check_server(server, known, told, owners, report):
    chosen = []
    for name in server.gpus:
        found = [gpu for gpu in known if _fits(gpu, name)]
        if told and known and len(found) != 1:
            listed = ", ".join(f"{gpu.get('index')} ({gpu.get('uuid')})" for gpu in known)
            report.bad(
                "gpus",
                f"gpus holds {name!r}, which is {'no GPU' if not found else 'more than one GPU'} of this host",
                "Name a GPU by its index, UUID or PCI address as this host sees it.",
                server=server.name,
                cause="invalid_device_ordinal",
                evidence=f"this host has {listed}",
            )
            continue
        chosen.append((name, found[0].get("uuid") or str(found[0].get("index")) if found else _normal(name)))
    for name, identity in chosen:
        if identity in owners:
            other = owners[identity]
            report.bad(
                "gpus",
                f"GPU {name} is given {'twice' if other is server else 'to server ' + other.name + ' too'}",
                "Give each server GPUs of its own.",
                server=server.name,
                cause="gpu_busy_by_other_process",
                evidence=f"{other.place}.gpus and {server.place}.gpus name {identity}",
            )
        owners.setdefault(identity, server)
    _check_count(server, known, told, report)


def _check_count(server, known, told, report):
    available = len(server.gpus) if server.gpus else len(known) if told else None
    needed = server.ranks
    if available is None or (not known and not server.gpus):
        return
    if needed > available:
        report.bad(
            "gpus",
            f"tensor times pipeline parallel size is {needed}, and the server has {available} GPU{'s' if available != 1 else ''}",
            "Give it more GPUs, or lower tp-size.",
            server=server.name,
            cause="invalid_device_ordinal",
            evidence=f"gpus {', '.join(server.gpus) if server.gpus else 'not given, so all of the host'}",
        )
    else:
        report.good("gpus", f"{needed} of {available} GPUs", server=server.name)


def _fits(gpu, name):
    if name.isdigit():
        return gpu.get("index") == int(name)
    if name.upper().startswith("GPU-"):
        return str(gpu.get("uuid") or "").upper().startswith(name.upper())
    if name.upper().startswith("MIG-"):
        mig = gpu.get("mig") or {}
        instances = mig.get("instances") if isinstance(mig, dict) else None
        return any(str(instance.get("uuid") or "").upper() == name.upper() for instance in instances or [])
    return _normal(name) == _normal(str(gpu.get("pci_bus_id") or ""))


def _normal(name):
    """One spelling of a PCI address (domain of 8 digits, small letters); other names in small letters."""
    name = name.lower()
    if not _PCI.match(name):
        return name
    domain, _colon, rest = name.rpartition(":")[0].rpartition(":")[0], "", name[-7:]
    return f"{int(domain or '0', 16):08x}:{rest}"
