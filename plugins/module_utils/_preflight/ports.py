# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Is the port of each server free, or held by that server itself?

SGLang notices a taken port only after the whole load, and that process then never ends by itself: so it is looked at before.
"""

from __future__ import annotations

import errno
import os

from .._supervise.listeners import bind_error, descends_from, holders


def check_port(server, report, proc="/proc"):
    """Check ``server.host``:``server.port``; the holder is named by pid, program and unit."""
    host, port = str(server.host), server.port
    if not 1 <= port <= 65535:
        return  # reported with the arguments
    code = bind_error(host, port)
    found, unseen = ([], []) if code == 0 else holders(port, host, proc)
    own = [holder for holder in found if _is_own(holder, server, proc)]
    strangers = [holder for holder in found if holder not in own]
    if strangers:
        holder = strangers[0]
        report.bad(
            "port",
            f"port {port} is held by {holder}",
            f"Stop {('unit ' + holder.unit) if holder.unit else 'process ' + str(holder.pid)}, or give the server another port.",
            server=server.name,
            cause="port_in_use",
            evidence=f"{holder.address}:{port} is listened on by pid {holder.pid}: {holder.command or holder.program}",
        )
        return
    if own:
        report.good("port", f"{host}:{port} is held by this server itself ({own[0]})", server=server.name)
        return
    if code == errno.EADDRINUSE or unseen:
        seen_by = "a process of another user or container" if unseen else "a socket that does not listen"
        report.bad(
            "port",
            f"port {port} is taken by {seen_by}",
            "Look with 'ss -ltnp' as root (also on the node), and stop the holder or give the server another port.",
            server=server.name,
            cause="port_in_use",
            evidence=f"{unseen[0] if unseen else host}:{port} cannot be bound: {os.strerror(errno.EADDRINUSE)}",
        )
    elif code == errno.EADDRNOTAVAIL:
        report.bad(
            "port",
            f"host is {host!r}, which is no address of this host",
            "Use an address that this host has, 127.0.0.1, or 0.0.0.0 for all of them.",
            server=server.name,
            cause="invalid_argument_value",
            evidence=f"{host}:{port} cannot be bound: {os.strerror(code)}",
        )
    elif _too_low(port, server.user, proc):
        report.bad(
            "port",
            f"port {port} is reserved for root, and the server runs as {server.user}",
            "Use a port from 1024.",
            server=server.name,
            cause="invalid_argument_value",
            evidence="net.ipv4.ip_unprivileged_port_start is above it",
        )
    else:
        report.good("port", f"{host}:{port} is free", server=server.name)


def _is_own(holder, server, proc):
    unit = server.unit if not server.unit or "." in server.unit else server.unit + ".service"
    if unit and holder.unit == unit:
        return True
    return bool(server.pids) and descends_from(holder.pid, server.pids, proc)


def _too_low(port, user, proc):
    if user in (None, "root", "0"):
        return False
    try:
        with open(f"{proc}/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as stream:
            return port < int(stream.read())
    except (OSError, ValueError):
        return port < 1024
