# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""One process, told apart from any later one with the same number, and a wait that ends when it dies."""

from __future__ import annotations

import os
import select
import time

_NO_DESCRIPTOR = -1


def start_ticks(pid):
    """Start time of a process in clock ticks since boot (field 22 of /proc/PID/stat), or None when it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


class ProcessWatch:
    """Watches one process by its pid and start time.

    ``wait(seconds)`` sleeps at most that long and returns at once when the process dies (pidfd, Linux 5.3; else it looks
    every 50 ms), so that nobody needs a fixed sleep to learn of a death.
    """

    def __init__(self, pid):
        self.pid = pid
        self.started = start_ticks(pid)
        self._fd = _NO_DESCRIPTOR
        try:
            self._fd = os.pidfd_open(pid)
        except (AttributeError, OSError):
            pass  # an old kernel or Python: wait() looks from time to time instead

    @property
    def alive(self):
        """False once the process is gone, also when another one got its number."""
        return self.started is not None and start_ticks(self.pid) == self.started

    def wait(self, seconds):
        """Sleep up to ``seconds``; return False as soon as the process is dead, else True."""
        if not self.alive:
            return False
        if self._fd != _NO_DESCRIPTOR:
            select.select([self._fd], [], [], seconds)
            return self.alive
        deadline = time.monotonic() + seconds
        while self.alive and time.monotonic() < deadline:
            time.sleep(min(0.05, seconds))
        return self.alive

    def close(self):
        """Give the descriptor back."""
        if self._fd != _NO_DESCRIPTOR:
            os.close(self._fd)
            self._fd = _NO_DESCRIPTOR
