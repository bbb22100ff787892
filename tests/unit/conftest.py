"""Shared by all unit tests: the checkout resolvable as ansible_collections.kpro.sglang, and a way to run a module's main()."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTIONS = ROOT / ".collections"
LINK = COLLECTIONS / "ansible_collections" / "kpro" / "sglang"
if not LINK.exists():
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.symlink_to("../../..")
if str(COLLECTIONS) not in sys.path:
    sys.path.insert(0, str(COLLECTIONS))


class ModuleExit(Exception):
    """What a module handed to exit_json or fail_json."""

    def __init__(self, result):
        super().__init__(result.get("msg", ""))
        self.result = result


@pytest.fixture
def run_module(monkeypatch):
    """Return a function (module, args, check=False, diff=False) -> result dict; a failure has ``failed: True`` in it."""
    from ansible.module_utils import basic

    def exit_json(self, **kwargs):
        self.add_path_info(kwargs)
        raise ModuleExit(json.loads(json.dumps({"changed": False, **kwargs, "failed": kwargs.get("failed", False)})))

    def fail_json(self, msg, **kwargs):
        raise ModuleExit(json.loads(json.dumps({**kwargs, "msg": msg, "failed": True})))

    monkeypatch.setattr(basic.AnsibleModule, "exit_json", exit_json)
    monkeypatch.setattr(basic.AnsibleModule, "fail_json", fail_json)

    def run(module, args, check=False, diff=False):
        full = dict(args, _ansible_check_mode=check, _ansible_diff=diff, _ansible_remote_tmp="/tmp", _ansible_keep_remote_files=False)
        monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": full}).encode())
        if hasattr(basic, "_ANSIBLE_PROFILE"):
            monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy")
        try:
            module.main()
        except ModuleExit as done:
            return done.result
        raise AssertionError("the module returned without exit_json or fail_json")

    return run
