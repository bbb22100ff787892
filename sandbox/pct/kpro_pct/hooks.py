# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``hookscript`` of a guest: ``STORAGE:snippets/NAME``, called with the guest's number and the phase."""

from __future__ import annotations

import os
import subprocess

from . import runtime, storage
from .errors import PctError
from .shell_text import warn


def check(volume):
    """Refuse a script that is not there, is no snippet or cannot be run."""
    if ":snippets/" not in volume:
        raise PctError(f"Invalid hookscript '{volume}' - it needs to be of the form STORAGE:snippets/NAME")
    path = storage.volume_path(volume)
    if not os.path.isfile(path):
        raise PctError(f"hookscript '{volume}' does not exist")
    if not os.access(path, os.X_OK):
        raise PctError(f"hookscript '{volume}' is not executable")


def run(vmid, config, phase, must_succeed=False):
    """Run the script, if the guest has one, with the caller's streams. A failure ends the command only before the start."""
    volume = config.get("hookscript")
    if not volume:
        return
    check(volume)
    command = [storage.volume_path(volume), str(vmid), phase]
    answer = subprocess.run(command, env=runtime.ENVIRONMENT, check=False)
    if answer.returncode:
        text = f"hookscript error for {vmid} on {phase}: command '{' '.join(command)}' failed: exit code {answer.returncode}"
        if must_succeed:
            raise PctError(text)
        warn(text)
