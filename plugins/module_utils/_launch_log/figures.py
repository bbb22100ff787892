# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Memory figures that a launch prints about itself. SGLang writes GB and means GiB (2**30 bytes)."""

from __future__ import annotations

import re

_BEGIN = re.compile(r"Load weight begin\. avail mem=([\d.]+) GB")
_END = re.compile(r"Load weight end\..*?(?:type=(\w+))?.*?avail mem=([\d.]+) GB(?:, mem usage=([\d.]+) GB)?")
_TYPE = re.compile(r"type=(\w+)")
_POOL = re.compile(r"Memory pool end\. avail mem=([\d.]+) GB")
_KV = re.compile(r"KV Cache is allocated\..*?#tokens: (\d+)(?:, K size: ([\d.]+) GB, V size: ([\d.]+) GB|, KV size: ([\d.]+) GB)?")
_MAMBA = re.compile(
    r"Mamba Cache is allocated\. max_mamba_cache_size: (\d+), conv_state size: ([\d.]+)GB, ssm_state size: ([\d.]+)GB"
    r"(?: intermediate_ssm_state_cache size: ([\d.]+)GB)?(?: intermediate_conv_window_cache size: ([\d.]+)GB)?"
)
_SHORT = re.compile(r"KV pool holds (\d+) tokens, fewer than --context-length (\d+)")
_CAPTURE = re.compile(r"Capture .*graph begin\..*?avail mem=([\d.]+) GB")


class Figures:
    """Figures of the first rank that printed them, GiB per GPU.

    loads: one dict for each model loaded (target, then draft) with avail_before, avail_after, weights, type, line.
    """

    def __init__(self):
        self.loads = []
        self.pool_avail = None
        self.kv_tokens = None
        self.kv_gib = None
        self.context_length = None
        self.mamba_slots = None
        self.mamba_gib = None
        self.capture_avail = None
        self.smallest_avail_before = None
        self.smallest_line = None
        self._rank = None

    def feed(self, line):
        body = line.body
        if body.startswith("Load weight"):
            self._load(line)
        elif self._rank is not None and (line.rank or "") != self._rank:
            return
        elif body.startswith("Memory pool end"):
            match = _POOL.match(body)
            self.pool_avail = float(match.group(1)) if match else self.pool_avail
        elif body.startswith("KV Cache is"):
            match = _KV.match(body)
            if match:
                self.kv_tokens = int(match.group(1))
                self.kv_gib = sum(float(size) for size in match.groups()[1:] if size) or None
        elif body.startswith("KV pool holds"):
            match = _SHORT.match(body)
            if match:
                self.kv_tokens, self.context_length = int(match.group(1)), int(match.group(2))
        elif body.startswith("Mamba Cache is"):
            match = _MAMBA.match(body)
            if match:
                self.mamba_slots = int(match.group(1))
                self.mamba_gib = sum(float(size) for size in match.groups()[1:] if size)
        elif body.startswith("Capture ") and "begin" in body:
            match = _CAPTURE.match(body)
            self.capture_avail = float(match.group(1)) if match else self.capture_avail

    def _load(self, line):
        match = _BEGIN.match(line.body)
        if match:
            free = float(match.group(1))
            if self.smallest_avail_before is None or free < self.smallest_avail_before:
                self.smallest_avail_before, self.smallest_line = free, line
            if self._rank is None:
                self._rank = line.rank or ""
            if (line.rank or "") == self._rank:
                self.loads.append({"avail_before": free, "avail_after": None, "weights": None, "type": None, "line": line})
                del self.loads[4:]
            return
        match = _END.match(line.body)
        if match and self.loads and (line.rank or "") == self._rank:
            kind = _TYPE.search(line.body)
            self.loads[-1].update(
                avail_after=float(match.group(2)),
                weights=float(match.group(3)) if match.group(3) else None,
                type=kind.group(1) if kind else None,
            )

    @property
    def loading(self):
        """Whether a model is being loaded now."""
        return bool(self.loads) and self.loads[-1]["avail_after"] is None

    @property
    def avail_before(self):
        """Free before the first load, GiB, or None."""
        return self.loads[0]["avail_before"] if self.loads else None

    @property
    def avail_after(self):
        """Free after the last load, GiB, or None."""
        ended = [load["avail_after"] for load in self.loads if load["avail_after"] is not None]
        return ended[-1] if ended else None

    @property
    def weights(self):
        """Weights of all models loaded, GiB, or None."""
        known = [load["weights"] for load in self.loads if load["weights"] is not None]
        return sum(known) if known else None
