"""Ansible's own modules in a guest that has no SSH, through the connection plugin."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("method", ["pct", "lxc-attach"])
def test_ansible_s_own_modules(ansible, tmp_path, method):
    guest = ansible.guest("guest", proxmox_pct_method=method)
    (tmp_path / "t.j2").write_text("é {{ inventory_hostname }}\n")
    tasks = [
        {"name": "wait", "ansible.builtin.wait_for_connection": {"timeout": 60}},
        {"name": "facts", "ansible.builtin.setup": {"gather_subset": ["!all", "distribution", "virtual"]}},
        {"name": "command", "ansible.builtin.command": {"argv": ["printf", "%s", "é $(id)"]}},
        {"name": "shell", "ansible.builtin.shell": "cat; exit 255", "failed_when": False},
        {"name": "raw", "ansible.builtin.raw": "printf 'a\\0b'; exit 254", "failed_when": False},
        {"name": "copy", "ansible.builtin.copy": {"content": "x\n", "dest": f"/root/{method}", "mode": "0640"}},
        {"name": "again", "ansible.builtin.copy": {"content": "x\n", "dest": f"/root/{method}", "mode": "0640"}},
        {"name": "template", "ansible.builtin.template": {"src": str(tmp_path / "t.j2"), "dest": "/root/t"}},
        {"name": "slurp", "ansible.builtin.slurp": {"src": "/root/t"}},
        {"name": "service", "ansible.builtin.systemd_service": {"name": "systemd-journald.service", "state": "started"}},
        {"name": "package", "ansible.builtin.dpkg_selections": {"name": "bash", "selection": "install"}},
        {"name": "user", "ansible.builtin.user": {"name": "sglang", "shell": "/bin/bash"}},
        {"name": "async", "ansible.builtin.command": "sleep 1", "async": 30, "poll": 1},
        {"name": "become", "ansible.builtin.command": "id -un", "become": True, "become_user": "sglang", "become_method": "su"},
        {"name": "inside", "ansible.builtin.command": "id -un", "vars": {"proxmox_guest_user": "sglang"}},
        {"name": "home", "ansible.builtin.command": "pwd", "vars": {"proxmox_guest_user": "sglang"}},
        {"name": "reset", "ansible.builtin.meta": "reset_connection"},
        {"name": "plain", "ansible.builtin.command": "echo hi", "vars": {"ansible_pipelining": False}},
        {"name": "big", "ansible.builtin.shell": "head -c 4000000 /dev/zero | tr '\\0' e >&2; echo done"},
    ]
    run = ansible.play(guest, tasks, timeout=600)
    assert run.rc == 0, run.text
    assert run.of("facts")["ansible_facts"]["ansible_distribution"] == "Debian"
    assert run.of("command")["stdout"] == "é $(id)"
    assert (run.of("shell")["rc"], run.of("shell")["stdout"]) == (255, "")
    assert (run.of("raw")["rc"], run.of("raw")["stdout"]) == (254, "a\0b"), run.of("raw")
    assert run.of("copy")["changed"]
    assert not run.of("again")["changed"]
    assert run.of("slurp")["content"] == "w6kgZ3Vlc3QK"
    assert not run.of("package")["changed"]
    assert run.of("become")["stdout"] == "sglang"
    assert (run.of("inside")["stdout"], run.of("home")["stdout"]) == ("sglang", "/home/sglang")
    assert run.of("plain")["stdout"] == "hi"
    assert len(run.of("big")["stderr"]) == 4000000


def test_sudo_rights_for_pct_are_enough(ansible, guests):
    """The login on the node is an operator; sudo is a double (live.py) that lets it run pct and nothing else."""
    import live

    guests.sh("touch /etc/kpro-sudoers")
    variables = {"ansible_user": live.LOGIN, "proxmox_node_become": True}
    ansible.guest("allowed", **variables)
    ansible.guest("not_asked", ansible_user=live.LOGIN)
    tasks = [{"name": "x", "ansible.builtin.command": "id -un"}, {"name": "y", "ansible.builtin.copy": {"content": "é", "dest": "/root/é"}}]
    run = ansible.play("allowed:not_asked", tasks)
    assert run.of("x", "allowed")["stdout"] == "root"
    assert run.of("y", "allowed")["changed"]
    assert run.status("x", "not_asked") == "unreachable"
    assert "please run as root" in run.of("x", "not_asked")["msg"]
    guests.sh("rm /etc/kpro-sudoers")
    run = ansible.play("allowed", tasks)
    assert run.status("x") == "unreachable"
    assert "sudo: a password is required" in run.of("x")["msg"]
