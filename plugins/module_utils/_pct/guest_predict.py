# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What a change would leave in the configuration file: the diff of check mode."""

from __future__ import annotations

from .conf import GuestConf
from .guest_plan import creation_keys
from .guest_values import KEY_DEFAULTS, kind_of

# Applied to a running guest at once (PVE::LXC::Config, $LXC_FASTPLUG_OPTIONS and vmconfig_hotplug_pending).
LIVE = frozenset(("memory", "swap", "cores", "cpulimit", "cpuunits", "description", "tags", "onboot", "hookscript", "hostname", "net"))


def predict_creation(vmid, desired):
    """The GuestConf that creating the guest would write; what only the template tells (arch, ostype) and hwaddr are left out."""
    conf = GuestConf()
    keys = conf.main.keys
    keys.update({"hostname": f"CT{vmid}", "memory": KEY_DEFAULTS["memory"], "swap": KEY_DEFAULTS["swap"], "unprivileged": "1"})
    keys.update(creation_keys(desired))
    conf.main.description = keys.pop("description", None)
    storage, _colon, size = keys.get("rootfs", "local:4").partition(":")
    keys["rootfs"] = f"{storage}:<new volume>,size={size}G"
    for key, values in desired.raw_lxc.items():
        conf.main.replace_lxc(key, values)
    return conf


def predict_update(conf, plan, running):
    """The GuestConf that carrying out ``plan`` would leave: live keys in the current part, the others pending while it runs."""
    after = conf.copy()
    for key, value in plan.sets.items():
        if key == "description":
            after.main.description = value
        elif running and waits_for_restart(conf, key):
            after.pending.keys[key] = value
        else:
            after.main.keys[key] = value
    for key in plan.deletes:
        if running and waits_for_restart(conf, key, deleted=True) and key in conf.main.keys:
            after.pending.keys["delete"] = ",".join(sorted({*after.pending_deletes(), key}))
        elif key == "description":
            after.main.description = None
        else:
            after.main.keys.pop(key, None)
        after.pending.keys.pop(key, None)
    for key, values in plan.raw_lxc.items():
        after.main.replace_lxc(key, values)
    for change in plan.changes:
        if change["key"] == "rootfs":
            after.main.keys["rootfs"] = change["after"]
    return after


def waits_for_restart(conf, key, deleted=False):
    """Whether Proxmox keeps a change of ``key`` on a running guest for its next start.

    Devices and mount points that are new can be hot-plugged from Proxmox VE 9.0 on (8.x: mount points only); the
    prediction says restart for a device, the configuration after the change tells the truth.
    """
    kind = kind_of(key)
    if kind == "mp":
        return deleted or key in conf.main.keys
    return kind not in LIVE
