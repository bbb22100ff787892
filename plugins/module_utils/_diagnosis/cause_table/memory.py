# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Causes of the contract: memory. Id, group, severity, stages, ids easily reported instead, first advice."""

from __future__ import annotations

# fmt: off
TABLE = (
    (
        "activation_oom", "memory", "fault", ("warmup", "serving"),
        ("cuda_graph_oom", "weights_oom", "gpu_busy_by_other_process", "kv_cache_oom"),
        "Leave more memory outside the pools: lower --mem-fraction-static, lower --chunked-prefill-size or --max-prefill-tokens, or"
        " lower --max-running-requests.",
    ),
    (
        "cuda_graph_oom", "memory", "fault", ("cuda_graph",),
        ("kv_cache_oom", "weights_oom", "peer_rank_died", "missing_kernel_for_gpu"),
        "Lower --mem-fraction-static by 0.02-0.05 or lower --cuda-graph-max-bs; --disable-cuda-graph only as a last resort.",
    ),
    (
        "gpu_busy_by_other_process", "memory", "fault", ("distributed_init", "weights_load"),
        ("weights_oom", "memory_balance_check"),
        "Stop the other process (from a container look on the host as well), or choose a free GPU with CUDA_VISIBLE_DEVICES or "
        "--base-gpu-id.",
    ),
    (
        "hicache_host_memory", "memory", "fault", ("memory_pool",),
        ("host_oom_killed", "kv_cache_oom", "memlock_limit", "cuda_graph_oom"),
        "Lower --hicache-size or --hicache-ratio (the size counts per rank, and twice for hybrid models in some versions), or give "
        "the container more memory.",
    ),
    (
        "host_oom_killed", "memory", "fault", ("weights_load", "memory_pool", "serving"),
        ("hicache_host_memory", "weights_oom", "insufficient_evidence"),
        "Raise the memory limit of the container or host or add swap for the load; else need less: lower --hicache-size, fewer "
        "loading threads, a checkpoint that needs no conversion.",
    ),
    (
        "kv_cache_oom", "memory", "fault", ("memory_pool",),
        ("cuda_graph_oom", "weights_oom", "mamba_cache_oom"),
        "Raise --mem-fraction-static (above the printed minimum when there is one) where the budget can become positive that way "
        "with enough left for graphs and draft; else shrink what is taken before the pool: on a hybrid model with speculation lower"
        " --max-running-requests or set --mamba-ssm-dtype bfloat16 (or fewer draft tokens), else a smaller quantisation or more "
        "GPUs. A smaller KV dtype or context length makes no negative budget positive.",
    ),
    (
        "mamba_cache_oom", "memory", "fault", ("memory_pool", "cuda_graph"),
        ("kv_cache_oom", "mamba_slots_exhausted"),
        "Lower --max-running-requests or --speculative-num-draft-tokens, or raise --mem-fraction-static; else a smaller "
        "quantisation or more GPUs.",
    ),
    (
        "mamba_slots_exhausted", "memory", "fault", ("serving",),
        ("mamba_cache_oom", "kv_cache_oom", "engine_bug_mamba_cache"),
        "Raise --max-mamba-cache-size or --mamba-full-memory-ratio, or lower --max-running-requests; without --enable-hierarchical-"
        "cache fewer states stay locked.",
    ),
    (
        "memory_balance_check", "memory", "fault", ("distributed_init",),
        ("gpu_busy_by_other_process",),
        "First make sure that no other process holds memory; then update SGLang or switch the check off "
        "(SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0).",
    ),
    (
        "pool_allocation_oom", "memory", "fault", ("memory_pool",),
        ("kv_cache_oom", "cuda_graph_oom", "weights_oom"),
        "Lower --mem-fraction-static; free the memory that another process has taken meanwhile.",
    ),
    (
        "weights_oom", "memory", "fault", ("weights_load",),
        ("gpu_busy_by_other_process", "kv_cache_oom", "activation_oom"),
        "Spread over more GPUs (raise --tp-size), use a smaller quantisation, drop draft layers, or set --cpu-offload-gb; --mem-"
        "fraction-static has no influence here, with one exception: releases up to 0.5.13 load a draft model after the pools of the"
        " main model, and when that second load runs out the fraction must go down (or the draft go).",
    ),
)
