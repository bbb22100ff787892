# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What module log_diagnose does with its options."""

from __future__ import annotations

import os
import time

from .engine import diagnose
from .journal import unit_log
from .text import readable

_FACTS = ("process_alive", "exit_code", "gpu_used_mib", "gpu_total_mib", "log_age", "oom_killed", "service_result")


def ask(params, verbose=False):
    """(diagnosis, text for people). params: options of the module. Raises KproError when the log cannot be read."""
    given = {name: params[name] for name in _FACTS if params.get(name) is not None}
    if params.get("unit"):
        data, where, known = unit_log(params["unit"])
        given = dict(known, **given)
    elif params.get("path"):
        data, where = params["path"], os.path.basename(params["path"])
        _age(data, given)
    else:
        data, where = params["content"].encode("utf-8", "surrogateescape"), None
    diagnosis = diagnose(data, launch=params.get("launch") or "last", facts=given)
    return diagnosis, readable(diagnosis, where=where, verbose=verbose)


def _age(path, facts):
    """The age of the file tells how long a living launch has been silent."""
    if facts.get("process_alive") and "log_age" not in facts:
        try:
            facts["log_age"] = max(0.0, time.time() - os.stat(path).st_mtime)
        except OSError:
            pass
