# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a command ends when it fails.

Perl's ``die`` exits with the current ``errno`` when that is not 0, else with 255, so the number carries little meaning: the
text on stderr is what a caller of the real program can rely on. The numbers given here are those that were observed.
"""

from __future__ import annotations

ENOENT = 2
EINTR = 4
DIED = 255


class PctError(Exception):
    """The command fails: ``text`` (ending in a line feed) goes to stderr and the process exits with ``rc``."""

    def __init__(self, text, rc=DIED):
        super().__init__(text)
        self.text = text if text.endswith("\n") else text + "\n"
        self.rc = rc


class UsageError(PctError):
    """A "400" of the parameter check: the message, one line for each wrong parameter, then the command's usage line."""

    def __init__(self, message, errors=None):
        super().__init__("400 " + message, ENOENT)
        self.errors = dict(errors or {})

    def full_text(self, usage):
        lines = "".join(f"{name}: {reason.rstrip()}\n" for name, reason in self.errors.items())
        return self.text + lines + usage


def parameter_error(**errors):
    """The parameter check found wrong values: ``{name: reason}``."""
    return UsageError("Parameter verification failed.", errors)
