"""The documentation fragment with the options of core's own ssh plugin."""

from __future__ import annotations

import yaml
from ansible.plugins.connection import ssh

from ansible_collections.kpro.sglang.plugins.doc_fragments import core_ssh

CORE = yaml.safe_load(ssh.DOCUMENTATION)["options"]
OURS = yaml.safe_load(core_ssh.ModuleDocFragment.DOCUMENTATION)["options"]


def test_every_option_of_the_installed_core_with_every_source():
    assert set(OURS) == set(CORE)
    for name, option in CORE.items():
        for source in ("vars", "ini", "env", "cli", "keyword"):
            names = [entry.get("name") or (entry["section"], entry["key"]) for entry in option.get(source, [])]
            assert [entry.get("name") or (entry["section"], entry["key"]) for entry in OURS[name].get(source, [])] == names


def test_two_defaults_differ():
    different = {name for name in CORE if CORE[name].get("default") != OURS[name].get("default")}
    assert different == {"ssh_args", "reconnection_retries"}
    assert "-C" not in OURS["ssh_args"]["default"].split()
    for word in ("ControlMaster=auto", "ControlPersist=60s", "ServerAliveInterval=15"):
        assert word in OURS["ssh_args"]["default"].split()
    assert OURS["reconnection_retries"]["default"] == 3


def test_core_s_version_numbers_are_not_ours():
    assert "version_added" not in core_ssh.ModuleDocFragment.DOCUMENTATION
