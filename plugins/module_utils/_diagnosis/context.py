# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What rules may ask about the launch around a match."""

from __future__ import annotations

import re

from .causes import CAUSES
from .frames import stage_of_frames

_HOST_POOL = re.compile(r"memory_pool_host|pool_host|hiradix|hi_?cache|hicache|HostPool|HostKV|TokenToKVPoolHost|mamba_host")
#: Names that changed in 0.5.14 (old name, new name); before it only the old ones are known, from 0.5.20 on only the new ones.
_RENAMED = {
    "cuda-graph-max-bs": "cuda-graph-max-bs-decode",
    "mamba-scheduler-strategy": "mamba-radix-cache-strategy",
    "enable-dp-attention": "attn-dp-size",
}


class Match:
    """A rule that matched a line."""

    def __init__(self, rule, line, found, block, index, scan):
        self.rule = rule
        self.cause = rule.cause
        self.line = line
        self.groups = found.groupdict()
        self.block = block
        self.index = index
        self.marker_stage = scan.tracker.stage
        self.marked = scan.tracker.marked
        self.ready_before = scan.tracker.ready or scan.tracker.stage in ("ready", "serving")
        self.work_before = scan.work
        self.count = 1
        self._stage = None
        self._scan = scan

    @property
    def position(self):
        """Place in time: that of the exception it belongs to, else of its line."""
        return self.block.index if self.block is not None else self.index

    @property
    def stage(self):
        """Stage of the launch: frames first, else the last marker line, else the rule's own."""
        if self._stage is None:
            self._stage = self._find_stage()
        return self._stage

    def _find_stage(self):
        rule = self.rule
        if rule.fixed:
            return rule.stage
        block = self.block or self._scan.root_block(self)
        if block is not None and block.frames:
            stage = stage_of_frames(block.ordered_frames, self.ready_before)
            if stage:
                return stage
        marker = self.marker_stage
        if marker in ("ready", "serving", "shutdown"):
            marker = "serving" if self.ready_before or marker != "ready" else marker
            if self._scan.tracker.stage == "shutdown" and rule.stage == "shutdown":
                marker = "shutdown"
        allowed = rule.stages or CAUSES[rule.cause].stages
        if not self.marked and rule.stage:
            return rule.stage
        if marker in allowed or not rule.stage:
            return marker
        if marker == "launch" or rule.stages:
            return rule.stage
        return marker

    def message(self):
        """Text of the exception it belongs to, else of its line."""
        if self.block is None:
            return self.line.body[:2000]
        return "\n".join(line.body[:2000] for line in self.block.message) or self.line.body[:2000]


class Context:
    """The launch around a match."""

    def __init__(self, scan, facts):
        self.scan = scan
        self.tracker = scan.tracker
        self.facts = facts
        self.args = scan.tracker.server_args or {}
        self.stop_job = scan.stop_job
        self.stopping = scan.stopping
        self.died = scan.terminal is not None or facts.get("process_alive") is False

    @property
    def hybrid(self):
        """Whether the model keeps recurrent states (Mamba, linear attention)."""
        return self.scan.hybrid or self.tracker.figures.mamba_slots is not None

    @property
    def speculative(self):
        """Whether speculative decoding was asked for."""
        return bool(self.args.get("speculative_algorithm"))

    @property
    def tp_size(self):
        value = self.args.get("tp_size", self.args.get("tensor_parallel_size"))
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def new_names(self):
        """Whether the release has the flag names of 0.5.14 and later."""
        return any(
            name in self.args for name in ("cuda_graph_max_bs_decode", "mamba_radix_cache_strategy", "cuda_graph_backend_decode")
        )

    @property
    def new_sizing(self):
        """Whether pools are sized after all weights are loaded, states first (0.5.13 and later)."""
        return self.new_names or not self.args

    def flag(self, name):
        """``--name`` as the release at hand spells it."""
        if self.new_names and name in _RENAMED:
            return "--" + _RENAMED[name]
        return "--" + name

    def saw(self, rule_name):
        """Whether a rule matched anywhere in the launch, its own condition met."""
        return any(match.rule.when is None or match.rule.when(match, self) for match in self.scan.matches.get(rule_name, ()))

    @staticmethod
    def in_host_pool(match):
        """Whether the exception was raised while a host (CPU) pool was built."""
        if match.block is None:
            return False
        return any(_HOST_POOL.search(path + " " + function + " " + source) for path, function, source in match.block.frames)

    def below_model(self, path):
        """Whether a path lies in the model directory of the launch."""
        model = self.args.get("model_path")
        return bool(model) and isinstance(model, str) and model.startswith("/") and (path + "/").startswith(model.rstrip("/") + "/")

    def own_memory_before(self, match):
        """Whether this server itself, or nothing that can be seen, holds the memory that differs between GPUs."""
        if self.tracker.figures.loads or self.scan.captured:
            return True
        used = self.facts.get("gpu_used_mib")
        return bool(used) and self.facts.get("process_alive") is False and max(used) < 1024

    def served_before(self, match):
        """Whether the server answered requests or was ready before."""
        return match.ready_before or match.work_before > 0 or match.marker_stage in ("ready", "serving") or not match.marked

    def recovered(self, match):
        """Whether work on requests went on after the last occurrence."""
        return self.scan.work - self.scan.last_work(match.rule.name) >= 2
