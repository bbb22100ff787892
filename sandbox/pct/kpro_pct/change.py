# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``pct set`` and ``pct unlock``.

A change goes through the pending section. For a stopped guest all of it is applied at once; for a running one what can be
changed live is, and the rest waits for the next start. The configuration is written **before** the LXC configuration is
generated, so a failure there leaves the change saved, as on a real node.

Not as on a real node: a network device of a running guest waits for the next start.
"""

from __future__ import annotations

import random
import re

from . import cgroup, devices, guest_options, hooks, hotplug, lxc_config, node, property_string, runtime, storage
from .errors import PctError, UsageError, parameter_error
from .shell_text import warn

LIVE = ("cores", "description", "hookscript", "hostname", "lock", "onboot", "protection", "startup", "tags", "timezone")
REQUIRED = ("memory", "rootfs", "ostype")
READ_ONLY = ("unprivileged",)


def set_options(parameters):
    options = dict(parameters)
    vmid, digest = options.pop("vmid"), options.pop("digest", None)
    deletes, reverts = names(options.pop("delete", "")), names(options.pop("revert", ""))
    if not options and not deletes and not reverts:
        raise UsageError("no options specified")
    both = sorted(set(options) & set(deletes))
    if both:
        raise parameter_error(delete=f"you can't use '-{both[0]}' and '-delete {both[0]}' at the same time")
    for name in deletes:
        if guest_options.option(name) is None:
            raise parameter_error(delete=f"unknown option '{name}'")
    with node.locked(vmid):
        config = node.load(vmid)
        node.check_lock(config)
        if digest is not None and digest != config.digest:
            raise PctError("detected modified configuration - file changed by other user? Try again.")
        errors = update(vmid, config, options, deletes, reverts)
        lxc_config.write(vmid, config)
    if errors:
        failure = parameter_error(**errors)
        failure.rc = 1
        raise failure


def names(text):
    return [name for name in re.split(r"[,;\s]+", text) if name]


def text_of(name, value, config=None):
    """The text that the configuration keeps for an option as given (str, or int for a boolean)."""
    if name == "tags":
        return ";".join(sorted({tag.lower() for tag in guest_options.split_tags(value)}))
    if name.startswith("net"):
        return network_text(value, config.get(name) if config is not None else None)
    return str(value)


def network_text(text, old=None):
    """A network device with what is not said: ``type=veth`` and a hardware address, the old one's or a new one of Proxmox's range."""
    net = property_string.values(text, guest_options.NETWORK)
    known = property_string.values(old or "", guest_options.NETWORK)
    net.setdefault("hwaddr", known.get("hwaddr") or "BC:24:11:" + ":".join("%02X" % random.randrange(256) for _byte in range(3)))
    net["type"] = "veth"
    return property_string.render(net, guest_options.NETWORK)


def update(vmid, config, options, deletes, reverts):
    """Change ``config`` and write it; returns {option: reason} of what could not be applied to the running guest."""
    waiting = set(config.pending_deletes()) - set(reverts)
    for name in reverts:
        config.pending.values.pop(name, None)
    for name in deletes:
        if name not in config.shown() and name not in config.pending.values:
            warn(f"cannot delete '{name}' - not set in current configuration!")
            continue
        if name in REQUIRED:
            raise PctError(f"unable to delete required option '{name}'")
        if name in READ_ONLY:
            raise PctError(f"unable to delete read-only option: '{name}'")
        config.pending.values.pop(name, None)
        waiting.add(name)
    for name in sorted(options):
        if name in READ_ONLY:
            raise PctError(f"unable to modify read-only option: '{name}'")
        check_new(name, options[name])
        if name == "description":
            config.pending.description = options[name]
        else:
            config.pending.values[name] = text_of(name, options[name], config)
        waiting.discard(name)
    config.set_pending_deletes(waiting)
    drop_unchanged(config)
    running = runtime.is_running(vmid)
    errors = apply_live(vmid, config, {*options, *deletes}) if running else {}
    if running:
        node.save(vmid, config)
    else:
        apply_pending(vmid, config)
    return errors


def check_new(name, value):
    if name == "hookscript":
        hooks.check(value)
    elif re.fullmatch(r"dev\d+", name):
        devices.check(property_string.values(value, guest_options.DEVICE)["path"])
    elif re.fullmatch(r"mp\d+|rootfs", name):
        volume = property_string.values(value, guest_options.MOUNT)["volume"]
        new = guest_options.NEW_DISK.fullmatch(volume)
        if not volume.startswith("/"):
            storage.folder(new[1] if new else volume.partition(":")[0])


def drop_unchanged(config):
    """A pending value that is the current one is no change."""
    for name in [name for name, value in config.pending.values.items() if name != "delete" and config.get(name) == value]:
        del config.pending.values[name]
    if config.pending.description == config.description:
        config.pending.description = ""


def apply_pending(vmid, config):
    """Make everything pending current and write the file."""

    for name in config.pending_deletes():
        delete_current(config, name)
    config.pending.values.pop("delete", None)
    for name in list(config.pending.values):
        config.values[name] = new_volume(vmid, name, config.pending.values.pop(name), lxc_config.root_uid(config))
    if config.pending.description:
        config.description = config.pending.description
    config.pending.description = ""
    config.pending.raw.clear()
    node.save(vmid, config)


def delete_current(config, name):
    if name == "description":
        config.description = ""
    old = config.values.pop(name, None)
    volume = property_string.values(old, guest_options.MOUNT).get("volume", "") if old and re.fullmatch(r"mp\d+", name) else "/"
    if not volume.startswith("/"):
        number = next(index for index in range(256) if f"unused{index}" not in config.values)
        config.values[f"unused{number}"] = volume


def new_volume(vmid, name, text, owner):
    """``STORAGE:SIZE`` in a mount point asks for a new volume; anything else stays as it is."""
    if not re.fullmatch(r"mp\d+", name):
        return text
    mount = property_string.values(text, guest_options.MOUNT)
    new = guest_options.NEW_DISK.fullmatch(mount.get("volume", ""))
    if not new:
        return text
    mount.update(volume=storage.create_volume(new[1], vmid, owner), size=f"{new[2]}G")
    return property_string.render(mount, guest_options.MOUNT)


def apply_live(vmid, config, modified):
    """Apply to a running guest what can be; the rest stays pending. Returns {option: reason}."""
    errors = {}
    for name in [name for name in config.pending_deletes() if name in modified]:
        if name in LIVE or name.startswith("unused") or name in ("swap", "cpulimit", "cpuunits"):
            reason = cgroup.apply(vmid, live_settings({name: "0" if name == "swap" else ""}, config))
            if reason:
                errors[name] = f"unable to hotplug {name}: {reason}"
                continue
            delete_current(config, name)
            config.set_pending_deletes([other for other in config.pending_deletes() if other != name])
    if config.pending.description:
        config.description, config.pending.description = config.pending.description, ""
    for name in sorted(set(config.pending.values) & modified - {"delete"}):
        try:
            done = apply_one(vmid, config, name)
        except (OSError, PctError) as error:
            errors[name] = f"unable to hotplug {name}: {error}"
            continue
        if done:
            config.values[name] = config.pending.values.pop(name)
    return errors


def apply_one(vmid, config, name):
    """True when the running guest now has the pending value of ``name``."""

    value = config.pending.values[name]
    if name in LIVE:
        return True
    if name in ("memory", "swap", "cpulimit", "cpuunits"):
        reason = cgroup.apply(vmid, live_settings({name: value}, config))
        if reason:
            raise PctError(reason)
        return True
    if name in config.values or not re.fullmatch(r"(mp|dev)\d+", name):
        return False
    owner = lxc_config.root_uid(config)
    if name.startswith("dev"):
        device = property_string.values(value, guest_options.DEVICE)
        hotplug.add_device(vmid, devices.create_copy(vmid, device, owner), device["path"], owner)
    else:
        config.pending.values[name] = value = new_volume(vmid, name, value, owner)
        mount = property_string.values(value, guest_options.MOUNT)
        read_only = property_string.parse_boolean(mount.get("ro", "0"))
        hotplug.add_folder(vmid, storage.volume_path(mount["volume"]), mount["mp"], owner, read_only)
    return True


def live_settings(changed, config):
    """Cgroup settings for ``changed`` ({option: value}, one option) on top of what ``config`` has."""
    wanted = dict(config.values, **changed)
    if "memory" in changed or "swap" in changed:
        return cgroup.memory_settings(int(wanted.get("memory") or 512), int(wanted.get("swap") or 0))
    if "cpulimit" in changed and not float(changed["cpulimit"] or 0):
        return [("cpu.max", f"max {cgroup.PERIOD}")] if cgroup.is_v2() else [("cpu.cfs_quota_us", -1)] if cgroup.has("cpu") else []
    if "cpuunits" in changed and not changed["cpuunits"]:
        return [("cpu.weight", 100)] if cgroup.is_v2() else [("cpu.shares", 1024)] if cgroup.has("cpu") else []
    return cgroup.cpu_settings(wanted) if "cpulimit" in changed or "cpuunits" in changed else []


def unlock(vmid):
    """Remove the ``lock:`` of the configuration."""
    with node.locked(vmid):
        config = node.load(vmid)
        config.values.pop("lock", None)
        node.save(vmid, config)
