# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Checks of the variables that a command in a guest is given."""

from __future__ import annotations

import re

from .._errors import KproError
from .attach import LONGEST_ARGUMENT

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Variables that a shell owns; exporting them on the way would change or end the script that does it.
_SHELL_OWN = frozenset(("IFS", "OPTIND", "PPID", "UID", "EUID", "PWD", "OLDPWD", "PATH", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS"))
_SECRET = re.compile(r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)(?:_|$)", re.I)
# Shorter values would be masked wherever they occur in the result by chance.
SECRET_LENGTH = 8


def check_environment(variables, name="environment"):
    """Return ``variables`` (dict of str) unchanged, or raise KproError that names the variable of option ``name``."""
    for key, value in variables.items():
        if not _NAME.fullmatch(key):
            raise KproError("%s: %r is no name of a variable (letters, digits and '_', not first a digit)." % (name, key))
        if "\0" in value:
            raise KproError("%s: the value of %s contains a NUL byte, which no variable can." % (name, key))
        if len(key) + 1 + len(value.encode("utf-8", "surrogateescape")) > LONGEST_ARGUMENT:
            raise KproError("%s: the value of %s is longer than the %d bytes that Linux allows." % (name, key, LONGEST_ARGUMENT))
    return variables


def check_plain(variables):
    """``check_environment`` for variables that are shown in argv and results: none may look like a secret."""
    for key, value in variables.items():
        if _SECRET.search(key) and value:
            raise KproError("environment: %s looks like a secret, and environment is shown in process lists; use secret_environment." % key)
    return check_environment(variables)


def check_secrets(variables):
    """``check_environment`` for variables that travel on stdin and are masked in results."""
    for key, value in variables.items():
        if key in _SHELL_OWN:
            raise KproError("secret_environment cannot set %s: it belongs to the shell." % key)
        if len(value) < SECRET_LENGTH:
            raise KproError("secret_environment: the value of %s is shorter than %d characters." % (key, SECRET_LENGTH))
    return check_environment(variables, "secret_environment")
