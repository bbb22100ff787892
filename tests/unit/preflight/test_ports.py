"""Taken ports, with real sockets and real processes."""

from __future__ import annotations

import ipaddress
import os
import socket
import subprocess
import sys

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._preflight import ports
from ansible_collections.kpro.sglang.plugins.module_utils._preflight.records import Report
from ansible_collections.kpro.sglang.plugins.module_utils._preflight.servers import Server
from ansible_collections.kpro.sglang.plugins.module_utils._supervise import listeners


def check(host, port, proc="/proc", **entry):
    report = Report()
    server = Server({"name": "a", "host": host, "port": port, **entry}, 0)
    ports.check_port(server, report, proc)
    assert len(report.checks) == 1
    return report


@pytest.fixture
def listener():
    """A socket of this process that listens on 127.0.0.1; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free_port():
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture
def other_process():
    """A process that listens, with a secret in its command line: (pid, port)."""
    script = "import socket, sys\ns = socket.create_server(('127.0.0.1', 0))\nprint(s.getsockname()[1], flush=True)\nsys.stdin.read()\n"
    words = [sys.executable, "-c", script, "--api-key", "verysecret1", "--admin-api-key=verysecret2", "--port", "1"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield process.pid, int(process.stdout.readline())
    finally:
        process.communicate()


def test_a_free_port(free_port):
    report = check("127.0.0.1", free_port)
    assert report.problems == [] and report.checks[0]["detail"] == f"127.0.0.1:{free_port} is free"


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_a_taken_port_names_the_holder(listener, host):
    (problem,) = check(host, listener).problems
    assert problem["cause"] == "port_in_use" and problem["server"] == "a"
    assert f"port {listener} is held by process {os.getpid()} (" in problem["problem"]
    assert f"127.0.0.1:{listener}" in problem["evidence"]


def test_another_address_is_not_in_the_way(listener):
    assert check("127.0.0.2", listener).problems == []


def test_the_holders_secrets_are_not_shown(other_process):
    pid, port = other_process
    (problem,) = check("127.0.0.1", port).problems
    assert f"process {pid} " in problem["problem"] and f"process {pid}" in problem["do"]
    assert "verysecret" not in str(problem)


def test_our_own_process_may_hold_it(other_process):
    pid, port = other_process
    report = check("127.0.0.1", port, pids=[pid])
    assert report.problems == [] and "this server itself" in report.checks[0]["detail"]
    assert check("127.0.0.1", port, pids=[os.getpid()]).problems == []  # a child of one of ours
    assert check("127.0.0.1", port, pids=[999999]).problems


def test_our_own_unit_may_hold_it(other_process, monkeypatch):
    _pid, port = other_process
    monkeypatch.setattr(listeners, "parse_cgroup", lambda text: ("sglang-a.service", None))
    for unit in ("sglang-a.service", "sglang-a"):
        assert check("127.0.0.1", port, unit=unit).problems == []
    (problem,) = check("127.0.0.1", port, unit="sglang-b.service").problems
    assert "unit sglang-a.service" in problem["problem"] and "Stop unit sglang-a.service" in problem["do"]


def test_a_listener_without_a_visible_process(listener, tmp_path):
    """In a guest the holder may be out of sight; the port is taken all the same."""
    (tmp_path / "net").mkdir()
    with open("/proc/net/tcp", encoding="ascii") as table:
        (tmp_path / "net" / "tcp").write_text(table.read())
    (problem,) = check("127.0.0.1", listener, proc=str(tmp_path)).problems
    assert "another user or container" in problem["problem"] and problem["cause"] == "port_in_use"


def test_an_address_of_another_host():
    (problem,) = check("192.0.2.7", 31999).problems
    assert "no address of this host" in problem["problem"]


def test_a_port_of_root(tmp_path):
    setting = tmp_path / "sys" / "net" / "ipv4"
    setting.mkdir(parents=True)
    (setting / "ip_unprivileged_port_start").write_text("1024\n")
    (problem,) = check("127.0.0.1", 1023, proc=str(tmp_path), user="sglang").problems
    assert "reserved for root" in problem["problem"]
    assert check("127.0.0.1", 1023, proc=str(tmp_path), user="root").problems == []


def test_a_port_that_is_bound_without_listening():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        (problem,) = check("127.0.0.1", bound.getsockname()[1]).problems
    assert "does not listen" in problem["problem"]


@pytest.mark.parametrize(
    "wanted, there, expected",
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "10.0.0.1", False),
        ("0.0.0.0", "10.0.0.1", True),
        ("10.0.0.1", "0.0.0.0", True),
        ("10.0.0.1", "::", True),
        ("10.0.0.1", "::1", False),
        ("::", "0.0.0.0", False),
        ("::1", "::", True),
        ("some.name", "10.0.0.1", True),
    ],
)
def test_in_the_way(wanted, there, expected):
    assert listeners.in_the_way(wanted, ipaddress.ip_address(there)) is expected


def test_socket_tables(tmp_path):
    """Rows as the kernel prints them: IPv4, IPv6, a mapped address, a socket that is connected."""
    (tmp_path / "net").mkdir()
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    tail = " 00000000:00000000 00:00000000 00000000     0        0 {} 1 0000000000000000 100 0 0 10 0\n"
    (tmp_path / "net" / "tcp").write_text(
        head
        + "   0: 0100007F:7530 00000000:0000 0A"
        + tail.format(11)
        + "   1: 0500A8C0:7530 0600A8C0:C001 01"
        + tail.format(12)
        + "   2: 0100007F:7531 00000000:0000 0A"
        + tail.format(13)
    )
    (tmp_path / "net" / "tcp6").write_text(
        head
        + "   0: 00000000000000000000000001000000:7530 00000000000000000000000000000000:0000 0A"
        + tail.format(14)
        + "   1: 0000000000000000FFFF00000500A8C0:7530 00000000000000000000000000000000:0000 0A"
        + tail.format(15)
    )
    found = {inode: str(address) for inode, address in listeners.listening(30000, str(tmp_path)).items()}
    assert found == {"11": "127.0.0.1", "14": "::1", "15": "192.168.0.5"}


def test_redacted_command():
    words = ["python", "-m", "x", "--api-key", "k1", "--hf_token=k2", "PASSWORD=k3", "http://u:secret-k4@h/", "--api-key", "--port", "5"]
    text = listeners.redacted_command(words)
    assert text == "python -m x --api-key ******** --hf_token=******** PASSWORD=******** http://********@h/ --api-key --port 5"
    assert len(listeners.redacted_command(["x" * 500])) == 203
