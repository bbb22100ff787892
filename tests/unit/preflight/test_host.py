"""The host's own checks, and the module."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._preflight import host
from ansible_collections.kpro.sglang.plugins.module_utils._preflight.records import Report
from ansible_collections.kpro.sglang.plugins.module_utils._preflight.servers import read_servers
from ansible_collections.kpro.sglang.plugins.modules import sglang_preflight


@pytest.fixture
def report():
    return Report()


def test_own_name_that_resolves(report):
    host.check_hostname(report, "localhost")
    assert report.problems == [] and report.checks[0]["detail"].startswith("localhost is ")


def test_own_name_that_does_not_resolve(report):
    host.check_hostname(report, "no such name.invalid")
    (problem,) = report.problems
    assert "'no such name.invalid'" in problem["problem"] and "127.0.1.1" in problem["do"]


def test_a_resolver_that_does_not_answer(report, monkeypatch):
    monkeypatch.setattr(host, "_RESOLVE", "import time; time.sleep(70)")
    host.check_hostname(report, "slow", seconds=0.2)
    assert "longer than 0.2 s" in report.problems[0]["problem"]


def test_disk(report, tmp_path):
    host.check_disk(report, [{"path": str(tmp_path / "not" / "yet"), "min_free_gib": 0.001}, {"path": "/", "min_free_gib": 1e9}])
    assert [check["ok"] for check in report.checks] == [True, False]
    assert report.problems[0]["cause"] == "disk_full" and report.problems[0]["problem"].startswith("/ has ")


def test_no_inodes(report, monkeypatch):
    real = os.statvfs("/")
    full = os.statvfs_result((*real[:5], 100, 0, 0, *real[8:]))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    host.check_disk(report, [{"path": "/", "min_free_gib": 0}])
    assert "inodes" in report.problems[0]["problem"]


def test_python(report, tmp_path):
    host.check_python(report, None)
    host.check_python(report, sys.executable)
    assert report.problems == []
    (tmp_path / "python").symlink_to("/nonexistent/python3.9")
    host.check_python(report, str(tmp_path / "python"))
    assert "is a link to /nonexistent/python3.9" in report.problems[0]["evidence"]


@pytest.mark.parametrize("args, bad", [({"tp": 2}, True), ({}, False), ({"tp": 2, "device": "cpu"}, False)])
def test_shm(report, args, bad):
    servers = read_servers([{"name": "a", "model": "/m", "args": args}], Report())
    host.check_shm(report, servers, 1e9)
    assert [problem["cause"] for problem in report.problems] == (["shm_too_small"] if bad else [])


def test_shm_that_is_a_plain_directory(report, tmp_path):
    servers = read_servers([{"name": "a", "model": "/m", "args": {"tp": 2}}], Report())
    host.check_shm(report, servers, 0, shm=str(tmp_path))
    assert "not mounted" in report.problems[0]["evidence"]


def test_memory(report, tmp_path):
    (tmp_path / "self").mkdir()
    (tmp_path / "meminfo").write_text("MemTotal:       33554432 kB\nMemFree: 1 kB\nMemAvailable:   16777216 kB\n")
    (tmp_path / "self" / "cgroup").write_text("0::/system.slice/x.service\n")
    group = tmp_path / "cgroup" / "system.slice" / "x.service"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group.parent / "memory.max").write_text(f"{8 << 30}\n")
    host.check_memory(report, 16, str(tmp_path), str(tmp_path / "cgroup"))
    assert report.problems[0]["problem"] == "this host has 8.0 GiB of memory, and 16 GiB are needed"
    host.check_memory(report, None, str(tmp_path), str(tmp_path / "cgroup"))
    assert report.checks[-1]["detail"] == "8.0 GiB in all, 16.0 GiB available (limit of the control group 8.0 GiB)"
    (tmp_path / "self" / "cgroup").unlink()
    host.check_memory(report, 16, str(tmp_path), str(tmp_path / "cgroup"))
    assert report.checks[-1]["ok"]


def test_init(report, tmp_path):
    assert host.check_init(report, "auto", str(tmp_path)) is False
    assert report.checks[-1]["detail"] == "detached"
    host.check_init(report, "systemd", str(tmp_path))
    assert "systemd does not run this host" in report.problems[0]["problem"]
    (tmp_path / "systemd" / "system").mkdir(parents=True)
    assert host.check_init(report, "systemd", str(tmp_path)) is True
    assert report.checks[-1]["detail"] == "systemd"
    host.check_init(report, "detached", str(tmp_path))
    assert report.checks[-1]["detail"] == "detached"


def test_the_text_is_short_and_begins_with_the_first_problem(report):
    for number in range(20):
        report.bad("x", f"problem {number}", f"do {number}", server="a")
    lines = report.text().splitlines()
    assert len(lines) <= 12 and lines[1] == "a: problem 0" and lines[2] == "  -> do 0" and lines[-1] == "and 15 more (see problems)"
    single = Report()
    single.bad("x", "p", "d")
    assert single.text() == "Preflight found 1 problem:\np\n  -> d"


@pytest.fixture
def local_name(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")


def test_module(run_module, local_name, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = {
            "servers": [{"name": "qwen", "port": port, "model": "/m", "args": {"tp": 1}}],
            "disk": [{"path": str(tmp_path), "min_free_gib": 0.001}],
            "python": sys.executable,
        }
        failed = run_module(sglang_preflight, options)
        told = run_module(sglang_preflight, {**options, "fail": False}, check=True)
    assert failed["failed"] and failed["msg"].splitlines()[1].startswith(f"qwen: port {port} is held by process {os.getpid()}")
    assert not told["failed"] and told["ok"] is False and told["problems"] == failed["problems"]
    passed = run_module(sglang_preflight, options)
    assert passed["ok"] and not passed["changed"] and passed["problems"] == [] and "passed" in passed["msg"]
    assert {check["check"] for check in passed["checks"]} == {
        "arguments", "port", "python", "disk", "shm", "memory", "supervisor", "hostname"
    }  # fmt: skip


def test_a_refused_secret_does_not_come_back(run_module, local_name, monkeypatch):
    from ansible.module_utils import basic

    seen = []
    fail_json = basic.AnsibleModule.fail_json
    monkeypatch.setattr(basic.AnsibleModule, "fail_json", lambda self, **result: seen.append(self.params) or fail_json(self, **result))
    result = run_module(sglang_preflight, {"servers": [{"name": "q", "model": "/m", "args": {"api_key": "topsecret1", "tp": 1}}]})
    assert "looks like a secret" in result["msg"]
    assert "topsecret1" not in str(result) and "topsecret1" not in str(seen) and seen[0]["servers"][0]["args"]["tp"] == 1


def test_module_options(run_module):
    result = run_module(sglang_preflight, {"require_gpu": True})
    assert result["failed"] and "gpu_memory" in result["msg"]
