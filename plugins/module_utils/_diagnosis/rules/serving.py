# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about a server that runs."""

from __future__ import annotations

from .. import remedies_general as fix
from ..record import ANY, LOG, WEAK, Rule


def _limit_is_pool(match, context):
    """The limit named in the refusal is that of the pool, not that of the context."""
    capacity = context.tracker.capacity or {}
    tokens, length = capacity.get("max_total_num_tokens"), capacity.get("context_len")
    limit = match.groups.get("limit") or match.groups.get("limit2") or match.groups.get("limit3")
    if tokens is None:
        tokens, length = context.tracker.figures.kv_tokens, context.tracker.figures.context_length or context.args.get("context_length")
    if tokens is None or (length is not None and tokens >= length):
        return False
    return limit is None or abs(int(limit) - tokens) <= max(64, tokens // 50)


RULES = (
    Rule(
        "watchdog",
        "scheduler_hang_watchdog",
        r"[Ww]atchdog timeout \((?:self\.)?watchdog_timeout=(?P<seconds>[\d.]+)|^\w* ?watchdog timeout \(",
        scope=LOG,
        ends=True,
        strength=5,
        stage="serving",
        stages=("warmup", "serving", "cuda_graph", "ready"),
        remedies=fix.watchdog,
        say="A batch made no progress within the watchdog's time, and no rank printed an earlier error.",
        unless=r"soft=True",
        source="managers/scheduler.py, utils/watchdog.py",
    ),
    Rule(
        "stalled",
        "scheduler_stalled",
        r"Health check failed\. Server couldn't get a response from (?:detokenizer|scheduler)",
        scope=LOG,
        weight=WEAK,
        ends=True,
        strength=4,
        stage="serving",
        fixed=True,
        lasting=True,
        when=lambda match, context: context.served_before(match) and not context.recovered(match),
        remedies=fix.stalled,
        say="Health probes fail because scheduler or detokenizer gave no answer in time.",
        source="entrypoints/http_server.py health_generate",
    ),
    Rule(
        "pool-refusal",
        "kv_pool_smaller_than_context",
        r"Input length \(\d+ tokens?\) exceeds the maximum allowed length \((?P<limit>\d+) tokens?\)|"
        r"Request length is longer than the KV cache pool size(?:.*max_req_input_len=(?P<limit3>\d+))?|"
        r"[Rr]equested token count exceeds .*(?:maximum|pool).*?(?P<limit2>\d+)|The input \(\d+ tokens\) is longer than the (?:KV|"
        r"pool)|prompt .*longer than .*KV cache pool|"
        r"Input prompt \(\d+ tokens\) .*(?:exceeds|too long).*(?:capacity|block_manager|KV cache)",
        scope=ANY,
        ends=True,
        strength=5,
        stage="serving",
        fixed=True,
        lasting=True,
        when=_limit_is_pool,
        support=r"KV pool holds \d+ tokens, fewer than|^max_total_num_tokens=",
        remedies=fix.pool_smaller,
        say="A request was refused or cut because it is longer than the KV pool, which holds less than the context length.",
        source="managers/scheduler.py, managers/utils.py validate_input_length",
    ),
    Rule(
        "chat-template",
        "chat_template_missing",
        r"tokenizer\.chat_template is not set|does not have a chat template|default chat template is no longer allowed|"
        r"[Cc]annot use (?:apply_)?chat[_ ]template|no chat template (?:was )?(?:argument|given|defined|set|available)|"
        r"chat template (?:is )?(?:not (?:set|defined|found|provided)|missing|required)",
        scope=ANY,
        ends=True,
        strength=6,
        stage="serving",
        stages=("serving", "tokenizer", "warmup", "ready"),
        lasting=True,
        unless=r"defaulting to|[Uu]sing (?:the )?default|falling back",
        remedies=fix.chat_template,
        say="The model's tokenizer has no chat template, so chat requests fail.",
        source="transformers tokenization_utils_base.py",
    ),
    Rule(
        "fd-limit",
        "fd_limit",
        r"\[Errno 24\]|Too many open files",
        scope=ANY,
        ends=True,
        strength=7,
        stage="serving",
        stages=("weights_load", "serving", "ready", "warmup", "distributed_init"),
        lasting=True,
        remedies=fix.fd_limit,
        say="The process has reached its limit of open files and sockets.",
        source="asyncio, OS error 24",
    ),
    Rule(
        "fp8-scales",
        "fp8_kv_scale_missing",
        r"Using FP8 KV cache but no scaling factors provided|no (?:k|kv)[/_ ]?(?:v)? ?scal(?:e|ing factors?).*(?:default|1\.0).*FP8|"
        r"Using KV cache scaling factor 1\.0 for fp8",
        scope=LOG,
        weight=WEAK,
        ends=True,
        strength=1,
        stage="memory_pool",
        lasting=True,
        when=lambda match, context: str(context.args.get("kv_cache_dtype", "")).startswith(("fp8", "float8")),
        say="An FP8 KV cache runs with scaling factors of 1.0.",
        source="model_runner.py",
    ),
)
