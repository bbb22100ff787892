"""Check mode on a guest that runs, with Python and none of our files: the unit is shown, nothing is written."""

from __future__ import annotations

import hashlib
import os
import stat

import pytest
from playing import ROOT, Guest

VMID = 131
# What a running Debian writes by itself while we look.
VOLATILE = ("run", "tmp", "proc", "sys", "dev", "var/log", "var/lib/systemd", "var/tmp", "var/cache", "etc/machine-id")


def fingerprint(root):
    """{path: digest of type, mode, owner and content} of a rootfs, volatile places left out."""
    found = {}
    for folder, folders, files in os.walk(root):
        relative = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if os.path.normpath(os.path.join(relative, name)) not in VOLATILE]
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content = b""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path).encode()
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as stream:
                    content = hashlib.file_digest(stream, "sha256").digest()
            found[os.path.relpath(path, root)] = (status.st_mode, status.st_uid, status.st_gid, content)
    return found


@pytest.fixture
def inventory(tmp_path):
    """The sandbox's inventory and one more guest."""
    extra = tmp_path / "bare.yml"
    extra.write_text(
        "all:\n  children:\n    kpro5:\n      hosts:\n        bare131:\n          proxmox_node: kpro5-node\n"
        f"          proxmox_vmid: {VMID}\n          proxmox_guest_net:\n"
        "            - {name: eth0, bridge: vmbr0, ip: 10.77.0.131/24, gw: 10.77.0.1}\n"
    )
    return ["-i", str(ROOT / "inventories" / "sandbox"), "-i", str(extra), "-l", "bare131"]


@pytest.fixture
def no_guest(node):
    """No guest 131 before, none afterwards."""

    def destroy():
        if node.pct("status", VMID).returncode == 0:
            node.pct("stop", VMID)
            assert node.pct("destroy", VMID).returncode == 0

    destroy()
    yield
    destroy()


@pytest.fixture
def bare(node, play, inventory, no_guest):
    """A guest with Python, made by the guest role alone."""
    made = play.run("deploy.yml", *inventory, "--tags", "guest")
    assert made.rc == 0, made.out[-3000:]
    return Guest(node, VMID)


def test_missing_guest_ends_with_a_sentence(node, play, inventory, no_guest):
    shown = play.run("deploy.yml", *inventory, "--check", "--diff")
    assert shown.rc == 0, shown.out[-3000:]
    assert f"Guest {VMID} is missing" in " ".join(shown.out.split())
    assert "hostname: bare131" in shown.out
    assert node.pct("status", VMID).returncode == 2


def test_check_mode_writes_nothing_into_the_guest(bare, node, play, inventory):
    root = node_path(node, VMID)
    before = fingerprint(root)
    shown = play.run("deploy.yml", *inventory, "--check", "--diff")
    assert shown.rc == 0, shown.out[-4000:]
    assert "+ExecStart=/bin/sh /var/lib/sglang/main/launch" in shown.out
    assert "+max-total-tokens: 8192" in shown.out
    after = fingerprint(root)
    assert len(before) > 3000
    assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} == set()


def node_path(node, vmid):
    """The guest's rootfs as this machine sees it."""
    from kpro_sandbox import settings

    return str(settings.node_dir() / f"var/lib/vz/images/{vmid}/subvol-{vmid}-disk-0.subvol")
