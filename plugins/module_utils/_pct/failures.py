# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Which failure a text of ssh, sudo, pct or lxc-attach means.

The patterns are anchored to whole lines of pct's own messages (pve-container 6.1.10, lxc 5.0 to 7.0, sudo 1.9, dash and bash);
they are applied only to what was said before the command started, so a command that prints the same words is never mistaken.
"""

from __future__ import annotations

import re

# Said on the way of a call that went well: never the reason of a failure.
_NOISE = re.compile(
    r"^(?:perl: warning: (?:Setting locale failed\.|Please check that your locale settings:|Falling back to .*)"
    r"|\s+(?:LANGUAGE|LC_[A-Z]+|LANG) = .*"
    r"|\s+are supported and installed on your system\."
    r"|.*warning: setlocale: .*"
    r"|trying to acquire lock\.\.\."
    r"|Warning: Permanently added .* to the list of known hosts\."
    r"|ControlSocket .* already exists, disabling multiplexing"
    r"|mux_client_request_session: .*"
    r")\s*$"
)
WARNING = re.compile(r"^(?:vm|CT) \d+ - unable to parse (?:value of|config:?) .*$")

# (failure, pattern of a whole line), the first match in the order of this table decides.
_PATTERNS = (
    ("guest_missing", r"Configuration file 'nodes/[^']+/lxc/\d+\.conf' does not exist"),
    ("guest_stopped", r"container '\d+' not running!"),
    ("guest_stopped", r"can only (?:push files to a running CT|pull files from a running VM).*"),
    ("guest_stopped", r"lxc-attach: \d+: .*Failed to get init pid"),
    ("guest_locked", r"CT is locked \([a-z-]+\)"),
    ("guest_locked", r"can't lock file '[^']*' - got timeout"),
    ("not_permitted", r"please run as root"),
    ("not_permitted", r"sudo: (?:a password is required|a terminal is required .*|no tty present .*|sorry, you must have a tty .*)"),
    ("not_permitted", r"(?:sudo: )?\S+ is not (?:in the sudoers file|allowed to run sudo).*"),
    ("not_permitted", r"Sorry, user \S+ (?:is not allowed to execute|may not run sudo).*"),
    ("not_permitted", r"sudo: .* must be owned by uid 0 and have the setuid bit set"),
    ("pct_missing", r"(?:.*: )?(?:\S*/)?(?:pct|lxc-attach|perl): (?:command )?not found"),
    ("pct_missing", r"(?:.*: )?['\u2018]?(?:\S*/)?(?:pct|lxc-attach|perl)['\u2019]?: No such file or directory"),
    ("pct_missing", r"sudo: unable to execute \S*/(?:pct|lxc-attach): No such file or directory"),
    ("sudo_missing", r"(?:.*: )?(?:\S*/)?sudo: (?:(?:command )?not found|No such file or directory)"),
    ("cluster_unavailable", r"ipcc_send_rec\[\d+\] failed: .*"),
    ("cluster_unavailable", r"Unable to load access control list: .*"),
    ("cluster_unavailable", r"cluster not ready - no quorum\?.*"),
    ("pct_usage", r"400 .*"),
    ("pct_usage", r"Unknown option: .*"),
    ("pct_usage", r"ERROR: unknown command .*"),
    ("pct_usage", r"missing command at \S+ line \d+\."),
    ("pct_usage", r"Can't exec \"lxc-attach\": .*"),
)
_COMPILED = tuple((failure, re.compile("^" + pattern + r"\s*$")) for failure, pattern in _PATTERNS)

_HINTS = {
    "sudo_missing": "sudo is not installed on the node: install it there, or log in as root and leave node_become off.",
    "not_permitted": "pct needs root: set proxmox_node_become and give the login a sudoers line with NOPASSWD for it.",
    "pct_missing": "Is this machine a Proxmox VE node?",
    "guest_locked": "Another task on the node holds it; wait for that task, the lock is not broken here.",
}


def said(preface):
    """Return what remains of ``preface`` (bytes, said before the start) without the known noise and warnings: one text."""
    lines = [line.rstrip() for line in preface.decode("utf-8", "replace").splitlines()]
    return "\n".join(line for line in lines if line.strip() and not _NOISE.match(line) and not WARNING.match(line))


def warnings(preface):
    """Return pct's complaints about the guest's configuration file in ``preface`` (bytes): a list of lines."""
    return [line.strip() for line in preface.decode("utf-8", "replace").splitlines() if WARNING.match(line.strip())]


def classify(preface):
    """Return (failure, words) for a call that did not start its command.

    ``failure`` is a value of proxmox_lxc_exec's return value of that name; ``words`` is the line that decided, in its
    author's own words, or all of the text when no known line is in it (then the failure is ``transport``).
    """
    text = said(preface)
    lines = text.splitlines()
    for failure, pattern in _COMPILED:
        for line in lines:
            if pattern.match(line):
                return ("not_permitted" if failure == "sudo_missing" else failure), line.strip() + _hint(failure)
    return "transport", text


def _hint(failure):
    return " (" + _HINTS[failure] + ")" if failure in _HINTS else ""
