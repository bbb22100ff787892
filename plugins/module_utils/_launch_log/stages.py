# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Following one launch through its stages, line by line, in constant memory."""

from __future__ import annotations

import re

from .figures import Figures
from .lines import seconds
from .markers import READY_TEXT, is_client_work, mark
from .server_args import is_server_args, parse_server_args

_CAPACITY = re.compile(
    r"max_total_num_tokens=(?P<max_total_num_tokens>-?\d+), chunked_prefill_size=(?P<chunked_prefill_size>-?\d+|None), "
    r"max_prefill_tokens=(?P<max_prefill_tokens>-?\d+), max_running_requests=(?P<max_running_requests>\d+), "
    r"context_len=(?P<context_len>\d+)(?:, available_gpu_mem=(?P<available_gpu_mem_gib>-?[\d.]+) GB)?"
)
#: uvicorn's own bind (asyncio: "error while attempting to bind on address"), and the same from a plain socket of the front end.
_BIND = re.compile(r"(?:ERROR: +|OSError: )?\[Errno 98\] error while attempting to bind on address|ERROR: +\[Errno 98\]")
#: Only programs that say their own version count, not packages that a warning names.
_VERSION = re.compile(r"(?:LLM engine \(v|vLLM API server version |sglang[ =]+(?:version )?v?)(\d+\.\d+\.\d+[\w.+]*)")
#: How the processes of vLLM sign their lines.
_VLLM_PROCESS = re.compile(r"\((?:APIServer|EngineCore|Worker)\w* pid=")
_BAR = re.compile(r"(?P<what>[A-Za-z][^:|%]*?)(?: \([^)]*\))?: +(?P<percent>\d+)%.*?(?P<done>\d+)/(?P<all>\d+) \[")


class StageTracker:
    """State of one launch. Feed it every line in order.

    stage: name of the stage reached. history: [(stage, seconds since the launch began)], the first time each was entered.
    ready: this launch printed the ready line. bind_error: Line about a taken HTTP address, or None. capacity: what the server
    says it can hold, or None. server_args: arguments as SGLang printed them, or None. progress: last state of a progress bar
    in a few words, or "". figures: memory figures in GiB (Figures). serving_after_ready: a client's request was worked on.
    marks: the last line that showed a stage. last_line: the last line with text.
    """

    def __init__(self):
        self.stage = "launch"
        self.history = []
        self.ready = False
        self.ready_line = None
        self.bind_error = None
        self.capacity = None
        self.capacity_line = None
        self.server_args = None
        self.server_args_line = None
        self.progress = ""
        self.progress_line = None
        self.figures = Figures()
        self.marks = []
        self.last_line = None
        self.work_line = None
        self.front_end = False
        self.engine = None
        self.version = None
        self.marked = False
        self.started_at = None
        self._began = None
        self._clock = None
        self._printed = None

    def feed(self, line, now=None):
        """Take one line (Line). ``now``: seconds of a monotonic clock, used where lines carry no time."""
        body = line.body
        if not body.strip():
            return
        self.last_line = line
        if line.stamped and self.started_at is None:
            self.started_at = line.time
        self._tick(line, now)
        if line.progress:
            self._bar(line)
        if body.startswith("server_args=") and is_server_args(body):
            self.server_args = parse_server_args(body)
            self.server_args_line = line
            self.engine = "sglang"
        elif body.startswith("max_total_num_tokens="):
            self._capacity(line)
        elif "Errno 98" in body and _BIND.match(body):
            self.bind_error = line
            self._enter("ready", line)
            return
        elif self.engine is None and ("vllm" in body.lower() or _VLLM_PROCESS.match(line.text)):
            self.engine = "vllm"
        stage = mark(line)
        if stage:
            self._marked(stage, line)
        elif body.startswith(("Decode", "Prefill", "INFO", "Engine", "Avg")) and is_client_work(line):
            self.work_line = line
            if self.ready or not self.front_end:
                self.marked = True
                if self.stage != "shutdown":
                    self._enter("serving", line)
        if self.version is None and "ersion" in body and not body.startswith("server_args="):
            found = _VERSION.search(body)
            if found:
                self.version = found.group(1)
        self.figures.feed(line)

    def _marked(self, stage, line):
        body = line.body
        if line.ident == "systemd" and not body.startswith("Stopping "):
            return
        self.marked = True
        if stage == "ready" or (self.engine == "vllm" and "Application startup complete" in body):
            if READY_TEXT in body or self.engine == "vllm":
                stage, self.ready, self.ready_line = "ready", True, line
        elif stage == "warmup":
            self.front_end = self.front_end or "server process" in body or "Uvicorn" in body or "pplication startup" in body
            if self.stage in ("ready", "serving", "shutdown"):
                return
        elif self.stage == "shutdown" or (self.stage in ("ready", "serving") and stage != "shutdown"):
            return
        elif stage == "tokenizer" and self.stage not in ("launch", "args", "imports", "tokenizer"):
            return
        self._enter(stage, line)

    def _enter(self, stage, line):
        self.marks.append(line)
        if len(self.marks) > 8:
            del self.marks[0]
        if stage != self.stage or not self.history:
            self.stage = stage
            if not any(name == stage for name, _unused in self.history):
                self.history.append((stage, self._elapsed()))

    def _tick(self, line, now):
        if now is not None:
            self._clock = now
            if self._began is None:
                self._began = now
        elif line.time is not None:
            self._printed = line.time
            if self._began is None:
                self._began = seconds(line.time)

    def _elapsed(self):
        clock = self._clock if self._clock is not None else seconds(self._printed)
        if clock is None or self._began is None:
            return 0.0
        return round(max(0.0, clock - self._began), 2)

    def _capacity(self, line):
        match = _CAPACITY.match(line.body)
        if not match:
            return
        values = match.groupdict()
        free = values.pop("available_gpu_mem_gib")
        self.capacity = {name: int(value) if value not in (None, "None") else None for name, value in values.items()}
        self.capacity["available_gpu_mem_gib"] = float(free) if free is not None else None
        self.capacity_line = line

    def _bar(self, line):
        match = _BAR.search(line.body)
        if match:
            self.progress = "%s %s/%s (%s %%)" % (
                match.group("what").strip(),
                match.group("done"),
                match.group("all"),
                match.group("percent"),
            )
            self.progress_line = line
