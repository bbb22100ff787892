# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Reader and writer of ``/etc/pve/lxc/<vmid>.conf``.

The form is that of pve-container's ``PVE::LXC::Config`` (``parse_pct_config``, ``write_pct_config``): comment lines are the
description, ``key: value`` lines are sorted by key when written, ``lxc.*`` lines keep their order and come last in their
section. Sections follow: ``[pve:pending]`` (applied at the next start) and one ``[name]`` for each snapshot. Appending to
the file would land in the last section, which is why lines are always placed through this model.
"""

from __future__ import annotations

import hashlib
import re

PENDING = "pve:pending"

_SECTION = re.compile(r"^\[([^\]]+)\]\s*$")
_LXC = re.compile(r"^(lxc\.[A-Za-z0-9_.\-]+)\s*[:=]\s*(.*?)\s*$")
_KEY = re.compile(r"^([a-z][a-z_-]*\d*):\s*(.*?)\s*$")
# Characters that Proxmox leaves as they are in a description line; everything else becomes %XX of its UTF-8 bytes.
_SAFE = frozenset(range(0x20, 0x7F)) - {0x25, 0x3A}


def decode_text(text):
    """Undo Proxmox's percent encoding of a description line."""
    from urllib.parse import unquote

    return unquote(text, encoding="utf-8", errors="replace")


def encode_text(text):
    """Encode a description line as Proxmox does: control characters, ``%``, ``:`` and all bytes above 0x7e."""
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


class Section:
    """One part of the file: the current configuration (name None), the pending changes, or a snapshot.

    description (str or None, lines without a final newline); keys (dict of str to str); lxc (list of (key, value) in file
    order); unknown (list of lines that Proxmox itself would not understand, kept as they are).
    """

    def __init__(self, name=None):
        self.name = name
        self.description = None
        self.keys = {}
        self.lxc = []
        self.unknown = []

    def add(self, line):
        """Take one line of the file into the section."""
        if line.startswith("#"):
            text = decode_text(line[1:])
            self.description = text if self.description is None else f"{self.description}\n{text}"
            return
        match = _LXC.match(line)
        if match:
            self.lxc.append((match.group(1), match.group(2)))
            return
        match = _KEY.match(line)
        if match is None:
            self.unknown.append(line)
        elif match.group(1) == "description":
            self.description = decode_text(match.group(2)).rstrip("\n")
        else:
            self.keys[match.group(1)] = match.group(2)

    def lines(self):
        """The section's lines in the order in which Proxmox writes them."""
        found = [] if self.description is None else ["#" + encode_text(line) for line in self.description.split("\n")]
        found += [f"{key}: {self.keys[key]}" for key in sorted(self.keys)]
        found += self.unknown
        return found + [f"{key}: {value}" for key, value in self.lxc]

    def lxc_values(self, key):
        """The values of one raw ``lxc.*`` key, in file order."""
        return [value for name, value in self.lxc if name == key]

    def replace_lxc(self, key, values):
        """Give the raw key exactly these values, where its first line stood, else at the end; other keys stay."""
        at = next((index for index, entry in enumerate(self.lxc) if entry[0] == key), len(self.lxc))
        before = self.lxc[:at]
        after = [entry for entry in self.lxc[at:] if entry[0] != key]
        self.lxc = before + [(key, value) for value in values] + after


class GuestConf:
    """A whole configuration file: ``main`` (Section), ``pending`` (Section), ``snapshots`` (list of Section)."""

    def __init__(self):
        self.main = Section()
        self.pending = Section(PENDING)
        self.snapshots = []

    @classmethod
    def parse(cls, text):
        """Read the text of a configuration file; nothing in it is an error (Proxmox warns about unknown lines and goes on)."""
        conf = cls()
        section = conf.main
        for line in text.split("\n"):
            line = line.rstrip("\r")
            if not line.strip():
                continue
            match = _SECTION.match(line)
            if match is None:
                section.add(line)
            elif match.group(1).lower() == PENDING:
                section = conf.pending
            else:
                section = Section(match.group(1))
                conf.snapshots.append(section)
        return conf

    def copy(self):
        """An independent copy."""
        return GuestConf.parse(self.render())

    def render(self):
        """The text of the file as Proxmox would write it."""
        parts = [self.main.lines()]
        pending = self.pending.lines()
        if pending:
            parts.append([f"[{PENDING}]"] + pending)
        parts += [[f"[{snapshot.name}]"] + snapshot.lines() for snapshot in sorted(self.snapshots, key=lambda each: each.name)]
        return "\n".join("".join(line + "\n" for line in part) for part in parts)

    def pending_deletes(self):
        """Keys that the next start takes away (``delete: dev0,mp1`` in the pending section; ``!`` marks a forced one)."""
        return [key.lstrip("!") for key in re.split(r"[,;\s]+", self.pending.keys.get("delete", "")) if key.lstrip("!")]

    def merged(self):
        """The keys as they will be after the next start: what ``pct config`` prints."""
        keys = dict(self.main.keys)
        for key in self.pending_deletes():
            keys.pop(key, None)
        keys.update((key, value) for key, value in self.pending.keys.items() if key != "delete")
        return keys

    def pending_keys(self):
        """Keys that wait for the next start, sorted."""
        return sorted(set(self.pending_deletes()) | {key for key in self.pending.keys if key != "delete"})

    def as_dict(self):
        """The configuration for a module's result: the current keys, ``lxc`` (list of lines), ``pending`` (dict)."""
        found = dict(self.main.keys)
        if self.main.description is not None:
            found["description"] = self.main.description
        found["lxc"] = [f"{key}: {value}" for key, value in self.main.lxc]
        found["pending"] = dict(self.pending.keys)
        found["snapshots"] = [snapshot.name for snapshot in self.snapshots]
        return found


def digest(raw):
    """What ``pct set --digest`` compares with: the SHA-1 of the file's bytes (PVE::LXC::Config; no security use)."""
    return hashlib.sha1(raw).hexdigest()  # noqa: S324
