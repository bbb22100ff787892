# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What the state of the launch says when no error explains it, and what the caller's facts add."""

from __future__ import annotations

from .._launch_log.lines import seconds
from .record import remedy
from .report import Finding

#: Seconds without any progress after which a connected NCCL counts as hanging.
HANG = 120
#: Seconds without a new line after which a launch that is alive is worth a remark.
QUIET = 600
_CRASHES = {4: "illegal instruction", 6: "abort", 7: "bus error", 8: "floating point exception", 11: "segmentation fault"}


def signal_of(exit_code):
    """Number of the signal that an exit code stands for, or None. -9 and 137 are the same."""
    if exit_code is None or isinstance(exit_code, bool) or not isinstance(exit_code, int):
        return None
    if exit_code < 0:
        return -exit_code
    return exit_code - 128 if 128 < exit_code < 128 + 65 else None


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
        return _running(scan, context)
    return _on_its_way(scan, context)


def _ended_by_itself(scan, context):
    """A sign of the end without anything that names the cause."""
    if scan.terminal is None or (scan.ready_index is not None and scan.terminal_index < scan.ready_index):
        return None
    number = signal_of(context.facts.get("exit_code"))
    if number in _CRASHES:
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


def _running(scan, context):
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
    if number in _CRASHES:
        return Finding(
            "native_crash",
            stage,
            "The server died of signal %d (%s), and no line explains it." % (number, _CRASHES[number]),
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
            "The server was ready and was then stopped from outside (%s)." % _ended(code, number),
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
        % (" (%s)" % _ended(code, number) if code is not None else ""),
        [scan.tracker.last_line],
        confidence=0.7,
        alternatives=["host_oom_killed", "native_crash"],
    )


def _ended(code, number):
    return "signal %d" % number if number else "exit code %s" % code


def _on_its_way(scan, context):
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
    if number in _CRASHES or facts.get("service_result") == "core-dump":
        return Finding(
            "native_crash",
            stage,
            "The server died in native code (%s), and no line explains it." % (_CRASHES.get(number, "core dump")),
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
            "The launch was stopped from outside in stage %s (%s)." % (stage, _ended(code, number)),
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
    how = " with %s" % _ended(code, number) if code is not None else ""
    return Finding(
        "insufficient_evidence",
        stage,
        "The process is gone%s in stage %s, and the log does not say why." % (how, stage),
        proof,
        confidence=0.75,
        alternatives=["host_oom_killed", "native_crash"],
    )
