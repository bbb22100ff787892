"""The rules and causes that are shipped are those that are there, and fit the contract."""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys

import pytest
import yaml

from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis import rules as package
from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.causes import CAUSES
from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.index import BY_NAME, RULES
from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.markers import STAGES

ROOT = pathlib.Path(__file__).resolve().parents[3]
CONTRACT = {cause["id"]: cause for cause in yaml.safe_load((ROOT / "tests" / "corpus" / "causes.yml").read_text(encoding="utf-8"))}
#: Shown by the state of a launch or by the caller's facts, not by a line.
BY_STATE = {
    "no_fault",
    "still_loading",
    "insufficient_evidence",
    "no_log",
    "unreadable_log",
    "stopped_by_operator",
    "launch_never_started",
    "nccl_p2p_hang",
    "mtp_degenerate_output",
    "api_key_missing",
}


def test_every_file_of_rules_is_in_the_index():
    folder = pathlib.Path(package.__file__).parent
    indexed = {id(rule) for rule in RULES}
    files = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    assert files
    for name in files:
        module = importlib.import_module(package.__name__ + "." + name)
        assert {id(rule) for rule in module.RULES} <= indexed, name


def test_names_are_unique():
    assert len(BY_NAME) == len(RULES)


def test_every_cause_can_be_found():
    assert {rule.cause for rule in RULES} | BY_STATE == set(CONTRACT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_fits_the_contract(rule):
    assert rule.cause in CAUSES
    assert rule.say and rule.source
    assert rule.stage is None or rule.stage in STAGES
    assert set(rule.stages or ()) <= set(STAGES)
    assert 0 < rule.confidence < 1


def test_causes_are_those_of_the_contract():
    assert set(CAUSES) == set(CONTRACT)
    for name, cause in CAUSES.items():
        wanted = CONTRACT[name]
        assert (cause.group, cause.severity, list(cause.stages), list(cause.confused_with)) == (
            wanted["group"],
            wanted["severity"],
            wanted["stages"],
            wanted.get("confused_with", []),
        )
        assert " ".join(cause.remedy.split()) == " ".join(wanted["remedy"].split())


def test_the_page_of_causes_is_up_to_date():
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate_causes.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
