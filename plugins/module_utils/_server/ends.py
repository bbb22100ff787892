# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Why a launch ended: what systemd wrote through ExecStopPost, the kernel's word on memory, and the journal where the log is empty."""

from __future__ import annotations

import os
import time

from .._process.runner import run
from . import files

_SETTLE = 3.0


def wait_for_end(systemd, seconds=_SETTLE):
    """systemd's state of the unit once it noticed the death, at most ``seconds`` later."""
    deadline = time.monotonic() + seconds
    state = systemd.show()
    while state.active and time.monotonic() < deadline:
        time.sleep(0.05)
        state = systemd.show()
    return state


def read_end(layout, launch_id):
    """Return {result, code, status} that the end script wrote for this launch; values are None without it.

    systemd forgets the exit status of a unit that is neither running nor enabled as soon as it likes; this file does not.
    """
    words = (files.read(os.path.join(layout.ends, launch_id)) or "").split()
    words += [None] * (3 - len(words))
    return dict(zip(("result", "code", "status"), words))


def exit_code(end, state):
    """Exit status as a shell gives it (128 + N for signal N), from the end script's words, else from systemd; None when unknown.

    ``end``: of read_end. $EXIT_CODE is exited, killed or dumped; $EXIT_STATUS a number or a signal's name without SIG
    (systemd.exec(5)).
    """
    import signal

    if end["code"] == "exited" and (end["status"] or "").isdigit():
        return int(end["status"])
    if end["code"] in ("killed", "dumped"):
        number = getattr(signal, f"SIG{end['status']}", None)
        if number is not None:
            return 128 + int(number)
    return state.exit_code


def journal(launch_id):
    """The journal's lines of one invocation (bytes): a launch that could not even open its log leaves its words there."""
    done = run(["journalctl", "--no-pager", "--all", "--output=cat", f"_SYSTEMD_INVOCATION_ID={launch_id}"], timeout=20)
    return done.stdout if done.rc == 0 else b""
