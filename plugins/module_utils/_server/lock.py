# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""One deployment of a server at a time on a host."""

from __future__ import annotations

import contextlib
import fcntl
import os

from .._errors import KproError


@contextlib.contextmanager
def only_one(layout):
    """Hold the server's lock; a second deployment fails at once and says who holds it. The kernel frees it when the holder dies."""
    with open(layout.lock, "a+", encoding="ascii") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            stream.seek(0)
            holder = stream.read().strip() or "unknown"
            raise KproError(
                f"another deployment of server {layout.name} is at work on this host (pid {holder}); wait until it is done"
            ) from error
        stream.truncate(0)
        stream.write(str(os.getpid()))
        stream.flush()
        yield
