# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What Ansible and servers need inside a guest: Python, and a name that resolves. Brought with what the guest has: sh and apt-get."""

from __future__ import annotations

from .._errors import KproError
from .guest_inside import look, wait_for_systemd
from .guest_pct import QUICK, failure_of, own_words

# Installing Python may have to fetch package lists over a slow line (seconds).
BOOTSTRAP = 900

_HOSTS = r"""
name=$(cat /proc/sys/kernel/hostname)
short=${name%%.*}
names=$name
[ "$short" = "$name" ] || names="$name $short"
[ -s /etc/hosts ] && [ -n "$(tail -c 1 /etc/hosts)" ] && echo >> /etc/hosts
printf '127.0.1.1 %s\n' "$names" >> /etc/hosts
"""

_PYTHON = r"""
export DEBIAN_FRONTEND=noninteractive
if ! command -v apt-get >/dev/null 2>&1; then
    echo "this guest has no apt-get; install python3 in it by hand or use a Debian or Ubuntu template" >&2
    return 90
fi
apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 update &&
    apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install --no-install-recommends python3 python3-apt
"""


def visit(pct, options, check_mode):
    """Look into the running guest (Inside), after waiting for its systemd where that is asked for (never in check mode)."""
    if check_mode or options.get("wait_for") == "nothing":
        seen, done = look(pct)
        if not (seen.answered or check_mode) and (options.get("bootstrap_python") or options.get("hosts_entry")):
            raise KproError(f"Nothing can be run in guest {pct.vmid} yet: {own_words(done)}", failure=failure_of(done))
        return seen
    return wait_for_systemd(pct, options.get("timeout") or 120)


def bring(pct, seen, options, check_mode):
    """Bring what is missing and asked for; yields (name, key, value) for each thing brought (in check mode: to be brought)."""
    if options.get("hosts_entry") and seen.answered and not seen.resolves:
        if not check_mode:
            add_own_name(pct)
        yield "hosts_entry_added", "/etc/hosts", "127.0.1.1 with the guest's name"
    if options.get("bootstrap_python") and seen.answered and not seen.python:
        if not check_mode:
            install_python(pct)
        yield "python_installed", "python3", "/usr/bin/python3"


def install_python(pct):
    """Install python3 and python3-apt with apt-get in the guest; a failure carries apt's own last lines."""
    done = pct.script(_PYTHON, BOOTSTRAP)
    if done.rc != 0:
        late = f" within {BOOTSTRAP} seconds" if done.rc in (124, 137) else ""
        raise KproError(
            f"python3 was not installed in guest {pct.vmid}{late}: {own_words(done)}",
            failure=failure_of(done),
            pct={"rc": done.rc, "stdout": done.out[-4000:], "stderr": done.err[-4000:]},
        )


def add_own_name(pct):
    """Let the guest resolve its own name (an entry in its /etc/hosts): programs that look it up stand still for a minute else."""
    done = pct.script(_HOSTS, QUICK)
    if done.rc != 0:
        raise KproError(f"/etc/hosts of guest {pct.vmid} did not take the guest's name: {own_words(done)}", failure=failure_of(done))
