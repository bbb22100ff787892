# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Property strings (``/dev/null,mode=0666,gid=44``) by a description of their keys.

A description is ``{key: Key(...)}``; the key marked ``default`` may be written without its name. Reasons for a refusal
have the wording that the real program prints after ``invalid format - ``.
"""

from __future__ import annotations

import re


class Key:
    """One key: ``kind`` is "string", "integer" or "boolean"; ``pattern`` must match the whole value."""

    def __init__(self, kind="string", required=False, default=False, pattern=None, minimum=None, maximum=None, check=None, choices=None):
        self.kind, self.required, self.default, self.pattern = kind, required, default, pattern
        self.minimum, self.maximum, self.check, self.choices = minimum, maximum, check, choices

    def reason(self, value):
        """Why ``value`` (str) is refused, or None."""
        return wrong_value(self, value)


def parse_boolean(value):
    """1, 0 or None (not a boolean), as all of the program's boolean options are read."""
    if value.lower() in ("1", "on", "yes", "true"):
        return 1
    if value.lower() in ("0", "off", "no", "false"):
        return 0
    return None


def wrong_value(key, value):
    if key.kind == "integer":
        if not re.fullmatch(r"-?\d+", value, re.ASCII):
            return f"type check ('integer') failed - got '{value}'"
        if key.minimum is not None and int(value) < key.minimum:
            return f"value must have a minimum value of {key.minimum}"
        if key.maximum is not None and int(value) > key.maximum:
            return f"value must have a maximum value of {key.maximum}"
    elif key.kind == "number":
        if not re.fullmatch(r"\d+(\.\d+)?", value, re.ASCII):
            return f"type check ('number') failed - got '{value}'"
        if key.maximum is not None and float(value) > key.maximum:
            return f"value must have a maximum value of {key.maximum}"
    elif key.kind == "boolean":
        if parse_boolean(value) is None:
            return f"type check ('boolean') failed - got '{value}'"
    if key.choices and value not in key.choices:
        return f"value '{value}' does not have a value in the enumeration '{', '.join(key.choices)}'"
    if key.pattern and not re.fullmatch(key.pattern, value):
        return "value does not match the regex pattern"
    return key.check(value) if key.check else None


def parse(text, keys):
    """Return ({key: value as str}, {key: reason}); either may be empty. The key "" stands for the string as a whole."""
    values, errors = {}, {}
    default = next((name for name, key in keys.items() if key.default), None)
    for part in text.split(","):
        if not part:
            continue
        name, equals, value = part.partition("=")
        if not equals:
            if default is None:
                return values, {"": "value without key, but schema does not define a default key"}
            if default in values:
                return values, {"": "duplicate key in comma-separated list property: " + default}
            name, value = default, part
        elif name in values:
            return values, {"": "duplicate key in comma-separated list property: " + name}
        if name not in keys:
            errors[name] = "property is not defined in schema and the schema does not allow additional properties"
            continue
        reason = keys[name].reason(value)
        if reason:
            errors[name] = reason
        values[name] = value
    for name, key in keys.items():
        if key.required and name not in values:
            errors[name] = "property is missing and it is not optional"
    return values, errors


def reason(option, text, keys):
    """The text after ``OPTION: `` when a property string is refused, or None."""
    _values, errors = parse(text, keys)
    if not errors:
        return None
    if "" in errors:
        return "invalid format - " + errors[""]
    return "invalid format - format error\n" + "\n".join(f"{option}.{name}: {why}" for name, why in errors.items())


def values(text, keys):
    """The values of a string that was checked before; what a hand-edited file has wrong is left out."""
    parsed, errors = parse(text, keys)
    return {name: value for name, value in parsed.items() if name not in errors}


def render(parsed, keys):
    """Text of ``parsed``: the default key first and without its name, then required keys, then the rest, each sorted."""

    def order(name):
        return (not keys[name].default, not keys[name].required, name)

    return ",".join(str(parsed[name]) if keys[name].default else f"{name}={parsed[name]}" for name in sorted(parsed, key=order))
