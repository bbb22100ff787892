# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of ansible-core's own ``ssh`` connection, taken from the core that is installed.

A copied list breaks with the next core (2.19 asks its subclass for ``password_mechanism``, which 2.18 does not know), so the
fragment is computed. Two defaults differ from core's, see below; every source of a value (ini, env, vars) stays.
"""

from __future__ import annotations

import copy

import yaml
from ansible.plugins.connection import ssh as core_ssh

# Without -C: compression makes a transfer of 256 MiB five times slower on a LAN. With keepalives: a NAT or firewall that drops
# idle sessions would otherwise hang a task that is silent for minutes (a model load).
SSH_ARGS = "-o ControlMaster=auto -o ControlPersist=60s -o ServerAliveInterval=15 -o ServerAliveCountMax=8"
# sshd drops some of the connections that authenticate at the same time (MaxStartups 10:30:100), and the guests of a node share its sshd.
RETRIES = 3


def core_options():
    """Return core's ssh options (dict) without ``version_added``, whose numbers would be read as this collection's."""
    options = copy.deepcopy(yaml.safe_load(core_ssh.DOCUMENTATION)["options"])
    for option in options.values():
        option.pop("version_added", None)
        for source in ("env", "ini", "vars", "cli", "keyword"):
            for entry in option.get(source, []):
                entry.pop("version_added", None)
    options["ssh_args"]["default"] = SSH_ARGS
    options["reconnection_retries"]["default"] = RETRIES
    return options


class ModuleDocFragment:
    """Read by ansible-doc and by the plugin loader."""

    # The annotation keeps ansible-test's yamllint from reading the call as if it were the text.
    DOCUMENTATION: str = yaml.safe_dump({"options": core_options()})
