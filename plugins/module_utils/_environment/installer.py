# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""uv or pip: the commands that make a virtual environment and fill it."""

from __future__ import annotations

import os
import shutil

from .._errors import KproError

# Settings of whoever runs this that would send packages elsewhere; pip.conf, proxies and CA settings stay in force.
_DROPPED = (
    "PIP_PREFIX PIP_REQUIRE_VIRTUALENV PIP_ROOT PIP_TARGET PIP_USER PYTHONHOME PYTHONPATH UV_PROJECT_ENVIRONMENT UV_PYTHON "
    "UV_SYSTEM_PYTHON UV_TARGET VIRTUAL_ENV"
)
# Left out too when our options say where packages come from.
_DROPPED_SOURCES = (
    "PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_INDEX_URL UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL UV_FIND_LINKS UV_INDEX UV_INDEX_URL"
)


class Source:
    """Where packages come from: ``wheel_dir`` (path or None) or ``index_url`` (str or None) and ``extra_index_urls`` (list of str)."""

    def __init__(self, wheel_dir=None, index_url=None, extra_index_urls=None):
        self.wheel_dir = wheel_dir
        self.index_url = index_url
        self.extra_index_urls = list(extra_index_urls or [])


def find_uv():
    """The path of uv on PATH or in /usr/local/bin, or None."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/bin"))
    return shutil.which("uv", path=path)


def choose(installer):
    """(``uv`` or ``pip``, path of uv or None) for the option ``installer``. KproError when uv is asked for and not there."""
    uv = find_uv() if installer in ("auto", "uv") else None
    if installer == "uv" and not uv:
        raise KproError("installer is 'uv', and uv is neither on PATH nor in /usr/local/bin; install it, or use installer auto or pip")
    return ("uv", uv) if uv else ("pip", None)


def child_environment(source, temporary):
    """The environment of pip and uv. Index URLs go here, because everybody on the host can read a command line."""
    dropped = (_DROPPED + " " + _DROPPED_SOURCES if source.index_url or source.wheel_dir else _DROPPED).split()
    env = {name: value for name, value in os.environ.items() if name not in dropped}
    env.update(
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        PIP_NO_INPUT="1",
        PIP_ROOT_USER_ACTION="ignore",
        PYTHONDONTWRITEBYTECODE="1",  # bytecode is made at the end, by all cores
        UV_NO_PROGRESS="1",
        UV_PYTHON_DOWNLOADS="never",
        NO_COLOR="1",
        LC_ALL="C.UTF-8",
        # Wheels of GiB pass through the folder for temporary files, and /tmp is often a small tmpfs.
        TMPDIR=temporary,
    )
    if source.wheel_dir:
        env["UV_NO_CACHE"] = "1"
    if source.index_url:
        env["PIP_INDEX_URL"] = env["UV_INDEX_URL"] = source.index_url
    if source.extra_index_urls:
        env["PIP_EXTRA_INDEX_URL"] = env["UV_EXTRA_INDEX_URL"] = " ".join(source.extra_index_urls)
    return env


def create_command(uv, python, path):
    """argv that makes the empty virtual environment ``path`` from the interpreter ``python``."""
    if uv:
        return [uv, "venv", "--no-project", "--python", python, path]
    return [python, "-m", "venv", path]


def install_command(uv, path, requirements, constraints, complete, wheel_dir):
    """argv that installs the file ``requirements`` into ``path``; ``complete``: it is a lock, so nothing is resolved."""
    python = os.path.join(path, "bin", "python")
    if uv:
        argv = [uv, "pip", "install", "--python", python]
    else:
        argv = [python, "-m", "pip", "install", "--no-compile", "--progress-bar", "off"]
    if complete:
        argv.append("--no-deps")
    if wheel_dir:
        argv += ["--no-index", "--find-links", wheel_dir]
    if constraints:
        argv += ["--constraint", constraints]
    return [*argv, "--requirement", requirements]
