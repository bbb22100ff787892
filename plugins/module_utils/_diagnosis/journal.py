# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The log of a systemd unit: the launch's own file where the unit has one, else the journal of one invocation.

The journal is read as JSON with ``--all``: without it a field above 4096 bytes is null, and text with carriage returns or
colours is an array of integers. What systemd and the kernel said is put behind the program's own lines in their order.
"""

from __future__ import annotations

import json
import os
import re

from .._errors import KproError
from .._process.runner import run

#: Seconds for one call of systemctl or journalctl, MiB of journal read at most.
TIMEOUT = 60
LIMIT_MIB = 128
_PROPERTIES = "LoadState,ActiveState,SubState,Result,InvocationID,MainPID,ExecMainCode,ExecMainStatus,ExecStart,StandardOutput"
_FIELDS = "MESSAGE,_TRANSPORT,SYSLOG_IDENTIFIER,_COMM,_PID"
_KERNEL = re.compile(r"[Oo]ut of memory|oom|NVRM|Xid|apparmor|avc:|segfault|traps:|SECCOMP|nvidia")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: How a start script of this collection names the file of a launch (module sglang_server).
_LAUNCH_FILE = re.compile(r"(?P<folder>'[^']*'|\"[^\"$]*\"|/[^\s'\"$]*)\"?\$\{?INVOCATION_ID\}?\"?\.log")


def unit_log(unit):
    """(data, where, facts) of a unit. data: path of a file, or bytes. where: name for people. facts: what systemd knows.

    Raises KproError when there is no systemd or no such unit.
    """
    state = show(unit)
    facts = facts_of(state)
    path = _own_file(state)
    if path is not None:
        return path, path, facts
    invocation = state.get("InvocationID") or _last_invocation(unit)
    if not invocation:
        raise KproError("The unit %s has no invocation in the journal: it was never started here." % unit)
    return journal(invocation), "journal of %s" % unit, facts


def show(unit):
    """Properties of a unit as systemctl shows them (dict of str)."""
    if not re.fullmatch(r"[\w@:.\\-]+", unit or ""):
        raise KproError("unit=%r is no name of a systemd unit." % unit)
    try:
        done = run(["systemctl", "show", "--no-pager", "--property=" + _PROPERTIES, "--", unit], timeout=TIMEOUT)
    except (FileNotFoundError, PermissionError):
        raise KproError("unit=%s needs systemd, and systemctl is not on this host; use path." % unit)
    state = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
    if done.rc != 0 or not state:
        raise KproError("systemctl cannot show the unit %s: %s" % (unit, " ".join(done.err.split()) or "exit status %d" % done.rc))
    if state.get("LoadState") == "not-found":
        raise KproError("There is no systemd unit %s on this host." % unit)
    return state


def facts_of(state):
    """What systemd knows about the process, as facts for a diagnosis."""
    facts = {}
    active = state.get("ActiveState")
    if active in ("active", "activating", "reloading", "deactivating") and state.get("SubState") != "auto-restart":
        facts["process_alive"] = state.get("MainPID", "0") != "0"
    elif active in ("inactive", "failed") or state.get("SubState") == "auto-restart":
        facts["process_alive"] = False
        code, status = state.get("ExecMainCode", "0"), state.get("ExecMainStatus", "0")
        if code in ("1", "2", "3") and status.isdigit():
            facts["exit_code"] = int(status) if code == "1" else 128 + int(status)
    result = state.get("Result")
    if result and result != "success":
        facts["service_result"] = result
        if result == "oom-kill":
            facts["oom_killed"] = True
    return facts


def _own_file(state):
    """Path of the file that this invocation writes to, or None."""
    output = state.get("StandardOutput", "")
    for kind in ("append:", "truncate:", "file:"):
        if output.startswith(kind) and os.path.isfile(output[len(kind) :]):
            return output[len(kind) :]
    invocation = state.get("InvocationID")
    script = re.search(r"argv\[\]=(?:/usr)?/bin/(?:ba|da)?sh (?P<script>/\S+)", state.get("ExecStart", ""))
    if not invocation or not script:
        return None
    try:
        with open(script.group("script"), "rb") as stream:
            text = stream.read(1 << 16).decode("utf-8", "replace")
    except OSError:
        return None
    found = _LAUNCH_FILE.search(text)
    if not found:
        return None
    path = os.path.join(found.group("folder").strip("'\""), invocation + ".log")
    return path if os.path.isfile(path) else None


def _last_invocation(unit):
    lines = _journalctl(["--lines=1", "--reverse", "_SYSTEMD_UNIT=" + unit], "_SYSTEMD_INVOCATION_ID")
    for record in lines:
        return _text(record.get("_SYSTEMD_INVOCATION_ID"))
    return None


def journal(invocation):
    """The journal of one invocation as bytes, one line each, with what systemd and the kernel said about it."""
    if not re.fullmatch(r"[0-9a-f]{32}", invocation or ""):
        raise KproError("%r is no invocation id of systemd." % invocation)
    records = _journalctl(
        ["_SYSTEMD_INVOCATION_ID=" + invocation, "+", "INVOCATION_ID=" + invocation, "+", "USER_INVOCATION_ID=" + invocation], _FIELDS
    )
    if not records:
        return b""
    stamps = [int(record["__REALTIME_TIMESTAMP"]) for record in records if str(record.get("__REALTIME_TIMESTAMP", "")).isdigit()]
    if stamps:
        window = ["--since=@%d" % (min(stamps) // 1000000), "--until=@%d" % (max(stamps) // 1000000 + 5)]
        kernel = _journalctl(["_TRANSPORT=kernel"] + window, _FIELDS)
        records += [record for record in kernel if _KERNEL.search(_text(record.get("MESSAGE")) or "")]
        records.sort(key=lambda record: int(record.get("__REALTIME_TIMESTAMP") or 0))
    return b"\n".join(_line(record) for record in records) + b"\n"


def _journalctl(arguments, fields):
    try:
        done = run(
            ["journalctl", "--no-pager", "--all", "--quiet", "--output=json", "--output-fields=" + fields] + arguments,
            timeout=TIMEOUT,
            output_limit=LIMIT_MIB << 20,
        )
    except (FileNotFoundError, PermissionError):
        raise KproError("The journal cannot be read: journalctl is not on this host.")
    records = []
    for raw in done.stdout.split(b"\n"):
        if not raw.strip():
            continue
        try:
            record = json.loads(raw)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def _bytes(value):
    """A field of the journal's JSON: text, null, an array of integers (binary), or an array of such values."""
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, list):
        if all(isinstance(item, int) and 0 <= item < 256 for item in value):
            return bytes(value)
        return b" ".join(_bytes(item) for item in value)
    return str(value).encode("utf-8", "replace")


def _text(value):
    return _bytes(value).decode("utf-8", "replace")


def _line(record):
    message = _bytes(record.get("MESSAGE"))
    who = "kernel" if record.get("_TRANSPORT") == "kernel" else _text(record.get("_COMM") or record.get("SYSLOG_IDENTIFIER"))
    if who not in ("kernel", "systemd"):
        return message
    return ("%s host %s: " % (_stamp(record.get("__REALTIME_TIMESTAMP")), who)).encode() + message.replace(b"\n", b" ")


def _stamp(value):
    import time

    try:
        moment = time.localtime(int(value) / 1000000.0)
    except (TypeError, ValueError, OverflowError, OSError):
        moment = time.localtime(0)
    return "%s %2d %02d:%02d:%02d" % (_MONTHS[moment.tm_mon - 1], moment.tm_mday, moment.tm_hour, moment.tm_min, moment.tm_sec)
