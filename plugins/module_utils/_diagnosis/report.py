# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""A finding, and the dict of the contract made from it."""

from __future__ import annotations

from .._launch_log.defaults import changed_arguments
from .._launch_log.redact import redact_all
from .causes import CAUSES
from .record import WEAK, remedy

#: Longest text of an evidence line, characters.
TEXT = 600
_VERDICTS = {
    "no_fault": "healthy",
    "still_loading": "loading",
    "stopped_by_operator": "stopped",
    "insufficient_evidence": "unknown",
    "no_log": "unknown",
    "unreadable_log": "unknown",
}
#: Warnings beside which the server goes on.
_BESIDE = ("api_key_missing", "kv_pool_smaller_than_context", "fp8_kv_scale_missing")


class Finding:
    """Cause, stage and proof. evidence: list of Line, the proving one first. match, rule: when a rule found it. ended: an exception ended
    the launch. gone: the process of a healthy launch is gone."""

    def __init__(self, cause, stage, summary, evidence=None, confidence=0.9, remedies=None, alternatives=None, gone=False):
        self.cause = cause
        self.stage = stage
        self.summary = summary
        self.evidence = [line for line in (evidence or []) if line is not None]
        self.confidence = confidence
        self.remedies = remedies
        self.alternatives = alternatives or []
        self.gone = gone
        self.ended = False
        self.match = None
        self.rule = None
        self.needle = None

    @classmethod
    def of_match(cls, match, context, others):
        """The finding of a rule's match."""
        rule = match.rule
        summary = rule.say(match, context) if callable(rule.say) else rule.say or ""
        if not callable(rule.say) and "{" in summary:
            summary = summary.format(**{name: value.strip()[:120] if value is not None else "" for name, value in match.groups.items()})
        finding = cls(match.cause, match.stage, summary, [match.line], rule.confidence, None, list(others))
        finding.remedies = rule.remedies(match, context) if rule.remedies else None
        finding.match = match
        finding.rule = rule
        return finding

    @property
    def weak(self):
        """Whether only an effect that has other causes too was found."""
        return self.rule is not None and self.rule.weight == WEAK

    @property
    def lasting(self):
        return self.rule is not None and self.rule.lasting


def verdict(finding):
    """fault | healthy | loading | stopped | unknown."""
    if finding.cause == "no_fault" and finding.gone:
        return "stopped"
    if finding.cause == "insufficient_evidence" and finding.ended:
        return "fault"
    if finding.cause in _BESIDE:
        return "healthy"
    return _VERDICTS.get(finding.cause, "fault")


def assemble(finding, scan, facts, count, place, secrets):
    """The dict of the contract, redacted."""
    cause = CAUSES[finding.cause]
    tracker = scan.tracker if scan is not None else None
    secrets = list(secrets) + _own_secrets(tracker)
    remedies = finding.remedies
    if remedies is None:
        remedies = [] if finding.cause in ("no_fault", "stopped_by_operator") else [remedy(cause.remedy)]
    result = {
        "verdict": verdict(finding),
        "cause": finding.cause,
        "stage": finding.stage,
        "summary": finding.summary or cause.remedy,
        "evidence": [{"line": line.number, "text": _text(line, finding), "rank": line.rank} for line in finding.evidence[:3]],
        "consequences": _consequences(finding, scan),
        "remedies": remedies[:5],
        "alternatives": _alternatives(finding, cause),
        "confidence": round(finding.confidence, 2),
        "launches": count,
        "launch": {
            "index": place.index if place is not None else None,
            "started_at": tracker.started_at if tracker is not None else None,
            "engine": tracker.engine if tracker is not None else None,
            "version": tracker.version if tracker is not None else None,
            "server_args": changed_arguments(tracker.server_args) if tracker is not None and tracker.server_args else {},
        },
        "capacity": dict(tracker.capacity) if tracker is not None and tracker.capacity else None,
    }
    return redact_all(result, secrets)


def _own_secrets(tracker):
    """Values that the settings line itself gives away."""
    arguments = tracker.server_args if tracker is not None and tracker.server_args else {}
    names = ("api_key", "admin_api_key", "ssl_keyfile_password")
    return [str(arguments[name]) for name in names if isinstance(arguments.get(name), str) and len(arguments[name]) >= 4]


def _text(line, finding):
    """The line, cut around what proves the cause."""
    text = line.text
    if len(text) <= TEXT:
        return text
    middle = 0
    if finding.rule is not None:
        found = finding.rule.pattern.search(text)
        middle = found.start() if found else 0
    begin = max(0, min(middle - TEXT // 3, len(text) - TEXT))
    return ("…" if begin else "") + text[begin : begin + TEXT] + ("…" if begin + TEXT < len(text) else "")


def _consequences(finding, scan):
    if scan is None or finding.cause in ("no_fault", "still_loading"):
        return []
    proofs = {(line.number, line.text) for line in finding.evidence}
    lines = [line for line in scan.echoes if (line.number, line.text) not in proofs]
    root = finding.match.block if finding.match is not None else None
    for block in scan.blocks:
        error = block.last_error
        if error is not None and block is not root and (error.number, error.text) not in proofs:
            lines.append(error)
    lines.sort(key=lambda line: line.number)
    return [{"line": line.number, "text": line.text[:300]} for line in lines[:8]]


def _alternatives(finding, cause):
    names = [name for name in finding.alternatives if name != finding.cause]
    if not names and finding.confidence < 0.85:
        names = [name for name in cause.confused_with if name not in ("no_fault", "still_loading")][:2]
    share = max(0.05, round((1.0 - finding.confidence) / max(1, len(names)), 2)) if names else 0
    return [{"cause": name, "confidence": share} for name in names[:3]]
