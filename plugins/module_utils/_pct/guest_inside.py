# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The state inside a guest, seen through pct, and the wait for its systemd."""

from __future__ import annotations

import time

from .._errors import KproError
from .guest_node import frozen
from .guest_pct import QUICK, failure_of, own_words

# Between two looks while systemd does not answer at all yet; from then on systemctl itself waits.
_PAUSE = 0.25
# A guest that a backup freezes for a moment is waited for (seconds); a command sent into it would hang, beyond any signal's reach.
_FROZEN = 10.0
_UP = ("running", "degraded")

# Prints "kpro-<field>=<value>" lines; $1 is how many seconds systemctl may wait for the boot to end (0: look only).
_PROBE = r"""
echo "kpro-probe=1"
init=$(cat /proc/1/comm 2>/dev/null)
echo "kpro-init=$init"
read -r line < /proc/1/stat
set -- "$1" ${line##*) }
echo "kpro-boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)-${21}"
if [ "$init" = systemd ]; then
    state=$(systemctl is-system-running 2>/dev/null)
    case $state in
        initializing|starting)
            [ "$1" -gt 0 ] && state=$(timeout "$1" systemctl is-system-running --wait 2>/dev/null)
            [ "$1" -gt 0 ] && [ -z "$state" ] && state=$(systemctl is-system-running 2>/dev/null) ;;
    esac
    echo "kpro-system=$state"
    case $state in
        degraded) systemctl list-units --state=failed --no-legend --plain --full 2>/dev/null |
            while read -r unit rest; do echo "kpro-failed=$unit"; done ;;
        starting) systemctl list-jobs --no-legend --plain 2>/dev/null |
            while read -r job unit rest; do echo "kpro-job=$unit"; done ;;
    esac
fi
[ -x /usr/bin/python3 ] && echo "kpro-python=/usr/bin/python3"
name=$(cat /proc/sys/kernel/hostname)
timeout 3 getent hosts "$name" >/dev/null 2>&1 && echo "kpro-resolves=1"
if command -v ip >/dev/null 2>&1; then
    ip -o addr show scope global 2>/dev/null |
        while read -r number link family address rest; do echo "kpro-address=${address%%/*}"; done
fi
return 0
"""


class Inside:
    """What the probe saw. system (str: running, degraded, starting, …; None without systemd); failed_units, jobs, addresses
    (lists); python (path or None); resolves (bool: the guest can resolve its own name); boot (str: identity of this boot)."""

    def __init__(self, text):
        found: dict[str, list[str]] = {}
        for line in text.splitlines():
            if line.startswith("kpro-"):
                name, _equals, value = line[5:].partition("=")
                found.setdefault(name, []).append(value.strip())

        def one(name):
            return (found.get(name) or [""])[-1]

        self.answered = one("probe") == "1"
        self.init = one("init")
        self.boot = one("boot")
        self.system = one("system") or ("offline" if self.init == "systemd" else None)
        self.failed_units = [unit for unit in found.get("failed", []) if unit]
        self.jobs = [unit for unit in found.get("job", []) if unit]
        self.addresses = found.get("address", [])
        self.python = one("python") or None
        self.resolves = one("resolves") == "1"


def look(pct, wait=0):
    """Probe the running guest, letting systemd finish its boot for at most ``wait`` seconds. Returns (Inside, Completed)."""
    _refuse_frozen(pct)
    done = pct.script(_PROBE, QUICK + wait, [str(int(wait))])
    return Inside(done.out), done


def _refuse_frozen(pct):
    deadline = time.monotonic() + _FROZEN
    while frozen(pct.vmid):
        if time.monotonic() >= deadline:
            raise KproError(
                f"Guest {pct.vmid} is frozen (a backup in suspend mode, lxc-freeze), so nothing runs in it; try again when it is thawed.",
                failure="guest_frozen",
            )
        time.sleep(_PAUSE)


def wait_for_systemd(pct, timeout):
    """Wait until the guest's systemd has booted (running or degraded), at most ``timeout`` seconds, and return the Inside.

    systemctl itself does the waiting; only while nothing answers yet is the question repeated.
    """
    deadline = time.monotonic() + timeout
    answered = False
    while True:
        left = deadline - time.monotonic()
        seen, done = look(pct, max(1, left))
        if seen.answered and seen.init not in ("systemd", "init", "lxc-init", ""):
            raise KproError(
                f"Guest {pct.vmid} runs {seen.init} as its first process, not systemd; wait_for=nothing is for such guests.", failure=None
            )
        if seen.system in _UP:
            return seen
        if seen.system == "maintenance":
            raise KproError(f"Guest {pct.vmid} booted into its rescue shell; see pct enter {pct.vmid}, journalctl -b.", failure=None)
        kind = None if seen.answered else failure_of(done)
        if kind in ("guest_missing", "not_permitted", "pct_usage"):
            raise KproError(f"Nothing can be run in guest {pct.vmid}: {own_words(done)}", failure=kind)
        if answered and kind == "guest_stopped":
            raise KproError(
                f"Guest {pct.vmid} stopped again while it booted; see journalctl -u pve-container@{pct.vmid} on the node.", failure=kind
            )
        answered = answered or seen.answered
        if time.monotonic() >= deadline:
            raise KproError(_not_up(pct, seen, done, timeout), failure=kind or "timeout")
        time.sleep(_PAUSE)


def _not_up(pct, seen, done, timeout):
    if seen.answered:
        jobs = f", waiting for {', '.join(seen.jobs[:5])}" if seen.jobs else ""
        return f"systemd of guest {pct.vmid} was still {seen.system or seen.init} after {timeout} seconds{jobs}."
    if done.timed_out:
        return f"Guest {pct.vmid} did not answer pct exec for {timeout} seconds."
    return f"Guest {pct.vmid} did not come up within {timeout} seconds: {own_words(done)}"
