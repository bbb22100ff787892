"""Processes to units and guests, by cgroup."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._gpu import owners
from ansible_collections.kpro.sglang.plugins.module_utils._gpu.record import Gpu, GpuProcess, Snapshot


@pytest.mark.parametrize(
    ("text", "unit", "vmid"),
    [
        ("0::/lxc/129/ns/system.slice/sglang-main.service\n", "sglang-main.service", 129),
        ("0::/lxc/129/ns/system.slice/system-sglang.slice/sglang@main.service\n", "sglang@main.service", 129),
        ("0::/lxc/129/system.slice/x.service\n", "x.service", 129),
        ("0::/lxc.payload.130/system.slice/x.service\n", "x.service", 130),
        ("0::/lxc/129/ns/init.scope\n", None, 129),
        ("0::/system.slice/sglang-main.service\n", "sglang-main.service", None),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/ollama.service\n", "ollama.service", None),
        ("0::/user.slice/user-0.slice/session-3.scope\n", "session-3.scope", None),
        ("0::/system.slice/docker-0123abcd.scope\n", "docker-0123abcd.scope", None),
        (r"0::/system.slice/vllm\x2dserver.service" + "\n", r"vllm\x2dserver.service", None),
        ("0::/init.scope\n", None, None),
        ("0::/\n", None, None),
        ("", None, None),
        ("garbage\n", None, None),
        ("0::/../../lxc/7/ns/system.slice/a:b.service\n", "a:b.service", 7),
        # cgroup v1: only systemd's own hierarchy knows the unit; hybrid: both
        ("12:devices:/lxc/129\n4:memory:/lxc/129\n1:name=systemd:/lxc/129/ns/system.slice/y.service\n0::/lxc/129\n", "y.service", 129),
        ("3:cpu,cpuacct:/lxc/129/ns/system.slice/z.service\n", "z.service", 129),
        ("0::/lxc.monitor.129\n", None, None),
        ("0::/lxc/129abc/x.service\n", "x.service", None),
    ],
)
def test_cgroups(text, unit, vmid):
    assert owners.parse_cgroup(text) == (unit, vmid)


def proc(tmp_path, pid, cmdline=None, comm=None, cgroup=None):
    folder = tmp_path / str(pid)
    folder.mkdir()
    for name, data in (("cmdline", cmdline), ("comm", comm), ("cgroup", cgroup)):
        if data is not None:
            (folder / name).write_bytes(data)


def test_program_is_argv0_and_nothing_after_it(tmp_path):
    proc(tmp_path, 1, b"python3\0-m\0sglang.launch_server\0--api-key\0secret\0")
    proc(tmp_path, 2, b"sglang::scheduler_TP0\0\0\0")
    proc(tmp_path, 3, b"", b"kworker/0:1\n")
    proc(tmp_path, 4, b"caf\xe9\0")
    names = [owners.program(pid, str(tmp_path)) for pid in (1, 2, 3, 4, 5)]
    assert names == ["python3", "sglang::scheduler_TP0", "kworker/0:1", "caf\ufffd", None]


def test_resolve_fills_and_keeps_what_the_reader_knew(tmp_path):
    proc(tmp_path, 11, b"python3\0", cgroup=b"0::/lxc/129/ns/system.slice/sglang-main.service\n")
    gpu = Gpu(index=0, used_mib=1000, processes=[GpuProcess(11, "old", 600), GpuProcess(12, "gone", 300)])
    owners.resolve(Snapshot(gpus=[gpu]), str(tmp_path))
    assert [(p.name, p.unit, p.vmid) for p in gpu.processes] == [("python3", "sglang-main.service", 129), ("gone", None, None)]
    assert gpu.unowned_mib == 100


@pytest.mark.parametrize(("used", "each", "unowned"), [(1000, [1200], 0), (1000, [], 1000), (None, [1], None), (1000, [5, None], None)])
def test_unowned(used, each, unowned):
    gpu = Gpu(index=0, used_mib=used, processes=[GpuProcess(pid, None, mib) for pid, mib in enumerate(each)])
    gpu.account()
    assert gpu.unowned_mib == unowned
