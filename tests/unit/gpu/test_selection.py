"""Naming GPUs."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._gpu.record import Gpu, Mig, MigInstance, normalise_pci
from ansible_collections.kpro.sglang.plugins.module_utils._gpu.selection import select

GPUS = [
    Gpu(index=0, uuid="GPU-aaaa1111", pci_bus_id="00000000:21:00.0"),
    Gpu(index=1, uuid="GPU-aaaa2222", pci_bus_id="00000000:41:00.0"),
    Gpu(index=3, uuid="GPU-bbbb0000", pci_bus_id="00000001:0A:00.0", mig=Mig(True, [MigInstance(0, "MIG-77")])),
]


@pytest.mark.parametrize(
    ("names", "indexes"),
    [
        (None, [0, 1, 3]),
        ([], [0, 1, 3]),
        (["1", 0], [1, 0]),
        (["GPU-bbbb"], [3]),
        (["gpu-AAAA1111"], [0]),
        (["0000:41:00.0"], [1]),
        (["41:00.0"], [1]),
        (["00000001:0a:00.0"], [3]),
        ([" MIG-77 "], [3]),
    ],
)
def test_names(names, indexes):
    assert [gpu.index for gpu in select(GPUS, names)] == indexes


@pytest.mark.parametrize(
    "names", [["2"], ["GPU-cccc"], ["bbbb"], ["GPU-aaaa"], ["0000:99:00.0"], ["0", "21:00.0"], ["MIG-78"], [""], ["x:y:z.w"]]
)
def test_refused_with_the_name_in_the_sentence(names):
    with pytest.raises(KproError) as caught:
        select(GPUS, names)
    assert caught.value.message.startswith(f"gpus: {names[-1]!r}")


@pytest.mark.parametrize("text", ["", "0", "GPU-1", "1:2", "g:1:0.0", "0000:21:00", None])
def test_no_pci_address(text):
    assert normalise_pci(text) is None
