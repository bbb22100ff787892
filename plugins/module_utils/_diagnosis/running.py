# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""A launch that was ready or served: healthy, degenerate, or gone."""

from __future__ import annotations

from .ends import CRASHES, how_ended, signal_of
from .record import remedy
from .report import Finding


def running(scan, context):
    """What a launch that was ready shows: acceptance, refused clients, or nothing wrong."""
    tracker, facts = scan.tracker, context.facts
    stage = "serving" if tracker.stage in ("serving", "shutdown") or not tracker.ready else "ready"
    accept = scan.accept
    proof = tracker.ready_line or tracker.work_line or tracker.last_line
    if accept.low_run >= 2 and accept.good:
        return Finding(
            "mtp_degenerate_output",
            "serving",
            "Speculative decoding worked and then its acceptance fell to about nothing and stayed there: the output has become "
            "incoherent.",
            accept.low[:2],
            confidence=0.85,
            remedies=[
                remedy(
                    "Switch speculative decoding off, restart and check with a request whose answer is known",
                    context.flag("speculative-algorithm"),
                    "remove",
                )
            ],
        )
    if accept.low_run >= 3 and not accept.good:
        return Finding(
            "invalid_speculative_config",
            "serving",
            "No drafted token was ever accepted: draft model and algorithm do not fit the model.",
            accept.low[:2],
            confidence=0.85,
            remedies=[
                remedy(
                    "Set --speculative-algorithm and --speculative-draft-model-path to a pair meant for this model",
                    "--speculative-algorithm",
                    "set",
                ),
                remedy("Or drop the speculative options", "--speculative-algorithm", "remove"),
            ],
        )
    if scan.refused >= 3 and scan.refused > 2 * scan.work:
        return Finding(
            "api_key_missing",
            stage,
            "The server demands an API key and answers requests without it with 401; it is healthy itself.",
            scan.refused_lines[:2],
            confidence=0.85,
            remedies=[remedy("Give the client or probe the server's API key")],
        )
    if facts.get("process_alive") is False or "exit_code" in facts:
        return _running_gone(scan, context, stage, proof)
    return Finding(
        "no_fault", stage, "The server is ready%s." % (" and serves requests" if stage == "serving" else ""), [proof], confidence=0.95
    )


def _running_gone(scan, context, stage, proof):
    facts = context.facts
    code = facts.get("exit_code")
    number = signal_of(code)
    if number in CRASHES:
        return Finding(
            "native_crash",
            stage,
            "The server died of signal %d (%s), and no line explains it." % (number, CRASHES[number]),
            [scan.tracker.last_line],
            confidence=0.8,
        )
    if facts.get("service_result") == "core-dump":
        return Finding(
            "native_crash",
            stage,
            "The server died with a core dump, and no line explains it.",
            [scan.tracker.last_line],
            confidence=0.8,
        )
    if number == 1:
        return Finding(
            "killed_by_session_end",
            "shutdown",
            "The server was ended by SIGHUP: its login session or terminal ended.",
            [scan.tracker.last_line],
            confidence=0.8,
        )
    if number in (2, 15) or code == 0:
        return Finding(
            "stopped_by_operator",
            "shutdown",
            "The server was ready and was then stopped from outside (%s)." % how_ended(code, number),
            [scan.tracker.last_line],
            confidence=0.7,
        )
    leaked = scan.tracker.last_line is not None and "resource_tracker" in scan.tracker.last_line.text
    if number == 9 or (code is None and (leaked or "resource_tracker: There appear" in scan.tracker.last_line.text)):
        return Finding(
            "no_fault",
            stage,
            "The server was ready and no fault is in the log; it was ended from outside%s." % (" by SIGKILL" if number == 9 else ""),
            [proof],
            confidence=0.7,
            gone=True,
            alternatives=["host_oom_killed", "killed_by_session_end"] if facts.get("oom_killed") is None else ["killed_by_session_end"],
        )
    return Finding(
        "insufficient_evidence",
        stage,
        "The server was ready and its process is gone now%s; the log does not say why."
        % (" (%s)" % how_ended(code, number) if code is not None else ""),
        [scan.tracker.last_line],
        confidence=0.7,
        alternatives=["host_oom_killed", "native_crash"],
    )
