# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about GPU and host memory."""

from __future__ import annotations

from .. import remedies_memory as fix
from .. import remedies_state
from ..oom import kind_of_oom
from ..record import ANY, LOG, RECORD, WEAK, Rule

#: PyTorch's caching allocator, the CUDA runtime and driver, cuBLAS, NCCL and HIP say the same thing in these words.
OUT_OF_MEMORY = (
    r"CUDA out of memory|HIP out of memory|CUDA error: out of memory|CUDA driver error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|"
    r"cudaErrorMemoryAllocation|"
    r"CUBLAS_STATUS_ALLOC_FAILED|Cuda failure (?:2 )?'?out of memory|Triton Error \[CUDA\]: out of memory|"
    r"torch\.(?:cuda\.)?OutOfMemoryError|OutOfMemoryError: "
)


def _kind(cause):
    return lambda match, context: kind_of_oom(match, context) == cause


RULES = (
    Rule(
        "oom-weights",
        "weights_oom",
        OUT_OF_MEMORY,
        when=_kind("weights_oom"),
        strength=4,
        stage="weights_load",
        remedies=fix.weights_oom,
        say="GPU memory ran out while the model was being loaded, and this process itself owns it: the weights do not fit.",
        support=r"Load weight begin\. avail mem=",
        source="torch CUDACachingAllocator, between Load weight begin and end",
    ),
    Rule(
        "oom-gpu-busy",
        "gpu_busy_by_other_process",
        OUT_OF_MEMORY,
        when=_kind("gpu_busy_by_other_process"),
        strength=4,
        stage="weights_load",
        remedies=fix.gpu_busy,
        support=r"Load weight begin\. avail mem=",
        say="The GPU is already filled by another process.",
        source="torch CUDACachingAllocator names processes by NVML",
    ),
    Rule(
        "oom-graph",
        "cuda_graph_oom",
        OUT_OF_MEMORY,
        when=_kind("cuda_graph_oom"),
        strength=4,
        stage="cuda_graph",
        remedies=fix.graph_oom,
        say="GPU memory ran out while CUDA graphs were captured: too little is left beside weights and pools.",
        source="cuda_graph_runner.py: Capture cuda graph failed: {e}",
    ),
    Rule(
        "oom-pool",
        "pool_allocation_oom",
        OUT_OF_MEMORY,
        when=_kind("pool_allocation_oom"),
        strength=4,
        stage="memory_pool",
        remedies=fix.pool_oom,
        support=r"Load weight end\.",
        say="GPU memory ran out while the KV and state pools were allocated: their computed size is not there.",
        source="torch, between Load weight end and Memory pool end",
    ),
    Rule(
        "oom-activation",
        "activation_oom",
        OUT_OF_MEMORY,
        when=_kind("activation_oom"),
        strength=4,
        stage="serving",
        remedies=fix.activation_oom,
        say="GPU memory ran out in a forward pass: too little is left outside weights, pools and graphs.",
        source="torch, in the event loop of the scheduler",
    ),
    Rule(
        "oom-host-pool",
        "hicache_host_memory",
        OUT_OF_MEMORY,
        when=_kind("hicache_host_memory"),
        strength=4,
        stage="memory_pool",
        remedies=fix.hicache,
        say="The host pool of the hierarchical cache could not be pinned.",
        source="mem_cache/memory_pool_host.py, pool_host/",
    ),
    Rule(
        "hicache-size",
        "hicache_host_memory",
        r"Not enough host memory available\. Requesting (?P<asked>[\d.]+) GB but only have (?P<free>[\d.]+) GB|"
        r"The host memory should be larger than the device memory|"
        r"host memory pool .*(?:too small|not enough)|cudaHostRegister\w* failed|Failed to (?:pin|register) host memory|"
        r"DefaultCPUAllocator: (?:can't|not enough) .*memory",
        unless=r"RLIMIT_MEMLOCK|memlock",
        when=lambda match, context: "DefaultCPUAllocator" not in match.line.body or context.in_host_pool(match),
        stage="memory_pool",
        remedies=fix.hicache,
        support=r"Allocating [\d.]+ GB host memory",
        say="The host memory asked for by the hierarchical cache is not available.",
        source="memory_pool_host.py, pool_host/base.py, pool_host/mamba.py",
    ),
    Rule(
        "kv-not-enough",
        "kv_cache_oom",
        r"Not enough memory\. Please try to increase --mem-fraction-static|Loaded weights leave no GPU memory for the KV cache|"
        r"No available memory for the cache blocks|"
        r"Memory pool size is too small|max_total_num_tokens (?:is|=) ?-\d+|SWA pool \(\d+ tokens\) cannot hold even one request",
        stage="memory_pool",
        stages=("memory_pool",),
        remedies=fix.kv_cache,
        support=r"is larger than the profiled value -|Load weight end\.",
        say="After the weights the static share of GPU memory leaves no room for a KV pool.",
        source="model_runner.py, pool_configurator.py, kv_cache_configurator.py, tp_worker.py; vLLM kv_cache_utils.py",
    ),
    Rule(
        "kv-longer-than-pool-at-start",
        "kv_cache_oom",
        r"To serve at least one request with the models?'s max seq len \(\d+\)|"
        r"The model's max seq len \(\d+\) is larger than the maximum number of tokens that can be stored in KV cache",
        stage="memory_pool",
        remedies=fix.kv_cache,
        say="The KV pool is too small for one request of the context length.",
        source="vLLM kv_cache_utils.py",
    ),
    Rule(
        "mamba-state-none",
        "mamba_cache_oom",
        r"Not enough GPU memory for hybrid \(mamba/linear-attention\) state cache|"
        r"Hybrid \(mamba/linear-attention\) state cache is too small to serve any requests|"
        r"[Nn]ot enough (?:GPU )?memory for (?:the )?(?:mamba|hybrid|linear[- ]attention|state) (?:state )?cache|"
        r"max_mamba_cache_size (?:is|must|should) .*(?:too small|positive|greater)",
        stage="memory_pool",
        remedies=remedies_state.mamba_cache,
        strength=6,
        support=r"Load weight end\.",
        say="GPU memory after the weights holds no state slot (or too few) of this hybrid model.",
        source="kv_cache_configurator.py",
        since="0.5.13",
    ),
    Rule(
        "mamba-state-none-by-graphs",
        "mamba_cache_oom",
        r"AssertionError: capture_bs=\[0?\]|max_running_requests? is zero|AssertionError: capture_bs is empty",
        when=lambda match, context: context.hybrid,
        stage="cuda_graph",
        remedies=remedies_state.mamba_cache,
        support=r"Mamba Cache is allocated",
        say="The state cache of this hybrid model allows no running request: its slots do not suffice for one.",
        source="cuda_graph_runner.py get_batch_sizes_to_capture, tp_worker.py",
        until="0.5.13",
    ),
    Rule(
        "running-requests-zero",
        "kv_cache_oom",
        r"AssertionError: capture_bs=\[0?\]|max_running_requests? is zero",
        when=lambda match, context: not context.hybrid,
        stage="memory_pool",
        fixed=True,
        remedies=fix.kv_cache,
        strength=4,
        say="The pools allow no running request.",
        source="tp_worker.py",
    ),
    Rule(
        "mamba-slots",
        "mamba_slots_exhausted",
        r"Not enough space for mamba (?:cache|ping pong idx|\w+)|[Cc]an(?:'t|not) (?:alloc|allocate|get) (?:a )?mamba (?:cache|slot|"
        r"index|buffer|state)|"
        r"mamba (?:cache|slot|state|pool|buffer)s? (?:alloc\w*|is|are) (?:failed|exhausted|full)|[Ff]ailed to allocate (?:a )?mamba",
        stage="serving",
        remedies=remedies_state.mamba_slots,
        support=r"mamba usage: (?:0\.[89]|1\.)|Mamba Cache is allocated",
        say="A request was admitted but no state slot was free for it; the assertion ended the scheduler.",
        source="mem_cache/memory_pool.py HybridReqToTokenPool.alloc",
    ),
    Rule(
        "balance-check-own",
        "memory_balance_check",
        r"[Tt]he memory capacity is unbalanced",
        when=lambda match, context: context.own_memory_before(match),
        stage="distributed_init",
        stages=("distributed_init",),
        remedies=fix.balance,
        say="The start-up check found unequal free memory, but this server itself caused the difference.",
        source="model_runner.py init_torch_distributed",
    ),
    Rule(
        "balance-check-foreign",
        "gpu_busy_by_other_process",
        r"[Tt]he memory capacity is unbalanced",
        when=lambda match, context: not context.own_memory_before(match),
        stage="distributed_init",
        stages=("distributed_init",),
        remedies=fix.gpu_busy,
        confidence=0.8,
        say="Free memory differs between the GPUs before anything was loaded: another process occupies one of them.",
        source="model_runner.py init_torch_distributed",
    ),
    Rule(
        "free-memory-less-than-wanted",
        "gpu_busy_by_other_process",
        r"Free memory on device .*\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than desired GPU memory utilization",
        stage="distributed_init",
        remedies=fix.gpu_busy,
        say="Only {free} of {total} GiB are free on the GPU before the start.",
        source="vLLM gpu_worker.py",
    ),
    Rule(
        "oom-kill-kernel",
        "host_oom_killed",
        r"Out of memory: Killed process \d+|Memory cgroup out of memory|oom-kill:constraint=|invoked oom-killer|"
        r"oom_reaper: reaped process",
        scope=ANY,
        weight=RECORD,
        ends=True,
        remedies=fix.host_oom,
        support=r"exit code: -9|exit code -9",
        say="The kernel killed a server process for lack of host or container memory.",
        source="kernel mm/oom_kill.c",
    ),
    Rule(
        "oom-kill-systemd",
        "host_oom_killed",
        r"Failed with result 'oom-kill'|A process of this unit has been killed by the OOM killer",
        scope=LOG,
        weight=RECORD,
        ends=True,
        strength=4,
        remedies=fix.host_oom,
        say="The service was ended for lack of host or container memory (OOM kill).",
        source="systemd",
    ),
    Rule(
        "scheduler-exit-9",
        "host_oom_killed",
        r"(?:scheduler|detokenizer) died during initialization \(exit code: -9\)|Subprocess (?:scheduler|"
        r"detokenizer)\w* \(pid=\d+\) crashed with exit code -9|"
        r"terminated with -9|^Exit code: -9|died unexpectedly.*(?:exit code|exitcode)[ =:]*-9",
        scope=ANY,
        weight=WEAK,
        remedies=fix.host_oom,
        confidence=0.7,
        when=lambda match, context: context.facts.get("oom_killed") is not False,
        say="A server process was ended by SIGKILL without an error of its own: most often the kernel for lack of host or container "
        "memory.",
        source="entrypoints/engine.py _scheduler_died_error, utils/watchdog.py",
    ),
)
