"""gather(): the choice of a reader, waiting, sentences."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._gpu import facts
from ansible_collections.kpro.sglang.plugins.module_utils._gpu.record import Gpu, GpuProcess, Mig, MigInstance, Problem, Snapshot

PROBLEM = Problem("gpu_not_passed_through", "No device is here.", "Pass one.")


class Reader:
    """Answers with each of ``free`` (MiB) in turn, the last one for ever; ``free`` of None is a reader that knows only a problem."""

    def __init__(self, name, *free, processes=(), used=None, mig=False):
        self.backend = name
        self.free = list(free)
        self.processes = processes
        self.used = used
        self.mig = mig
        self.reads = 0

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        return False

    def _next(self):
        return self.free.pop(0) if len(self.free) > 1 else self.free[0]

    def read(self, links=False):
        self.reads += 1
        free = self._next()
        if free is None:
            return Snapshot(backend=self.backend, problem=PROBLEM)
        gpu = Gpu(index=0, uuid="GPU-1", total_mib=1000, free_mib=free, used_mib=self.used or 1000 - free, processes=list(self.processes))
        if self.mig:
            gpu.mig, gpu.free_mib = Mig(True, [MigInstance(0, free_mib=free)]), None
        return Snapshot(backend=self.backend, gpus=[gpu])

    def memory(self):
        free = self._next()
        return None if free == "silent" else [(0, free), (1, 0)]


@pytest.fixture
def gather(monkeypatch, nodes):
    naps = []
    clock = [0.0]

    def sleep(seconds):
        naps.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(facts.waiting.time, "sleep", sleep)
    monkeypatch.setattr(facts.waiting.time, "monotonic", lambda: clock[0])

    def call(*readers, here=None, **options):
        monkeypatch.setattr(facts, "readers", lambda backend, python, nodes: list(readers))
        return facts.gather(nodes=here or nodes("nvidiactl", "nvidia0"), kmsg="/dev/null", **options)

    call.naps = naps
    return call


def test_the_first_that_sees_a_gpu_is_taken(gather):
    second = Reader("nvidia_smi", 900)
    assert gather(Reader("nvml", 900), second)["backend"] == "nvml"
    assert second.reads == 0
    assert gather(Reader("nvml", None), second)["backend"] == "nvidia_smi"


def test_the_first_problem_stands_when_nobody_knows_better(gather):
    result = gather(Reader("nvml", None), Reader("nvidia_smi", None))
    assert (result["backend"], result["gpus"], result["problem"]) == ("nvml", [], "gpu_not_passed_through")
    assert result["problem_detail"] == {"cause": PROBLEM.cause, "text": PROBLEM.text, "remedy": PROBLEM.remedy, "evidence": None}


def test_waits_no_longer_than_needed(gather):
    result = gather(Reader("nvml", 100, 100, "silent", 950, 950), wait_for_free_mib=900)
    assert result["waited"] == {"wanted_mib": 900, "satisfied": True, "seconds": 0.75}
    assert result["gpus"][0]["free_mib"] == 950


def test_does_not_wait_for_what_is_there(gather):
    assert gather(Reader("nvml", 900), wait_for_free_mib=900)["waited"] == {"wanted_mib": 900, "satisfied": True, "seconds": 0.0}
    assert gather.naps == []


def test_waits_for_mig_by_its_instances(gather):
    assert gather(Reader("nvidia_smi", 100, 100, 950, mig=True), wait_for_free_mib=900)["waited"]["satisfied"] is True


def test_names_the_holders(gather):
    processes = [GpuProcess(4194001, "small", 10), GpuProcess(4194002, "sglang::scheduler", 800), GpuProcess(4194003, "silent")]
    with pytest.raises(KproError) as caught:
        gather(Reader("nvml", 100, processes=processes), wait_for_free_mib=900, timeout=1)
    message = caught.value.message
    assert "900 MiB wanted on each GPU, not there after 1 s." in message
    assert "GPU 0 (GPU-1) has 100 of 1000 MiB free, held by: sglang::scheduler (pid 4194002) 800 MiB; " in message
    assert "small (pid 4194001) 10 MiB;" in message
    assert "silent (pid 4194003) an unknown amount" in message
    assert caught.value.result["gpu_memory"]["waited"] == {"wanted_mib": 900, "satisfied": False, "seconds": 1.0}
    assert sum(gather.naps) == 1


def test_memory_held_from_outside_the_guest(gather, nodes):
    guest = nodes("nvidiactl", "nvidia0", "nvidia-uvm", files={"run/systemd/container": "lxc"})
    with pytest.raises(KproError) as caught:
        gather(Reader("nvml", 100, used=40000), here=guest, wait_for_free_mib=900, timeout=0)
    assert "held by: 40000 MiB held from outside this guest (ask the node)." in caught.value.message
    with pytest.raises(KproError) as caught:
        gather(Reader("nvml", 100), here=guest, wait_for_free_mib=900, timeout=0)
    assert "held by: no process that can be seen." in caught.value.message


def test_more_than_there_is_fails_at_once(gather):
    with pytest.raises(KproError) as caught:
        gather(Reader("nvml", 900), wait_for_free_mib=1001)
    assert "1001 MiB can never be free on GPU 0, which has 1000 MiB" in caught.value.message
    assert caught.value.result["gpu_memory"]["waited"] == {"wanted_mib": 1001, "satisfied": False, "seconds": 0.0}
    assert gather.naps == []


def test_waiting_without_a_gpu_fails_with_the_problem(gather):
    with pytest.raises(KproError) as caught:
        gather(Reader("nvml", None), wait_for_free_mib=1)
    assert caught.value.message == "wait_for_free_mib: there is no GPU to wait for. No device is here. Pass one."
    assert caught.value.result["gpu_memory"]["problem"] == "gpu_not_passed_through"


def test_a_name_that_fits_nothing_fails_only_when_there_are_gpus(gather):
    with pytest.raises(KproError):
        gather(Reader("nvml", 900), gpus=["7"])
    assert gather(Reader("nvml", None), gpus=["7"])["gpus"] == []


def test_uvm_is_a_problem_beside_the_gpus(gather, nodes):
    result = gather(Reader("nvml", 900), here=nodes("nvidiactl", "nvidia0", files={"run/systemd/container": "lxc"}))
    assert len(result["gpus"]) == 1
    assert result["problem"] == "nvidia_uvm_missing"


@pytest.mark.parametrize("option", [{"backend": "rocm"}, {"wait_for_free_mib": -1}, {"timeout": -1, "wait_for_free_mib": 1}])
def test_bad_values(gather, option):
    with pytest.raises(KproError) as caught:
        gather(Reader("nvml", 900), **option)
    assert next(iter(option)) in caught.value.message


def test_nobody_to_ask(monkeypatch, nodes):
    monkeypatch.setattr(facts.binding, "load", lambda python: (None, "looked in vain"))
    monkeypatch.setattr(facts.nvidia_smi, "find", lambda: None)
    result = facts.gather(nodes=nodes("nvidiactl"), kmsg="/dev/null", links=True)
    assert (result["backend"], result["problem"]) == (None, "gpu_memory_query_failed")
    assert result["problem_detail"]["evidence"] == "looked in vain; no nvidia-smi on the PATH"
    result = facts.gather(backend="nvidia_smi", nodes=nodes("nvidiactl"), kmsg="/dev/null")
    assert result["problem_detail"]["evidence"] == "no nvidia-smi on the PATH"
