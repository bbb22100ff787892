"""Transfers into and out of a live guest: the files cases of cases.yml, and any name and content."""

from __future__ import annotations

import hashlib
import os

import pytest
import yaml
from kpro_sandbox import settings

ODD = ["a b", "z$(touch PWNED)", "-n", "é→日本", 'it\'s "q"', "`touch PWNED`;x", "l1\nl2", "*", "\\", "#{x}"]


@pytest.fixture
def inside(guests):
    def run(script):
        return guests.inside(script, guests.numbers[100])

    yield run
    run("rm -rf /root/odd /root/PWNED /PWNED /root/kpro; umount /small 2>/dev/null || true")


def test_odd_names_there_and_back(ansible, inside, tmp_path):
    """quote-fetch-path-with-space, quote-fetch-path-injection"""
    import live

    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    data = {name: os.urandom(1000) for name in ODD}
    tasks = [{"name": "d", "ansible.builtin.file": {"path": "/root/odd/a b", "state": "directory"}}]
    for index, name in enumerate(ODD):
        (tmp_path / "from" / str(index)).write_bytes(data[name])
        copy = {"src": str(tmp_path / "from" / str(index)), "dest": live.unsafe(f"/root/odd/a b/{name}")}
        fetch = {"src": live.unsafe(f"/root/odd/a b/{name}"), "dest": str(tmp_path / "to" / str(index)), "flat": True}
        tasks += [{"name": f"c{index}", "ansible.builtin.copy": copy}, {"name": f"f{index}", "ansible.builtin.fetch": fetch}]
    run = ansible.play(ansible.guest("guest"), tasks, timeout=600)
    assert run.rc == 0, run.text
    for index, name in enumerate(ODD):
        assert (tmp_path / "to" / str(index)).read_bytes() == data[name]
    assert inside("ls -A '/root/odd/a b' | wc -l").strip() == str(len(ODD) + 1).encode()  # one name has two lines
    assert inside("find / -xdev -name PWNED | wc -l").strip() == b"0"


def test_empty_files(ansible, inside, tmp_path):
    """stdin-empty-template-file"""
    (tmp_path / "empty").write_text("")
    tasks = [
        {"name": "c", "ansible.builtin.template": {"src": str(tmp_path / "empty"), "dest": "/root/kpro"}},
        {"name": "f", "ansible.builtin.fetch": {"src": "/root/kpro", "dest": str(tmp_path / "back"), "flat": True}},
    ]
    run = ansible.play(ansible.guest("guest"), tasks)
    assert run.rc == 0, run.text
    assert (tmp_path / "back").read_bytes() == b""


@pytest.fixture
def connection(guests):
    """The plugin itself, for what Ansible's modules never do: write straight to a destination."""
    from ansible import constants as C
    from ansible.playbook.play_context import PlayContext

    from ansible_collections.kpro.sglang.plugins.connection import proxmox_pct
    from ansible_collections.kpro.sglang.plugins.doc_fragments import core_ssh

    name = "kpro.sglang.proxmox_pct"
    options = {**core_ssh.core_options(), **yaml.safe_load(proxmox_pct.DOCUMENTATION)["options"]}
    C.config.initialize_plugin_configuration_definitions("connection", name, options)

    def make(case=100, **variables):
        context = PlayContext()
        context.remote_addr = settings.UPLINK_NODE
        plugin = proxmox_pct.Connection(context, None)
        plugin._load_name = name
        known = f"-o UserKnownHostsFile={settings.STATE}/known_hosts -o IdentitiesOnly=yes"
        plugin.set_options(
            var_options={
                "ansible_host": settings.UPLINK_NODE, "ansible_user": "root", "proxmox_vmid": guests.numbers[case],
                "ansible_ssh_private_key_file": f"{settings.STATE}/id_ed25519", "ansible_ssh_common_args": known, **variables,
            }
        )  # fmt: skip
        from ansible.plugins.loader import become_loader

        become = become_loader.get("sudo")
        become.set_options(var_options={})
        plugin.set_become_plugin(become)
        return plugin

    return make


def test_a_full_disk(connection, inside, tmp_path):
    """push-enospc-truncates-silently: a small tmpfs is the full file system"""
    from ansible.errors import AnsibleError

    (tmp_path / "f").write_bytes(os.urandom(3 << 20))
    inside("mkdir -p /small; mount -t tmpfs -o size=1m tmpfs /small; echo old > /small/f")
    with pytest.raises(AnsibleError, match=r"checksum.*No space left on device"):
        connection().put_file(str(tmp_path / "f"), "/small/f")
    assert inside("ls -A /small; cat /small/f") == b"f\nold\n"


def test_what_cannot_be_written_or_read(connection, inside, tmp_path):
    """push-missing-source-rc0, pull-missing-empties-target"""
    from ansible.errors import AnsibleError, AnsibleFileNotFound

    (tmp_path / "f").write_text("x")
    (tmp_path / "old").write_text("old")
    plugin = connection()
    with pytest.raises(AnsibleFileNotFound, match="nope"):
        plugin.put_file(str(tmp_path / "nope"), "/root/kpro")
    with pytest.raises(AnsibleError, match="nonesuch"):
        plugin.put_file(str(tmp_path / "f"), "/root/nonesuch/f")
    with pytest.raises(AnsibleError, match="Is a directory"):
        plugin.put_file(str(tmp_path / "f"), "/root")
    with pytest.raises(AnsibleError, match="Permission denied"):
        connection(proxmox_guest_user="nobody").put_file(str(tmp_path / "f"), "/etc/kpro")
    with pytest.raises(AnsibleError, match="No such file or directory"):
        plugin.fetch_file("/root/nonesuch", str(tmp_path / "old"))
    assert (tmp_path / "old").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["f", "old"]


def test_stopped(connection, tmp_path):
    """push-stopped"""
    from ansible.errors import AnsibleConnectionFailure

    (tmp_path / "f").write_text("x")
    with pytest.raises(AnsibleConnectionFailure, match="not running"):
        connection(101).put_file(str(tmp_path / "f"), "/root/f")


def test_mode_and_owner(connection, inside, tmp_path):
    """push-existing-keeps-mode-owner: as with pct push; before the rename nobody else can read the file"""
    (tmp_path / "f").write_text("new")
    inside("echo old >/root/kpro; chmod 755 /root/kpro; chown 1000 /root/kpro")
    connection().put_file(str(tmp_path / "f"), "/root/kpro")
    assert inside("stat -c '%a %u' /root/kpro; cat /root/kpro") == b"755 1000\nnew"


def test_home_of_another_user(connection, inside, tmp_path):
    """put-home-of-other-user: ``~user`` is a plain name here, and an error; it never hangs"""
    from ansible.errors import AnsibleError

    (tmp_path / "f").write_text("x")
    with pytest.raises(AnsibleError, match="~ansible"):
        connection().put_file(str(tmp_path / "f"), "~ansible/.ansible/tmp/x")


def test_a_banner_is_no_output(connection, guests):
    """ssh-banner-noise: sshd is not made to show one; ssh's own verbose output takes its place on stderr"""
    plugin = connection(ansible_ssh_extra_args="-v", ansible_ssh_args="-o ControlPath=none")
    rc, out, err = plugin.exec_command("echo hi; echo mine >&2")
    assert (rc, out) == (0, b"hi\n")
    assert b"mine\n" in err


def test_many_sizes(connection, tmp_path):
    plugin = connection()
    for size in (0, 1, 65536, 65537, 30_000_000):
        data = os.urandom(size)
        (tmp_path / "f").write_bytes(data)
        plugin.put_file(str(tmp_path / "f"), "/root/kpro-size")
        plugin.fetch_file("/root/kpro-size", str(tmp_path / "g"))
        assert hashlib.sha256((tmp_path / "g").read_bytes()).digest() == hashlib.sha256(data).digest()
    plugin.exec_command("rm /root/kpro-size")
