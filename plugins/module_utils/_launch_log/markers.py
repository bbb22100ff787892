# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Which line shows which stage of a launch. Sources: SGLang 0.5.9 … 0.5.23 (engine.py, scheduler.py, model_runner.py and what
replaced it, memory_pool.py, cuda graph runners, http_server.py), uvicorn, and vLLM where an operator meets it.

A line that ends a stage puts the launch into the stage that follows: after "Load weight end" memory is profiled.
"""

from __future__ import annotations

import re

#: Stages in their usual order.
STAGES = (
    "launch",
    "args",
    "imports",
    "tokenizer",
    "distributed_init",
    "weights_load",
    "memory_pool",
    "attention_backend",
    "cuda_graph",
    "warmup",
    "ready",
    "serving",
    "shutdown",
)
ORDER = {name: place for place, name in enumerate(STAGES)}

READY_TEXT = "The server is fired up and ready to roll"

#: (stage, pattern at the start of a line's body). The first that fits wins.
_TABLE = (
    (
        "launch",
        r"server_args=(?:ServerArgs\(|\{)|Initializing an LLM engine|Initializing a V1 LLM engine|vLLM API server version|"
        r"non-default args:",
    ),
    ("ready", READY_TEXT),
    (
        "shutdown",
        r"SIGTERM received\.|Gracefully exiting|Received SIGTERM|Shutting down$|\[shutdown\] |Received signal (?:SIGTERM|SIGINT)|"
        r"(?:INFO: +)?Shutting down|Stopping \S+\.service|Received exit signal",
    ),
    ("args", r"usage: \S*(?:sglang|launch_server|vllm|api_server|__main__|python)"),
    (
        "weights_load",
        r"(?:Loading [\w .-]*checkpoint shards|Multi-thread loading shards|Loading \w+ weights)\b[^|]*\d+%|Load weight begin|"
        r"Init (?:torch distributed|parallel|nccl) ends|Starting to load model|Loading weights took|Memory baseline taken|"
        r"Parameter \S+ not found in params_dict",
    ),
    (
        "distributed_init",
        r"Init (?:torch distributed|parallel|nccl) begin|(?:sglang|vLLM) is using nccl|\S+:\d+:\d+ \[\d+\] NCCL (?:INFO|WARN)|"
        r"world_size=\d+ rank=\d+|Setup Custom allreduce|\[Gloo\] Rank \d+ is connected",
    ),
    (
        "memory_pool",
        r"Load weight end|Mamba Cache is allocated|KV Cache is allocated|Using KV cache dtype|Use [Ss]liding window memory pool|"
        r"Reserving [\d.]+ GB of the KV budget|max_total_tokens=\d+ is larger than the profiled|Loading model weights took|"
        r"Model loading took|"
        r"Allocating [\d.]+ GB host memory|# GPU blocks|GPU KV cache size|Available KV cache memory",
    ),
    (
        "attention_backend",
        r"Memory pool end|Using hybrid linear attention backend|Running FlashInfer autotune|Linear attention kernel backend",
    ),
    (
        "cuda_graph",
        r"Capture .*(?:CUDA|cuda|CPU|cpu) graph|Capturing (?:batches|num tokens)|Compiling (?:a graph|num tokens)|"
        r"Registering \d+ cuda graph addresses|"
        r"Capturing (?:the model for )?CUDA graphs?|Graph capturing finished|Dynamo bytecode transform",
    ),
    (
        "warmup",
        r"max_total_num_tokens=-?\d+, chunked_prefill_size=|(?:INFO: +)?Started server process|"
        r"(?:INFO: +)?Waiting for application startup|"
        r"(?:INFO: +)?Application startup complete|(?:INFO: +)?Uvicorn running on|Tree cache initialized|Engine startup timings|"
        r"(?:Entering|Try) DeepGEMM|DeepGEMM warmup|Start of pd disaggregation warmup|init engine \(profile",
    ),
    (
        "tokenizer",
        r"Using default HuggingFace chat template|Use(?:ing)? (?:the )?chat template|Auto-detected template features|"
        r"Fixing v\d+ tokenizer|"
        r"No chat template found|Detected chat template|_fix_v5_\w+:|Failed to load (?:the )?tokenizer",
    ),
)

_MARK = re.compile("|".join("(?P<%s_%d>%s)" % (stage, place, pattern) for place, (stage, pattern) in enumerate(_TABLE)))
#: Answered requests and work on them; the first group is set for requests of clients that ask for output.
REQUEST = re.compile(r"(?:INFO: +)?(?:\S+ - )?\"(?P<method>[A-Z]+) (?P<path>/\S*) HTTP/[\d.]+\" (?P<code>\d{3})")
_WORK = re.compile(
    r"(?:Decode batch|Engine \d+: Avg prompt throughput|Avg prompt throughput)|Prefill batch[.,] #new-seq: \d+, #new-token: (?!1,)"
)
_GENERATE = re.compile(
    r"/(?:generate|v1/(?:chat/)?completions|v1/responses|v1/embeddings|v1/messages|v1/rerank|encode|classify|v1/score)\b"
)


def mark(line):
    """Stage that this line shows, or None. ``line``: Line."""
    body = line.body
    match = _MARK.match(body)
    if match and match.lastgroup:
        return match.lastgroup.rsplit("_", 1)[0]
    return None


def is_client_work(line):
    """Whether the line shows that a request for output is or was worked on with success."""
    body = line.body
    if body.startswith(("Decode batch", "Prefill batch", "Engine ", "Avg prompt")):
        return _WORK.match(body) is not None
    if "HTTP/" in body and '"POST ' in body:
        match = REQUEST.match(body)
        return match is not None and match.group("code")[0] == "2" and _GENERATE.match(match.group("path")) is not None
    return False
