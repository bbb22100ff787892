# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""From the wanted guest and the present configuration to the changes: what ``pct set`` gets, and what needs a restart."""

from __future__ import annotations

from .conf import GuestConf
from .guest_values import KEY_DEFAULTS, kind_of, merge_properties, normal, parse_properties, render_properties, size_gib

_HIGHEST = {"dev": 255, "mp": 255, "net": 31}


class Plan:
    """What has to be done to an existing guest.

    sets (dict of key to value, for ``pct set``); deletes (list of keys); raw_lxc (dict of lxc key to list of values, only
    those that differ); grow_gib (int or None: new size of the root file system); changes (list of {key, before, after});
    notes (list of sentences about differences that cannot be changed).
    """

    def __init__(self):
        self.sets = {}
        self.deletes = []
        self.raw_lxc = {}
        self.grow_gib = None
        self.changes = []
        self.notes = []

    @property
    def empty(self):
        return not self.changes

    def set(self, key, value, before):
        self.sets[key] = value
        self.changes.append({"key": key, "before": before, "after": value})

    def delete(self, key, before):
        self.deletes.append(key)
        self.changes.append({"key": key, "before": before, "after": None})


def _numbered(keys, kind):
    """{number: fields} of ``dev0``, ``dev1``, …"""
    found = {}
    for key, value in keys.items():
        number = key[len(kind) :]
        if kind_of(key) == kind and number.isdigit():
            found[int(number)] = parse_properties(value, kind)
    return found


def _listed(plan, keys, kind, wanted, identity, exact):
    """Devices and mount points: an entry keeps the number it has (found by ``identity``), a new one takes the lowest free."""
    present = _numbered(keys, kind)
    kept = set()
    for fields in wanted:
        name = fields[identity]
        number = next((number for number, have in sorted(present.items()) if have.get(identity) == name), None)
        if number is None:
            number = next(number for number in range(_HIGHEST[kind] + 1) if number not in present)
            present[number] = {}
            value = render_properties({field: value for field, value in fields.items() if value is not None}, kind)
            plan.set(f"{kind}{number}", value, None)
        else:
            _merge(plan, keys, f"{kind}{number}", _comparable(fields, present[number]) if kind == "mp" else fields)
        kept.add(number)
    if exact:
        for number in sorted(set(present) - kept):
            plan.delete(f"{kind}{number}", keys[f"{kind}{number}"])


def _comparable(fields, present):
    """A mount point asked for as ``storage:size`` was turned by pct into a volume of that storage: it counts as the same."""
    storage, colon, rest = fields["volume"].partition(":")
    if colon and not fields["volume"].startswith("/") and size_gib(rest) is not None:
        if present.get("volume", "").startswith(storage + ":"):
            return {name: value for name, value in fields.items() if name != "volume"}
    return fields


def _merge(plan, keys, key, wanted):
    kind = kind_of(key)
    before = keys.get(key)
    merged, differ = merge_properties(kind, parse_properties(before or "", kind), wanted)
    if differ:
        plan.set(key, render_properties(merged, kind), before)


def _net(plan, keys, wanted, exact):
    for number, fields in enumerate(wanted):
        key = f"net{number}"
        if key not in keys and "name" not in fields:
            fields = dict(fields, name=f"eth{number}")
        _merge(plan, keys, key, fields)
    if exact:
        for number in sorted(_numbered(keys, "net")):
            if number >= len(wanted):
                plan.delete(f"net{number}", keys[f"net{number}"])


def _features(plan, keys, wanted, exact):
    if exact:
        present = parse_properties(keys.get("features", ""), "features")
        wanted = dict(dict.fromkeys(present), **wanted)
    before = keys.get("features")
    merged, differ = merge_properties("features", parse_properties(before or "", "features"), wanted)
    if not differ:
        return
    merged = {name: value for name, value in merged.items() if name == "mount" or normal("nesting", value) != "0"}
    if merged:
        plan.set("features", render_properties(merged, "features"), before)
    else:
        plan.delete("features", before)


def _root(plan, keys, desired):
    fields = parse_properties(keys.get("rootfs", ""), "rootfs")
    storage = fields.get("volume", "").partition(":")[0]
    if desired.storage is not None and storage and storage != desired.storage:
        plan.notes.append(
            f"The root file system is on storage {storage}, not on {desired.storage}; it is not moved (pct move-volume does that)."
        )
    have = size_gib(fields.get("size", ""))
    if desired.rootfs_gib is None or have is None or have == desired.rootfs_gib:
        return
    if have > desired.rootfs_gib:
        plan.notes.append(f"The root file system has {have:g} GiB, more than rootfs_gib={desired.rootfs_gib}; Proxmox cannot shrink it.")
        return
    plan.grow_gib = desired.rootfs_gib
    before = keys["rootfs"]
    plan.changes.append(
        {"key": "rootfs", "before": before, "after": render_properties(dict(fields, size=f"{desired.rootfs_gib}G"), "rootfs")}
    )


def _fixed(plan, keys, desired):
    if desired.unprivileged is None:
        return
    have = normal("unprivileged", keys.get("unprivileged", KEY_DEFAULTS["unprivileged"])) == "1"
    if have != desired.unprivileged:
        is_now, wanted = ("an unprivileged", "a privileged") if have else ("a privileged", "an unprivileged")
        plan.notes.append(
            f"The guest is {is_now} one and {wanted} one is asked for; that cannot be changed on an existing guest "
            "(a backup restored with the other setting does it)."
        )


def _scalars(plan, keys, desired):
    for key, value in desired.scalars.items():
        before = keys.get(key)
        if normal(key, before if before is not None else KEY_DEFAULTS.get(key, "")) != normal(key, value):
            plan.set(key, value, before)


def _tags(plan, keys, wanted):
    before = keys.get("tags")
    present = {tag.strip().lower() for tag in (before or "").replace(",", ";").replace(" ", ";").split(";") if tag.strip()}
    if present == set(wanted):
        return
    if wanted:
        plan.set("tags", ";".join(wanted), before)
    else:
        plan.delete("tags", before)


def _raw_lxc(plan, section, wanted):
    for key, values in wanted.items():
        have = section.lxc_values(key)
        if set(have) != set(values):
            plan.raw_lxc[key] = values
            plan.changes.append({"key": key, "before": "\n".join(have) or None, "after": "\n".join(values)})


def make_plan(desired, conf, exact=()):
    """Compare the Desired guest with its GuestConf; ``exact`` names the options whose list is complete. Returns a Plan.

    Compared is what the guest will be after its next start (pending changes count as done); only what was asked for is.
    """
    plan = Plan()
    keys = conf.merged()
    _fixed(plan, keys, desired)
    _scalars(plan, keys, desired)
    if desired.tags is not None:
        _tags(plan, keys, desired.tags)
    if desired.description is not None and (conf.main.description or "").rstrip("\n") != desired.description:
        if desired.description:
            plan.set("description", desired.description, conf.main.description)
        else:
            plan.delete("description", conf.main.description)
    if desired.net is not None:
        _net(plan, keys, desired.net, "net" in exact)
    if desired.features is not None:
        _features(plan, keys, desired.features, "features" in exact)
    if desired.devices is not None:
        _listed(plan, keys, "dev", desired.devices, "path", "devices" in exact)
    if desired.mountpoints is not None:
        _listed(plan, keys, "mp", desired.mountpoints, "mp", "mountpoints" in exact)
    _root(plan, keys, desired)
    _raw_lxc(plan, conf.main, desired.raw_lxc)
    return plan


def creation_keys(desired):
    """The configuration keys (dict) that ``pct create`` is given for a new guest; raw ``lxc.*`` lines follow afterwards."""
    plan = make_plan(desired, GuestConf())
    keys = dict(plan.sets)
    keys.update(desired.scalars)
    if desired.unprivileged is not None:
        keys["unprivileged"] = "1" if desired.unprivileged else "0"
    if desired.rootfs_gib is not None or desired.storage is not None:
        keys["rootfs"] = f"{desired.storage or 'local'}:{desired.rootfs_gib or 4}"
    return keys
