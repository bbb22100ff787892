# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The Python environment that a server runs in: is it there, which release does it hold, does it take these flags?"""

from __future__ import annotations

import os

from .._errors import KproError
from .._process.runner import run

_VERSION = "import importlib.metadata as m; print(m.version('sglang'))"
# The real parser of the release at hand. From 0.5.2x on it only checks spelling, choices and types; older ones resolve everything.
_PARSE = "import sys; from sglang.srt.server_args import prepare_server_args as p; p(sys.argv[1:])"


def release(python):
    """SGLang's version in the environment of ``python`` (path of an interpreter); None when there is no such environment yet."""
    if not os.path.exists(python):
        return None
    done = run([python, "-I", "-c", _VERSION], timeout=30)
    if done.rc != 0:
        last = (done.err.strip().splitlines() or ["no output"])[-1]
        raise KproError(f"{python} holds no SGLang ({last}); give the interpreter of an environment that sglang_environment made")
    return done.out.strip()


def try_flags(python, user, words, variables, timeout=180):
    """Let SGLang's own parser read the flags as the service user; return None when it takes them, else its output (bytes) and exit code.

    Costs one import of SGLang (5 to 20 s): done only where a running server would have to be stopped for the launch.
    """
    argv = ["runuser", "-u", user, "--", python, "-c", _PARSE, *words]
    done = run(argv, timeout=timeout, env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), **variables}, cwd="/")
    if done.rc == 0 or done.timed_out:
        return None  # a slow host proves nothing against the flags; the launch itself will tell
    return done.stdout + done.stderr, done.rc
