# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The one bounded runner of subprocesses: nothing else in the collection starts a process and waits for it.

``AnsibleModule.run_command`` has no time-out (ansible-core 2.17 to 2.21), and nvidia-smi, pct and lxc-attach are known
to hang for ever; a caller here always gets an answer in bounded time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

MIB = 1024 * 1024
# How long the pipes may still be drained after the process was killed: a grandchild may hold them open for ever.
_GRACE = 1.0


class Completed:
    """What a finished (or abandoned) process left.

    rc (int): exit status, ``-N`` when signal N ended it, 124 when it ran past its time-out.
    stdout, stderr (bytes): at most ``output_limit`` bytes each, from the start; ``truncated`` says if more came.
    timed_out (bool); seconds (float): wall time.
    """

    def __init__(self, argv, rc, stdout, stderr, timed_out, truncated, seconds):
        self.argv = list(argv)
        self.rc = rc
        self.stdout = stdout
        self.stderr = stderr
        self.timed_out = timed_out
        self.truncated = truncated
        self.seconds = seconds

    @property
    def out(self):
        """stdout as text; undecodable bytes become U+FFFD, so that the text may go into a module's result."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def err(self):
        """stderr as text, see ``out``."""
        return self.stderr.decode("utf-8", "replace")


class _Drain(threading.Thread):
    """Reads one pipe to its end so that the child never blocks, and keeps the first ``limit`` bytes."""

    def __init__(self, pipe, limit):
        super().__init__(daemon=True)
        self.pipe = pipe
        self.limit = limit
        self.kept = bytearray()
        self.truncated = False
        self.start()

    def run(self):
        while True:
            try:
                block = os.read(self.pipe.fileno(), 65536)
            except (OSError, ValueError):
                return
            if not block:
                return
            room = self.limit - len(self.kept)
            self.kept += block[:room]
            self.truncated = self.truncated or len(block) > room


def _feed(pipe, data):
    try:
        pipe.write(data)
    except OSError:
        pass  # the child closed its stdin early (head -c 3): not an error of ours
    finally:
        try:
            pipe.close()
        except OSError:
            pass


def _kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def run(argv, timeout, stdin=b"", env=None, cwd=None, output_limit=MIB):
    """Run ``argv`` (list of str or bytes, no shell) for at most ``timeout`` seconds and return a Completed.

    ``stdin`` (bytes) is always given and closed, so nothing waits for a terminal. ``env`` replaces the environment.
    On time-out the process group gets SIGKILL; a child that cannot be reaped (state D) is left behind, not waited for.
    Raises FileNotFoundError or PermissionError when the program cannot be started.
    """
    begin = time.monotonic()
    process = subprocess.Popen(  # pylint: disable=ansible-bad-function  # the bounded runner itself
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd, start_new_session=True
    )
    out, err = _Drain(process.stdout, output_limit), _Drain(process.stderr, output_limit)
    feeder = threading.Thread(target=_feed, args=(process.stdin, stdin), daemon=True)
    feeder.start()
    timed_out = False
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        _kill_group(process)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            pass
    except BaseException:
        _kill_group(process)
        raise
    # A process that ended by itself may have left a child with our pipes: its output until then is wanted, but not the wait.
    deadline = time.monotonic() + _GRACE
    for drain in (out, err):
        drain.join(max(0.0, deadline - time.monotonic()))
    rc = 124 if timed_out else process.returncode
    return Completed(
        argv, rc, bytes(out.kept), bytes(err.kept), timed_out, out.truncated or err.truncated, time.monotonic() - begin
    )
