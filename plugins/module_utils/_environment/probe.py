# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What a Python environment holds, asked of its own interpreter without importing SGLang or torch (which takes seconds)."""

from __future__ import annotations

import json
import os

from .._errors import KproError
from .._process.runner import run

# Runs on the environment's Python (3.9 or later). find_spec of a submodule would import the package, so the file is looked for.
_SCRIPT = """
import importlib.metadata, importlib.util, json, os, sys
packages = {}
for found in importlib.metadata.distributions():
    name = found.metadata["Name"]
    if name and name not in packages:
        packages[name] = found.version
spec = importlib.util.find_spec("sglang")
places = list(spec.submodule_search_locations or []) if spec else []
server = any(os.path.isfile(os.path.join(place, "launch_server.py")) for place in places)
print(json.dumps({
    "python_version": "%d.%d.%d" % sys.version_info[:3], "packages": packages, "launch_server": server, "prefix": sys.prefix,
    "places": places,
}))
"""
_TIMEOUT = 60


class Probe:
    """``python_version`` (str), ``packages`` {name as written: version}, ``launch_server`` (bool), ``sglang`` (version or None)."""

    def __init__(self, answer):
        self.python_version = answer["python_version"]
        self.packages = answer["packages"]
        self.launch_server = answer["launch_server"]
        self.sglang = self.packages.get("sglang")

    @property
    def names(self):
        """Sorted ``name==version``."""
        return sorted(f"{name}=={version}" for name, version in self.packages.items())


def probe(python):
    """Ask ``python`` (path of an interpreter); KproError, one sentence, when it does not answer."""
    try:
        # -I: no PYTHONPATH and no user site of whoever runs this.
        done = run([python, "-I", "-c", _SCRIPT], timeout=_TIMEOUT, env=_environment(), output_limit=8 << 20)
    except OSError as error:
        raise KproError(f"{python} cannot be run: {error.strerror or error}")
    if done.timed_out:
        raise KproError(f"{python} did not answer within {_TIMEOUT} s")
    try:
        return Probe(json.loads(done.out.strip().splitlines()[-1]))
    except (ValueError, IndexError, KeyError):
        last = ([line for line in done.err.splitlines() if line.strip()] or ["no output"])[-1]
        raise KproError(f"{python} does not work (exit status {done.rc}): {last.strip()[:300]}")


def _environment():
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")}


def shortcoming(found, version):
    """Why this Probe is no environment of SGLang ``version``, as half a sentence, or None."""
    if found.sglang is None:
        return "has no sglang"
    if found.sglang != version:
        return f"has sglang {found.sglang}"
    if not found.launch_server:
        return f"has the metadata of sglang {version}, but not its file launch_server.py"
    return None
