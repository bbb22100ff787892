# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The lock of an environment: pinned requirements, their digest, and the name that both give the environment."""

from __future__ import annotations

import hashlib
import re

from .._errors import KproError

# name, extras, ==version (PEP 440, local part included), marker, hashes (pip's requirements format).
_PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?P<extras>\[[A-Za-z0-9._, -]*\])?"
    r"\s*==\s*(?P<version>[A-Za-z0-9][A-Za-z0-9.+!_-]*)"
    r"\s*(?P<marker>;[^#]*?)?(?P<hashes>(?:\s+--hash=[a-z0-9]+:[0-9a-f]+)*)\Z"
)
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:(?:a|b|rc|\.post|\.dev)\d+)*(?:\+[A-Za-z0-9.]+)?\Z")


class Lock:
    """``lines`` (list of str, what the installer is given), ``packages`` {normalised name: (version, has a marker)}, ``digest`` (hex),
    ``complete`` (bool: nothing else is to be installed)."""

    def __init__(self, lines, packages, complete):
        self.lines = lines
        self.packages = packages
        self.complete = complete
        self.digest = hashlib.sha256(("\n".join(sorted(lines)) + "\n").encode()).hexdigest()


def normal_name(name):
    """The one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def check_version(version):
    """KproError unless ``version`` is one release of SGLang; it becomes part of a path."""
    if not _VERSION.match(version):
        raise KproError(f"version is {version!r}; it must be one release of SGLang, for example 0.5.17")


def read_lock(version, lock=None, constraints=None):
    """The Lock for SGLang ``version``. Without ``lock`` (list of str) it is SGLang itself, whose dependencies the installer then chooses
    within ``constraints`` (list of str). Blank lines and comments are left out. Raises KproError naming the entry that is wrong."""
    check_version(version)
    if lock and constraints:
        raise KproError("lock and constraints exclude each other: with a lock nothing is left to choose; give one of them")
    if not lock:
        limits = [line.strip() for line in constraints or [] if line.strip()]
        for line in limits:
            if line.startswith("-") or "\n" in line or "://" in line:
                raise KproError(f"constraints holds {redacted_line(line)!r}; an entry is a requirement such as numpy<3, one a line")
        return Lock([f"sglang=={version}"] + [f"-c {line}" for line in limits], {"sglang": (version, False)}, complete=False)
    lines: list = []
    packages: dict = {}
    for raw in lock:
        line = re.sub(r"(?:^|\s)#.*$", "", raw).replace("\\\n", " ").strip()
        if not line:
            continue
        match = _PINNED.match(line)
        if not match:
            raise KproError(f"lock holds {redacted_line(line)!r}; every entry must be pinned as name==version")
        name = normal_name(match["name"])
        marker = (match["marker"] or "").strip()
        if name in packages and not marker and packages[name] != (match["version"], False):
            raise KproError(f"lock pins {name} twice, to {packages[name][0]} and to {match['version']}; keep one")
        packages[name] = (match["version"], bool(marker))
        lines.append(" ".join(f"{name}{match['extras'] or ''}=={match['version']} {marker} {match['hashes']}".split()))
    if "sglang" not in packages:
        raise KproError(f"lock does not hold sglang=={version}; a lock is complete, SGLang included")
    if packages["sglang"][0] != version:
        raise KproError(f"lock holds sglang=={packages['sglang'][0]}, and version is {version}; make them the same")
    return Lock(list(dict.fromkeys(lines)), packages, complete=True)


def redacted_line(line):
    """A line for messages: credentials of URLs replaced."""
    from .redact import redact

    return redact(line)
