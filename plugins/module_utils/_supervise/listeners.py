# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Who listens on a TCP port of this host: socket tables, the processes that hold them, their units."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket

from .._gpu.owners import parse_cgroup
from .._launch_log.redact import MASK, redact
from .._sglang.arguments import is_secret_name

_LISTEN = "0A"  # state TCP_LISTEN in /proc/net/tcp
_COMMAND_LENGTH = 200


class Holder:
    """A process that holds a listening socket: ``pid``, ``program``, ``command`` (secrets replaced, cut), ``unit`` or None, ``address``."""

    def __init__(self, pid, program, command, unit, address):
        self.pid = pid
        self.program = program
        self.command = command
        self.unit = unit
        self.address = address

    def __str__(self):
        return f"process {self.pid} ({self.program}" + (f", unit {self.unit}" if self.unit else ", of no unit") + ")"


def bind_error(host, port):
    """0 when ``host``:``port`` can be bound now as a server would bind it (SO_REUSEADDR), else the errno; None when it was not tried
    because ``host`` is a name (resolving it may take long, and the tables tell enough). The socket never listens."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICHOST)
    except OSError:
        return None
    family, kind, protocol, _name, address = found[0]
    try:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # as asyncio's servers do
            probe.bind(address)
    except OSError as error:
        return error.errno or errno.EINVAL
    return 0


def listening(port, proc="/proc"):
    """{socket inode (str): address (ipaddress object)} of the sockets that listen on ``port``."""
    found = {}
    for table in ("tcp", "tcp6"):
        try:
            with open(f"{proc}/net/{table}", encoding="ascii", errors="replace") as stream:
                rows = stream.read().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if len(fields) < 10 or fields[3] != _LISTEN:
                continue
            address, _colon, number = fields[1].rpartition(":")
            if int(number, 16) == port:
                found[fields[9]] = _address(address)
    return found


def _address(text):
    """The kernel writes an address as words of 32 bits in the host's byte order (little-endian on every machine with these GPUs)."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def in_the_way(host, address):
    """Whether a listener on ``address`` keeps a server from listening on ``host`` (text; a name counts as any address)."""
    try:
        wanted = ipaddress.ip_address(host)
    except ValueError:
        return True
    if wanted.version == address.version:
        return wanted == address or wanted.is_unspecified or address.is_unspecified
    # Different families meet only where :: takes IPv4 too (the default of bindv6only).
    return address.version == 6 and address.is_unspecified


def holders(port, host, proc="/proc"):
    """(list of Holder, list of addresses whose process cannot be seen) for ``port``, as far as they are in the way of ``host``."""
    sockets = {inode: address for inode, address in listening(port, proc).items() if in_the_way(host, address)}
    if not sockets:
        return [], []
    found, seen = [], set()
    for entry in sorted((name for name in os.listdir(proc) if name.isdigit()), key=int):
        for inode in _inodes(f"{proc}/{entry}/fd") & set(sockets):
            seen.add(inode)
            found.append(_holder(int(entry), sockets[inode], proc))
            break
    return found, [str(address) for inode, address in sockets.items() if inode not in seen]


def _inodes(folder):
    found = set()
    try:
        for name in os.listdir(folder):
            try:
                link = os.readlink(f"{folder}/{name}")
            except OSError:
                continue
            if link.startswith("socket:["):
                found.add(link[8:-1])
    except OSError:
        pass
    return found


def _holder(pid, address, proc):
    words = [word for word in _read(f"{proc}/{pid}/cmdline").split("\0") if word]
    comm = _read(f"{proc}/{pid}/comm").strip()
    unit, _vmid = parse_cgroup(_read(f"{proc}/{pid}/cgroup"))
    return Holder(pid, comm or (os.path.basename(words[0]) if words else "?"), redacted_command(words), unit, str(address))


def redacted_command(words):
    """A command line as text: values of flags and variables with secret names replaced, credentials of URLs too, at most 200 characters."""
    shown, hide = [], False
    for word in words:
        name, equals, _value = word.partition("=")
        if hide and not word.startswith("--"):
            shown.append(MASK)
            hide = False
            continue
        secret = is_secret_name(name)
        shown.append(f"{name}={MASK}" if secret and equals else word)
        hide = secret and not equals and word.startswith("-")
    text = redact(" ".join(shown))
    return text if len(text) <= _COMMAND_LENGTH else text[:_COMMAND_LENGTH] + "..."


def descends_from(pid, ancestors, proc="/proc"):
    """Whether ``pid`` is one of ``ancestors`` (set of int) or a child of one, at any depth."""
    while pid > 1:
        if pid in ancestors:
            return True
        fields = _read(f"{proc}/{pid}/stat").rpartition(")")[2].split()
        if len(fields) < 2:
            return False
        pid = int(fields[1])
    return False


def _read(path):
    try:
        with open(path, "rb") as stream:
            return stream.read(65536).decode("utf-8", "replace")
    except OSError:
        return ""
