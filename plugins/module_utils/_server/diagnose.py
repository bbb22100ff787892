# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""From a failed launch to the diagnosis and the text for people."""

from __future__ import annotations

import os

from .._diagnosis.engine import diagnose
from .._diagnosis.text import readable
from .._launch_log.redact import redact, redact_all
from . import ends


def failed_launch(layout, launch_id, outcome, state, secrets):
    """Return (diagnosis, text) of a launch that did not become ready.

    ``outcome``: of the watch. ``state``: systemd's UnitState after it. The log is this launch's own file; where it is empty, the
    journal of the same invocation.
    """
    log = layout.log(launch_id)
    end = ends.read_end(layout, launch_id)
    result = end["result"] or state.result
    facts = {
        "process_alive": outcome.kind != "died",
        "exit_code": ends.exit_code(end, state) if outcome.kind == "died" else None,
        "service_result": result,
        "oom_killed": True if result == "oom-kill" else None,
        "log_age": round(outcome.quiet_for, 1),
    }
    empty = not os.path.exists(log) or os.path.getsize(log) == 0
    diagnosis = diagnose(ends.journal(launch_id) if empty else log, facts=facts)
    return cleaned(diagnosis, log, secrets)


def output_of_parser(output, exit_code, log, secrets):
    """The same for flags that SGLang's parser refused before anything was stopped. ``output``: bytes; ``log``: where they were kept."""
    return cleaned(diagnose(output, facts={"process_alive": False, "exit_code": exit_code}), log, secrets)


def cleaned(diagnosis, log, secrets):
    """Without secrets, and with the text for people."""
    diagnosis = redact_all(diagnosis, secrets)
    return diagnosis, redact(readable(diagnosis, where=log), secrets)
