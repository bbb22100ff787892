# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""How long a stage may be silent before a launch counts as stuck, in seconds.

A launch that writes is alive; silence is normal only where SGLang works without a line: imports on a cold disk, graphs and
kernels compiled for the first time, its own first request (SGLang's limit for that is 600 s).
"""

from __future__ import annotations

SILENCE = {
    "launch": 60.0,
    "args": 180.0,
    "imports": 180.0,
    "tokenizer": 120.0,
    "distributed_init": 180.0,
    "weights_load": 180.0,
    "memory_pool": 120.0,
    "attention_backend": 600.0,
    "cuda_graph": 1800.0,
    "warmup": 660.0,
    "ready": 180.0,
}


def silence(stage, changed=None):
    """Seconds of silence allowed in ``stage``; ``changed``: the caller's own values by stage."""
    return (changed or {}).get(stage, SILENCE.get(stage, 180.0))
