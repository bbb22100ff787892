# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's own state: its name, the folders of /etc/pve, the configuration files in them and the locks.

Folders are those of a real node: ``/etc/pve/nodes/<node>/lxc/<vmid>.conf`` with ``/etc/pve/lxc`` a link to the folder of
this node. /etc/pve is an ordinary folder here, not pmxcfs; ``/etc/pve/.vmlist``, which pmxcfs computes, is rewritten
whenever a command finds it out of date.
"""

from __future__ import annotations

import contextlib
import os
import time

from . import configuration
from .errors import EINTR, ENOENT, PctError
from .shell_text import warn

PVE = "/etc/pve"
LXC_PATH = "/var/lib/lxc"
LOCK_FOLDER = "/run/lock/lxc"
LOCK_SECONDS = 10


def name():
    return os.uname().nodename.split(".")[0]


def configuration_path(vmid, node_name=None):
    return f"{PVE}/nodes/{node_name or name()}/lxc/{vmid}.conf"


def guests(node_name=None):
    """The guests (int, sorted) of one node, this one by default."""
    try:
        entries = os.listdir(f"{PVE}/nodes/{node_name or name()}/lxc")
    except FileNotFoundError:
        return []
    return sorted(int(entry[:-5]) for entry in entries if entry.endswith(".conf") and entry[:-5].isdigit())


def all_guests():
    """{vmid: node} of the whole cluster."""
    try:
        nodes = sorted(os.listdir(f"{PVE}/nodes"))
    except FileNotFoundError:
        nodes = []
    return {vmid: node_name for node_name in nodes for vmid in guests(node_name)}


def refresh_vmlist():
    """Write /etc/pve/.vmlist when it does not say what the folders say."""
    import json

    path = f"{PVE}/.vmlist"
    ids = {str(vmid): {"node": owner, "type": "lxc", "version": 1} for vmid, owner in sorted(all_guests().items())}
    try:
        with open(path, encoding="utf-8") as stream:
            if json.load(stream).get("ids") == ids:
                return
    except (OSError, ValueError, AttributeError):
        pass
    write_file(path, json.dumps({"version": 1, "ids": ids}) + "\n")


def load(vmid):
    """The guest's Configuration; complaints about its text go to stderr even when the command succeeds."""
    try:
        with open(configuration_path(vmid), encoding="utf-8", errors="surrogateescape", newline="") as stream:
            text = stream.read()
    except FileNotFoundError:
        raise PctError(f"Configuration file 'nodes/{name()}/lxc/{vmid}.conf' does not exist", ENOENT) from None
    config, complaints = configuration.parse(text, vmid)
    for complaint in complaints:
        warn(complaint)
    return config


def save(vmid, config):
    """Write the file and read it back into what the digest is taken from."""
    text = configuration.render(config)
    write_file(configuration_path(vmid), text)
    config.digest = configuration.parse(text, vmid)[0].digest


def write_file(path, text, mode=0o640):
    """Replace a file by temp and rename."""
    temporary = f"{path}.tmp.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
        stream.write(text)
    os.chmod(temporary, mode)
    os.rename(temporary, path)


def check_lock(config):
    """Refuse while the configuration carries a ``lock:``."""
    if config.get("lock"):
        raise PctError(f"CT is locked ({config.get('lock')})")


@contextlib.contextmanager
def locked(vmid, seconds=LOCK_SECONDS):
    """Hold the guest's configuration lock (flock); give up after ``seconds``."""
    import fcntl

    os.makedirs(LOCK_FOLDER, exist_ok=True)
    path = f"{LOCK_FOLDER}/pve-config-{vmid}.lock"
    with open(path, "a", encoding="ascii") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            warn("trying to acquire lock...")
            wait_for_lock(stream, path, time.monotonic() + seconds)
            warn(" OK")
        yield


def wait_for_lock(stream, path, until):
    import fcntl

    while True:
        try:
            return fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise PctError(f"can't lock file '{path}' - got timeout", EINTR) from None
        time.sleep(0.05)
