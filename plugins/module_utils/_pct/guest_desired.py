# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What the module's options ask for, checked and brought into the words of the configuration file."""

from __future__ import annotations

import re

from .._errors import KproError
from .guest_values import DEFAULT_FIELD, FIELD_DEFAULTS, parse_properties

_HOSTNAME = re.compile(r"^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$")
_TAG = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_+.\-]*$")
_MODE = re.compile(r"^0[0-7]{3}$")
_RAW = re.compile(r"^(lxc\.[A-Za-z0-9_.\-]+)\s*[:=]\s*(\S.*?)\s*$")
_NUMBER = re.compile(r"^\d+$")

_NET_FIELDS = (
    "name", "bridge", "ip", "gw", "ip6", "gw6", "hwaddr", "firewall", "mtu", "tag", "trunks", "rate", "link_down", "type", "host-managed",
)  # fmt: skip
_DEVICE_FIELDS = ("path", "mode", "uid", "gid", "deny-write")
_MOUNT_FIELDS = {
    "source": "volume",
    "target": "mp",
    "read_only": "ro",
    "backup": "backup",
    "shared": "shared",
    "idmap": "idmap",
    "mount_options": "mountoptions",
}


class Desired:
    """The wanted guest; None everywhere means "not asked for, leave as it is".

    scalars (dict of configuration key to str); tags (list or None); net, devices, mountpoints (list of dict of fields, or
    None); features (dict or None); raw_lxc (dict of lxc key to list of values); description (str or None);
    unprivileged (bool or None); rootfs_gib (int or None); storage, ostemplate (str or None).
    """

    def __init__(self):
        self.scalars = {}
        self.tags = None
        self.net = None
        self.devices = None
        self.mountpoints = None
        self.features = None
        self.raw_lxc = {}
        self.description = None
        self.unprivileged = None
        self.rootfs_gib = None
        self.storage = None
        self.ostemplate = None


def _flag(value):
    return "1" if value else "0"


def _text(option, value):
    """A value that fits into a property string and on one line of the file."""
    if isinstance(value, bool):
        return _flag(value)
    text = str(value).strip()
    if "," in text or "\n" in text or not text:
        raise KproError(f"{option} is {str(value)!r}, which a Proxmox configuration line cannot hold: no comma, no line break, not empty.")
    return text


def _limits(options):
    for option, low, unit in (("memory_mib", 16, "MiB"), ("swap_mib", 0, "MiB"), ("rootfs_gib", 1, "GiB"), ("cores", 1, "cores")):
        value = options.get(option)
        if value is not None and value < low:
            raise KproError(f"{option} is {value}; the least that Proxmox accepts is {low} {unit}.")
    vmid = options["vmid"]
    if not 100 <= vmid <= 999999999:
        raise KproError(f"vmid is {vmid}; Proxmox numbers its guests from 100 to 999999999.")


def _scalars(options):
    found = {}
    for option, key in (("cores", "cores"), ("memory_mib", "memory"), ("swap_mib", "swap")):
        if options.get(option) is not None:
            found[key] = str(options[option])
    if options.get("onboot") is not None:
        found["onboot"] = _flag(options["onboot"])
    for option in ("nameserver", "searchdomain"):
        if options.get(option) is not None:
            found[option] = " ".join(re.split(r"[,;\s]+", options[option].strip()))
    hostname = options.get("hostname")
    if hostname is not None:
        if not _HOSTNAME.match(hostname):
            raise KproError(f"hostname is {hostname!r}; a guest's name has letters, digits, hyphens and dots only, such as sglang-1.")
        found["hostname"] = hostname
    return found


def _tags(tags):
    for tag in tags:
        if not _TAG.match(tag):
            raise KproError(f"tags has {tag!r}; a tag has letters, digits and _ - + . only, and does not start with - + or a dot.")
    return sorted({tag.lower() for tag in tags})


def _addresses(option, fields):
    import ipaddress

    words = {"ip": ("dhcp", "manual"), "ip6": ("auto", "dhcp", "manual")}
    for name, version in (("ip", 4), ("ip6", 6), ("gw", 4), ("gw6", 6)):
        value = fields.get(name)
        if value is None or value in words.get(name, ()):
            continue
        try:
            if name in words:
                right = "/" in value and ipaddress.ip_interface(value).version == version
            else:
                right = ipaddress.ip_address(value).version == version
        except ValueError:
            right = False
        if not right:
            example = "10.1.230.172/16 or dhcp" if name == "ip" else "fd00::2/64, auto or dhcp" if name == "ip6" else "a plain address"
            raise KproError(f"{option}.{name} is {value!r}; it must be {example}.")


def _net(entries):
    found = []
    for number, entry in enumerate(entries):
        option = f"net[{number}]"
        if isinstance(entry, str):
            fields = parse_properties(entry, "net")
        elif isinstance(entry, dict):
            fields = {name.replace("host_managed", "host-managed"): value for name, value in entry.items()}
            fields = {name: None if value is None else _text(f"{option}.{name}", value) for name, value in fields.items()}
        else:
            raise KproError(f"{option} is {entry!r}; it must be a dictionary or a string such as name=eth0,bridge=vmbr0,ip=dhcp.")
        for name in fields:
            if name not in _NET_FIELDS:
                raise KproError(f"{option} has the unknown field {name!r}; known are {', '.join(_NET_FIELDS)}.")
        _addresses(option, fields)
        found.append(fields)
    return found


def _device(number, entry):
    option = f"devices[{number}]"
    if isinstance(entry, str):
        fields = parse_properties(entry, "dev")
    elif isinstance(entry, dict):
        fields = {}
        for name, value in entry.items():
            if name == "mode" and value is not None and not isinstance(value, str):
                raise KproError(f"{option}.mode is {value!r}, a number; write it in quotes with four digits, such as '0666'.")
            fields[name.replace("_", "-")] = None if value is None else _text(f"{option}.{name}", value)
    else:
        raise KproError(f"{option} is {entry!r}; it must be a path below /dev or a dictionary with path, mode, uid and gid.")
    for name in fields:
        if name not in _DEVICE_FIELDS:
            raise KproError(f"{option} has the unknown field {name!r}; known are {', '.join(_DEVICE_FIELDS)}.")
    path = fields.get("path") or ""
    if not path.startswith("/dev/") or ".." in path.split("/"):
        raise KproError(f"{option}.path is {path!r}; it must be a device node below /dev, such as /dev/nvidia0.")
    if fields.get("mode") is not None and not _MODE.match(fields["mode"]):
        raise KproError(f"{option}.mode is {fields['mode']!r}; it must have four octal digits, such as '0666'.")
    for name in ("uid", "gid"):
        if fields.get(name) is not None and not _NUMBER.match(fields[name]):
            raise KproError(f"{option}.{name} is {fields[name]!r}; pct takes only a number there, as the guest sees it.")
    return fields


def _mountpoint(number, entry):
    option = f"mountpoints[{number}]"
    fields = {}
    for name, value in entry.items():
        if name not in _MOUNT_FIELDS:
            raise KproError(f"{option} has the unknown field {name!r}; known are {', '.join(_MOUNT_FIELDS)}.")
        if name == "mount_options" and isinstance(value, list):
            value = ";".join(value)
        if value is not None:
            fields[_MOUNT_FIELDS[name]] = _text(f"{option}.{name}", value)
    for name in ("source", "target"):
        if not fields.get(_MOUNT_FIELDS[name]):
            raise KproError(f"{option} has no {name}; a mount point needs both source and target.")
    if not fields["mp"].startswith("/") or ".." in fields["mp"].split("/"):
        raise KproError(f"{option}.target is {fields['mp']!r}; it must be an absolute path in the guest, such as /models.")
    for name in ("volume", "mp"):
        if fields[name].startswith("/"):
            fields[name] = re.sub(r"/+", "/", fields[name]).rstrip("/") or "/"
    return fields


def _features(entries):
    found = {}
    for number, entry in enumerate(entries):
        name, equals, value = entry.strip().partition("=")
        known = tuple(FIELD_DEFAULTS["features"]) + ("mount",)
        if name not in known:
            raise KproError(f"features[{number}] is {entry!r}; known are {', '.join(known)} (write name=0 to take one away).")
        found[name] = value.strip() if equals else "1"
    return found


def _raw_lxc(lines):
    found: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        match = _RAW.match(line.strip())
        if match is None:
            raise KproError(f"raw_lxc[{number}] is {line!r}; it must read like 'lxc.prlimit.memlock: unlimited'.")
        key, value = match.groups()
        if key.startswith("lxc.rootfs"):
            raise KproError(f"raw_lxc[{number}] sets {key}, which Proxmox refuses; the root file system belongs to storage and rootfs_gib.")
        values = found.setdefault(key, [])
        if value not in values:
            values.append(value)
    return found


def _unique(option, entries, field):
    seen = set()
    for fields in entries:
        if fields[field] in seen:
            raise KproError(f"{option} names {fields[field]} twice; it belongs there once.")
        seen.add(fields[field])
    return entries


def build_desired(options):
    """Check the module's ``options`` (dict) and return the Desired guest; KproError names the option that is wrong."""
    _limits(options)
    desired = Desired()
    desired.scalars = _scalars(options)
    if options.get("tags") is not None:
        desired.tags = _tags(options["tags"])
    if options.get("net") is not None:
        desired.net = _net(options["net"])
    if options.get("devices") is not None:
        desired.devices = _unique("devices", [_device(*pair) for pair in enumerate(options["devices"])], DEFAULT_FIELD["dev"])
    if options.get("mountpoints") is not None:
        desired.mountpoints = _unique("mountpoints", [_mountpoint(*pair) for pair in enumerate(options["mountpoints"])], "mp")
    if options.get("features") is not None:
        desired.features = _features(options["features"])
    if options.get("raw_lxc") is not None:
        desired.raw_lxc = _raw_lxc(options["raw_lxc"])
    if options.get("description") is not None:
        desired.description = options["description"].rstrip("\n")
    for name in ("unprivileged", "rootfs_gib", "storage", "ostemplate"):
        setattr(desired, name, options.get(name))
    return desired
