# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""A launch that has not become ready yet: on its way, standing still, or gone."""

from __future__ import annotations

from .._launch_log.lines import seconds
from .ends import CRASHES, how_ended, signal_of
from .record import remedy
from .report import Finding

#: Seconds without any progress after which a connected NCCL counts as hanging.
HANG = 120
#: Seconds without a new line after which a launch that is alive is worth a remark.
QUIET = 600


def on_its_way(scan, context):
    """What a launch without the ready line and without an error is: loading, standing still, or gone."""
    tracker, facts = scan.tracker, context.facts
    stage = tracker.stage
    lines = _progress(tracker)
    hang = _hang(scan, context)
    alive = facts.get("process_alive")
    if alive is False or ("exit_code" in facts and alive is not True):
        return _start_gone(scan, context, stage, lines)
    if hang is not None:
        return hang
    age = facts.get("log_age")
    finding = Finding(
        "still_loading",
        stage,
        "The launch is on its way in stage %s%s; no error so far."
        % (stage, " (%s)" % tracker.progress if tracker.progress and tracker.stage in ("weights_load", "cuda_graph") else ""),
        lines,
        confidence=0.9,
    )
    if age is not None and age >= QUIET:
        finding.summary = "The launch is in stage %s and has written nothing for %d s; no error so far." % (stage, age)
        finding.confidence = 0.5
        finding.alternatives = (
            ["nccl_p2p_hang", "scheduler_hang_watchdog"] if stage == "distributed_init" else ["scheduler_hang_watchdog", "disk_full"]
        )
    return finding


def _progress(tracker):
    lines = []
    if (
        tracker.progress_line is not None
        and tracker.last_line is not None
        and tracker.last_line.number - tracker.progress_line.number <= 2
    ):
        lines.append(tracker.progress_line)
    marks = [line for line in tracker.marks if not line.progress]
    if marks:
        lines.append(marks[-1])
    if not lines and tracker.last_line is not None:
        lines.append(tracker.last_line)
    return lines[:3]


def _hang(scan, context):
    """NCCL connected its peers and nothing has moved since."""
    tracker, facts = scan.tracker, context.facts
    if tracker.stage != "distributed_init":
        return None
    begin, last = None, None
    if scan.p2p is not None and scan.p2p_index >= scan.last_mark_index:
        begin = scan.p2p_time
        last = seconds(tracker.last_line.time) if tracker.last_line is not None else None
    waited = last - begin if begin is not None and last is not None else 0
    age = facts.get("log_age") or 0
    tp = context.tp_size or 0
    connected = scan.p2p is not None or (tracker.marks and "using nccl" in tracker.marks[-1].body)
    if connected and (waited >= HANG or age >= HANG) and (scan.p2p is not None or tp > 1 or tp == 0):
        line = scan.p2p or tracker.marks[-1]
        return Finding(
            "nccl_p2p_hang",
            "distributed_init",
            "NCCL connected the GPUs and nothing has moved for %d s since." % max(waited, age),
            [line],
            confidence=0.75,
            alternatives=["still_loading"],
            remedies=[
                remedy(
                    "Start with NCCL_P2P_DISABLE=1 and --disable-custom-all-reduce",
                    "NCCL_P2P_DISABLE",
                    "set",
                    "1",
                    "Peer-to-peer over PCIe fails behind an IOMMU or access control.",
                ),
                remedy("Or correct IOMMU and ACS on the node"),
            ],
        )
    return None


def _start_gone(scan, context, stage, lines):
    facts = context.facts
    code = facts.get("exit_code")
    number = signal_of(code)
    last = [scan.tracker.last_line] if scan.tracker.last_line is not None else []
    proof = lines or last
    if number in CRASHES or facts.get("service_result") == "core-dump":
        return Finding(
            "native_crash",
            stage,
            "The server died in native code (%s), and no line explains it." % (CRASHES.get(number, "core dump")),
            proof,
            confidence=0.8,
        )
    if facts.get("service_result") == "timeout":
        return Finding(
            "start_timeout_by_supervisor",
            stage,
            "The service manager gave up waiting and ended a server that was still starting.",
            proof,
            confidence=0.85,
            remedies=[remedy("Give the start more time", "TimeoutStartSec", "raise")],
        )
    if number == 1:
        return Finding(
            "killed_by_session_end",
            "shutdown",
            "The launch was ended by SIGHUP: its login session or terminal ended.",
            proof,
            confidence=0.8,
        )
    if number in (2, 15):
        return Finding(
            "stopped_by_operator",
            "shutdown",
            "The launch was stopped from outside in stage %s (%s)." % (stage, how_ended(code, number)),
            proof,
            confidence=0.7,
        )
    if number == 9 and facts.get("oom_killed") is None:
        return Finding(
            "insufficient_evidence",
            stage,
            "The launch was ended by SIGKILL in stage %s without an error of its own: by somebody, or by the kernel for lack of memory."
            % stage,
            proof,
            confidence=0.6,
            alternatives=["host_oom_killed"],
            remedies=[
                remedy(
                    "Look for an out-of-memory record (dmesg, journalctl -k); if there is one, raise the memory limit of the container"
                )
            ],
        )
    if number == 9:
        return Finding(
            "insufficient_evidence",
            stage,
            "The launch was ended from outside by SIGKILL in stage %s; there is no out-of-memory record and no error." % stage,
            proof,
            confidence=0.8,
        )
    how = " with %s" % how_ended(code, number) if code is not None else ""
    return Finding(
        "insufficient_evidence",
        stage,
        "The process is gone%s in stage %s, and the log does not say why." % (how, stage),
        proof,
        confidence=0.75,
        alternatives=["host_oom_killed", "native_crash"],
    )
