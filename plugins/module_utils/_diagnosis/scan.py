# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""One pass over a launch: stages, exceptions, matches of rules, echoes, and what a running server shows. Constant memory."""

from __future__ import annotations

import re

from .._launch_log.lines import seconds
from .._launch_log.markers import REQUEST, is_client_work
from .._launch_log.stages import StageTracker
from .blocks import BlockReader
from .context import Match
from .index import RULES
from .record import ANY, ERROR, LOG

#: Never a cause: effects of a failure and lines of every shutdown.
ECHO = re.compile(
    r"Received sigquit from a child|SIGQUIT received|kill_process_tree called|Initialization failed\. Please see|"
    r"Dumping requests before crash|Sleeping \d+ seconds before crash|"
    r"Pyspy failed|All pyspy dump|(?:Scheduler or )?DataParallelController \d+ terminated|EngineDeadError|"
    r"Engine core initialization failed|Killed$|Main process exited|Failed with result|"
    r"\S+: line \d+: +\d+ (?:Killed|Aborted|Terminated|Bus error|Segmentation fault)|destroy_process_group\(\) was not called|"
    r"unhandled system error|unhandled cuda error|leaked semaphore|"
    r"(?:ERROR: +)?socket\.accept\(\) out of system resource|Exit code: |Rank \d+ scheduler is dead|Subprocess \w+ \(pid=\d+\) crashed|"
    r"Main process exited|did not become healthy|\S+\.service: State 'stop-\w+' timed out|\(core dumped\)"
)
#: The launch ended or is ending.
TERMINAL = re.compile(
    r"Received sigquit from a child|SIGQUIT received|Initialization failed\.|(?:^|.*: )Main process exited|.*Failed with result|"
    r"Killed$|\S+: line \d+: +\d+ \w+|EngineDeadError|"
    r"Exit code: -?\d|Application startup failed|.*\(core dumped\)|Subprocess \w+ \(pid=\d+\) crashed|"
    r".*scheduler died during initialization|.*Deactivated successfully|.*died unexpectedly|Engine core initialization failed"
)
_KILL_TREE = re.compile(r"kill_process_tree called: .*include_parent=True")
#: Text of clients and settings, usage texts and noise: nothing in such a line proves anything.
_QUOTE = re.compile(
    r"(?:Receive: |Finish: |Received request |Request [0-9a-f-]{8,}|.*obj=\w*ReqInput\(|Dump(?:ed|ing) request|.*GenerateReqInput\(|"
    r".*input_ids=\[|Prompt: |.*\bprompt: ['\"])"
)
_NOISE = (
    "server_args=",
    "Decode batch",
    "Prefill batch",
    "Ignore import error",
    "non-default args",
    "Engine 0",
    "Avg prompt",
    "Config file not found at",
    "usage: ",
)
_ADVICE = re.compile(
    r"\s*(?:\d+\. (?:disable|set|enable|use) |Open an issue|Possible (?:solutions|suggestions)|Please ensure|pip install|Try: |Tip: |"
    r"Hint: )"
)
_USAGE = re.compile(r"\s+\[?--?\w|\s+\[?-h\b")
_LENGTH = re.compile(r"(?:accept len: |accept_len: |Mean acceptance length: |accept length: )(\d+(?:\.\d+)?)")
_P2P = re.compile(r"via P2P|Connected all (?:rings|trees)|NCCL INFO Channel \d+")
_HYBRID = re.compile(
    r"mamba|hybrid linear|\bGDN\b|linear[ _]attention|\bKDA\b|Lightning ?Attention|gated delta|"
    r"type=(?:Qwen3_5|Qwen3Next|NemotronH|FalconH1|GraniteMoeHybrid|KimiLinear|Lfm2|Bamba|Jamba|Zamba|JetNemotron|BailingMoe\w*Linear|"
    r"MiniMax\w*Text|Plamo2)",
    re.I,
)
_STOP_ASKED = re.compile(
    r"SIGTERM received\.|Gracefully exiting|(?:INFO: +)?Shutting down|Received (?:signal )?SIG(?:TERM|INT)|\[shutdown\] |"
    r"Received exit signal"
)
_KEEP = 4
#: Characters of an overlong line that rules see.
HEAD, TAIL = 1500, 500
#: Lines that differ only in their digits from one that no rule matched need no second look; where the digits decide, they do.
_DIGITS = re.compile(r"\d+")
_NUMBERED = re.compile(r"rrno|rror|xit|Xid|signal|status|clients")
_SHAPES = 4096


def cut(body):
    """A line as rules see it: of an overlong one its beginning and its end, so that no expression takes long on it."""
    return body if len(body) <= HEAD + TAIL else body[:HEAD] + " … " + body[-TAIL:]


class Accept:
    """Acceptance of speculative decoding over a run: was it ever good, and how many measurements of about nothing end it."""

    def __init__(self):
        self.good = 0
        self.low = []
        self.low_run = 0

    def feed(self, line):
        found = _LENGTH.search(line.body)
        if not found:
            return
        if float(found.group(1)) > 1.05:
            self.good += 1 if float(found.group(1)) >= 1.15 else 0
            self.low, self.low_run = [], 0
        else:
            self.low_run += 1
            if len(self.low) < 3:
                self.low.append(line)


class Scan:
    """The state that one pass leaves behind."""

    def __init__(self, rules=RULES):
        self.tracker = StageTracker()
        self.blocks = []
        self.matches = {}
        self.echoes = []
        self.index = 0
        self.work = 0
        self.ready_index = None
        self.terminal = None
        self.terminal_index = None
        self.stop_asked = None
        self.stopping = False
        self.stop_job = None
        self.stop_done = None
        self.interrupted = None
        self.hybrid = False
        self.captured = False
        self.accept = Accept()
        self.refused = 0
        self.refused_lines = []
        self.healthy_after = 0
        self.p2p = None
        self.p2p_index = None
        self.p2p_time = None
        self._time = None
        self.text_lines = 0
        self.first = None
        self.last_mark_index = 0
        self._reader = BlockReader()
        self._usage = False
        self._last_work = {}
        self._dull = set()
        self._rules = {scope: [rule for rule in rules if rule.scope in (scope, ANY)] for scope in (ERROR, LOG)}

    def feed(self, line):
        """Take one line of the launch."""
        self.index += line.repeat
        body = line.body
        if line.repeat > 1:
            self.work += max(0, line.work - 1)
        if not body.strip():
            self._reader.feed(line, self.tracker.stage, self.index)
            return
        self.text_lines += 1
        if self.first is None:
            self.first = line
        if line.time is not None:
            self._time = line.time
        tracker = self.tracker
        ready = tracker.ready
        tracker.feed(line)
        if tracker.ready and not ready:
            self.ready_index = self.index
        if tracker.marks and tracker.marks[-1] is line:
            self.last_mark_index = self.index
        if line.stamped and _QUOTE.match(body):
            return
        kind, block = self._reader.feed(line, tracker.stage, self.index)
        if kind == "header" or (block is not None and (not self.blocks or self.blocks[-1] is not block)):
            if not self.blocks or self.blocks[-1] is not block:
                if len(self.blocks) < 60:
                    self.blocks.append(block)
                else:
                    self.blocks[-1] = block
        if kind in ("frame", "advice"):
            return
        if kind in ("error", "message"):
            self._match(line, ERROR, block)
            if kind == "error" and body.startswith("KeyboardInterrupt") and self.interrupted is None:
                self.interrupted = block
            return
        self._outside(line, body, kind)

    def _outside(self, line, body, kind):
        if self._usage:
            if _USAGE.match(body):
                return
            self._usage = False
        if body.startswith("usage: "):
            self._usage = True
            return
        if is_client_work(line):
            self.work += 1
        if body.startswith(("Decode batch", "Engine ", "SpecDecoding")) or "acceptance length" in body:
            self.accept.feed(line)
        if "HTTP/" in body and '" 401' in body:
            self._refused(line, body)
        if not self.hybrid and _HYBRID.search(body) and not body.startswith(("server_args=", "Ignore import")):
            self.hybrid = True
        if not self.captured and body.startswith("Capture ") and " end" in body:
            self.captured = True
        if _P2P.search(body) and "NCCL" in body:
            self.p2p_index, self.p2p_time = self.index, seconds(self._time)
            if self.p2p is None or "via P2P" in body:
                self.p2p = line
        if line.progress or body.startswith(_NOISE) or _QUOTE.match(body) or _ADVICE.match(body) or kind == "header":
            if kind == "header":
                self._signs(line, body)
            return
        self._signs(line, body)
        if REQUEST.match(body):
            return
        shape = _DIGITS.sub("", body)
        if shape in self._dull:
            return
        if not self._match(line, LOG, None) and len(self._dull) < _SHAPES and not _NUMBERED.search(body):
            self._dull.add(shape)

    def _signs(self, line, body):
        if ECHO.match(body) and len(self.echoes) < 12:
            self.echoes.append(line)
        if TERMINAL.match(body) or _KILL_TREE.match(body):
            self.terminal, self.terminal_index = line, self.index
        if _STOP_ASKED.match(body) and not self._died_before():
            self.stopping = True
            self.stop_asked = self.stop_asked or line
        if line.ident == "systemd" or body.startswith(("Stopping ", "Stopped ")):
            if body.startswith("Stopping ") and ".service" in body:
                self.stop_job = self.stop_job or line
            elif body.startswith("Stopped ") and ".service" in body:
                self.stop_done = line

    def _died_before(self):
        return self.terminal is not None and "sig" in self.terminal.body.lower()

    def _refused(self, line, body):
        self.refused += 1
        if len(self.refused_lines) < 3:
            self.refused_lines.append(line)

    def _match(self, line, scope, block):
        """Note the rules that match a line; whether any did."""
        body, matched = cut(line.body), False
        for rule in self._rules[scope]:
            found = rule.pattern.search(body)
            if found is None or (rule.unless is not None and rule.unless.search(body)):
                continue
            matched = True
            self._last_work[rule.name] = self.work
            known = self.matches.setdefault(rule.name, [])
            if len(known) < _KEEP:
                known.append(Match(rule, line, found, block, self.index, self))
            else:
                known[-1] = Match(rule, line, found, block, self.index, self)
        return matched

    def last_work(self, rule_name):
        """Requests worked on before the last match of a rule."""
        return self._last_work.get(rule_name, 0)

    def root_block(self, match):
        """The exception that a line outside of exceptions belongs to: the first that begins at or after it, or the first of all."""
        for block in self.blocks:
            if (
                (block.errors or block.upside_down)
                and block.index >= match.index - 40
                and (self.ready_index is None or block.index > self.ready_index or match.index < self.ready_index)
            ):
                return block
        return None

    def ended_after(self, index):
        """Whether a sign of the end follows (or an exception begins) at or after this place."""
        if self.terminal_index is not None and self.terminal_index >= index:
            return True
        return any(block.index >= index for block in self.blocks)
