# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""All checks of a host in one call: nothing is changed, and nothing here depends on another check's result."""

from __future__ import annotations

from .gpus import check_gpus
from .host import check_disk, check_hostname, check_init, check_memory, check_python, check_shm
from .ports import check_port
from .records import Report
from .servers import read_servers


def check_host(servers, disk=(), require_gpu=False, gpu_memory=None, python=None, supervisor="auto", min_shm_gib=8.0, min_memory_gib=None):
    """Run the checks and return {ok, problems, checks, msg, supervisor}. ``servers``: list of dicts as RETURN of the module describes.

    Arguments come first: they are cheap, and what follows from them (a port, a number of GPUs) is checked later.
    """
    report = Report()
    known = read_servers(servers, report)
    for server in known:
        check_port(server, report)
    check_gpus(known, gpu_memory, require_gpu, report)
    check_python(report, python)
    check_disk(report, disk)
    check_shm(report, known, min_shm_gib)
    check_memory(report, min_memory_gib)
    booted = check_init(report, supervisor)
    check_hostname(report)
    return {
        "ok": not report.problems,
        "problems": report.problems,
        "checks": report.checks,
        "supervisor": "systemd" if booted and supervisor != "detached" else "detached",
        "msg": report.text(),
    }
