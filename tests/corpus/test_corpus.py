"""The diagnosis over the corpus and over real launches (lab), judged by score.py; the same cases in other clothes."""

from __future__ import annotations

import pathlib
import re
import sys

import pytest
import yaml

from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.engine import diagnose
from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.text import readable

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import score  # noqa: E402  pylint: disable=wrong-import-position

CASES = HERE / "cases"
LAB = HERE / "lab"
NAMES = score.case_names(str(CASES))
TRUTHS = score.load_truth(str(CASES))
LAB_TRUTHS = yaml.safe_load((LAB / "truth.yml").read_text(encoding="utf-8"))


def observed(truth):
    """The observations of a case as facts."""
    facts = {}
    if truth["process_alive"] in (True, False):
        facts["process_alive"] = truth["process_alive"]
    if truth.get("gpu_memory_mib") is not None:
        facts["gpu_used_mib"] = truth["gpu_memory_mib"]
    return facts


@pytest.mark.parametrize("with_facts", (False, True), ids=("log", "facts"))
def test_score(with_facts):
    judged, lengths = [], []
    for name, truth in TRUTHS.items():
        answer = diagnose(str(CASES / name / "server.log"), facts=observed(truth) if with_facts else None)
        judged.append(score.judge(truth, answer))
        lengths.append(len(answer["evidence"]))

    def share(column):
        values = [row[column] for row in judged if row[column] is not None]
        return sum(values) / len(values)

    assert len(judged) >= 90
    assert share(0) >= 0.98
    assert share(1) >= 0.95
    assert share(2) >= 0.97
    assert share(3) == 0
    assert sum(lengths) / len(lengths) <= 3


@pytest.mark.parametrize("name", NAMES)
def test_never_names_an_echo(name):
    truth = TRUTHS[name]
    answer = diagnose(str(CASES / name / "server.log"))
    for proof in answer["evidence"][:1]:
        echoes = [echo for echo in truth.get("consequence_lines") or [] if echo in proof["text"]]
        assert not echoes or any(part in proof["text"] for part in truth["evidence"])


@pytest.mark.parametrize("name", NAMES)
def test_readable(name):
    text = readable(diagnose(str(CASES / name / "server.log")), where="server.log")
    assert len(text.split("\n")) <= 12
    assert TRUTHS[name]["cause"] in text or TRUTHS[name].get("acceptable")


def lab_facts(run):
    """What was seen of a run beside its log."""
    result = yaml.safe_load((LAB / run / "result.yml").read_text(encoding="utf-8"))
    facts = {"process_alive": False, "exit_code": result["exit_code"]}
    after = result.get("after_exit") or [{}]
    used = [value for value in after[0].get("gpu_mib") or [] if value >= 0]
    if used:
        facts["gpu_used_mib"] = used
    return facts


@pytest.mark.parametrize("with_facts", (False, True), ids=("log", "facts"))
@pytest.mark.parametrize("run", sorted(LAB_TRUTHS))
def test_lab(run, with_facts):
    truth = LAB_TRUTHS[run]
    answer = diagnose(str(LAB / run / "server.log"), facts=lab_facts(run) if with_facts else None)
    assert answer["cause"] in [truth["cause"]] + truth.get("acceptable", [])
    if "stage" in truth and answer["cause"] == truth["cause"]:
        assert answer["stage"] == truth["stage"]


def carriage_returns(log):
    return log.replace(b"\n", b"\r\n")


def compose(log):
    return b"\n".join(b"sglang-1  | " + line if line.strip() else line for line in log.split(b"\n"))


def container(log):
    return b"\n".join(b"2026-05-04T10:00:00.123456789Z stdout F " + line for line in log.split(b"\n"))


def colours(log):
    return re.sub(rb"(?m)^(\[[^\]\n]*\])", b"\x1b[90m\\1\x1b[0m", log)


def milliseconds(log):
    return re.sub(rb"(?m)^(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", rb"\1.123", log)


def carets(log):
    return re.sub(rb"(\n    [^\n]+)(?=\n  File|\n[A-Z])", rb"\1\n    ^^^^^^~~~~", log)


def holes(log):
    return b"\0" * 4096 + log


def after_a_crash(log):
    crash = (CASES / NAMES[0] / "server.log").read_bytes()
    return (
        crash
        + b"Jul 03 08:05:27 guest systemd[1]: x.service: Scheduled restart job, restart counter is at 1.\nJul 03 08:09:00 guest "
          b"systemd[1]: Started x.service - x.\n"
        + log
    )


@pytest.mark.parametrize(
    "clothe",
    (carriage_returns, compose, container, colours, milliseconds, carets, holes, after_a_crash),
    ids=lambda function: function.__name__,
)
def test_other_clothes(clothe):
    wrong = []
    for name, truth in TRUTHS.items():
        log = (CASES / name / "server.log").read_bytes()
        if not log.strip():
            continue
        cause_right, stage_right, evidence_right, _unused = score.judge(truth, diagnose(clothe(log)))
        if not cause_right or not stage_right or evidence_right is False:
            wrong.append(name)
    assert wrong == []


def test_after_a_healthy_run():
    healthy = next(
        (CASES / name / "server.log").read_bytes()
        for name, truth in TRUTHS.items()
        if truth["cause"] == "no_fault" and truth["stage"] == "serving"
    )
    seen = 0
    for name, truth in TRUTHS.items():
        log = (CASES / name / "server.log").read_bytes()
        if not re.match(rb"(?:\S*launch_server.py:51.*\n.*\n.*\n)?\[[^\]\n]*\] server_args=", log):
            continue
        seen += 1
        answer = diagnose(healthy + log)
        assert answer["cause"] in [truth["cause"]] + score.as_list(truth.get("acceptable")), name
        assert answer["launches"] >= 2
    assert seen > 30
