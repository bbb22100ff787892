# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about the process itself: addresses, native crashes, sessions, supervisors."""

from __future__ import annotations

import re

from .. import remedies_general as fix
from ..record import ANY, LOG, WEAK, Rule

_INTERNAL = re.compile(r"zmq|rendezvous|TCPStore|distributed_c10d|pynccl|bootstrap")


def _not_internal(match, context):
    return match.block is None or not any(_INTERNAL.search(path) for path, _unused, _unused2 in match.block.frames)


RULES = (
    Rule(
        "http-port",
        "port_in_use",
        r"error while attempting to bind on address (?P<address>\(.*?\)): .*(?:in use|\[Errno 98\])|"
        r"\[Errno 98\] error while attempting to bind on address (?P<address2>\(.*?\))",
        scope=ANY,
        strength=8,
        ends=True,
        stage="ready",
        fixed=True,
        lasting=True,
        remedies=fix.port,
        say="The HTTP address is taken by another process.",
        source="uvicorn through asyncio",
    ),
    Rule(
        "listen-port",
        "port_in_use",
        r"OSError: \[Errno 98\]|\[Errno 98\] Address already in use|Address already in use \(os error 98\)|"
        r"bind: address already in use|Port (?P<port>\d+) is already in use",
        scope=ANY,
        when=_not_internal,
        strength=5,
        stage="ready",
        stages=("launch", "ready", "warmup", "serving"),
        remedies=fix.port,
        ends=True,
        unless=r"EADDRINUSE|dist_init_port|bootstrap_port|NCCL|TCPStore",
        say="An address on which the server is to listen is taken by another process.",
        source="sockets of HTTP, gRPC and metrics listeners",
    ),
    Rule(
        "native",
        "native_crash",
        r"Segmentation fault|Fatal Python error: |Segfault encountered|\(core dumped\)|SIGSEGV|SIGABRT|SIGILL|Illegal instruction|"
        r"terminate called after throwing|double free or corruption|"
        r"(?:died during initialization \(exit code: |crashed with exit code |^Exit code: |terminated with )-(?:11|6|4|7|8)\b",
        scope=ANY,
        weight=WEAK,
        ends=True,
        strength=3,
        stage="serving",
        unless=r"[Bb]us error",
        say="A server process died in native code, and nothing before it names a cause.",
        source="kernel, faulthandler, shell, engine.py",
    ),
    Rule(
        "core-dump-status",
        "native_crash",
        r"Main process exited, code=dumped|Failed with result 'core-dump'",
        scope=LOG,
        weight=WEAK,
        ends=True,
        strength=2,
        stage="serving",
        say="The main process died in native code (core dump), and nothing before it names a cause.",
        source="systemd",
    ),
    Rule(
        "supervisor-timeout",
        "start_timeout_by_supervisor",
        r"start operation timed out\. Terminating|start-post operation timed out|did not become (?:healthy|ready)\b.*within|"
        r"Failed with result 'timeout'|Timed? ?out waiting for .*(?:ready|healthy)",
        scope=LOG,
        weight=WEAK,
        ends=True,
        strength=4,
        stage="shutdown",
        stages=(
            "weights_load",
            "memory_pool",
            "attention_backend",
            "cuda_graph",
            "warmup",
            "distributed_init",
            "tokenizer",
            "launch",
            "shutdown",
        ),
        unless=r"stop-sig",
        when=lambda match, context: not context.tracker.ready,
        remedies=fix.start_timeout,
        say="The service manager or deployer gave up waiting and ended a server that was still starting.",
        source="systemd and deploy scripts",
    ),
    Rule(
        "session-end",
        "killed_by_session_end",
        r"SIGHUP\b|(?:^|: line \d+: +\d+ )Hangup\b|Session \S+ logged out|[Ss]topping session-\S+\.scope|Stopping user@\d+\.service|"
        r"Stopped target .*[Ll]ogin|session closed for user|User logged out|systemd-logind.*Removed session",
        scope=LOG,
        weight=WEAK,
        ends=True,
        strength=6,
        stage="shutdown",
        fixed=True,
        unless=r"nohup|ignor",
        remedies=fix.session,
        confidence=0.85,
        when=lambda match, context: context.stopping or context.died or "SIGHUP" in match.line.body or "Hangup" in match.line.body,
        say="The server was ended because the login session in which it was started ended.",
        source="kernel, shell, systemd-logind",
    ),
    Rule(
        "signal-to-engine",
        "killed_by_session_end",
        r"\[shutdown\] \w+: trigger received signal=SIG(?P<signal>TERM|HUP)",
        scope=LOG,
        weight=WEAK,
        ends=True,
        strength=5,
        stage="shutdown",
        fixed=True,
        when=lambda match, context: not context.stop_job,
        remedies=fix.session,
        confidence=0.6,
        say="The server received SIG{signal} although no stop was ordered in this log: most often its login session ended.",
        source="vLLM v1 engine",
    ),
)
