# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What the state of the launch says when no error explains it, and what the caller's facts add."""

from __future__ import annotations

from .ends import CRASHES, signal_of
from .record import remedy
from .report import Finding
from .running import running
from .starting import on_its_way


def nothing_written(facts):
    """A log without a word."""
    if facts.get("process_alive") is False or "exit_code" in facts:
        code = facts.get("exit_code")
        text = "The launch wrote nothing and no process of it exists"
        if code is not None:
            text += "; it ended with exit code %s" % code
            if code == 203:
                text += " (systemd could not execute the command)"
        if facts.get("oom_killed") or facts.get("service_result") == "oom-kill":
            return Finding(
                "host_oom_killed", "launch", "The launch was ended for lack of memory before it wrote anything.", confidence=0.8
            )
        return Finding("launch_never_started", "launch", text + ".", confidence=0.9)
    return Finding("no_log", "launch", "The log is empty: nothing can be said about the server.", confidence=0.95)


def weigh(finding, scan, context):
    """The final Finding: an error that was found, or what the state says."""
    tracker, facts = scan.tracker, context.facts
    killed = facts.get("oom_killed") is True or facts.get("service_result") == "oom-kill"
    if killed and (finding is None or finding.weak or (finding.cause == "insufficient_evidence" and not finding.ended)):
        line = finding.evidence[0] if finding is not None and finding.evidence else tracker.last_line
        stage = finding.stage if finding is not None else tracker.stage
        return Finding(
            "host_oom_killed",
            stage,
            "The kernel ended the server for lack of host or container memory.",
            [line],
            confidence=0.95,
            remedies=[remedy("Raise the memory limit of the container (or add swap for the load)", None, "raise", None, None)],
        )
    if finding is not None and finding.cause == "insufficient_evidence" and scan.interrupted is not None and not finding.ended:
        finding = None
    if finding is not None and finding.cause == "fp8_kv_scale_missing" and not tracker.ready:
        finding = None
    if finding is not None and not (
        finding.lasting and scan.stopping and finding.cause in ("scheduler_stalled", "fp8_kv_scale_missing", "chat_template_missing")
    ):
        return finding
    stopped = _stopped(scan, context)
    if stopped is not None:
        return stopped
    ended = _ended_by_itself(scan, context)
    if ended is not None:
        return ended
    if tracker.ready or tracker.stage in ("ready", "serving") or (scan.work and not tracker.front_end):
        return running(scan, context)
    return on_its_way(scan, context)


def _ended_by_itself(scan, context):
    """A sign of the end without anything that names the cause."""
    if scan.terminal is None or (scan.ready_index is not None and scan.terminal_index < scan.ready_index):
        return None
    number = signal_of(context.facts.get("exit_code"))
    if number in CRASHES:
        return None
    stage = scan.tracker.stage
    failed = [
        block.last_error
        for block in scan.blocks
        if block.last_error is not None and (scan.ready_index is None or block.index > scan.ready_index)
    ]
    finding = Finding(
        "insufficient_evidence",
        stage,
        "The launch ended in stage %s, and nothing in the log names the cause." % stage,
        [failed[-1] if failed else scan.terminal],
        confidence=0.7,
        alternatives=["host_oom_killed", "native_crash"],
    )
    finding.ended = True
    return finding


def _stopped(scan, context):
    tracker = scan.tracker
    if scan.interrupted is not None and (scan.ready_index is None or scan.interrupted.index > scan.ready_index):
        return Finding(
            "stopped_by_operator",
            "shutdown",
            "The launch was interrupted from the keyboard (Ctrl-C).",
            [scan.interrupted.last_error],
            confidence=0.9,
        )
    if scan.stopping or scan.stop_done is not None or (scan.stop_job is not None and tracker.stage == "shutdown"):
        lines = [line for line in (scan.stop_job, scan.stop_asked, scan.stop_done) if line is not None][:3]
        return Finding(
            "stopped_by_operator",
            "shutdown",
            "The server was stopped in an orderly way on request.",
            lines,
            confidence=0.95 if scan.stop_job else 0.85,
        )
    return None
