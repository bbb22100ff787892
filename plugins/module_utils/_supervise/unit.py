# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The text of a server's systemd unit.

Rendered here and not from a template file: the module works without its role, and a target has no Jinja2. Values that
systemd would expand or split are escaped in one place. Sources of the settings: systemd.exec(5), systemd.service(5); why
SuccessExitStatus=SIGKILL needs Restart=always: SGLang ends itself with SIGKILL after a clean stop and after a crash alike.
"""

from __future__ import annotations

HEADER = "# Managed by kpro.sglang (module sglang_server). Changes here are overwritten; use a drop-in.\n"


def quote(value):
    """One word of a command line in a unit file: % and $ doubled, quoted when it holds white space, quotes or backslashes."""
    return word(str(value).replace("$", "$$"))


def word(value):
    """One word of a setting that takes a list: as ``quote``, but only command lines expand $."""
    text = str(value).replace("%", "%%")
    if text and not any(char in text for char in " \t\"'\\;"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def path(value):
    """A path in a setting that takes no quotes (WorkingDirectory=, EnvironmentFile=): only % is special."""
    return str(value).replace("%", "%%")


def render(name, user, group, state_dir, launch, end, environment_file, mounts, stop_timeout):
    """Return the unit's text.

    name: the server's name. launch, end: scripts for ExecStart and ExecStopPost. mounts: paths whose mounts must be there
    before the start (RequiresMountsFor). stop_timeout: seconds for draining before SIGKILL.
    """
    sections = (
        (
            "Unit",
            (
                ("Description", f"SGLang server {name}".replace("%", "%%")),
                ("Documentation", "https://docs.sglang.io/"),
                ("Wants", "network-online.target"),
                ("After", "network-online.target"),
                ("RequiresMountsFor", " ".join(word(item) for item in mounts)),
                # A load takes minutes: the default limit (5 starts in 10 s) would never trip.
                ("StartLimitIntervalSec", "2h"),
                ("StartLimitBurst", "3"),
            ),
        ),
        (
            "Service",
            (
                ("Type", "exec"),
                ("User", user),
                ("Group", group),
                ("UMask", "0077"),
                ("WorkingDirectory", path(state_dir)),
                ("EnvironmentFile", path(environment_file)),
                ("ExecStart", f"/bin/sh {quote(launch)}"),
                ("ExecStopPost", f"/bin/sh {quote(end)}"),
                ("SuccessExitStatus", "SIGKILL"),
                ("Restart", "always"),
                ("RestartSec", "30"),
                ("KillMode", "mixed"),
                ("TimeoutStopSec", str(stop_timeout)),
                ("OOMPolicy", "kill"),
                ("OOMScoreAdjust", "500"),
                ("TasksMax", "infinity"),
                ("LimitCORE", "0"),
                ("LimitNOFILE", "524288"),
                ("LimitMEMLOCK", "infinity"),
                ("LimitSTACK", "64M"),
                ("PrivateTmp", "yes"),
            ),
        ),
        ("Install", (("WantedBy", "multi-user.target"),)),
    )
    blocks = [f"[{title}]\n" + "".join(f"{key}={value}\n" for key, value in lines) for title, lines in sections]
    return HEADER + "\n" + "\n".join(blocks)
