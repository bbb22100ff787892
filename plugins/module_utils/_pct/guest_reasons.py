# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Why a running guest needs a restart: what Proxmox holds pending, and raw ``lxc.*`` lines written since it started.

Proxmox keeps no note of the latter, so one is kept on the node: in /run, which a reboot of the node clears together with
the guest's own start, and tied to the guest's present boot.
"""

from __future__ import annotations

import json
import os

from .guest_inside import look

STATE = "/run/kpro_sglang"


def pending_reasons(conf):
    """Sentences about the pending section of a GuestConf."""
    found = []
    deletes = conf.pending_deletes()
    for key in conf.pending_keys():
        if key in deletes:
            found.append(f"{key}: is taken away at the next start (now {conf.main.keys.get(key)})")
        else:
            found.append(f"{key}: {conf.pending.keys[key]} takes effect at the next start")
    return found


def raw_reasons(raw_lxc):
    """Sentences about raw keys (dict of key to values) that a running guest does not have yet."""
    return [f"{key}: {'; '.join(raw_lxc[key])} takes effect at the next start" for key in sorted(raw_lxc)]


def without(reasons, raw_lxc):
    """The sentences that are not about one of the raw keys."""
    return [reason for reason in reasons if reason.split(":")[0] not in raw_lxc]


def _path(vmid):
    return os.path.join(STATE, f"guest-{vmid}.json")


def _read(vmid):
    try:
        with open(_path(vmid), encoding="utf-8") as stream:
            note = json.load(stream)
        return str(note["boot"]), [str(reason) for reason in note["reasons"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None, []


def recall(pct, running, check_mode):
    """What earlier calls wrote into the running guest's raw lines since it started; a note about an earlier boot is dropped."""
    boot, reasons = _read(pct.vmid)
    if boot is None:
        return []
    if running:
        seen, _done = look(pct)
        if not seen.answered or seen.boot == boot:
            return reasons
    if not check_mode:
        forget(pct.vmid)
    return []


def remember(pct, raw_lxc):
    """Keep a note that the running guest was given these raw keys (dict of key to values) and does not have them yet."""
    seen, _done = look(pct)
    kept = without(_read(pct.vmid)[1], raw_lxc)
    os.makedirs(STATE, mode=0o755, exist_ok=True)
    temporary = f"{_path(pct.vmid)}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump({"boot": seen.boot, "reasons": kept + raw_reasons(raw_lxc)}, stream)
    os.replace(temporary, _path(pct.vmid))


def forget(vmid):
    """The guest stopped or started anew: nothing waits any more."""
    try:
        os.unlink(_path(vmid))
    except OSError:
        pass
