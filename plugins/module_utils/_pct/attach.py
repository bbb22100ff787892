# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The command line that enters a guest: pct, or lxc-attach by choice.

``pct exec`` checks the guest and then becomes ``lxc-attach``; calling lxc-attach directly skips a Perl start of about one
second and pct's checks. Both get a cleared environment: the login's own variables (and secrets) stay on the node.
"""

from __future__ import annotations

from .._errors import KproError

PCT = "/usr/sbin/pct"
LXC_ATTACH = "/usr/bin/lxc-attach"
METHODS = ("pct", "lxc-attach")
# sudo without -n would wait for a password that nobody types.
SUDO = ("sudo", "-n")
# Every non-ASCII byte of an argument becomes U+FFFD when pct runs without a UTF-8 locale, and the exit status stays 0.
LOCALE = "C.UTF-8"
# The kernel's limit for one argument (MAX_ARG_STRLEN, 32 pages), the closing NUL included.
LONGEST_ARGUMENT = 131071
VMID_MIN, VMID_MAX = 100, 999999999


def check_vmid(vmid):
    """Return ``vmid`` as int, or raise KproError: Proxmox VE has 100 to 999999999."""
    try:
        number = int(vmid)
    except (TypeError, ValueError):
        number = 0
    if not VMID_MIN <= number <= VMID_MAX:
        raise KproError("vmid is %r: a guest's number lies between %d and %d." % (vmid, VMID_MIN, VMID_MAX), failure="pct_usage")
    return number


def attach_argv(vmid, words, method="pct", executable=None):
    """Return the argv that runs ``words`` (list of str) in guest ``vmid``; ``executable`` replaces the program's usual path.

    Options stand after the number and before ``--`` with their value spelled out: everywhere else pct swallows words.
    """
    number = str(check_vmid(vmid))
    if method == "pct":
        return [executable or PCT, "exec", number, "--keep-env", "0", "--", *words]
    if method == "lxc-attach":
        return [executable or LXC_ATTACH, "-n", number, "--clear-env", "--", *words]
    raise KproError("method is %r: it must be one of %s." % (method, ", ".join(METHODS)))


def check_words(words, name):
    """Raise KproError when ``words`` (list of str, option ``name``) cannot be an argv: empty, a NUL inside, or too long."""
    if not words:
        raise KproError("%s is empty: it needs at least the program's name." % name, failure="pct_usage")
    for index, word in enumerate(words):
        size = len(word.encode("utf-8", "surrogateescape"))
        if "\0" in word:
            raise KproError("%s: argument %d contains a NUL byte, which no argument can." % (name, index), failure="pct_usage")
        if size > LONGEST_ARGUMENT:
            raise KproError(
                "%s: argument %d is %d bytes long and Linux allows %d in one argument; hand it over with stdin or shell."
                % (name, index, size, LONGEST_ARGUMENT),
                failure="pct_usage",
            )
