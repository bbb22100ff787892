"""Every rule proves its cause in a log of its own; every state is told as it is."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.engine import diagnose
from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.index import BY_NAME, RULES

from .cases import CASES, STATES


@pytest.mark.parametrize("name, cause, stage, log", CASES, ids=["%s-%d" % (case[0], place) for place, case in enumerate(CASES)])
def test_rule(name, cause, stage, log):
    diagnosis = diagnose(log.encode())
    rule = BY_NAME[name]
    assert (diagnosis["cause"], diagnosis["stage"]) == (cause, stage)
    assert rule.cause == cause
    proof = diagnosis["evidence"][0]
    assert rule.pattern.search(proof["text"])
    assert proof["text"] in log.split("\n")[proof["line"] - 1]
    assert diagnosis["summary"]


def test_every_rule_has_a_case():
    assert {rule.name for rule in RULES} - {case[0] for case in CASES} == set()


@pytest.mark.parametrize("cause, stage, log, facts", STATES, ids=["%s-%d" % (case[0], place) for place, case in enumerate(STATES)])
def test_state(cause, stage, log, facts):
    diagnosis = diagnose(log if isinstance(log, bytes) else log.encode(), facts=facts)
    assert (diagnosis["cause"], diagnosis["stage"]) == (cause, stage)
