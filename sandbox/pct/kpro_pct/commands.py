# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sub-commands: positional arguments, options and the function behind each. Functions are imported when they are needed."""

from __future__ import annotations

import re

from . import guest_options
from .property_string import Key

BOOLEAN = Key("boolean")
TEXT = Key()


def check_vmid(value):
    return None if re.fullmatch(r"[1-9]\d{2,8}", value, re.ASCII) else "invalid format - value does not look like a valid VM ID"


VMID = Key("integer", check=check_vmid)


class Command:
    """``positional``: names in order, those in brackets optional; "extra-args" takes the rest. ``run``: "module:function"."""

    def __init__(self, run, positional=("vmid",), options=None, guest_options=False):
        self.run, self.own_options, self.takes_guest_options = run, dict(options or {}), guest_options
        self.positional = [name.strip("[]") for name in positional]
        self.optional = {name.strip("[]") for name in positional if name.startswith("[")}

    def option(self, name):
        """The Key of an option or positional argument."""
        if name in self.own_options:
            return self.own_options[name]
        if name == "vmid":
            return VMID
        if self.takes_guest_options:
            return guest_options.option(name) or TEXT
        return TEXT

    def option_names(self):
        names = list(self.own_options) + self.positional
        return names + [name for name in guest_options.names() if name not in names] if self.takes_guest_options else names

    def usage(self, name):
        words = "".join(f" [<{word}>]" if word in self.optional else f" <{word}>" for word in self.positional)
        has_options = set(self.option_names()) - set(self.positional)
        return f"pct {name}{words}" + (" [OPTIONS]" if has_options else "") + "\n"

    def call(self, parameters):
        import importlib

        module, function = self.run.split(":")
        return getattr(importlib.import_module("kpro_pct." + module), function)(**parameters)


FILE_OPTIONS = {"perms": TEXT, "user": TEXT, "group": TEXT}
TIMEOUT = Key("integer", minimum=0)

COMMANDS = {
    "list": Command("show:list_guests", ()),
    "status": Command("show:status", options={"verbose": BOOLEAN}),
    "config": Command("show:config", options={"current": BOOLEAN, "snapshot": TEXT}),
    "pending": Command("show:pending"),
    "exec": Command("attach:execute", ("vmid", "[extra-args]"), {"keep-env": BOOLEAN}),
    "set": Command("change:set_options", options={"delete": TEXT, "digest": TEXT, "revert": TEXT}, guest_options=True),
    "unlock": Command("change:unlock"),
    "create": Command(
        "create:create", ("vmid", "ostemplate"), guest_options=True,
        options={"password": TEXT, "ssh-public-keys": TEXT, "storage": TEXT, "start": BOOLEAN, "ignore-unpack-errors": BOOLEAN},
    ),
    "destroy": Command("create:destroy", options={"force": BOOLEAN, "purge": BOOLEAN, "destroy-unreferenced-disks": BOOLEAN}),
    "start": Command("power:start", options={"skiplock": BOOLEAN, "debug": BOOLEAN}),
    "stop": Command("power:stop", options={"skiplock": BOOLEAN, "overrule-shutdown": BOOLEAN}),
    "shutdown": Command("power:shutdown", options={"timeout": TIMEOUT, "forceStop": BOOLEAN}),
    "reboot": Command("power:reboot", options={"timeout": TIMEOUT}),
    "push": Command("files:push", ("vmid", "file", "destination"), FILE_OPTIONS),
    "pull": Command("files:pull", ("vmid", "path", "destination"), FILE_OPTIONS),
}
