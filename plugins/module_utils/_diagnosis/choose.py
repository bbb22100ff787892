# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Choosing the root among everything that matched: what the kernel recorded, else the earliest exception, never its echo."""

from __future__ import annotations

import re

from .frames import stage_of_frames
from .record import RECORD, WEAK
from .report import Finding

#: Exceptions that only pass on that something else failed.
_PASSED_ON = re.compile(
    r"EOFError|BrokenPipeError|SystemExit|.*scheduler died during initialization|.*Initialization failed|(?:\w+\.)*ChildProcessError|"
    r"(?:\w+\.)*(?:EngineDead|EngineCoreDead)Error|"
    r"(?:\w+\.)*(?:CancelledError|ProcessRaisedException|ChildFailedError|RayTaskError|RayActorError)|RuntimeError: Engine (?:core|"
    r"process)|.*NCCL (?:error|Error)\b.*(?:unhandled system error|unhandled cuda error|internal error)|"
    r"ConnectionResetError|ConnectionRefusedError|TimeoutError: warm"
)


def choose(scan, context):
    """The Finding that explains the end or the trouble of the launch, or None."""
    candidates = [match for name in scan.matches for match in scan.matches[name] if _counts(match, scan, context)]
    unmatched = _unmatched(scan, candidates)
    if not candidates:
        return _unknown(unmatched, scan) if unmatched is not None else None
    best = min(candidates, key=_order)
    if unmatched is not None and best.rule.weight != RECORD:
        earlier = unmatched.index < best.position
        if earlier and (best.rule.weight == WEAK or (unmatched.fatal and best.block is not None)):
            return _unknown(unmatched, scan)
    return Finding.of_match(best, context, _others(best, candidates))


def _order(match):
    rule = match.rule
    return (-rule.weight, match.position, -rule.strength, match.index)


def _counts(match, scan, context):
    """Whether the match can be a cause: not followed by readiness or by work as usual, and its own conditions hold."""
    rule = match.rule
    if not rule.lasting:
        if scan.ready_index is not None and scan.ready_index > match.index and rule.weight != RECORD:
            return False
        if scan.ready_index is not None and scan.ready_index > match.index and not context.died:
            return False
        announced = match.block is not None and match.block.fatal
        ended = (
            scan.ended_after(match.index)
            if match.block is None
            else (announced or scan.terminal_index is not None and scan.terminal_index > match.index)
        )
        after = scan.work - match.work_before
        if after >= 3 and not ended:
            return False
        if (
            match.ready_before
            and after >= 1
            and not announced
            and not (scan.terminal_index is not None and scan.terminal_index > match.index)
        ):
            return False
        if match.block is None and not rule.ends and not ended and not context.died:
            return False
        if (
            match.block is not None
            and match.ready_before
            and not announced
            and scan.terminal_index is None
            and not context.died
            and rule.weight != RECORD
            and _of_request(match.block)
        ):
            return False
    if rule.lasting and scan.work - match.work_before >= 20 and rule.cause in ("fd_limit", "chat_template_missing"):
        return False
    return rule.when is None or bool(rule.when(match, context))


def _of_request(block):
    """An exception that ended one request and not the server."""
    return any(
        "/uvicorn/" in path or "/starlette/" in path or "/fastapi/" in path or "/openai/" in path
        for path, _unused, _unused2 in block.frames[:12]
    )


def _unmatched(scan, candidates):
    """The first exception that ends the launch and that no candidate explains, or None."""
    explained = {id(match.block) for match in candidates if match.block is not None}
    for block in scan.blocks:
        if id(block) in explained or (scan.ready_index is not None and scan.ready_index > block.index):
            continue
        error = block.last_error
        if error is not None and (_PASSED_ON.match(error.body) or error.body.startswith("KeyboardInterrupt")):
            continue
        if error is None and not block.frames:
            continue
        after_ready = scan.ready_index is not None or block.stage in ("ready", "serving")
        ended = scan.terminal_index is not None and scan.terminal_index >= block.index
        if after_ready and not (block.fatal or ended):
            continue
        if (
            not after_ready
            and not block.fatal
            and not ended
            and scan.last_mark_index > block.index + len(block.frames) * 2 + len(block.message) + 2
        ):
            continue
        if (
            not block.begun
            and error is not None
            and not block.frames
            and not ended
            and not block.fatal
            and scan.last_mark_index > block.index
        ):
            continue
        return block
    return None


def _unknown(block, scan):
    error = block.last_error
    stage = stage_of_frames(block.ordered_frames, scan.ready_index is not None and scan.ready_index < block.index) or block.stage
    finding = Finding("insufficient_evidence", stage, "", confidence=0.6)
    if error is not None:
        finding.summary = "The launch ended with an exception that no rule knows."
        finding.evidence = [error]
        finding.ended = True
    else:
        finding.summary = "The log stops inside a traceback, before the line that would name the cause."
        finding.evidence = [block.header or block.first]
        finding.confidence = 0.8
    return finding


def _others(best, candidates):
    causes = []
    for match in sorted(candidates, key=_order):
        if match.cause != best.cause and match.cause not in causes:
            causes.append(match.cause)
    return causes[:3]
