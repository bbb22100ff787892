"""`sandbox clean` leaves no trace, from any half-dead state, and the node can be raised again from each.

Runs last: it takes the sandbox of this machine away.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "sandbox"))

from kpro_sandbox import namespaces, settings  # noqa: E402


def sandbox(verb):
    """Run `sandbox VERB`; it must succeed."""
    done = subprocess.run([sys.executable, str(ROOT / "sandbox" / "sandbox"), verb], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def said(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def links():
    names = {link["ifname"]: link["operstate"] for link in json.loads(said("ip", "-json", "link"))}
    addresses = {a["ifname"]: sorted(i["local"] for i in a["addr_info"]) for a in json.loads(said("ip", "-json", "address"))}
    routes = sorted((r["dst"], r.get("dev", "")) for r in json.loads(said("ip", "-json", "route")))
    return {"links": names, "addresses": addresses, "routes": routes}


def tree(root):
    """{path: what it is} of a folder: type, mode, owner, link target, digest of the content."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content = ""
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                content = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            found[path] = (status.st_mode, status.st_uid, status.st_gid, content)
    return found


def strangers():
    """Processes that live in a network, mount or UTS namespace which is not this machine's own, or in a guest's control group."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            elsewhere = any(os.stat(entry / "ns" / kind).st_ino != os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("net", "uts"))
            if elsewhere or "lxc" in (entry / "cgroup").read_text():
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")))
        except OSError:
            continue
    return found


def snapshot():
    """Everything of this machine that the sandbox touches."""
    mounts = sorted(line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
    cgroups = sorted(str(path) for path in pathlib.Path("/sys/fs/cgroup").rglob("*") if path.is_dir())
    return {
        **links(),
        "rules": said("nft", "list", "ruleset"),
        "namespaces": sorted(line.split()[0] for line in said("ip", "netns", "list").splitlines()),
        "mounts": mounts,
        "cgroups": cgroups,
        "etc": tree("/etc"),
        "dev": sorted(os.listdir("/dev")),
        "forwarding": pathlib.Path("/proc/sys/net/ipv4/ip_forward").read_text(),
        "places": [path for path in ("/var/lib/vz", settings.GPU_STATE_DIR, str(settings.STATE)) if os.path.exists(path)],
        "strangers": strangers(),
    }


def raised_with_a_guest():
    """A node with one running guest, from a clean machine whatever the test before left."""
    sandbox("clean")
    sandbox("up")
    create = [
        "/usr/sbin/pct",
        "create",
        "190",
        f"local:vztmpl/{settings.TEMPLATE.name}",
        "--features",
        "nesting=1",
        "--net0",
        "name=eth0,bridge=vmbr0,ip=10.77.0.190/24,gw=10.77.0.1",
    ]
    for argv in (create, ["/usr/sbin/pct", "start", "190"]):
        done = subprocess.run(namespaces.enter_argv(*argv), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def guest_answers(vmid="190"):
    done = subprocess.run(
        namespaces.enter_argv("/usr/sbin/pct", "exec", vmid, "--", "echo", "here"), capture_output=True, text=True, check=False
    )
    return done.stdout.strip() == "here"


def status_by_ssh(vmid):
    """What the node's own sshd and pct say, as Ansible reaches them."""
    options = [f"UserKnownHostsFile={settings.STATE}/known_hosts", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes"]
    argv = ["ssh", *(word for option in options for word in ("-o", option)), "-i", f"{settings.STATE}/id_ed25519"]
    done = subprocess.run(
        [*argv, f"root@{settings.UPLINK_NODE}", f"pct status {vmid}"], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.strip() or done.stderr


def kill_everything_of_the_node():
    """What an operator's mistake or a crash may do: every process in the node's network namespace gone (sshd, lxcfs, LXC monitors)."""
    namespaces.end_processes("net", namespaces.inode("net"))


def kill_sshd():
    pid = int((settings.node_dir() / "run" / "sshd.pid").read_text())
    os.kill(pid, 9)


def lose_the_mount_namespace():
    namespaces.release("mnt")


def lose_every_pin():
    for kind in namespaces.KINDS:
        namespaces.release(kind)


HALF_DEAD = [kill_sshd, kill_everything_of_the_node, lose_the_mount_namespace, lose_every_pin]


@pytest.fixture(scope="module")
def clean_machine():
    """The machine without the sandbox, as it is to be found again."""
    sandbox("clean")
    return snapshot()


def same(before, deadline=20.0):
    """Compare with the machine as it was; the kernel may take a moment to end a namespace."""
    end = time.monotonic() + deadline
    while True:
        after = snapshot()
        differing = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
        if not differing or time.monotonic() > end:
            return differing
        time.sleep(0.5)


def test_clean_after_a_running_guest_leaves_no_trace(clean_machine):
    raised_with_a_guest()
    assert guest_answers()
    assert strangers(), "the check for leftovers sees a running guest"
    sandbox("clean")
    assert same(clean_machine) == {}


@pytest.mark.parametrize("break_it", HALF_DEAD, ids=lambda function: function.__name__)
def test_half_dead_is_raised_again_and_cleaned(clean_machine, break_it):
    """Broken, raised again, broken once more and cleaned: no trace either way."""
    raised_with_a_guest()
    break_it()
    sandbox("up")
    assert status_by_ssh("190") in ("status: running", "status: stopped")
    if break_it in (kill_sshd, lose_the_mount_namespace):
        assert guest_answers(), "a guest goes on running while its node is mended"
    break_it()
    sandbox("clean")
    assert same(clean_machine) == {}


def test_clean_twice_and_status(clean_machine):
    sandbox("clean")
    assert "nothing to clean" in sandbox("clean").stderr
    assert sandbox("status").stdout.strip() == "no node"
