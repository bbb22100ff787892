"""kpro.sglang.proxmox_guest on the sandbox node: one guest of its own from its creation to its end.

The tests build on each other, in the order of the file. The module is called as users call it: by Ansible, over SSH.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from kpro_sandbox import settings

ROOT = pathlib.Path(__file__).resolve().parents[3]
VMID = 9200
CONF = f"/etc/pve/lxc/{VMID}.conf"
TEMPLATE = f"local:vztmpl/{settings.TEMPLATE.name}"
NEW = {
    "state": "started",
    "ostemplate": TEMPLATE,
    "rootfs_gib": 4,
    "memory_mib": 512,
    "cores": 1,
    "tags": ["sglang", "gpu"],
    "net": [{"name": "eth0", "bridge": "vmbr0", "ip": "10.77.0.92/24", "gw": settings.GUEST_GATEWAY}],
    "initial": {"hostname": "guest-test", "features": []},
    "description": "made by a test: späßig",
}


SSH = f"-i {settings.STATE}/id_ed25519 -o UserKnownHostsFile={settings.STATE}/known_hosts -o IdentitiesOnly=yes"
NODE = {
    "ansible_host": settings.UPLINK_NODE,
    "ansible_user": "root",
    "ansible_ssh_common_args": SSH,
    "ansible_python_interpreter": "/usr/bin/python3",
}


def ansible(*words):
    """Run one of Ansible's programs, with this checkout's collection and no configuration file."""
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"), "ANSIBLE_NOCOLOR": "1"}
    environment.pop("ANSIBLE_CONFIG", None)
    command = [sys.executable, "-m", "ansible", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd="/", check=False)


class Guest:
    """Calls the module for the guest and looks at what it did."""

    def __init__(self, node):
        self.node = node

    def __call__(self, check=False, failed=False, **options):
        """Run the module; returns its result (with the warnings that Ansible printed), which failed exactly when ``failed``."""
        command = ["adhoc", "all", "-i", "node,", "-m", "kpro.sglang.proxmox_guest"]
        command += ["-a", json.dumps({"vmid": VMID, **options}), "-e", json.dumps(NODE)] + ["--diff"] + ["--check"] * check
        done = ansible(*command)
        start = re.search(r"^node \| [A-Z!]+ => ", done.stdout, re.M)
        assert start, (done.stdout, done.stderr)
        result = json.JSONDecoder().raw_decode(done.stdout[start.end() :])[0]
        assert bool(result.get("failed") or "FAILED" in start[0]) == failed, (result, done.stderr)
        return {**result, "printed": done.stdout + done.stderr}

    def conf(self):
        return self.node.run(["cat", CONF]).stdout.decode()

    def status(self):
        return self.node.pct("status", VMID).stdout.decode().strip()

    def inside(self, script):
        done = self.node.pct("exec", VMID, "--", "sh", "-ec", script)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode().strip()


def destroy(node):
    node.pct("unlock", VMID)
    node.pct("stop", VMID)
    node.pct("destroy", VMID, "--purge", "1")


@pytest.fixture(scope="module")
def guest(node):
    destroy(node)
    yield Guest(node)
    destroy(node)
    assert node.pct("status", VMID).returncode == 2, "the guest is gone"


def test_check_mode_shows_a_guest_that_does_not_exist(guest):
    result = guest(check=True, **NEW)
    assert result["changed"] and result["guest"]["exists"] is False and result["guest"]["python"] is None
    assert "+memory: 512\n" in result["printed"] and "\n-memory" not in result["printed"]
    assert guest.conf() == ""


PLAY = """
- hosts: sglang
  gather_facts: false
  tasks:
    - ansible.builtin.import_role:
        name: kpro.sglang.proxmox_guest
    - ansible.builtin.debug:
        msg: "{{ inventory_hostname }} unreachable={{ _proxmox_guest_unreachable_in_check }}"
"""


@pytest.fixture
def role(tmp_path):
    """Run the role for the guest, and for a plain host that has no node; returns the finished program."""
    plain = {"ansible_connection": "local", "ansible_python_interpreter": "/nonexistent"}
    guest = {"proxmox_node": "the-node", "proxmox_vmid": VMID, "ansible_connection": "local", "ansible_python_interpreter": "/nonexistent"}

    def play(*words, **variables):
        hosts = {"guest_1": {**guest, **variables}, "plain": plain}
        groups = {"nodes": {"hosts": {"the-node": NODE}}, "sglang": {"hosts": hosts}}
        (tmp_path / "hosts.json").write_text(json.dumps({"all": {"children": groups}}))
        (tmp_path / "play.yml").write_text(PLAY)
        return ansible("playbook", "-i", str(tmp_path / "hosts.json"), str(tmp_path / "play.yml"), *words)

    return play


def test_role_shows_a_guest_that_does_not_exist(guest, role):
    done = role("--check", "--diff", proxmox_guest_ostemplate=TEMPLATE, proxmox_guest_memory_mib=512)
    assert done.returncode == 0, done.stdout
    assert "guest_1 unreachable=True" in done.stdout and "plain unreachable=False" in done.stdout
    assert "+hostname: guest-1\n" in done.stdout and "+features: nesting=1\n" in done.stdout and guest.conf() == ""


def test_role_fails_with_a_sentence(role):
    done = role()
    assert done.returncode == 2 and "without ostemplate it cannot be created" in done.stdout
    assert "plain unreachable=False" in done.stdout, "the other host goes on"
    assert "set proxmox_vmid" in role(proxmox_vmid=0).stdout


def test_create_and_start(guest):
    result = guest(**NEW)
    made = result["guest"]
    assert (made["created"], made["started"], made["running"], made["node"]) == (True, True, True, settings.NODE)
    assert made["system"] in ("running", "degraded") and made["addresses"] == ["10.77.0.92"]
    assert guest.status() == "status: running"
    assert guest.inside("cat /etc/hostname") == "guest-test"
    assert made["conf"]["tags"] == "gpu;sglang" and made["conf"]["description"] == NEW["description"]


def test_again_changes_nothing(guest):
    before = guest.conf()
    result = guest(**NEW)
    assert result["changed"] is False and result["guest"]["restart_needed"] == [] and guest.conf() == before


def test_adopt_without_any_wish(guest):
    before = guest.conf()
    assert guest()["changed"] is False and guest.conf() == before


def test_memory_is_changed_live(guest):
    started = guest.inside("stat -c %Y /proc/1")
    result = guest(memory_mib=640)
    assert [change["key"] for change in result["guest"]["changes"]] == ["memory"] and "memory: 640" in guest.conf()
    assert result["guest"]["restart_needed"] == [] and guest.inside("stat -c %Y /proc/1") == started


def test_pending_feature_needs_a_restart_that_is_not_done(guest):
    started = guest.inside("stat -c %Y /proc/1")
    for changed in (True, False):
        result = guest(features=["nesting"])
        assert result["changed"] is changed and result["guest"]["restarted"] is False
        assert [reason.split(":")[0] for reason in result["guest"]["restart_needed"]] == ["features"]
        assert "needs a restart" in result["printed"]
    assert "[pve:pending]\nfeatures: nesting=1" in guest.conf() and guest.inside("stat -c %Y /proc/1") == started


def test_device_is_added(guest):
    """Hot-plugged where the node can do that, else pending: the file tells, and the module says the same."""
    result = guest(devices=["/dev/nvidiactl", {"path": "/dev/nvidia0", "mode": "0666"}])
    assert result["changed"]
    waiting = {reason.split(":")[0] for reason in result["guest"]["restart_needed"]} - {"features"}
    pending = set(result["guest"]["conf"]["pending"])
    assert waiting == pending - {"features", "delete"}
    for number, path in enumerate(("/dev/nvidiactl", "/dev/nvidia0")):
        there = guest.node.pct("exec", VMID, "--", "test", "-c", path).returncode == 0
        assert there is (f"dev{number}" not in pending)
    assert guest(devices=["/dev/nvidia0", "/dev/nvidiactl"])["changed"] is False


def test_taking_a_device_away_needs_a_restart(guest):
    result = guest(devices=["/dev/nvidia0"], exact=["devices"])
    assert result["changed"] and any(reason.startswith("dev0:") for reason in result["guest"]["restart_needed"])


def test_raw_lines(guest):
    result = guest(raw_lxc=["lxc.prlimit.nofile: 4096"])
    assert any("lxc.prlimit.nofile" in reason for reason in result["guest"]["restart_needed"])
    text = guest.conf()
    assert text.index("lxc.prlimit.nofile: 4096") < text.index("[pve:pending]")
    again = guest(raw_lxc=["lxc.prlimit.nofile: 4096"])
    assert again["changed"] is False and any("lxc.prlimit.nofile" in reason for reason in again["guest"]["restart_needed"])


def test_check_mode_leaves_the_running_guest_untouched(guest):
    before = guest.conf()
    result = guest(check=True, memory_mib=700, features=["keyctl"], raw_lxc=["lxc.prlimit.nofile: 1024"], restart="when_needed")
    assert result["changed"] and result["guest"]["restarted"] and "-memory: 640\n+memory: 700\n" in result["printed"]
    assert guest.conf() == before and guest.status() == "status: running"


def test_restart_when_it_is_allowed(guest):
    result = guest(restart="when_needed")
    assert result["changed"] and result["guest"]["restarted"] and result["guest"]["restart_needed"] == []
    text = guest.conf()
    assert "pve:pending" not in text and "features: nesting=1" in text and "dev0:" not in text
    assert guest.inside("test -c /dev/nvidia0; test ! -e /dev/nvidiactl; cat /proc/1/comm") == "systemd"
    assert "4096" in guest.inside("grep 'open files' /proc/1/limits")
    assert guest(restart="when_needed")["changed"] is False


def test_missing_device_is_refused_in_one_sentence(guest):
    before = guest.conf()
    result = guest(failed=True, devices=["/dev/nvidia7"])
    assert "/dev/nvidia7" in result["msg"] and "\n" not in result["msg"] and guest.conf() == before


def test_own_name_resolves(guest):
    guest.inside("sed -i '/guest-test/d' /etc/hosts")
    assert guest(hosts_entry=True)["guest"]["hosts_entry_added"] is True
    assert guest.inside("getent hosts guest-test").split()[0].startswith("127.")
    assert guest(hosts_entry=True)["changed"] is False


def test_python_is_brought(guest):
    assert guest.node.pct("exec", VMID, "--", "test", "-x", "/usr/bin/python3").returncode == 1
    assert guest(check=True, bootstrap_python=True)["guest"]["python"] is None
    result = guest(bootstrap_python=True)
    assert result["guest"]["python_installed"] and result["guest"]["python"] == "/usr/bin/python3"
    assert guest.inside("python3 -c 'import apt; print(1)'") == "1"
    assert guest(bootstrap_python=True)["changed"] is False


def test_role_adopts_the_guest(guest, role):
    before = guest.conf()
    done = role()
    assert done.returncode == 0 and re.search(r"guest_1 +: ok=\d+ +changed=0", done.stdout), done.stdout
    assert "guest_1 unreachable=False" in role("--check").stdout
    assert guest.conf() == before


def test_locked_guest_is_refused(guest):
    guest.node.run(["sed", "-i", "1i lock: backup", CONF])
    before = guest.conf()
    result = guest(failed=True, memory_mib=768)
    assert result["failure"] == "guest_locked" and "backup" in result["msg"] and guest.conf() == before
    guest.node.pct("unlock", VMID)


def test_stop_and_stop_again(guest):
    assert guest(check=True, state="stopped")["changed"] is True and guest.status() == "status: running"
    assert guest(state="stopped")["guest"]["stopped"] is True and guest.status() == "status: stopped"
    assert guest(state="stopped")["changed"] is False


def test_change_of_a_stopped_guest_is_complete_at_once(guest):
    result = guest(features=["keyctl"], cores=2)
    assert result["guest"]["restart_needed"] == [] and "pve:pending" not in guest.conf() and guest.status() == "status: stopped"
