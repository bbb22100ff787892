# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The one exception base of the collection's own code."""

from __future__ import annotations


class KproError(Exception):
    """A failure that a person can act on.

    ``message`` is one sentence for people: which option or file, which value, what would be right.
    ``result`` (dict) is what was known when it failed; modules merge it into their ``fail_json``.
    Code in module_utils raises this (or a subclass) and never calls an Ansible module object.
    """

    def __init__(self, message, **result):
        super().__init__(message)
        self.message = message
        self.result = result
