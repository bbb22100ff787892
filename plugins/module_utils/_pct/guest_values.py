# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Property strings of a guest's configuration (``name=eth0,bridge=vmbr0``): read, written, merged and compared by field."""

from __future__ import annotations

_TRUE = frozenset(("1", "on", "yes", "true"))
_FALSE = frozenset(("0", "off", "no", "false"))

# The field whose name may be left out, by kind of key (PVE::LXC::Config, ``default_key``).
DEFAULT_FIELD = {"dev": "path", "mp": "volume", "rootfs": "volume"}

# What pct assumes for a field that is not there (PVE::LXC::Config); a wanted value that equals it needs no change.
FIELD_DEFAULTS = {
    "net": {"firewall": "0", "link_down": "0", "type": "veth", "host-managed": "0"},
    "dev": {"mode": "0660", "uid": "0", "gid": "0", "deny-write": "0"},
    "mp": {"ro": "0", "backup": "0", "shared": "0", "quota": "0", "replicate": "1"},
    "features": {"nesting": "0", "keyctl": "0", "fuse": "0", "mknod": "0", "force_rw_sys": "0"},
}

# What pct assumes for a whole key.
KEY_DEFAULTS = {"memory": "512", "swap": "512", "onboot": "0", "unprivileged": "0", "protection": "0"}


def kind_of(key):
    """``dev0`` -> ``dev``: the family of a numbered key."""
    return key.rstrip("0123456789")


def parse_properties(text, kind):
    """``/dev/nvidia0,mode=0666`` -> {"path": "/dev/nvidia0", "mode": "0666"} (field order kept)."""
    fields = {}
    for part in text.split(","):
        part = part.strip()
        if not part:
            continue
        name, equals, value = part.partition("=")
        if equals:
            fields[name.strip()] = value.strip()
        else:
            fields[DEFAULT_FIELD.get(kind, "")] = part
    return fields


def render_properties(fields, kind):
    """The inverse of ``parse_properties``: the default field first and without its name, the others in their order."""
    first = DEFAULT_FIELD.get(kind)
    parts = [str(fields[first])] if fields.get(first) is not None else []
    parts += [f"{name}={value}" for name, value in fields.items() if name != first and value is not None]
    return ",".join(parts)


def normal(name, value):
    """A field's value in the form in which two of them are compared."""
    text = str(value).strip()
    if name == "hwaddr" or name == "hostname":
        return text.upper()
    if name == "mode":
        return text.lstrip("0") or "0"
    if name in ("ro", "backup", "shared", "firewall", "link_down", "quota", "replicate", "deny-write", "host-managed") or (
        name in FIELD_DEFAULTS["features"] or name in ("onboot", "unprivileged", "protection")
    ):
        lowered = text.lower()
        return "1" if lowered in _TRUE else "0" if lowered in _FALSE else lowered
    if name in ("nameserver", "searchdomain"):
        return " ".join(part for part in text.replace(",", " ").replace(";", " ").split())
    if name in ("mount", "mountoptions", "trunks"):
        return ";".join(sorted(part for part in text.split(";") if part))
    return text


def same_field(kind, name, present, wanted):
    """Whether a field already is what is wanted; ``None`` as wanted means that the field should not be there."""
    default = FIELD_DEFAULTS.get(kind, {}).get(name)
    have = present.get(name, default)
    want = default if wanted is None else wanted
    if have is None or want is None:
        return have is None and want is None
    return normal(name, have) == normal(name, want)


def merge_properties(kind, present, wanted):
    """Fields of ``present`` (dict) with those of ``wanted`` put in; fields that are not wanted keep their value.

    Returns (merged dict, list of names that differ). An address that becomes dynamic takes its gateway away with it, since
    pct refuses a gateway without an address.
    """
    merged = dict(present)
    differ = []
    for name, value in wanted.items():
        if same_field(kind, name, present, value):
            continue
        differ.append(name)
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = str(value)
    for address, gateway in (("ip", "gw"), ("ip6", "gw6")) if kind == "net" else ():
        if address in differ and gateway not in wanted and "/" not in merged.get(address, ""):
            merged.pop(gateway, None)
    return merged, differ


def size_gib(text):
    """``8G``, ``512M``, ``1T`` or bytes -> GiB as float; None when it is no size."""
    units = {"": 2.0**-30, "K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10}
    unit = text[-1:].upper()
    number = text[:-1] if unit in units and unit else text
    try:
        return float(number) * units[unit if not unit.isdigit() else ""]
    except (KeyError, ValueError):
        return None
