# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written into a Debian guest's root file system before it starts: its name, its network, its resolver.

The files are those that a Proxmox node maintains for Debian guests. They are written for guests with an ``ostype`` other
than ``unmanaged`` and belong to the guest's root.
"""

from __future__ import annotations

import os
import re

from . import guest_options, property_string

BEGIN, END = "# --- BEGIN PVE ---\n", "# --- END PVE ---\n"
MASKED_UNITS = ("sys-kernel-debug.mount", "sys-kernel-tracing.mount")


def write_all(root, config, vmid, root_uid):
    """Write all of them; ``root``: folder of the root file system, ``root_uid``: the guest's root on the node."""
    if config.get("ostype") == "unmanaged" or not os.path.isdir(f"{root}/etc"):
        return
    name = config.get("hostname", f"CT{vmid}")
    put(root, "etc/hostname", name.split(".")[0] + "\n", root_uid)
    put(root, "etc/hosts", hosts(read(root, "etc/hosts"), name, first_address(config)), root_uid)
    if config.numbered("net"):
        put(root, "etc/network/interfaces", interfaces(config), root_uid)
    put(root, "etc/resolv.conf", resolver(config), root_uid)
    if config.get("timezone") and config.get("timezone") != "host":
        put_link(root, "etc/localtime", "/usr/share/zoneinfo/" + config.get("timezone"), root_uid)


def read(root, path):
    try:
        with open(f"{root}/{path}", encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except OSError:
        return ""


def put(root, path, text, root_uid, mode=0o644):
    """Replace a file of the guest; a symbolic link at its place is replaced as well, never followed."""
    target = f"{root}/{path}"
    os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary = f"{target}.pve-temporary"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as stream:
        os.fchown(descriptor, root_uid, root_uid)
        os.fchmod(descriptor, mode)
        stream.write(text)
    os.rename(temporary, target)


def put_link(root, path, destination, root_uid):
    target = f"{root}/{path}"
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.lexists(target):
        os.unlink(target)
    os.symlink(destination, target)
    os.lchown(target, root_uid, root_uid)


def first_address(config):
    for _index, text in config.numbered("net"):
        address = property_string.values(text, guest_options.NETWORK).get("ip", "")
        if guest_options.is_cidr(address):
            return address.partition("/")[0]
    return "127.0.1.1"


def hosts(old, name, address):
    """/etc/hosts with the marked block that names the guest itself."""
    names = name if "." not in name else f"{name} {name.split('.')[0]}"
    block = f"{BEGIN}127.0.0.1 localhost.localnet localhost\n::1 localhost.localnet localhost\n{address} {names}\n{END}"
    if BEGIN in old and END in old:
        return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _match: block, old, count=1, flags=re.DOTALL)
    return old + ("" if not old or old.endswith("\n") else "\n") + block


def interfaces(config):
    """/etc/network/interfaces, see interfaces(5)."""
    text = "auto lo\niface lo inet loopback\niface lo inet6 loopback\n"
    for index, line in config.numbered("net"):
        net = property_string.values(line, guest_options.NETWORK)
        name, address = net.get("name", f"eth{index}"), net.get("ip", "manual")
        text += f"\nauto {name}\n"
        if guest_options.is_cidr(address):
            text += f"iface {name} inet static\n\taddress {address}\n" + (f"\tgateway {net['gw']}\n" if "gw" in net else "")
        else:
            text += f"iface {name} inet {'dhcp' if address == 'dhcp' else 'manual'}\n"
    return text


def resolver(config):
    """/etc/resolv.conf: what the guest's options say, else the node's own."""
    if not config.get("nameserver") and not config.get("searchdomain"):
        return read("", "etc/resolv.conf")
    servers = re.split(r"[\s,;]+", config.get("nameserver", "").strip()) if config.get("nameserver") else []
    search = f"search {config.get('searchdomain')}\n" if config.get("searchdomain") else ""
    return search + "".join(f"nameserver {server}\n" for server in servers)


def mask_units(root, root_uid):
    """Units that cannot work in an unprivileged guest and would leave systemd "degraded"."""
    if os.path.isdir(f"{root}/etc/systemd/system"):
        for unit in MASKED_UNITS:
            put_link(root, f"etc/systemd/system/{unit}", "/dev/null", root_uid)
