# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Exception blocks: from "Traceback (most recent call last):" through its chain to the end of the last message.

A block may lack its beginning (rotated log) or its frames (a wrapper printed only the message). Blocks of several ranks follow
each other; each is a block of its own. Memory is bounded: of a long block the first and last lines are kept.
"""

from __future__ import annotations

import re

TRACEBACK = "Traceback (most recent call last)"
#: It ends its line; inside quoted text more follows.
_TRACEBACK_ENDS = re.compile(r"Traceback \(most recent call last\):?\s*(?:\[repeated \d+x[^\]]*\])?\s*$")
_FRAME = re.compile(r"\s*File \"(?P<file>[^\"]*)\", line (?P<line>\d+)(?:,? in (?P<function>\S+))?")
#: ``module.SomeError: text``, ``KeyboardInterrupt``, ``ValueError("text")`` as the last line of a traceback.
ERROR_LINE = re.compile(
    r"(?P<type>(?:[A-Za-z_][\w]*\.)*[A-Za-z_]*(?:Error|Exception|Interrupt|Exit|OutOfResources|BackendCompilerFailed|Unsupported|"
    r"Warning|NotSupported|InductorError|"
    r"Timeout|Failed|Fault|Abort|NotFound|StopIteration|Empty|Full))\b(?P<rest>:.*|\(.*|\s*)$"
)
#: Standing alone, without a traceback around it, only these are taken for errors.
_BARE = re.compile(
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|KeyboardInterrupt|OutOfResources)(?:: \S.*|:?$|\(['\"].*)|KeyboardInterrupt$"
)
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause")
_ADVICE = re.compile(r"Possible (?:solutions|suggestions):")
_GROUP = re.compile(r"\s*[|+][ |+-]*")
_END = re.compile(
    r"(?:usage: |\S+:\d+:\d+ \[\d+\] |\[\d+\.\d+\] |\[[A-Z][a-z]{2} [A-Z][a-z]{2} |\[W\d+ |\[E\d+ |\[rank\d+\]:|INFO |WARNING |Killed$|"
    r"Bus error|Segmentation fault|Aborted|"
    r"\S+: line \d+:|Loading |Capturing |Multi-thread )"
)
#: Who announces the exception of a whole process.
FATAL_HEADER = re.compile(
    r"hit an exception|Exception in run_\w+|EngineCore (?:failed|encountered)|Process \S+:$|Exception in thread|failed to start|"
    r"Initialization failed\. \w+ error"
)

_KEEP_FRAMES = 120
_KEEP_MESSAGE = 80


class Block:
    """One exception with its chain.

    header: Line that announces it, or None. frames: [(file, function, source)] of the whole chain. errors: the first line of the
    message of each exception in the chain, in order, as (Line, place among the frames). message: all
    message lines (Line), advice left out. rank. stage: of the launch when it began.
    fatal: announced as the end of a process.
    """

    def __init__(self, line, stage, index):
        self.first = line
        self.header = None
        self.rank = line.rank
        self.stage = stage
        self.index = index
        self.frames = []
        self.errors = []
        self.message = []
        self.fatal = False
        self.begun = False
        self.closed = False
        self.upside_down = False

    @property
    def ordered_frames(self):
        """Frames with the deepest last; faulthandler prints the deepest first."""
        return self.frames[::-1] if self.upside_down else self.frames

    @property
    def last_error(self):
        """Line of the last error of the chain, or None when the block stops before it."""
        return self.errors[-1][0] if self.errors else None

    @property
    def root_error(self):
        """Line of the first error of the chain, or None."""
        return self.errors[0][0] if self.errors else None


class BlockReader:
    """Takes lines in order; ``feed`` tells what the line is: "frame", "error", "message", "advice", "header", "bare" or None."""

    def __init__(self):
        self.block = None
        self._state = None
        self._blank = 0
        self._previous = None

    def feed(self, line, stage, index):
        """Take one line. Returns (kind, block): block is set for every line that belongs to one."""
        body = line.body
        if body[:1] in " +|" and self.block is not None and "| " in body[:12]:
            body = _GROUP.sub("", body, 1)
        found = self._feed(line, body, stage, index)
        if body.strip():
            self._previous = line
        return found

    def _feed(self, line, body, stage, index):
        if TRACEBACK in body and _TRACEBACK_ENDS.search(body):
            return self._traceback(line, body, stage, index)
        block = self.block
        if block is None or self._state is None:
            return self._outside(line, body, stage, index)
        if line.stamped or line.progress or line.ident in ("systemd", "kernel"):
            self._close()
            return self._outside(line, body, stage, index)
        if self._state == "frames":
            return self._in_frames(line, body, block)
        return self._in_message(line, body, stage, index, block)

    def _traceback(self, line, body, stage, index):
        head = body[: body.index(TRACEBACK)].strip(" :")
        if self.block is not None and self._state == "chain" and not line.stamped:
            self._state = "frames"
            return "header", self.block
        self._close()
        self.block = Block(line, stage, index)
        self.block.begun = True
        self._state = "frames"
        previous = self._previous
        if head:
            self.block.header = line
        elif previous is not None and FATAL_HEADER.search(previous.body[:400]):
            self.block.header = previous
            head = previous.body[:400]
        self.block.fatal = bool(FATAL_HEADER.search(head)) if head else False
        return "header", self.block

    def _outside(self, line, body, stage, index):
        frame = _FRAME.match(body)
        if frame and not line.stamped:
            self._close()
            self.block = Block(line, stage, index)
            self.block.upside_down = self._previous is not None and "most recent call first" in self._previous.body
            self._state = "frames"
            self._frame(self.block, frame)
            return "frame", self.block
        if (
            body[:1].isalpha()
            and ("Error" in body or "Exception" in body or "OutOfResources" in body or body == "KeyboardInterrupt")
            and not line.stamped
        ):
            if _BARE.match(body):
                self._close()
                self.block = Block(line, stage, index)
                self._error(self.block, line)
                self._state = "message"
                return "error", self.block
        return None, None

    def _in_frames(self, line, body, block):
        frame = _FRAME.match(body)
        if frame:
            self._frame(block, frame)
            return "frame", block
        if not body.strip():
            return "frame", block
        if body[0] in " \t":
            if block.frames and not block.frames[-1][2] and not body.strip().startswith(("^", "~")):
                block.frames[-1] = block.frames[-1][:2] + (body.strip(),)
            return "frame", block
        if body.startswith("[Previous line repeated"):
            return "frame", block
        self._error(block, line)
        self._state = "message"
        self._blank = 0
        return "error", block

    def _in_message(self, line, body, stage, index, block):
        if not body.strip():
            self._blank += 1
            if self._blank > 3:
                self._close()
            return "message", block
        if body.startswith(_CHAIN):
            self._state = "chain"
            return "message", block
        if self._state == "advice":
            return "advice", block
        if _ADVICE.match(body.strip()):
            self._state = "advice"
            return "advice", block
        frame = _FRAME.match(body)
        if frame and block.begun and len(block.message) > 2 and body.startswith("  File"):
            self._frame(block, frame)
            self._state = "frames"
            return "frame", block
        if _END.match(body):
            self._close()
            return self._outside(line, body, stage, index)
        if self._blank and _BARE.match(body) and not block.errors[-1][0].body.rstrip().endswith(":"):
            self._close()
            return self._outside(line, body, stage, index)
        self._blank = 0
        if len(block.message) < _KEEP_MESSAGE:
            block.message.append(line)
        return "message", block

    @staticmethod
    def _frame(block, match):
        if len(block.frames) >= _KEEP_FRAMES:
            del block.frames[_KEEP_FRAMES // 2]
        block.frames.append((match.group("file"), match.group("function") or "", ""))

    @staticmethod
    def _error(block, line):
        block.errors.append((line, len(block.frames)))
        block.message.append(line)

    def _close(self):
        if self.block is not None:
            self.block.closed = True
        self.block = None
        self._state = None
        self._blank = 0
