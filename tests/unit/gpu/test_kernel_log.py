"""Xid messages and other hints."""

from __future__ import annotations

import os

from ansible_collections.kpro.sglang.plugins.module_utils._gpu import kernel_log
from ansible_collections.kpro.sglang.plugins.module_utils._gpu.record import Gpu, Mig, Snapshot

LINES = [
    "NVRM: Xid (PCI:0000:21:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:41:00): 31, pid=4711, name=python3, Ch 00000008, intr 00000000. MMU Fault",
    "NVRM: Xid (PCI:0000:41:00): 31, pid=4712, name=python3, Ch 00000009, intr 00000000. MMU Fault",
    "NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed",
    "usb 1-1: new device",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module",
]


def test_xids():
    assert [(xid["xid"], xid["pci_bus_id"], xid["cause"]) for xid in kernel_log.xids(LINES)] == [
        (79, "00000000:21:00.0", "gpu_fell_off_bus"),
        (31, "00000000:41:00.0", "xid_application_fault"),
        (31, "00000000:41:00.0", "xid_application_fault"),
        (154, "00000000:41:00.0", None),
    ]


def test_hints_one_for_each_card_and_number():
    snapshot = Snapshot(gpus=[Gpu(index=1, pci_bus_id="00000000:41:00.0", ecc_uncorrected=2, mig=Mig(True))])
    hints = kernel_log.hints(snapshot, LINES)
    assert [(hint["gpu"], hint["cause"]) for hint in hints] == [
        (None, "gpu_fell_off_bus"),
        (1, "xid_application_fault"),
        (1, None),
        (1, "gpu_hardware_ecc"),
        (1, "mig_mode_mismatch"),
    ]
    assert "Xid 31 2 times" in hints[1]["text"]
    assert "4712" in hints[1]["text"]
    assert "GPU has fallen off the bus" in hints[0]["text"]


def test_a_healthy_card_gives_no_hint():
    assert kernel_log.hints(Snapshot(gpus=[Gpu(index=0, ecc_uncorrected=0, mig=Mig(False))]), []) == []


def test_ring_that_may_not_be_read(tmp_path):
    assert kernel_log.read_ring(str(tmp_path / "none")) == []


def test_ring_records_lose_their_prefix(monkeypatch):
    records = [b"6,1,100,-;first\n SUBSYSTEM=pci\n", BrokenPipeError(), b"4,2,200,-;caf\xe9\n", BlockingIOError()]

    def read(_handle, _size):
        record = records.pop(0)
        if isinstance(record, Exception):
            raise record
        return record

    monkeypatch.setattr(os, "read", read)
    assert kernel_log.read_ring("/dev/null") == ["first", "caf\ufffd"]
