"""The nvidia-smi reader on recorded outputs (data/h200: driver 580.159.04) and on the words it is known to print."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._gpu import nvidia_smi, smi_values, smi_xml

DATA = pathlib.Path(__file__).parent / "data"
H200 = DATA / "h200"
COLD = "nvidiactl", "nvidia0", "nvidia-uvm"


def read(path):
    return (H200 / path).read_text()


def ask(program, nodes, timeout=20):
    with nvidia_smi.NvidiaSmiReader(program, nodes, timeout) as reader:
        return reader.read()


def test_h200_that_serves(scripted_smi, nodes):
    program = scripted_smi([("--query-gpu=", read("query-gpu.csv"), 0), ("-q -x", read("query.xml"), 0)])
    snapshot = ask(program, nodes(*COLD))
    (gpu,) = snapshot.gpus
    assert (snapshot.driver_version, snapshot.cuda_version, snapshot.problem) == ("580.159.04", "13.0", None)
    assert (gpu.total_mib, gpu.used_mib, gpu.free_mib, gpu.reserved_mib) == (143771, 5739, 137418, 616)
    assert (gpu.uuid, gpu.pci_bus_id, gpu.minor) == ("GPU-11111111-2222-3333-4444-555555555555", "00000000:00:06.0", 0)
    assert (gpu.name, gpu.compute_capability, gpu.persistence_mode) == ("NVIDIA H200", "9.0", True)
    assert (gpu.ecc_enabled, gpu.ecc_uncorrected, gpu.mig.enabled, gpu.mig.instances) == (True, 0, False, [])
    assert [(p.pid, p.used_mib, p.name, p.kind) for p in gpu.processes] == [(562, 5730, "/opt/sglang/venv/bin/python3", "compute")]


def test_without_xml_the_lists_tell_the_same(scripted_smi, nodes):
    with_xml = [("--query-gpu=", read("query-gpu.csv"), 0), ("-q -x", read("query.xml"), 0)]
    without = [
        ("--query-gpu=", read("query-gpu.csv"), 0),
        ("-q -x", "garbage", 0),
        ("--query-compute-apps=", read("query-compute-apps.csv"), 0),
        ("--version", read("version.txt"), 0),
    ]
    first = ask(scripted_smi(with_xml, "with"), nodes(*COLD)).as_dict()
    second = ask(scripted_smi(without, "without"), nodes(*COLD)).as_dict()
    first["gpus"][0]["minor"] = None  # only the XML tells it
    assert first == second


def test_mig(scripted_smi, nodes):
    program = scripted_smi(
        [
            ("--query-gpu=", (DATA / "mig/query-gpu.csv").read_text(), 0),
            ("-q -x", (DATA / "mig/query.xml").read_text(), 0),
            ("-L", (DATA / "mig/list.txt").read_text(), 0),
        ]
    )
    (gpu,) = ask(program, nodes(*COLD)).gpus
    assert (gpu.used_mib, gpu.free_mib) == (None, None)  # [N/A] of the whole card, as some releases say with MIG
    assert gpu.mig.enabled
    assert [(i.index, i.gpu_instance, i.compute_instance, i.total_mib, i.used_mib, i.free_mib) for i in gpu.mig.instances] == [
        (0, 1, 0, 40448, 298, 40151),
        (1, 5, 0, 19968, 37, 19932),
    ]
    assert [i.uuid for i in gpu.mig.instances] == ["MIG-11111111-aaaa-5bbb-8ccc-000000000000", "MIG-11111111-aaaa-5bbb-8ccc-000000000001"]
    assert gpu.available_mib == 40151 + 19932


def test_old_release_without_newer_fields(scripted_smi, nodes, tmp_path):
    program = tmp_path / "old-smi"
    program.write_text(
        "#!/bin/sh\n"
        'for f in memory.reserved compute_cap; do case "$1" in --query-gpu=*"$f"*)'
        ' echo "Field \\"$f\\" is not a valid field to query."; echo; exit 2;; esac; done\n'
        'case "$1" in --query-gpu=*)'
        ' echo "0, GPU-1, 00000000:01:00.0, 24576, 10, 24566, 470.57.02, [N/A], Disabled, [N/A], [N/A], Old, card";;'
        " *) exit 1;; esac\n"
    )
    program.chmod(0o755)
    (gpu,) = ask(str(program), nodes(*COLD)).gpus
    assert (gpu.total_mib, gpu.reserved_mib, gpu.compute_capability, gpu.name) == (24576, None, None, "Old, card")
    assert (gpu.mig, gpu.persistence_mode, gpu.ecc_enabled) == (None, False, None)


@pytest.mark.parametrize(
    ("words", "rc", "cause"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 575.51\n", 18, "driver_library_mismatch"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that ...\n", 9, "gpu_not_passed_through"),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure ...\n", 12, "driver_library_missing"),
        ("Failed to initialize NVML: Insufficient Permissions\n", 4, "gpu_not_passed_through"),
        ("Failed to initialize NVML: GPU access blocked by the operating system\n", 17, "gpu_not_passed_through"),
        ("Failed to initialize NVML: Unknown Error\n", 255, "gpu_cgroup_lost"),
        ("No devices were found\n", 6, "gpu_not_passed_through"),
        ("Unable to determine the device handle for GPU 0000:21:00.0: GPU is lost.  Reboot the system to ...\n", 15, "gpu_fell_off_bus"),
        ("Unable to determine the device handle for GPU0: 0000:21:00.0: Unknown Error\n", 255, "gpu_fell_off_bus"),
        ("", 139, "gpu_memory_query_failed"),
    ],
)
def test_failures(scripted_smi, nodes, words, rc, cause):
    snapshot = ask(scripted_smi([("--query-gpu=", words, rc)]), nodes(*COLD))
    assert snapshot.gpus == []
    assert snapshot.problem.cause == cause
    first = words.splitlines()[0] if words else str(rc)
    assert first in snapshot.problem.evidence


def test_a_lost_card_among_good_ones(scripted_smi, nodes):
    output = read("query-gpu.csv") + "Unable to determine the device handle for GPU1: 0000:41:00.0: Unknown Error\n"
    snapshot = ask(scripted_smi([("--query-gpu=", output, 255), ("-q -x", "", 255)]), nodes(*COLD))
    assert [gpu.index for gpu in snapshot.gpus] == [0]
    assert snapshot.problem.cause == "gpu_fell_off_bus"


def test_hangs(nodes, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    snapshot = ask(str(program), nodes(*COLD), timeout=0.2)
    assert (snapshot.gpus, snapshot.problem.cause) == ([], "gpu_memory_query_failed")
    assert "no answer in 0.2 s" in snapshot.problem.text


def test_figures_that_are_not_told(scripted_smi, nodes):
    row = "0, GPU-1, 00000000:01:00.0, [Insufficient Permissions], [N/A], [Unknown Error], 550.1" + ", [N/A]" * 6 + ", Card\n"
    xml = "<nvidia_smi_log><gpu id='00000000:01:00.0'><processes><process_info><pid>5</pid><type>C</type><used_memory>N/A</used_memory>"
    xml += "</process_info></processes></gpu></nvidia_smi_log>"
    snapshot = ask(scripted_smi([("--query-gpu=", row, 0), ("-q -x", xml, 0)]), nodes(*COLD))
    (gpu,) = snapshot.gpus
    gpu.account()
    assert (gpu.total_mib, gpu.used_mib, gpu.free_mib, gpu.unowned_mib, gpu.available_mib) == (None, None, None, None, 0)
    assert [(p.pid, p.used_mib) for p in gpu.processes] == [(5, None)]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"<nvidia_smi_log>", b"<other/>", b"No devices were found\n"])
def test_xml_that_is_none(data):
    assert smi_xml.parse(data) is None


def test_xml_with_a_process_name_in_another_encoding():
    data = b"<nvidia_smi_log><gpu id='0:1:0.0'><processes><process_info><pid>5</pid><process_name>caf\xe9</process_name></process_info>"
    report = smi_xml.parse(data + b"</processes></gpu></nvidia_smi_log>")
    assert report.gpus["00000000:01:00.0"].processes[0].name == "caf\ufffd"


def test_computing_and_drawing_process_counts_once():
    info = "<process_info><pid>5</pid><type>{}</type><used_memory>{} MiB</used_memory></process_info>"
    infos = info.format("C", 7) + info.format("G", 9)
    text = f"<nvidia_smi_log><gpu id='0:1:0.0'><processes>{infos}</processes></gpu></nvidia_smi_log>"
    processes = smi_xml.parse(text.encode()).gpus["00000000:01:00.0"].processes
    assert [(p.pid, p.used_mib, p.kind) for p in processes] == [(5, 9, "compute")]


@pytest.mark.parametrize(
    ("text", "value"), [("49140", 49140), ("49140 MiB", 49140), ("[N/A]", None), ("N/A", None), ("", None), (None, None), ("12 W", None)]
)
def test_numbers(text, value):
    assert smi_values.number(text) == value


def test_found_on_the_path_only_when_it_can_be_run(tmp_path):
    file = tmp_path / "nvidia-smi"
    file.write_text("")
    assert nvidia_smi.find(str(tmp_path)) != str(file)
    file.chmod(0o755)
    assert nvidia_smi.find(f"/nonexistent:{tmp_path}") == str(file)
