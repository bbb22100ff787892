# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The words nvidia-smi uses for values, in CSV and XML alike."""

from __future__ import annotations

import re

_MIB = re.compile(r"^([0-9]+)(?:\s*MiB)?$")
_FLAGS = {"enabled": True, "disabled": False, "on": True, "off": False}


def told(text):
    """None for what is not told: ``[N/A]``, ``[Not Supported]``, ``[Insufficient Permissions]``, ``N/A``, nothing; else the text."""
    text = (text or "").strip()
    return None if not text or text == "N/A" or (text.startswith("[") and text.endswith("]")) else text


def number(text):
    """``"49140 MiB"`` or ``"49140"`` -> 49140, anything that is no number -> None."""
    match = _MIB.match(told(text) or "")
    return int(match.group(1)) if match else None


def flag(text):
    """``Enabled`` or ``On`` -> True, ``Disabled`` or ``Off`` -> False, anything else -> None."""
    return _FLAGS.get((told(text) or "").lower())
