# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a guest: the keys of its configuration file, with the types that ``pct set`` and ``pct create`` check.

Sizes are MiB (memory, swap) or as written (``size=8G``). The lists follow the documentation of Proxmox VE 9 (pct.conf(5)).
"""

from __future__ import annotations

import re

from .property_string import Key, reason

OSTYPES = ("debian", "devuan", "ubuntu", "centos", "fedora", "opensuse", "archlinux", "alpine", "gentoo", "nixos", "unmanaged")
LOCKS = ("backup", "create", "destroyed", "disk", "fstrim", "migrate", "mounted", "rollback", "snapshot", "snapshot-delete")
LAST = {"net": 31, "mp": 255, "dev": 255, "unused": 255}
NEW_DISK = re.compile(r"([^:\s]+):(\d+(?:\.\d+)?)")


def check_device_path(path):
    if not path.startswith("/dev/") or re.search(r"/\.\.(/|$)", path):
        return "invalid format - unable to parse device path: " + path
    return None


def check_mount_path(path):
    if re.search(r"/\.\.?(/|$)", path) or path.startswith("../"):
        return "invalid format - " + path + " contains illegal character sequences"
    return None


def check_ipv4_config(value):
    if value in ("dhcp", "manual") or is_cidr(value):
        return None
    return "invalid format - value does not look like a valid ipv4 network configuration"


def is_cidr(value):
    address, slash, bits = value.partition("/")
    return bool(slash) and is_ipv4(address) and bits.isdigit() and 0 < int(bits) <= 32


def is_ipv4(value):
    return bool(re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", value)) and all(int(part) < 256 for part in value.split("."))


def check_ipv4(value):
    return None if is_ipv4(value) else "invalid format - value does not look like a valid ipv4 address"


def check_hostname(value):
    label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
    if re.fullmatch(rf"(?:{label}\.)*{label}\.?", value):
        return None
    return "invalid format - value does not look like a valid DNS name"


def check_tags(value):
    for tag in split_tags(value):
        if not re.fullmatch(r"[a-z0-9_][a-z0-9_\-+.]*", tag, re.IGNORECASE | re.ASCII):
            return f"invalid format - invalid characters in tag '{tag}'"
    return None


def split_tags(value):
    return [tag for tag in re.split(r"[;,\s]+", value) if tag]


VOLUME = {
    "volume": Key(required=True, default=True),
    "size": Key(pattern=r"\d+(\.\d+)?[KMGT]?"),
    "acl": Key("boolean"),
    "ro": Key("boolean"),
    "quota": Key("boolean"),
    "replicate": Key("boolean"),
    "shared": Key("boolean"),
    "mountoptions": Key(pattern=r"[a-z_]+(;[a-z_]+)*"),
    "idmap": Key(),
}
MOUNT = dict(VOLUME, mp=Key(required=True, check=check_mount_path), backup=Key("boolean"))
NETWORK = {
    "name": Key(required=True, pattern=r"[-_.\w]+"),
    "bridge": Key(pattern=r"[-_.\w]+"),
    "type": Key(choices=("veth",)),
    "hwaddr": Key(pattern=r"[a-fA-F0-9]{2}(:[a-fA-F0-9]{2}){5}"),
    "mtu": Key("integer", minimum=64, maximum=65535),
    "ip": Key(check=check_ipv4_config),
    "gw": Key(check=check_ipv4),
    "ip6": Key(),
    "gw6": Key(),
    "firewall": Key("boolean"),
    "host-managed": Key("boolean"),
    "link_down": Key("boolean"),
    "tag": Key("integer", minimum=1, maximum=4094),
    "trunks": Key(pattern=r"\d+(;\d+)*"),
    "rate": Key("number"),
}
DEVICE = {
    "path": Key(required=True, default=True, check=check_device_path),
    "mode": Key(pattern=r"0[0-7]{3}"),
    "uid": Key("integer", minimum=0),
    "gid": Key("integer", minimum=0),
    "deny-write": Key("boolean"),
}
FEATURES = {
    "nesting": Key("boolean"),
    "keyctl": Key("boolean"),
    "fuse": Key("boolean"),
    "mknod": Key("boolean"),
    "force_rw_sys": Key("boolean"),
    "mount": Key(pattern=r"[a-zA-Z0-9_]+(;[a-zA-Z0-9_]+)*"),
}
STRINGS = {"net": NETWORK, "mp": MOUNT, "dev": DEVICE}

OPTIONS = {
    "arch": Key(choices=("amd64", "i386", "arm64", "armhf", "riscv32", "riscv64")),
    "cmode": Key(choices=("shell", "console", "tty")),
    "console": Key("boolean"),
    "cores": Key("integer", minimum=1, maximum=8192),
    "cpulimit": Key("number", maximum=8192),
    "cpuunits": Key("integer", minimum=0, maximum=500000),
    "debug": Key("boolean"),
    "description": Key(),
    "features": Key(check=lambda text: reason("features", text, FEATURES)),
    "hookscript": Key(),
    "hostname": Key(check=check_hostname),
    "lock": Key(choices=LOCKS),
    "memory": Key("integer", minimum=16),
    "nameserver": Key(),
    "onboot": Key("boolean"),
    "ostype": Key(choices=OSTYPES),
    "protection": Key("boolean"),
    "rootfs": Key(check=lambda text: reason("rootfs", text, VOLUME)),
    "searchdomain": Key(),
    "startup": Key(),
    "swap": Key("integer", minimum=0),
    "tags": Key(check=check_tags),
    "template": Key("boolean"),
    "timezone": Key(),
    "tty": Key("integer", minimum=0, maximum=6),
    "unprivileged": Key("boolean"),
}
# In the file (snapshots and the pending section too), never on a command line.
FILE_ONLY = {"parent": Key(), "snaptime": Key("integer"), "snapstate": Key()}


def option(name):
    """The Key of a guest option, or None. Numbered options are found by their base name and their range."""
    if name in OPTIONS:
        return OPTIONS[name]
    numbered = re.fullmatch(r"(net|mp|dev|unused)(0|[1-9]\d*)", name)
    if not numbered or int(numbered[2]) > LAST[numbered[1]]:
        return None
    keys = STRINGS.get(numbered[1])
    return Key(check=lambda text: reason(name, text, keys)) if keys else Key()


def names():
    """All option names that a command line may use."""
    return list(OPTIONS) + [f"{base}{index}" for base, last in LAST.items() for index in range(last + 1)]
