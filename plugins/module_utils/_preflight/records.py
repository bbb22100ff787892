# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What a preflight returns: a line for every check, and a record for every problem."""

from __future__ import annotations

# Lines of the text for people; the rest is in the records.
_MAX_LINES = 12


class Report:
    """Collects checks [{check, server, ok, detail}] and problems [{check, server, problem, cause, evidence, do}] in the order found."""

    def __init__(self):
        self.checks = []
        self.problems = []

    def good(self, check, detail, server=None):
        """Something was looked at and is right (or is only told)."""
        self.checks.append({"check": check, "server": server, "ok": True, "detail": detail})

    def bad(self, check, problem, do, server=None, cause=None, evidence=None):
        """``problem``: one sentence; ``do``: what to change; ``cause``: an id of the causes, or None; ``evidence``: the fact behind it."""
        self.checks.append({"check": check, "server": server, "ok": False, "detail": problem})
        self.problems.append({"check": check, "server": server, "problem": problem, "cause": cause, "evidence": evidence, "do": do})

    def text(self):
        """The text for people: about a dozen lines, problems in the order found."""
        if not self.problems:
            return f"Preflight passed: {len(self.checks)} checks."
        count = len(self.problems)
        lines = [f"Preflight found {count} problem{'s' if count > 1 else ''}:"]
        for index, record in enumerate(self.problems):
            entry = [f"{record['server'] + ': ' if record['server'] else ''}{record['problem']}", f"  -> {record['do']}"]
            if len(lines) + len(entry) > _MAX_LINES - 1 and index:
                lines.append(f"and {count - index} more (see problems)")
                break
            lines += entry
        return "\n".join(lines)
