# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Storages: ``local`` (/var/lib/vz) and further ``dir`` entries of /etc/pve/storage.cfg.

A volume of a guest is a directory ``images/<vmid>/subvol-<vmid>-disk-<n>.subvol``; its size is noted in the guest's
configuration and not enforced. Templates lie in ``template/cache``.
"""

from __future__ import annotations

import os
import re

from . import node, runtime
from .errors import ENOENT, PctError

LOCAL = "/var/lib/vz"


def storages():
    """{storage id: folder}."""
    found = {"local": LOCAL}
    try:
        with open(f"{node.PVE}/storage.cfg", encoding="utf-8") as stream:
            text = stream.read()
    except FileNotFoundError:
        return found
    for entry in re.finditer(r"^dir:\s*(\S+)\s*\n((?:[ \t]+.*\n?)*)", text, re.MULTILINE):
        path = re.search(r"^\s+path\s+(\S+)", entry[2], re.MULTILINE)
        if path:
            found[entry[1]] = path[1]
    return found


def folder(storage):
    try:
        return storages()[storage]
    except KeyError:
        raise PctError(f"storage '{storage}' does not exist", ENOENT) from None


def volume_path(volume):
    """Path of a volume id (``local:129/subvol-129-disk-0.subvol``); an absolute path is one already."""
    if volume.startswith("/"):
        return volume
    storage, colon, name = volume.partition(":")
    if not colon:
        raise PctError(f"unable to parse volume ID '{volume}'")
    if name.startswith("vztmpl/"):
        return f"{folder(storage)}/template/cache/{name[len('vztmpl/'):]}"
    if name.startswith("snippets/"):
        return f"{folder(storage)}/{name}"
    return f"{folder(storage)}/images/{name}"


def template_path(volume):
    """Path of an OS template that exists; ``volume`` is a volume id or an absolute path."""
    path = volume_path(volume)
    if not os.path.isfile(path):
        raise PctError(f"volume '{volume}' does not exist" if not volume.startswith("/") else f"file '{path}' does not exist", ENOENT)
    return path


def create_volume(storage, vmid, root_uid):
    """Make an empty volume owned by the guest's root; returns its volume id."""
    base = f"{folder(storage)}/images/{vmid}"
    os.makedirs(base, exist_ok=True)
    os.chmod(base, 0o755)
    number = 0
    while os.path.lexists(f"{base}/subvol-{vmid}-disk-{number}.subvol"):
        number += 1
    path = f"{base}/subvol-{vmid}-disk-{number}.subvol"
    os.mkdir(path)
    os.chown(path, root_uid, root_uid)
    os.chmod(path, 0o755)
    return f"{storage}:{vmid}/subvol-{vmid}-disk-{number}.subvol"


def remove_volume(volume, vmid):
    """Remove a volume of this guest; anything else (a bind mount, a volume of another guest) is left alone."""
    if volume.startswith("/") or f":{vmid}/subvol-{vmid}-disk-" not in volume:
        return
    path = volume_path(volume)
    remove_folder(path)
    try:
        os.rmdir(os.path.dirname(path))
    except OSError:
        pass


def remove_folder(path):
    """Remove a folder with all in it, but nothing that is mounted below it."""
    runtime.tool("rm", "-rf", "--one-file-system", "--", path)
