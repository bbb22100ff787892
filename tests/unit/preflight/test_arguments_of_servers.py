"""Servers by themselves and against each other."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._preflight.records import Report
from ansible_collections.kpro.sglang.plugins.module_utils._preflight.servers import read_servers


def problems_of(*entries):
    report = Report()
    read_servers([{"name": "a", "model": "/m", **entry} for entry in entries], report)
    return report.problems


def test_a_sane_server():
    report = Report()
    (server,) = read_servers([{"name": "a", "model": "/m", "args": {"tp": 2, "pp_size": "2", "port": 31000}}], report)
    assert not report.problems and [check["ok"] for check in report.checks] == [True]
    assert (server.host, server.port, server.ranks, server.on_cpu) == ("127.0.0.1", 31000, 4, False)


@pytest.mark.parametrize(
    "entry, words",
    [
        ({"port": 1, "args": {"port": 2}}, ["port is 1", "args.port is 2"]),
        ({"host": "127.0.0.1", "args": {"host": "0.0.0.0"}}, ["host is '127.0.0.1'", "args.host is '0.0.0.0'"]),
        ({"args": {"model": "/other"}}, ["model is '/m'", "args.model-path is '/other'"]),
        ({"model": None}, ["no model"]),
        ({"name": "a/b"}, ["name is 'a/b'"]),
        ({"args": {"api_key": "x" * 20}}, ["args.api_key looks like a secret", "option api_key"]),
        ({"args": {"tp": 2, "tensor_parallel_size": 4}}, ["--tp-size", "4 and 2"]),
        ({"args": {"tp": "two"}}, ["args.tp-size is 'two'", "whole number"]),
        ({"args": {"tp": 0}}, ["args.tp-size is 0"]),
        ({"args": {"tp": True}}, ["args.tp-size is True"]),
        ({"args": {"mem-fraction-static": 85}}, ["args.mem-fraction-static is 85", "between 0 and 1"]),
        ({"args": {"mem-fraction-static": "much"}}, ["args.mem-fraction-static is 'much'"]),
        ({"args": {"attention-backend": ["a"]}}, ["args.attention-backend is ['a']"]),
        ({"port": 70000}, ["port is 70000", "1 to 65535"]),
        ({"args": {"nccl-port": "x"}}, ["args.nccl-port is 'x'"]),
    ],
)
def test_bad_arguments(entry, words):
    (problem,) = problems_of(entry)
    assert problem["check"] == "arguments" and problem["cause"] == "invalid_argument_value"
    assert problem["server"] == entry.get("name", "a") and problem["do"]
    for word in words:
        assert word in problem["problem"]
    assert "x" * 20 not in str(problem)


def test_the_same_value_twice_is_no_contradiction():
    assert problems_of({"port": 31000, "args": {"port": "31000", "model_path": "/m"}}) == []


def test_names_and_ports_given_twice():
    found = problems_of({"port": 31000}, {"port": 31000})
    assert [problem["check"] for problem in found] == ["names", "ports"]
    assert found[1]["cause"] == "port_in_use" and found[1]["evidence"] == "servers[0].port and servers[1].port"


def test_two_servers_without_a_port_share_the_default():
    (problem,) = problems_of({"name": "a"}, {"name": "b"})
    assert problem["server"] == "b" and problem["problem"] == "port 30000 is also the port of server a"


def test_internal_ports_count_too():
    (problem,) = problems_of({"name": "a", "port": 31000}, {"name": "b", "port": 31001, "args": {"nccl-port": 31000}})
    assert problem["cause"] == "internal_port_in_use" and "nccl-port 31000" in problem["problem"]
    (problem,) = problems_of({"port": 31000, "args": {"nccl_port": 31000}})
    assert "this server" in problem["problem"]
