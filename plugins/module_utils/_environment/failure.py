# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What pip or uv said when it failed, in a few lines, and what to change."""

from __future__ import annotations

import re

from .redact import redact

# (what is printed, cause id or None, what to do); the first that matches counts. Texts: pip 23 to 25, uv 0.4 to 0.9, CPython's venv.
_KNOWN = (
    (
        r"No space left on device|os error 28|ENOSPC|Disk quota exceeded",
        "disk_full",
        "Free space on that file system, or put the environments elsewhere with option root.",
    ),
    (
        r"ensurepip is not\s+available|No module named '?(?:ensurepip|venv)",
        None,
        "Install the venv package of this Python (Debian and Ubuntu: apt install python3-venv), or uv.",
    ),
    (
        r"DO NOT MATCH THE HASHES|[Hh]ash mismatch",
        None,
        "A file differs from the hash in the lock: fetch the wheel again, or make the lock anew from the files that are trusted.",
    ),
    (
        r"Requires-Python|requires? a different [Pp]ython|does not satisfy Python|Python requirement|wheel.* for the current Python",
        None,
        "This Python does not suit these packages: name another interpreter with option python, or lock versions made for it.",
    ),
    (
        r"401 Client Error|403 Client Error|401 Unauthorized|403 Forbidden|HTTP status client error \(40[13]",
        None,
        "The index refuses the credentials: correct the user and password in index_url.",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|invalid peer certificate|UnknownIssuer",
        None,
        "The index's certificate is not trusted on this host: install its CA certificate (and look at the clock).",
    ),
    (
        r"name resolution|Name or service not known|dns error|Failed to establish a new connection|Connection refused"
        r"|Network is unreachable|ConnectTimeout|connection timed out|Read timed out|error sending request|No route to host",
        None,
        "This host does not reach the package index: give index_url (a mirror it reaches), wheel_dir (wheels on the target) or a proxy.",
    ),
    (
        r"ResolutionImpossible|conflicting dependencies|\bdepends? on\b",
        None,
        "The requirements contradict each other: change constraints, or give a complete lock.",
    ),
    (
        r"Failed building wheel|Failed to build|Could not build wheels|build backend",
        None,
        "A package has no wheel for this Python and platform and was built from source: give its wheel, or lock a version that has one.",
    ),
    (
        r"No matching distribution found|Could not find a version|No solution found|not found in the (?:package registry|provided)"
        r"|no wheels with a matching",
        None,
        "No such version for this Python and platform where it looked: add the wheel to wheel_dir, or correct version or index_url.",
    ),
)  # fmt: skip
_NOISE = re.compile(
    r"\A(?:\[notice\]|WARNING: |warning: |Looking in |Collecting |Processing |Requirement already|Using |Resolved |Downloading )"
)


def explain(output):
    """(the installer's own last words, advice or None, cause id or None) of ``output`` (str: stdout and stderr), credentials redacted."""
    output = redact(output)
    for pattern, cause, advice in _KNOWN:
        if re.search(pattern, output):
            return last_words(output), advice, cause
    return last_words(output), None, None


def last_words(output, limit=6):
    """At most ``limit`` meaningful lines of 300 characters as one: pip's ERROR lines, else the last that report no progress."""
    lines = [" ".join(line.split()) for line in redact(output).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR:", "error:", "×", "Error:", "OSError"))]
    if errors and errors[-1].startswith(("error:", "×")):
        errors = lines[lines.index(errors[0]) :]  # uv explains below its first line
    chosen = errors[:limit] if errors else [line for line in lines if not _NOISE.match(line)][-limit:]
    return " | ".join(line[:300] for line in chosen).rstrip(".") or "it said nothing"
