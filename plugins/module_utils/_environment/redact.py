# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Credentials in the URLs of package indexes: out of everything that people see."""

from __future__ import annotations

import re

# The user part is cut too: tokens are often given as the user. Up to the last @ before the path, since a password may hold one.
_CREDENTIALS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/\s'\"<>]*@")


def redact(text):
    """``text`` with ``scheme://user:password@`` replaced by ``scheme://***@``."""
    return _CREDENTIALS.sub(r"\g<scheme>***@", text)
