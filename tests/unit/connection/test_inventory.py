"""The inventories of docs/connection.md, as they stand there."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
BLOCKS = re.findall(r"```yaml\n# (\S+)\n(.*?)```", (ROOT / "docs" / "connection.md").read_text(encoding="utf-8"), re.S)
FILES = dict(BLOCKS)

# Two guests as the API inventory of community.proxmox describes them: a double of its answers, everything after them is Ansible's own code.
API = {
    "all": {
        "hosts": {
            "chat": {"proxmox_node": "kpro5", "proxmox_vmid": 129, "proxmox_vmtype": "lxc", "proxmox_tags_parsed": ["gpu", "sglang"]},
            "code": {"proxmox_node": "kpro6", "proxmox_vmid": 130, "proxmox_vmtype": "lxc", "proxmox_tags_parsed": ["sglang"]},
        }
    }
}


@pytest.fixture
def show(tmp_path):
    """Return a function (hosts) -> {host: {variable: value after templating}}, the inventory being what lies in the folder."""

    def run(*names):
        wanted = "ansible_connection ansible_host ansible_user ansible_port proxmox_vmid proxmox_node group_names".split()
        values = "{{ {" + ", ".join(f"'{name}': {name}" for name in wanted) + "} | to_json }}"
        tasks = [{"copy": {"content": values, "dest": str(tmp_path / "{{ inventory_hostname }}.out")}, "delegate_to": "localhost"}]
        (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": ",".join(names), "gather_facts": False, "tasks": tasks}]))
        program = pathlib.Path(sys.executable).with_name("ansible-playbook")
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"), "ANSIBLE_LOCALHOST_WARNING": "false"}
        (tmp_path / "ansible.cfg").write_text("[defaults]\n")
        done = subprocess.run(
            [str(program), "-i", "inventory", "play.yml", "-e", "ansible_python_interpreter=" + sys.executable],
            cwd=tmp_path, env={**environment, "ANSIBLE_CONFIG": "ansible.cfg"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return {name: json.loads((tmp_path / f"{name}.out").read_text()) for name in names}

    (tmp_path / "inventory" / "group_vars").mkdir(parents=True)
    (tmp_path / "inventory" / "group_vars" / "sglang.yml").write_text(FILES["group_vars/sglang.yml"])
    return run


def test_guests_on_two_nodes(show, tmp_path):
    (tmp_path / "inventory" / "hosts.yml").write_text(FILES["hosts.yml"])
    shown = show("sglang129", "sglang130")
    one, two = shown["sglang129"], shown["sglang130"]
    assert one["ansible_connection"] == "kpro.sglang.proxmox_pct"
    assert (one["ansible_host"], one["ansible_user"], str(one["ansible_port"]), one["proxmox_vmid"]) == ("192.0.2.5", "root", "22", 129)
    assert (two["ansible_host"], two["ansible_user"], two["proxmox_vmid"]) == ("192.0.2.6", "operator", 130)


def test_guests_from_the_api(show, tmp_path):
    nodes = {"all": {"children": {"proxmox_nodes": yaml.safe_load(FILES["hosts.yml"])["all"]["children"]["proxmox_nodes"]}}}
    dynamic = yaml.safe_load(FILES["guests.proxmox.yml"])
    constructed = {"plugin": "ansible.builtin.constructed", "strict": True, **{key: dynamic[key] for key in ("compose", "keyed_groups")}}
    # In the API's inventory every host is a guest; here the nodes are in the same source, and have no number.
    constructed["groups"] = {"sglang": "proxmox_vmid is defined" if dynamic["groups"]["sglang"] is True else dynamic["groups"]["sglang"]}
    for key, expression in constructed["compose"].items():
        constructed["compose"][key] = f"({expression}) if {key} is defined else ''"
    for group in constructed["keyed_groups"]:
        group["key"] = f"({group['key']}) if proxmox_vmid is defined else []"
    (tmp_path / "inventory" / "1-nodes.yml").write_text(yaml.safe_dump(nodes))
    (tmp_path / "inventory" / "2-api.yml").write_text(yaml.safe_dump(API))
    (tmp_path / "inventory" / "3-constructed.yml").write_text(yaml.safe_dump(constructed))
    shown = show("chat", "code")
    assert shown["chat"]["proxmox_node"] == "kpro5-node"
    assert shown["chat"]["ansible_host"] == "192.0.2.5"
    assert set(shown["chat"]["group_names"]) == {"sglang", "kpro5"}
    assert (shown["code"]["ansible_host"], shown["code"]["ansible_user"], shown["code"]["proxmox_vmid"]) == ("192.0.2.6", "operator", 130)
    assert set(shown["code"]["group_names"]) == {"sglang", "kpro6"}


def test_the_filters_are_expressions_that_the_api_s_guests_pass():
    from jinja2 import Environment

    for expression in yaml.safe_load(FILES["guests.proxmox.yml"])["filters"]:
        condition = Environment().compile_expression(expression)
        assert all(condition(**guest) for guest in API["all"]["hosts"].values())
        assert not condition(proxmox_vmtype="qemu")
