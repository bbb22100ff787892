# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``pct exec``: the process becomes lxc-attach, so descriptors, signals and exit code are lxc-attach's own.

No lock is taken and ``lock:`` does not matter. A frozen guest counts as running: lxc-attach then waits until it is thawed.
"""

from __future__ import annotations

import os

from . import node, runtime
from .errors import PctError, UsageError
from .shell_text import PATH, original_environment, warn

SOURCE = "/usr/share/perl5/PVE/CLI/pct.pm"


def execute(vmid, keep_env=1, extra_args=()):
    node.load(vmid)
    if not runtime.is_running(vmid):
        raise PctError(f"container '{vmid}' not running!")
    if not extra_args:
        raise PctError(f"missing command at {SOURCE} line 292.")
    argv = ["lxc-attach", "-n", vmid, "--keep-env" if keep_env else "--clear-env", "--", *extra_args]
    environment = original_environment()
    for name in (b"SSL_CERT_FILE", b"SSL_CERT_DIR"):
        environment.pop(name, None)
    environment[b"PATH"] = PATH.encode()
    try:
        os.execve(find_program("lxc-attach"), [argument.encode("utf-8", "surrogateescape") for argument in argv], environment)
    except OSError as error:
        # Perl's exec returns, warns, and the command goes on without a result.
        warn(f'Can\'t exec "lxc-attach": {error.strerror} at {SOURCE} line 301.')
        failure = UsageError("Result verification failed")
        failure.rc = error.errno
        raise failure from None


def find_program(name):
    """Where ``PATH`` of the program has it (the caller's PATH does not count)."""
    for folder in PATH.split(":"):
        if os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name}"
    return name
