# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""How a process ended, in numbers and words."""

from __future__ import annotations

CRASHES = {4: "illegal instruction", 6: "abort", 7: "bus error", 8: "floating point exception", 11: "segmentation fault"}


def signal_of(exit_code):
    """Number of the signal that an exit code stands for, or None. -9 and 137 are the same."""
    if exit_code is None or isinstance(exit_code, bool) or not isinstance(exit_code, int):
        return None
    if exit_code < 0:
        return -exit_code
    return exit_code - 128 if 128 < exit_code < 128 + 65 else None


def how_ended(code, number):
    """The end in a few words."""
    return "signal %d" % number if number else "exit code %s" % code
