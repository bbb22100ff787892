# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The servers of a host as they are meant: names, ports and arguments, each by itself and against the others."""

from __future__ import annotations

import re

from .._errors import KproError
from .._sglang.arguments import normalise

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 30000
# As in a systemd unit and a directory name, and short enough for both.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_COUNTS = ("tp-size", "pp-size", "dp-size", "ep-size", "nnodes", "max-running-requests", "context-length", "max-total-tokens", "page-size")
_PORTS = ("port", "nccl-port")
_FRACTIONS = ("mem-fraction-static",)
_TEXTS = ("host", "model-path", "served-model-name", "attention-backend", "quantization", "kv-cache-dtype", "dtype", "device")
# Options of a server that are also flags.
_TWICE = (("host", "host"), ("port", "port"), ("model", "model-path"))


class Server:
    """One server of the option ``servers``: what its checks need. ``args`` is normalised ({} when that failed)."""

    def __init__(self, entry, index):
        self.place = f"servers[{index}]"
        self.name = entry.get("name") or self.place
        self.given = entry
        self.args: dict = {}
        self.host = entry.get("host")
        self.port = entry.get("port")
        self.model = entry.get("model")
        self.gpus = [str(name).strip() for name in entry.get("gpus") or []]
        self.unit = entry.get("unit")
        self.user = entry.get("user")
        self.pids = set(entry.get("pids") or [])

    def number(self, flag, default):
        """The value of a flag as int; ``default`` when it is absent or no number."""
        try:
            return int(self.args.get(flag, default))
        except (TypeError, ValueError):
            return default

    @property
    def ranks(self):
        """GPUs on this host that the server takes: tensor times pipeline parallel size, spread over the nodes."""
        return self.number("tp-size", 1) * self.number("pp-size", 1) // max(1, self.number("nnodes", 1))

    @property
    def on_cpu(self):
        """Whether the server is told to run without a GPU."""
        return str(self.args.get("device", "")).startswith("cpu")

    def ports(self):
        """[(port, flag)] that the server opens by number."""
        found = [(self.port, "port")]
        if "nccl-port" in self.args:
            found.append((self.number("nccl-port", 0), "nccl-port"))
        return found


def read_servers(entries, report):
    """The Server objects for the option ``servers``; what is wrong with them goes into ``report``."""
    servers = []
    for index, entry in enumerate(entries):
        server = Server(entry, index)
        _check_arguments(server, report)
        servers.append(server)
    _check_against_each_other(servers, report)
    return servers


def _check_arguments(server, report):
    before = len(report.problems)

    def wrong(text, do):
        report.bad("arguments", text, do, server=server.name, cause="invalid_argument_value")

    if not _NAME.match(server.name):
        wrong(
            f"name is {server.name!r}",
            "Use letters, digits, '-', '_' and '.', at most 64 characters: the name is part of a unit's and a directory's.",
        )
    try:
        server.args = normalise(server.given.get("args"), "args")
    except KproError as error:
        wrong(error.message, "Correct this argument of the server.")
    for option, flag in _TWICE:
        given, argument = server.given.get(option), server.args.get(flag)
        if given is not None and argument is not None and str(given) != str(argument):
            wrong(f"{option} is {given!r} and args.{flag} is {argument!r}", f"Give one of the two: option {option}.")
    server.host = _first(server.host, server.args.get("host"), DEFAULT_HOST)
    server.port = _first(server.port, server.args.get("port"), DEFAULT_PORT)
    server.model = _first(server.model, server.args.get("model-path"))
    if server.model is None:
        wrong("no model is given", "Set model to the path of the model directory.")
    for name, text in _value_faults(server):
        wrong(f"{name} {text}", "Correct this value.")
    server.port = int(server.port) if str(server.port).isdigit() else 0
    if len(report.problems) == before:
        report.good("arguments", f"{len(server.args)} arguments", server=server.name)


def _first(*values):
    return next((value for value in values if value is not None), None)


def _value_faults(server):
    """(place, what is wrong) of values whose type or range is known whatever the release."""
    for flag, value in [*server.args.items(), ("port", server.port)]:
        place = f"args.{flag}" if flag in server.args else flag
        if flag in _COUNTS and not _is_int(value, 1):
            yield place, f"is {value!r}; it must be a whole number from 1"
        elif flag in _PORTS and not (_is_int(value, 1) and int(value) <= 65535):
            yield place, f"is {value!r}; it must be a port from 1 to 65535"
        elif flag in _FRACTIONS and not _is_fraction(value):
            yield place, f"is {value!r}; it must be a fraction between 0 and 1, for example 0.85"
        elif flag in _TEXTS and isinstance(value, (bool, list)):
            yield place, f"is {value!r}; it must be text"


def _is_int(value, least):
    return not isinstance(value, (bool, float, list)) and re.match(r"-?\d+\Z", str(value)) is not None and int(value) >= least


def _is_fraction(value):
    try:
        return not isinstance(value, (bool, list)) and 0 < float(value) < 1
    except ValueError:
        return False


def _check_against_each_other(servers, report):
    names: dict = {}
    ports: dict = {}
    for server in servers:
        if server.name in names:
            report.bad(
                "names",
                f"two servers of this host are called {server.name!r}",
                "Give each server of a host a name of its own.",
                server=server.name,
                cause="invalid_argument_value",
                evidence=f"{names[server.name].place} and {server.place}",
            )
        names.setdefault(server.name, server)
        for port, flag in server.ports():
            if not port:
                continue
            if port in ports:
                other, other_flag = ports[port]
                report.bad(
                    "ports",
                    f"{flag} {port} is also the {other_flag} of {'this server' if other is server else 'server ' + other.name}",
                    "Give each server of a host ports of its own.",
                    server=server.name,
                    cause="port_in_use" if flag == other_flag == "port" else "internal_port_in_use",
                    evidence=f"{other.place}.{other_flag} and {server.place}.{flag}",
                )
            ports.setdefault(port, (server, flag))
