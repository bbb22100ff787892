# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``pct create`` and ``pct destroy``."""

from __future__ import annotations

import glob
import os
import re
import subprocess

from . import change, configuration, guest_files, guest_options, lxc_config, node, power, property_string, runtime, storage
from .errors import DIED, ENOENT, PctError
from .shell_text import out, warn

DEFAULT_SIZE = "4"  # GiB
OWN = ("vmid", "ostemplate", "password", "ssh-public-keys", "storage", "start", "ignore-unpack-errors")
DECOMPRESS = {".zst": ["zstd", "-dcq"], ".xz": ["xz", "-dc"], ".gz": ["gzip", "-dc"], ".tar": ["cat"]}


def create(parameters):
    vmid = parameters["vmid"]
    owner = node.all_guests().get(int(vmid))
    if owner:
        raise PctError(f"CT {vmid} already exists on node '{owner}'", ENOENT)
    keys = public_keys(parameters.get("ssh-public-keys"))
    config = configuration.Configuration()
    for name, value in parameters.items():
        if name == "description":
            config.description = value
        elif name not in OWN:
            config.values[name] = change.text_of(name, value)
    with node.locked(vmid):
        node.save(vmid, locked_placeholder())
        node.refresh_vmlist()
        try:
            warnings = build(vmid, config, parameters, keys)
        except (PctError, OSError) as error:
            forget(vmid, config)
            raise PctError(f"unable to create CT {vmid} - {error}", DIED) from None
    if parameters.get("start"):
        power.start(vmid)
    if warnings:
        warn("".join(f"WARN: {warning}\n" for warning in warnings) + f"Task finished with {len(warnings)} warning(s)!\n")


def locked_placeholder():
    """What the configuration says while the guest is being made."""
    placeholder = configuration.Configuration()
    placeholder.values["lock"] = "create"
    return placeholder


def public_keys(path):
    if path is None:
        return ""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read().rstrip("\n") + "\n"
    except OSError as error:
        raise PctError(f"unable to read SSH public keys from '{path}' - {error.strerror}", error.errno or DIED) from None


def build(vmid, config, parameters, keys):
    """Make the root file system and the configuration; returns warnings (texts)."""
    template = storage.template_path(parameters["ostemplate"])
    config.values.setdefault("unprivileged", "1")
    if config.values["unprivileged"] == "0":
        del config.values["unprivileged"]
    owner = lxc_config.root_uid(config)
    wanted = property_string.values(config.get("rootfs", f"{parameters.get('storage', 'local')}:{DEFAULT_SIZE}"), guest_options.VOLUME)
    new = guest_options.NEW_DISK.fullmatch(wanted.get("volume", ""))
    if not new:
        raise PctError(f"rootfs: '{wanted.get('volume', '')}' is not of the form STORAGE:SIZE")
    wanted.update(volume=storage.create_volume(new[1], vmid, owner), size=f"{new[2]}G")
    config.values["rootfs"] = property_string.render(wanted, guest_options.VOLUME)
    for index, text in config.numbered("mp"):
        config.values[f"mp{index}"] = change.new_volume(vmid, f"mp{index}", text, owner)
    root = storage.volume_path(wanted["volume"])
    extract(template, root, owner, parameters.get("ignore-unpack-errors"))
    out("Detected container architecture: amd64\n")
    for name, value in (("arch", "amd64"), ("hostname", f"CT{vmid}"), ("memory", "512"), ("swap", "512"), ("ostype", detect_ostype(root))):
        config.values.setdefault(name, value)
    prepare(root, config, vmid, owner, parameters.get("password"), keys)
    node.save(vmid, config)
    lxc_config.write(vmid, config)
    return nesting_warnings(root, config)


def extract(template, root, owner, ignore_errors):
    """Unpack the template with the guest's id map, without its /dev; prints what tar says about it."""
    out(f"extracting archive '{template}'\n")
    decompress = next((command for suffix, command in DECOMPRESS.items() if template.endswith(suffix)), None)
    if decompress is None:
        raise PctError(f"unrecognized archive format: '{os.path.basename(template)}'")
    unpack = ["tar", "xpf", "-", "--totals", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--exclude=./dev/*", "-C", root]
    if owner:
        unpack = ["lxc-usernsexec", *(f for kind in "ug" for f in ("-m", f"{kind}:0:{owner}:{lxc_config.UID_COUNT}")), "--", *unpack]
    environment = runtime.ENVIRONMENT
    with open(template, "rb") as stream, subprocess.Popen(decompress, stdin=stream, stdout=subprocess.PIPE, env=environment) as source:
        answer = subprocess.run(unpack, stdin=source.stdout, capture_output=True, text=True, errors="replace", env=environment, check=False)
        source.stdout.close()
    out("".join(line + "\n" for line in answer.stderr.splitlines() if line.startswith("Total bytes read")))
    if (answer.returncode or source.returncode) and not ignore_errors:
        raise PctError(f"{answer.stderr.strip()}\ncommand '{' '.join(unpack)}' failed: exit code {answer.returncode or source.returncode}")


def detect_ostype(root):
    text = guest_files.read(root, "etc/os-release") or guest_files.read(root, "usr/lib/os-release")
    found = re.search(r'^ID="?([a-z]+)', text, re.MULTILINE)
    return found[1] if found and found[1] in guest_options.OSTYPES else "unmanaged"


def prepare(root, config, vmid, owner, password, keys):
    """The guest's own files, its root password and keys, its SSH host keys."""
    guest_files.write_all(root, config, vmid, owner)
    if owner:
        guest_files.mask_units(root, owner)
    if password:
        set_password(root, password, owner)
    if keys:
        os.makedirs(f"{root}/root/.ssh", mode=0o700, exist_ok=True)
        os.chown(f"{root}/root/.ssh", owner, owner)
        guest_files.put(root, "root/.ssh/authorized_keys", keys, owner, 0o600)
    if os.path.isdir(f"{root}/etc/ssh"):
        host_keys(root, config.get("hostname"), owner)
    if os.path.exists(f"{root}/etc/machine-id"):
        guest_files.put(root, "etc/machine-id", "", owner, 0o444)


def set_password(root, password, owner):
    answer = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"], input=password + "\n", capture_output=True, text=True, env=runtime.ENVIRONMENT, check=False
    )
    if answer.returncode:
        raise PctError(f"unable to set the password - {answer.stderr.strip()}")
    text, state = guest_files.read(root, "etc/shadow"), os.stat(f"{root}/etc/shadow")
    guest_files.put(root, "etc/shadow", re.sub(r"(?m)^root:[^:]*:", lambda _match: f"root:{answer.stdout.strip()}:", text), owner, 0o640)
    os.chown(f"{root}/etc/shadow", state.st_uid, state.st_gid)


def host_keys(root, hostname, owner):
    """Fresh SSH host keys in place of the template's, so that no two guests share one."""
    for path in glob.glob(f"{root}/etc/ssh/ssh_host_*"):
        os.unlink(path)
    for kind in ("ecdsa", "rsa", "ed25519"):
        name = f"ssh_host_{kind}_key"
        out(f"Creating SSH host key '{name}' - this may take some time ...\n")
        answer = runtime.tool("ssh-keygen", "-q", "-f", f"{root}/etc/ssh/{name}", "-t", kind, "-N", "", "-C", f"root@{hostname}")
        if answer.returncode:
            raise PctError(f"unable to create {name} - {answer.stderr.strip()}")
        for path in (f"{root}/etc/ssh/{name}", f"{root}/etc/ssh/{name}.pub"):
            os.chown(path, owner, owner)
        shown = runtime.tool("ssh-keygen", "-lf", f"{root}/etc/ssh/{name}.pub").stdout.split()
        out(f"done: {' '.join(shown[1:3])}\n")


def nesting_warnings(root, config):
    """systemd wants namespaces for its services, which needs nesting."""
    library = glob.glob(f"{root}/usr/lib/systemd/libsystemd-shared-*.so") + glob.glob(f"{root}/usr/lib/*/systemd/libsystemd-shared-*.so")
    features = property_string.values(config.get("features", ""), guest_options.FEATURES)
    if not library or property_string.parse_boolean(features.get("nesting", "0")):
        return []
    version = re.search(r"shared-(\d+)", library[0])
    return [f"Systemd {version[1]} detected. You may need to enable nesting."] if version else []


def forget(vmid, config):
    """Remove a guest's volumes, its LXC folder and its configuration."""
    volumes = [config.get("rootfs", "")] + [text for base in ("mp", "unused") for _index, text in config.numbered(base)]
    for text in volumes:
        volume = property_string.values(text, guest_options.MOUNT).get("volume", "")
        if volume:
            storage.remove_volume(volume, vmid)
    storage.remove_folder(f"{node.LXC_PATH}/{vmid}")
    if os.path.exists(node.configuration_path(vmid)):
        os.unlink(node.configuration_path(vmid))
    node.refresh_vmlist()


def destroy(vmid, force=0, purge=0, destroy_unreferenced_disks=0):
    """Remove a stopped guest, or with ``force`` a running one."""
    with node.locked(vmid):
        config = node.load(vmid)
        if config.flag("protection"):
            raise PctError(f"can't remove CT {vmid} - protection mode enabled")
        if not force:
            node.check_lock(config)
        if runtime.is_running(vmid):
            if not force:
                raise PctError(f"unable to destroy CT {vmid} - container is running")
            power.kill(vmid)
        if purge:
            out(f"purging CT {vmid} from related configurations..\n")
        forget(vmid, config)
        if destroy_unreferenced_disks:
            for path in glob.glob(f"{storage.LOCAL}/images/{vmid}/subvol-{vmid}-disk-*.subvol"):
                storage.remove_folder(path)
