# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs: the guest's state as the kernel and LXC's tools show it.

A guest runs when its monitor listens on the abstract command socket, which belongs to the node's network namespace.
"""

from __future__ import annotations

import os

from . import node
from .shell_text import PATH

ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": "/root"}


def is_running(vmid):
    socket = f"@{node.LXC_PATH}/{vmid}/command"
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as stream:
        return any(line.rstrip("\n").endswith(" " + socket) for line in stream)


def tool(*argv, **options):
    """Run a program with a clean environment; text mode, both streams captured, no descriptor but the three inherited."""
    import subprocess

    options = dict(options, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    return subprocess.run(argv, env=ENVIRONMENT, check=False, **options)


def init_pid(vmid):
    """Process id of the guest's init as the node sees it; None when it does not run."""
    answer = tool("lxc-info", "-n", str(vmid), "-p", "-H")
    return int(answer.stdout) if answer.returncode == 0 and answer.stdout.strip().isdigit() and int(answer.stdout) > 0 else None


def uptime(pid):
    """Whole seconds since the process started."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
        started = int(stream.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    with open("/proc/uptime", encoding="ascii") as stream:
        return int(float(stream.read().split()[0]) - started)
