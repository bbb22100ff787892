# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of ``/etc/pve/lxc/<vmid>.conf``, read and written.

What makes this file peculiar is kept: comments are the description and move to the top, keys are sorted, raw ``lxc.*``
lines move to the end of their section, an unknown key stays (with a complaint at each reading), a line that is no line of
this format is lost at the next writing.
"""

from __future__ import annotations

import re

from . import guest_options
from .property_string import parse_boolean

PENDING = "pve:pending"
RAW_FAMILIES = (
    "lxc.cgroup.", "lxc.cgroup2.", "lxc.prlimit.", "lxc.net.", "lxc.sysctl.", "lxc.hook.", "lxc.apparmor.", "lxc.selinux.",
    "lxc.seccomp.", "lxc.signal.", "lxc.log.", "lxc.start.", "lxc.console.", "lxc.mount.", "lxc.cap.", "lxc.environment",
)
RAW_KEYS = (
    "lxc.idmap", "lxc.include", "lxc.arch", "lxc.uts.name", "lxc.init.cmd", "lxc.init.uid", "lxc.init.gid", "lxc.init.cwd",
    "lxc.pty.max", "lxc.tty.max", "lxc.tty.dir", "lxc.autodev", "lxc.kmsg", "lxc.group", "lxc.no_new_privs", "lxc.rootfs.mount",
    "lxc.environment", "lxc.monitor.unshare", "lxc.keyring.session",
)
RAW_REFUSED = {
    "lxc.rootfs.path": "lxc.rootfs.path is auto generated from rootfs",
    "lxc.rootfs.options": "lxc.rootfs.options is not supported, please use mount point options in the \"rootfs\" key",
}


class Section:
    """The keys of one section: ``values`` ({key: str}), ``raw`` ([(lxc key, value)]) and ``description`` (str, may be "")."""

    def __init__(self):
        self.values, self.raw, self.description = {}, [], ""

    def __bool__(self):
        return bool(self.values or self.raw or self.description)

    def get(self, name, default=None):
        return self.values.get(name, default)

    def flag(self, name):
        return parse_boolean(self.values.get(name, "0")) == 1

    def numbered(self, base):
        """[(index, value)] of net0, net1, … (or mp, dev, unused), by index."""
        found = ((re.fullmatch(base + r"(\d+)", name), value) for name, value in self.values.items())
        return sorted((int(match[1]), value) for match, value in found if match)

    def shown(self):
        """{name: text} as ``pct config`` prints it, without the raw lines."""
        return dict(self.values, **({"description": encode_text(self.description)} if self.description else {}))


class Configuration(Section):
    """A whole file: the current section with ``pending`` (Section), ``snapshots`` ({name: Section}) and ``digest`` (SHA-1 of the text)."""

    def __init__(self):
        super().__init__()
        self.pending, self.snapshots, self.digest = Section(), {}, ""

    def pending_deletes(self):
        """Option names that wait to be deleted at the next start."""
        return [name.lstrip("!") for name in re.split(r"[,;\s]+", self.pending.get("delete", "")) if name]

    def set_pending_deletes(self, names):
        if names:
            self.pending.values["delete"] = ",".join(sorted(names))
        else:
            self.pending.values.pop("delete", None)


def encode_text(text):
    """Percent-encode control characters, ``%``, ``:`` and all bytes above ASCII."""
    raw = text.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte not in b"%:" else "%%%02X" % byte for byte in raw)


def decode_text(text):
    """Undo :func:`encode_text`; a ``%`` without two hexadecimal digits stays."""
    raw = text.encode("utf-8", "surrogateescape")
    plain = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), raw)
    return plain.decode("utf-8", "surrogateescape")


def parse(text, vmid):
    """Return (Configuration, complaints): complaints are lines for stderr, each with its line feed."""
    import hashlib

    config, complaints = Configuration(), []
    config.digest = hashlib.sha1(text.encode("utf-8", "surrogateescape")).hexdigest()
    section = config
    for line in text.split("\n"):
        if not line.strip():
            continue
        header = re.fullmatch(r"\[(pve:pending|[a-zA-Z][a-zA-Z0-9_-]+)\]\s*", line)
        if header:
            section = open_section(config, header[1])
        elif line.startswith("#"):
            section.description += decode_text(line[1:].rstrip()) + "\n"
        else:
            complaint = parse_line(section, line, section is config.pending)
            if complaint:
                complaints.append(f"vm {vmid} - {complaint}\n")
    return config, complaints


def open_section(config, name):
    if name.lower() == PENDING:
        return config.pending
    return config.snapshots.setdefault(name, Section())


def parse_line(section, line, in_pending):
    """Take one ``key: value`` line into ``section``; return the complaint about it, or None."""
    raw = re.fullmatch(r"(lxc\.[a-z0-9_.-]+)(?::|\s*=)\s*(.*?)\s*", line)
    if raw:
        return take_raw(section, raw[1], raw[2], line)
    match = re.fullmatch(r"([a-z][a-z_]*\d*):\s*(\S.*?)\s*", line)
    if not match:
        return "unable to parse config: " + line
    name, value = match[1], match[2]
    if name == "description":
        section.description += decode_text(value)
    elif name == "delete" and not in_pending:
        return "property 'delete' is only allowed in [pve:pending]"
    else:
        reason = None if name == "delete" else wrong(name, value)
        section.values[name] = value if reason else normal(name, value)
        if reason:
            return f"unable to parse value of '{name}' - {reason}"
    return None


def take_raw(section, key, value, line):
    if key in RAW_REFUSED:
        return f"{key}: {RAW_REFUSED[key]}"
    if key in RAW_KEYS or key.startswith(RAW_FAMILIES):
        section.raw.append((key, value))
        return None
    return "unable to parse config: " + line


def wrong(name, value):
    key = guest_options.option(name) or guest_options.FILE_ONLY.get(name)
    return f"unknown setting '{name}'" if key is None else key.reason(value)


def normal(name, value):
    """Booleans are kept as 0 and 1."""
    key = guest_options.option(name)
    return str(parse_boolean(value)) if key is not None and key.kind == "boolean" else value


def render(config):
    """The text of a Configuration."""
    text = render_section(config)
    if config.pending:
        text += "\n[pve:pending]\n" + render_section(config.pending)
    for name in sorted(config.snapshots):
        text += f"\n[{name}]\n" + render_section(config.snapshots[name])
    return text


def render_section(section):
    lines = ["#" + encode_text(line) for line in split_description(section.description)]
    lines += [f"{name}: {section.values[name]}" for name in sorted(section.values)]
    lines += [f"{key}: {value}" for key, value in section.raw]
    return "".join(line + "\n" for line in lines)


def split_description(text):
    """Lines of a description; empty lines at its end are not kept, as Perl's split does."""
    lines = text.split("\n")
    while lines and not lines[-1]:
        lines.pop()
    return lines
