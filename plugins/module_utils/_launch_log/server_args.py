# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The line ``server_args=`` read as arguments: ``ServerArgs(a=1, …)`` (up to 0.5.21) and ``{'a': 1, …}`` (0.5.22 on).

The line holds every word a naive search looks for, and the API key; nothing but the arguments may be taken from it.
"""

from __future__ import annotations

import re

_START = re.compile(r"server_args=(?:ServerArgs\(|\{)")
_KEY_CALL = re.compile(r"\s*([A-Za-z_]\w*)=")
_KEY_DICT = re.compile(r"\s*['\"]([\w-]+)['\"]\s*:\s*")
_OPEN = {"(": ")", "[": "]", "{": "}", "<": ">"}


def is_server_args(text):
    """Whether the line is the settings line of a launch."""
    return "server_args=" in text and _START.search(text) is not None


def parse_server_args(text):
    """Arguments of the settings line as a dict, or None when it is none. A line cut in the middle gives what is whole."""
    match = _START.search(text)
    if not match:
        return None
    key_pattern = _KEY_DICT if match.group(0).endswith("{") else _KEY_CALL
    position, arguments = match.end(), {}
    while position < len(text):
        key = key_pattern.match(text, position)
        if not key:
            break
        end = _value_end(text, key.end())
        if end is None:
            break
        arguments[key.group(1)] = _literal(text[key.end() : end].strip())
        if text[end] != ",":
            break
        position = end + 1
    return arguments


def _value_end(text, position):
    """Index of the comma or bracket that ends the value which starts at position; None when the text ends before it."""
    stack, quote = [], None
    while position < len(text):
        char = text[position]
        if quote:
            if char == "\\":
                position += 1
            elif char == quote:
                quote = None
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            stack.append(_OPEN[char])
        elif stack and char == stack[-1]:
            stack.pop()
        elif not stack and char in ",)}":
            return position
        position += 1
    return None


def _literal(text):
    return _plain(_evaluated(text))


def _plain(value):
    """Values that any result can carry: valid UTF-8, text as keys of dicts, lists for sets and tuples, no infinities."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and abs(value) < float("inf")):
        return value
    return str(value)


def _evaluated(text):
    simple = {"None": None, "True": True, "False": False}
    if text in simple:
        return simple[text]
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        pass
    if text[:1] in "'\"[({":
        import ast

        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
    return text
