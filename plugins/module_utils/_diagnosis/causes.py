# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The causes of the contract, as far as they are needed at run time: group, severity, stages, neighbours, first advice.

The full texts (definitions, how to tell causes apart) are in docs/causes.md; a test compares this table with the contract.
"""

from __future__ import annotations


class Cause:
    """One cause. severity: fault | warning | info | none. stages: where it typically occurs. confused_with: ids easily reported instead."""

    __slots__ = ("id", "group", "severity", "stages", "confused_with", "remedy")

    def __init__(self, id, group, severity, stages, confused_with, remedy):
        self.id = id
        self.group = group
        self.severity = severity
        self.stages = stages
        self.confused_with = confused_with
        self.remedy = remedy


_TABLE = (
    Cause(
        "activation_oom",
        "memory",
        "fault",
        (
            "warmup",
            "serving",
        ),
        (
            "cuda_graph_oom",
            "weights_oom",
            "gpu_busy_by_other_process",
            "kv_cache_oom",
        ),
        "Leave more memory outside the pools: lower --mem-fraction-static, lower --chunked-prefill-size or --max-prefill-"
        "tokens, or lower --max-running-requests.",
    ),
    Cause(
        "cuda_graph_oom",
        "memory",
        "fault",
        ("cuda_graph",),
        (
            "kv_cache_oom",
            "weights_oom",
            "peer_rank_died",
            "missing_kernel_for_gpu",
        ),
        "Lower --mem-fraction-static by 0.02-0.05 or lower --cuda-graph-max-bs; --disable-cuda-graph only as a last resort.",
    ),
    Cause(
        "gpu_busy_by_other_process",
        "memory",
        "fault",
        (
            "distributed_init",
            "weights_load",
        ),
        (
            "weights_oom",
            "memory_balance_check",
        ),
        "Stop the other process (from a container look on the host as well), or choose a free GPU with CUDA_VISIBLE_DEVICES or "
        "--base-gpu-id.",
    ),
    Cause(
        "hicache_host_memory",
        "memory",
        "fault",
        ("memory_pool",),
        (
            "host_oom_killed",
            "kv_cache_oom",
            "memlock_limit",
            "cuda_graph_oom",
        ),
        "Lower --hicache-size or --hicache-ratio (the size counts per rank, and twice for hybrid models in some versions), or "
        "give the container more memory.",
    ),
    Cause(
        "host_oom_killed",
        "memory",
        "fault",
        (
            "weights_load",
            "memory_pool",
            "serving",
        ),
        (
            "hicache_host_memory",
            "weights_oom",
            "insufficient_evidence",
        ),
        "Raise the memory limit of the container or host or add swap for the load; else need less: lower --hicache-size, fewer "
        "loading threads, a checkpoint that needs no conversion.",
    ),
    Cause(
        "kv_cache_oom",
        "memory",
        "fault",
        ("memory_pool",),
        (
            "cuda_graph_oom",
            "weights_oom",
            "mamba_cache_oom",
        ),
        "Raise --mem-fraction-static (above the printed minimum when there is one) where the budget can become positive that "
        "way with enough left for graphs and draft; else shrink what is taken before the pool: on a hybrid model with "
        "speculation lower --max-running-requests or set --mamba-ssm-dtype bfloat16 (or fewer draft tokens), else a smaller "
        "quantisation or more GPUs. A smaller KV dtype or context length makes no negative budget positive.",
    ),
    Cause(
        "mamba_cache_oom",
        "memory",
        "fault",
        (
            "memory_pool",
            "cuda_graph",
        ),
        (
            "kv_cache_oom",
            "mamba_slots_exhausted",
        ),
        "Lower --max-running-requests or --speculative-num-draft-tokens, or raise --mem-fraction-static; else a smaller "
        "quantisation or more GPUs.",
    ),
    Cause(
        "mamba_slots_exhausted",
        "memory",
        "fault",
        ("serving",),
        (
            "mamba_cache_oom",
            "kv_cache_oom",
            "engine_bug_mamba_cache",
        ),
        "Raise --max-mamba-cache-size or --mamba-full-memory-ratio, or lower --max-running-requests; without --enable-"
        "hierarchical-cache fewer states stay locked.",
    ),
    Cause(
        "memory_balance_check",
        "memory",
        "fault",
        ("distributed_init",),
        ("gpu_busy_by_other_process",),
        "First make sure that no other process holds memory; then update SGLang or switch the check off "
        "(SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0).",
    ),
    Cause(
        "pool_allocation_oom",
        "memory",
        "fault",
        ("memory_pool",),
        (
            "kv_cache_oom",
            "cuda_graph_oom",
            "weights_oom",
        ),
        "Lower --mem-fraction-static; free the memory that another process has taken meanwhile.",
    ),
    Cause(
        "weights_oom",
        "memory",
        "fault",
        ("weights_load",),
        (
            "gpu_busy_by_other_process",
            "kv_cache_oom",
            "activation_oom",
        ),
        "Spread over more GPUs (raise --tp-size), use a smaller quantisation, drop draft layers, or set --cpu-offload-gb; "
        "--mem-fraction-static has no influence here, with one exception: releases up to 0.5.13 load a draft model after the "
        "pools of the main model, and when that second load runs out the fraction must go down (or the draft go).",
    ),
    Cause(
        "attention_backend_unsupported",
        "software_stack",
        "fault",
        (
            "args",
            "attention_backend",
            "cuda_graph",
        ),
        (
            "missing_kernel_for_gpu",
            "page_size_unsupported_by_backend",
            "invalid_argument_value",
        ),
        "Choose another --attention-backend (triton is the most general) or drop the option with which it conflicts.",
    ),
    Cause(
        "compiler_missing",
        "software_stack",
        "fault",
        (
            "cuda_graph",
            "warmup",
            "attention_backend",
        ),
        (
            "nvcc_missing",
            "python_headers_missing",
            "ninja_missing",
            "torch_compile_failure",
        ),
        "Install gcc/g++ (build-essential) in the container, or start without --enable-torch-compile.",
    ),
    Cause(
        "cuda_home_malformed",
        "software_stack",
        "fault",
        (
            "attention_backend",
            "cuda_graph",
            "warmup",
        ),
        ("nvcc_missing",),
        "Set CUDA_HOME to exactly one directory such as /usr/local/cuda in the environment of the service.",
    ),
    Cause(
        "cuda_major_mismatch",
        "software_stack",
        "fault",
        ("imports",),
        (
            "missing_system_library",
            "driver_library_missing",
            "sgl_kernel_abi_mismatch",
            "driver_too_old",
        ),
        "Keep one CUDA major in the environment: install the kernel wheel that matches torch, or the runtime libraries of the "
        "major the wheel asks for.",
    ),
    Cause(
        "engine_bug_mamba_cache",
        "software_stack",
        "fault",
        ("serving",),
        (
            "mamba_slots_exhausted",
            "engine_leak_check",
            "mamba_page_size_conflict",
        ),
        "Update SGLang; until then start with --disable-radix-cache or without --enable-hierarchical-cache.",
    ),
    Cause(
        "engine_bug_model_support",
        "software_stack",
        "fault",
        (
            "weights_load",
            "memory_pool",
            "attention_backend",
            "cuda_graph",
        ),
        (
            "unsupported_arch",
            "transformers_too_old",
            "invalid_speculative_config",
            "checkpoint_layout_mismatch",
        ),
        "Change the SGLang version, or try another --attention-backend.",
    ),
    Cause(
        "engine_leak_check",
        "software_stack",
        "fault",
        ("serving",),
        (
            "kv_cache_oom",
            "engine_bug_mamba_cache",
            "host_oom_killed",
        ),
        "Update SGLang; until then start with --disable-radix-cache.",
    ),
    Cause(
        "flashinfer_version_mismatch",
        "software_stack",
        "fault",
        (
            "imports",
            "launch",
        ),
        (
            "python_package_missing",
            "missing_kernel_for_gpu",
        ),
        "Install flashinfer-python at the demanded version and its companion packages at the same version, or choose another "
        "--attention-backend.",
    ),
    Cause(
        "glibc_too_old",
        "software_stack",
        "fault",
        (
            "launch",
            "imports",
        ),
        (
            "sgl_kernel_abi_mismatch",
            "missing_system_library",
        ),
        "Use a newer distribution in the container, or a wheel built for an older manylinux.",
    ),
    Cause(
        "illegal_memory_access",
        "software_stack",
        "fault",
        (
            "cuda_graph",
            "warmup",
            "serving",
        ),
        (
            "gpu_hardware_ecc",
            "gpu_kernel_exception",
            "gpu_fell_off_bus",
            "xid_application_fault",
        ),
        "Update SGLang; to narrow it down lower --max-running-requests, use --disable-cuda-graph or another --attention-"
        "backend, and switch speculative decoding off.",
    ),
    Cause(
        "missing_kernel_for_gpu",
        "software_stack",
        "fault",
        (
            "weights_load",
            "attention_backend",
            "cuda_graph",
            "warmup",
        ),
        (
            "toolchain_too_old_for_gpu",
            "sgl_kernel_abi_mismatch",
            "unsupported_quantization",
            "attention_backend_unsupported",
        ),
        "Install builds that contain the compute capability of the card (for new cards a newer CUDA variant), or choose a "
        "backend that compiles at run time (--attention-backend triton).",
    ),
    Cause(
        "missing_system_library",
        "software_stack",
        "fault",
        ("imports",),
        (
            "sgl_kernel_abi_mismatch",
            "cuda_major_mismatch",
            "driver_library_missing",
        ),
        "Install the distribution package that holds the named file; reinstalling the wheel does not help.",
    ),
    Cause(
        "ninja_missing",
        "software_stack",
        "fault",
        (
            "attention_backend",
            "cuda_graph",
            "warmup",
        ),
        (
            "nvcc_missing",
            "compiler_missing",
            "cuda_home_malformed",
        ),
        "Install ninja in the environment of the server and put its bin directory into PATH of the service.",
    ),
    Cause(
        "nvcc_missing",
        "software_stack",
        "fault",
        (
            "imports",
            "weights_load",
            "attention_backend",
            "cuda_graph",
            "warmup",
        ),
        (
            "cuda_home_malformed",
            "compiler_missing",
            "ninja_missing",
            "driver_too_old",
        ),
        "Install the CUDA toolkit of the CUDA major of torch and set CUDA_HOME and PATH in the service, or use prebuilt kernels"
        " (jit-cache package, SGLANG_ENABLE_JIT_DEEPGEMM=0).",
    ),
    Cause(
        "python_headers_missing",
        "software_stack",
        "fault",
        (
            "attention_backend",
            "cuda_graph",
            "warmup",
        ),
        (
            "compiler_missing",
            "torch_compile_failure",
        ),
        "Install the development package of exactly the interpreter that runs the server (python3.X-dev).",
    ),
    Cause(
        "python_package_missing",
        "software_stack",
        "fault",
        (
            "imports",
            "args",
            "tokenizer",
        ),
        (
            "sgl_kernel_abi_mismatch",
            "missing_system_library",
            "flashinfer_version_mismatch",
        ),
        "Install the package, or reinstall SGLang with its pinned dependencies in a fresh environment.",
    ),
    Cause(
        "sgl_kernel_abi_mismatch",
        "software_stack",
        "fault",
        ("imports",),
        (
            "missing_kernel_for_gpu",
            "driver_too_old",
            "missing_system_library",
            "cuda_major_mismatch",
        ),
        "Install the torch version that the kernel wheel pins, or the kernel wheel of the installed torch.",
    ),
    Cause(
        "toolchain_too_old_for_gpu",
        "software_stack",
        "fault",
        (
            "attention_backend",
            "cuda_graph",
            "warmup",
        ),
        (
            "missing_kernel_for_gpu",
            "nvcc_missing",
        ),
        "Install torch/Triton or a CUDA toolkit new enough for the GPU, or point TRITON_PTXAS_PATH to a newer ptxas.",
    ),
    Cause(
        "torch_compile_failure",
        "software_stack",
        "fault",
        (
            "cuda_graph",
            "warmup",
        ),
        (
            "compiler_missing",
            "python_headers_missing",
            "triton_shared_memory_limit",
            "toolchain_too_old_for_gpu",
        ),
        "Start without --enable-torch-compile, or lower --torch-compile-max-bs; update torch and SGLang together.",
    ),
    Cause(
        "torch_cpu_only_build",
        "software_stack",
        "fault",
        (
            "launch",
            "args",
            "imports",
            "distributed_init",
        ),
        (
            "gpu_not_passed_through",
            "driver_too_old",
            "cuda_visible_devices_empty",
        ),
        "Install the CUDA build of torch that SGLang pins.",
    ),
    Cause(
        "transformers_too_old",
        "software_stack",
        "fault",
        ("tokenizer",),
        (
            "unsupported_arch",
            "trust_remote_code_required",
            "tokenizer_failed",
        ),
        "Update SGLang, which brings a transformers that knows the type; do not update transformers alone.",
    ),
    Cause(
        "triton_shared_memory_limit",
        "software_stack",
        "fault",
        (
            "cuda_graph",
            "warmup",
            "serving",
        ),
        (
            "shm_too_small",
            "cuda_graph_oom",
            "host_oom_killed",
        ),
        "Update SGLang or add a tuned kernel configuration with fewer stages for this GPU, or choose another MoE backend or "
        "quantisation.",
    ),
    Cause(
        "cache_dir_not_writable",
        "host_and_container",
        "fault",
        (
            "imports",
            "attention_backend",
            "cuda_graph",
            "warmup",
        ),
        (
            "disk_full",
            "model_path_permission",
            "mandatory_access_denied",
        ),
        "Give the service user a writable cache directory (HOME or XDG_CACHE_HOME, TRITON_CACHE_DIR, FLASHINFER_WORKSPACE_BASE)"
        " and allow it in the unit (ReadWritePaths=).",
    ),
    Cause(
        "clock_skew",
        "host_and_container",
        "warning",
        (
            "tokenizer",
            "weights_load",
            "distributed_init",
            "warmup",
        ),
        (
            "hub_unreachable",
            "nccl_collective_timeout",
        ),
        "Set up time synchronisation on the host, then start again.",
    ),
    Cause(
        "cuda_visible_devices_empty",
        "host_and_container",
        "fault",
        (
            "launch",
            "args",
            "distributed_init",
        ),
        (
            "gpu_not_passed_through",
            "nvidia_uvm_missing",
            "invalid_device_ordinal",
        ),
        "Remove CUDA_VISIBLE_DEVICES from the environment of the service or set it to existing indices or UUIDs.",
    ),
    Cause(
        "disk_full",
        "host_and_container",
        "fault",
        (
            "tokenizer",
            "weights_load",
            "attention_backend",
            "cuda_graph",
            "warmup",
            "serving",
        ),
        (
            "shm_too_small",
            "cache_dir_not_writable",
            "still_loading",
        ),
        "Free or enlarge the named volume, remove incomplete downloads, or point --download-dir or the cache elsewhere.",
    ),
    Cause(
        "driver_library_mismatch",
        "host_and_container",
        "fault",
        (
            "launch",
            "args",
            "distributed_init",
        ),
        (
            "driver_too_old",
            "gpu_not_passed_through",
            "gpu_cgroup_lost",
        ),
        "Install in the container exactly the version of the host module (user-space part only); after a driver update reboot "
        "the host first.",
    ),
    Cause(
        "driver_library_missing",
        "host_and_container",
        "fault",
        (
            "launch",
            "imports",
        ),
        (
            "gpu_not_passed_through",
            "cuda_major_mismatch",
            "missing_system_library",
        ),
        "Install the user-space part of the driver in the version of the host, or start the container with the NVIDIA runtime "
        "that mounts it.",
    ),
    Cause(
        "driver_too_old",
        "host_and_container",
        "fault",
        (
            "launch",
            "args",
            "imports",
            "distributed_init",
        ),
        (
            "driver_library_mismatch",
            "sgl_kernel_abi_mismatch",
            "gpu_not_passed_through",
            "cuda_major_mismatch",
        ),
        "Update the driver on the host (and its libraries in the container), or install software for an older CUDA.",
    ),
    Cause(
        "fabric_manager_not_running",
        "host_and_container",
        "fault",
        (
            "distributed_init",
            "launch",
            "args",
        ),
        (
            "driver_library_mismatch",
            "nvidia_uvm_missing",
            "nccl_p2p_hang",
        ),
        "Start the fabric manager on the host in exactly the driver version, then start again.",
    ),
    Cause(
        "fd_limit",
        "host_and_container",
        "fault",
        (
            "weights_load",
            "serving",
        ),
        (
            "disk_full",
            "process_limit",
            "port_in_use",
        ),
        "Raise LimitNOFILE= of the unit (and the limit of the container), and bound the number of client connections.",
    ),
    Cause(
        "gpu_cgroup_lost",
        "host_and_container",
        "fault",
        ("serving",),
        (
            "gpu_fell_off_bus",
            "driver_library_mismatch",
            "illegal_memory_access",
        ),
        "Restart the container; lastingly enter the devices where the service manager knows them and avoid daemon-reload by "
        "automatic updates.",
    ),
    Cause(
        "gpu_exclusive_mode",
        "host_and_container",
        "fault",
        (
            "distributed_init",
            "weights_load",
        ),
        (
            "gpu_busy_by_other_process",
            "gpu_not_passed_through",
        ),
        "Set the compute mode to Default on the host, or stop the process that holds the GPU.",
    ),
    Cause(
        "gpu_fell_off_bus",
        "host_and_container",
        "fault",
        (
            "weights_load",
            "cuda_graph",
            "serving",
        ),
        (
            "gpu_hardware_ecc",
            "illegal_memory_access",
            "gpu_cgroup_lost",
        ),
        "Reboot the host; check power, riser, link speed and temperature. Restarting the service cannot help.",
    ),
    Cause(
        "gpu_hardware_ecc",
        "host_and_container",
        "fault",
        (
            "weights_load",
            "cuda_graph",
            "serving",
        ),
        (
            "illegal_memory_access",
            "gpu_fell_off_bus",
            "weights_oom",
        ),
        "Take the GPU out of service, reset it or reboot the host so that rows are remapped, replace it when it recurs.",
    ),
    Cause(
        "gpu_kernel_exception",
        "host_and_container",
        "fault",
        (
            "cuda_graph",
            "warmup",
            "serving",
        ),
        (
            "illegal_memory_access",
            "xid_application_fault",
            "gpu_hardware_ecc",
        ),
        "Update kernels and driver and find the kernel with CUDA_LAUNCH_BLOCKING=1; run diagnostics when one card repeats it.",
    ),
    Cause(
        "gpu_memory_query_failed",
        "host_and_container",
        "fault",
        (
            "args",
            "launch",
        ),
        (
            "gpu_not_passed_through",
            "mig_mode_mismatch",
            "driver_library_mismatch",
        ),
        "Update SGLang (newer versions ask CUDA directly), or set --mem-fraction-static and related sizes by hand.",
    ),
    Cause(
        "gpu_not_passed_through",
        "host_and_container",
        "fault",
        (
            "launch",
            "args",
            "distributed_init",
        ),
        (
            "driver_library_missing",
            "driver_too_old",
            "nvidia_uvm_missing",
            "torch_cpu_only_build",
        ),
        "Load the driver on the host, pass /dev/nvidia0, nvidiactl and nvidia-uvm to the container with their device rules, and"
        " restart it.",
    ),
    Cause(
        "mandatory_access_denied",
        "host_and_container",
        "fault",
        (
            "launch",
            "imports",
            "distributed_init",
            "weights_load",
        ),
        (
            "model_path_permission",
            "cache_dir_not_writable",
            "nested_container_cgroup_denied",
            "shm_permission",
        ),
        "Label or allow the path or call in the policy (for mounts the :z label or a profile of the container) instead of "
        "switching the protection off.",
    ),
    Cause(
        "memlock_limit",
        "host_and_container",
        "fault",
        (
            "distributed_init",
            "memory_pool",
        ),
        (
            "hicache_host_memory",
            "shm_too_small",
        ),
        "Set LimitMEMLOCK=infinity in the unit (and the same limit for the container).",
    ),
    Cause(
        "mig_mode_mismatch",
        "host_and_container",
        "fault",
        (
            "launch",
            "args",
            "distributed_init",
        ),
        (
            "gpu_memory_query_failed",
            "cuda_visible_devices_empty",
            "invalid_device_ordinal",
        ),
        "Create and name a compute instance and use --tp-size 1 on it, or switch MIG off on the host.",
    ),
    Cause(
        "nested_container_cgroup_denied",
        "host_and_container",
        "fault",
        ("launch",),
        (
            "gpu_not_passed_through",
            "driver_library_missing",
            "mandatory_access_denied",
        ),
        "Set no-cgroups = true in the NVIDIA container runtime, or run SGLang without the inner container.",
    ),
    Cause(
        "numa_binding_failed",
        "host_and_container",
        "warning",
        (
            "launch",
            "distributed_init",
        ),
        (
            "missing_system_library",
            "mandatory_access_denied",
        ),
        "Drop or correct the NUMA setting (--numa-node), or allow the call and the CPUs in the container.",
    ),
    Cause(
        "nvidia_uvm_missing",
        "host_and_container",
        "fault",
        (
            "launch",
            "args",
            "distributed_init",
        ),
        (
            "gpu_not_passed_through",
            "cuda_visible_devices_empty",
            "driver_library_mismatch",
        ),
        "Load nvidia-uvm on the host at boot, pass /dev/nvidia-uvm and nvidia-uvm-tools with their present major number, and "
        "restart the container.",
    ),
    Cause(
        "process_limit",
        "host_and_container",
        "fault",
        (
            "launch",
            "imports",
            "weights_load",
            "serving",
        ),
        (
            "fd_limit",
            "host_oom_killed",
        ),
        "Raise TasksMax= and LimitNPROC= of the unit and the pids limit of the container, or lower the number of threads "
        "(OMP_NUM_THREADS).",
    ),
    Cause(
        "shm_permission",
        "host_and_container",
        "fault",
        ("distributed_init",),
        (
            "shm_too_small",
            "mandatory_access_denied",
            "cache_dir_not_writable",
        ),
        "Set /dev/shm to mode 1777 and remove segments of other users; run all ranks as one user.",
    ),
    Cause(
        "shm_too_small",
        "host_and_container",
        "fault",
        (
            "distributed_init",
            "warmup",
            "serving",
        ),
        (
            "disk_full",
            "shm_permission",
            "triton_shared_memory_limit",
        ),
        "Enlarge /dev/shm (docker --shm-size or --ipc=host; a larger tmpfs entry in LXC) and remove stale segments.",
    ),
    Cause(
        "xid_application_fault",
        "host_and_container",
        "fault",
        (
            "cuda_graph",
            "warmup",
            "serving",
        ),
        (
            "gpu_kernel_exception",
            "illegal_memory_access",
            "gpu_hardware_ecc",
            "gpu_fell_off_bus",
        ),
        "Treat it as a software fault: look for the first server error, update SGLang and driver; suspect the card only if one "
        "repeats it.",
    ),
    Cause(
        "chat_template_missing",
        "model_and_arguments",
        "fault",
        (
            "serving",
            "tokenizer",
        ),
        (
            "tokenizer_failed",
            "invalid_argument_value",
        ),
        "Use the instruction-tuned model, or give --chat-template FILE.",
    ),
    Cause(
        "checkpoint_layout_mismatch",
        "model_and_arguments",
        "fault",
        ("weights_load",),
        (
            "corrupt_or_incomplete_weights",
            "unsupported_quantization",
            "engine_bug_model_support",
            "tp_size_not_divisible",
        ),
        "Use a checkpoint or quantisation variant that this SGLang version supports, or a version that supports this checkpoint.",
    ),
    Cause(
        "context_length_exceeds_model",
        "model_and_arguments",
        "fault",
        (
            "args",
            "tokenizer",
        ),
        (
            "rope_scaling_misconfigured",
            "kv_pool_smaller_than_context",
            "kv_cache_oom",
        ),
        "Lower --context-length to the derived value; with a valid rope scaling set SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1.",
    ),
    Cause(
        "corrupt_or_incomplete_weights",
        "model_and_arguments",
        "fault",
        ("weights_load",),
        (
            "checkpoint_layout_mismatch",
            "disk_full",
            "model_path_missing",
        ),
        "Compare sizes and checksums with the source, and download the affected shard again.",
    ),
    Cause(
        "dtype_unsupported_by_gpu",
        "model_and_arguments",
        "fault",
        (
            "args",
            "tokenizer",
            "weights_load",
        ),
        (
            "unsupported_quantization",
            "missing_kernel_for_gpu",
        ),
        "Set --dtype float16 (half), or use a newer GPU.",
    ),
    Cause(
        "expert_parallel_size_invalid",
        "model_and_arguments",
        "fault",
        (
            "args",
            "weights_load",
        ),
        (
            "tp_size_not_divisible",
            "invalid_argument_value",
        ),
        "Choose --ep-size as a divisor of both --tp-size and the number of experts, or leave it out.",
    ),
    Cause(
        "fp8_kv_scale_missing",
        "model_and_arguments",
        "warning",
        (
            "weights_load",
            "memory_pool",
        ),
        (
            "no_fault",
            "unsupported_quantization",
        ),
        "Give the scales (--quantization-param-path or a checkpoint that has them), or use --kv-cache-dtype auto.",
    ),
    Cause(
        "gated_model_no_token",
        "model_and_arguments",
        "fault",
        (
            "tokenizer",
            "weights_load",
        ),
        (
            "hub_unreachable",
            "model_path_missing",
            "api_key_missing",
        ),
        "Accept the licence and give the service a token in HF_TOKEN, or use a local --model-path.",
    ),
    Cause(
        "hub_download_timeout",
        "model_and_arguments",
        "fault",
        (
            "tokenizer",
            "weights_load",
        ),
        (
            "hub_unreachable",
            "disk_full",
            "still_loading",
            "corrupt_or_incomplete_weights",
        ),
        "Download the model before the start with retries, raise HF_HUB_DOWNLOAD_TIMEOUT, then start with HF_HUB_OFFLINE=1.",
    ),
    Cause(
        "hub_unreachable",
        "model_and_arguments",
        "fault",
        (
            "tokenizer",
            "weights_load",
        ),
        (
            "gated_model_no_token",
            "model_path_missing",
            "hub_download_timeout",
            "clock_skew",
        ),
        "Set DNS, HTTPS_PROXY or the certificate store for the service, or use a local --model-path with HF_HUB_OFFLINE=1.",
    ),
    Cause(
        "invalid_argument_value",
        "model_and_arguments",
        "fault",
        ("args",),
        (
            "unknown_argument",
            "invalid_speculative_config",
            "expert_parallel_size_invalid",
        ),
        "Take a value from the printed list or range, or a version that knows the value.",
    ),
    Cause(
        "invalid_device_ordinal",
        "model_and_arguments",
        "fault",
        ("distributed_init",),
        (
            "gpu_fell_off_bus",
            "cuda_visible_devices_empty",
            "gpu_not_passed_through",
        ),
        "Count inside the visible set: lower --base-gpu-id or --tp-size, or make more GPUs visible in CUDA_VISIBLE_DEVICES.",
    ),
    Cause(
        "invalid_speculative_config",
        "model_and_arguments",
        "fault",
        (
            "args",
            "weights_load",
            "serving",
        ),
        (
            "mtp_degenerate_output",
            "engine_bug_model_support",
            "unsupported_arch",
            "invalid_argument_value",
        ),
        "Set --speculative-algorithm and --speculative-draft-model-path to a pair meant for this model, or drop the speculative"
        " options.",
    ),
    Cause(
        "lora_load_failed",
        "model_and_arguments",
        "fault",
        (
            "args",
            "weights_load",
            "memory_pool",
            "serving",
        ),
        (
            "model_path_missing",
            "checkpoint_layout_mismatch",
        ),
        "Correct --lora-paths, raise --max-lora-rank or extend --lora-target-modules, or use an adapter of this base model.",
    ),
    Cause(
        "mamba_page_size_conflict",
        "model_and_arguments",
        "fault",
        (
            "args",
            "memory_pool",
        ),
        (
            "page_size_unsupported_by_backend",
            "engine_bug_mamba_cache",
            "kv_cache_oom",
        ),
        "Use --page-size 1 (or leave it out), or a state-cache strategy that supports pages, or --disable-radix-cache.",
    ),
    Cause(
        "mamba_strategy_unsupported_platform",
        "model_and_arguments",
        "fault",
        ("args",),
        (
            "mamba_page_size_conflict",
            "attention_backend_unsupported",
        ),
        "Set --mamba-scheduler-strategy no_buffer (in later versions --mamba-radix-cache-strategy), or update.",
    ),
    Cause(
        "model_path_missing",
        "model_and_arguments",
        "fault",
        (
            "args",
            "tokenizer",
            "weights_load",
        ),
        (
            "model_path_permission",
            "hub_unreachable",
            "gated_model_no_token",
        ),
        "Mount the directory at that path, or correct the spelling of --model-path.",
    ),
    Cause(
        "model_path_permission",
        "model_and_arguments",
        "fault",
        (
            "tokenizer",
            "weights_load",
        ),
        (
            "model_path_missing",
            "cache_dir_not_writable",
            "mandatory_access_denied",
        ),
        "Give the (mapped) user of the service read and search permission on the whole path, and check User= of the unit.",
    ),
    Cause(
        "page_size_unsupported_by_backend",
        "model_and_arguments",
        "fault",
        (
            "args",
            "attention_backend",
            "memory_pool",
        ),
        (
            "mamba_page_size_conflict",
            "attention_backend_unsupported",
            "invalid_argument_value",
        ),
        "Set --page-size to the value that the message names, or choose another --attention-backend.",
    ),
    Cause(
        "quantization_flag_mismatch",
        "model_and_arguments",
        "fault",
        (
            "args",
            "tokenizer",
            "weights_load",
        ),
        (
            "unsupported_quantization",
            "checkpoint_layout_mismatch",
        ),
        "Leave --quantization out so that the configuration of the checkpoint decides, or name the same method.",
    ),
    Cause(
        "rope_scaling_misconfigured",
        "model_and_arguments",
        "fault",
        (
            "args",
            "tokenizer",
            "weights_load",
        ),
        (
            "context_length_exceeds_model",
            "transformers_too_old",
            "invalid_argument_value",
        ),
        "Correct rope_scaling in config.json or in --json-model-override-args (type, factor, original_max_position_embeddings).",
    ),
    Cause(
        "tokenizer_failed",
        "model_and_arguments",
        "fault",
        ("tokenizer",),
        (
            "transformers_too_old",
            "chat_template_missing",
            "model_path_missing",
        ),
        "Fetch the tokenizer files again and update SGLang with its tokenizer library, or correct --tokenizer-path.",
    ),
    Cause(
        "tp_size_not_divisible",
        "model_and_arguments",
        "fault",
        (
            "args",
            "weights_load",
        ),
        (
            "expert_parallel_size_invalid",
            "checkpoint_layout_mismatch",
            "weights_oom",
        ),
        "Choose --tp-size as a divisor of the number of heads (for example 1, 2, 4, 8) and use further GPUs by --pp-size or a "
        "second server.",
    ),
    Cause(
        "trust_remote_code_required",
        "model_and_arguments",
        "fault",
        ("tokenizer",),
        (
            "unsupported_arch",
            "gated_model_no_token",
        ),
        "Review the code in the model directory, then start with --trust-remote-code.",
    ),
    Cause(
        "unknown_argument",
        "model_and_arguments",
        "fault",
        ("args",),
        ("invalid_argument_value",),
        "Correct the spelling (hyphens), drop the option, or install a version that has it.",
    ),
    Cause(
        "unsupported_arch",
        "model_and_arguments",
        "fault",
        (
            "tokenizer",
            "weights_load",
        ),
        (
            "transformers_too_old",
            "trust_remote_code_required",
            "engine_bug_model_support",
        ),
        "Use a converted checkpoint or another model, or an SGLang version that lists the architecture.",
    ),
    Cause(
        "unsupported_quantization",
        "model_and_arguments",
        "fault",
        (
            "args",
            "weights_load",
            "cuda_graph",
            "warmup",
        ),
        (
            "missing_kernel_for_gpu",
            "checkpoint_layout_mismatch",
            "quantization_flag_mismatch",
            "dtype_unsupported_by_gpu",
        ),
        "Use a quantisation that the GPU supports (int4/AWQ/GPTQ or bf16 on Ampere), or a GPU of the named generation.",
    ),
    Cause(
        "gloo_wrong_interface",
        "distributed",
        "fault",
        ("distributed_init",),
        (
            "peer_rank_missing",
            "peer_rank_died",
            "port_in_use",
        ),
        "Set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME to the right interface, correct /etc/hosts so that the own name resolves"
        " to the reachable address, and open the ports between the nodes.",
    ),
    Cause(
        "internal_port_in_use",
        "distributed",
        "fault",
        (
            "launch",
            "distributed_init",
        ),
        (
            "port_in_use",
            "peer_rank_missing",
        ),
        "Set --nccl-port or --dist-init-addr to a port outside of the ephemeral range, or reserve the range in "
        "net.ipv4.ip_local_reserved_ports.",
    ),
    Cause(
        "nccl_collective_timeout",
        "distributed",
        "fault",
        (
            "distributed_init",
            "weights_load",
            "cuda_graph",
            "serving",
        ),
        (
            "scheduler_hang_watchdog",
            "nccl_p2p_hang",
            "peer_rank_died",
            "illegal_memory_access",
        ),
        "Find the rank that did not take part (its log, network, GPU); try NCCL_P2P_DISABLE=1; raise --dist-timeout only for a "
        "known slow step.",
    ),
    Cause(
        "nccl_p2p_hang",
        "distributed",
        "fault",
        ("distributed_init",),
        (
            "still_loading",
            "p2p_unsupported",
            "scheduler_hang_watchdog",
        ),
        "Set NCCL_P2P_DISABLE=1 and --disable-custom-all-reduce, or correct IOMMU and ACS on the host.",
    ),
    Cause(
        "p2p_unsupported",
        "distributed",
        "fault",
        ("distributed_init",),
        (
            "nccl_p2p_hang",
            "no_fault",
        ),
        "Start with --disable-custom-all-reduce (or --enable-p2p-check).",
    ),
    Cause(
        "peer_rank_died",
        "distributed",
        "fault",
        (
            "distributed_init",
            "weights_load",
            "cuda_graph",
            "serving",
        ),
        (
            "cuda_graph_oom",
            "gloo_wrong_interface",
            "peer_rank_missing",
            "nccl_collective_timeout",
        ),
        "Read the log of the named peer; the advice about memory printed around the message does not apply.",
    ),
    Cause(
        "peer_rank_missing",
        "distributed",
        "fault",
        ("distributed_init",),
        (
            "internal_port_in_use",
            "gloo_wrong_interface",
            "peer_rank_died",
        ),
        "Find out why the other rank did not start or cannot reach --dist-init-addr; check --nnodes and --node-rank.",
    ),
    Cause(
        "api_key_missing",
        "serving",
        "warning",
        (
            "ready",
            "serving",
        ),
        (
            "gated_model_no_token",
            "no_fault",
        ),
        "Give the client or probe the key of --api-key, or start without --api-key on a closed network.",
    ),
    Cause(
        "kv_pool_smaller_than_context",
        "serving",
        "warning",
        ("serving",),
        (
            "context_length_exceeds_model",
            "kv_cache_oom",
            "no_fault",
        ),
        "Raise the KV capacity (--mem-fraction-static, --kv-cache-dtype fp8_e4m3, more GPUs), or lower --context-length to what fits.",
    ),
    Cause(
        "mtp_degenerate_output",
        "serving",
        "fault",
        ("serving",),
        (
            "invalid_speculative_config",
            "no_fault",
        ),
        "Switch speculative decoding off, restart and update; check with a request whose answer is known.",
    ),
    Cause(
        "scheduler_hang_watchdog",
        "serving",
        "fault",
        (
            "warmup",
            "serving",
        ),
        (
            "scheduler_stalled",
            "nccl_collective_timeout",
            "host_oom_killed",
            "still_loading",
        ),
        "Find where the ranks stand (py-spy, GPU load); try --disable-custom-all-reduce, NCCL_P2P_DISABLE=1 or another "
        "--attention-backend; raise --watchdog-timeout only for known slow compilation.",
    ),
    Cause(
        "scheduler_stalled",
        "serving",
        "fault",
        ("serving",),
        (
            "scheduler_hang_watchdog",
            "no_fault",
            "still_loading",
        ),
        "Compare the age of the last heartbeat with the load: raise SGLANG_HEALTH_CHECK_TIMEOUT and the patience of the probe "
        "for long prefills, restart after minutes without a heartbeat.",
    ),
    Cause(
        "killed_by_session_end",
        "process",
        "fault",
        ("shutdown",),
        (
            "stopped_by_operator",
            "host_oom_killed",
            "start_timeout_by_supervisor",
        ),
        "Run it as a system service (or enable lingering for a user service) instead of as a child of an SSH session.",
    ),
    Cause(
        "launch_never_started",
        "process",
        "fault",
        ("launch",),
        (
            "no_log",
            "insufficient_evidence",
            "killed_by_session_end",
        ),
        "Look at what should have executed the command (missing script, interpreter or user, a shell that ended with its SSH "
        "session) and start through a supervisor that confirms the process.",
    ),
    Cause(
        "native_crash",
        "process",
        "fault",
        (
            "imports",
            "distributed_init",
            "weights_load",
            "cuda_graph",
            "serving",
        ),
        (
            "shm_too_small",
            "p2p_unsupported",
            "gloo_wrong_interface",
            "host_oom_killed",
        ),
        "Start again with PYTHONFAULTHANDLER=1 and CUDA_LAUNCH_BLOCKING=1 to get a stack, and update the library in its top frame.",
    ),
    Cause(
        "port_in_use",
        "process",
        "fault",
        (
            "launch",
            "ready",
        ),
        (
            "internal_port_in_use",
            "no_fault",
            "fd_limit",
        ),
        "Find the holder (ss -ltnp), stop it or choose another --port; check the port before the model is loaded.",
    ),
    Cause(
        "start_timeout_by_supervisor",
        "process",
        "fault",
        (
            "weights_load",
            "cuda_graph",
            "warmup",
            "shutdown",
        ),
        (
            "still_loading",
            "host_oom_killed",
            "scheduler_hang_watchdog",
            "killed_by_session_end",
        ),
        "Raise TimeoutStartSec= or the waiting time of the deployer, and keep kernel caches over restarts.",
    ),
    Cause(
        "stopped_by_operator",
        "process",
        "info",
        ("shutdown",),
        (
            "killed_by_session_end",
            "host_oom_killed",
        ),
        "Nothing; start it again when it is wanted.",
    ),
    Cause(
        "insufficient_evidence",
        "none",
        "warning",
        (
            "launch",
            "weights_load",
            "memory_pool",
            "cuda_graph",
            "serving",
        ),
        (
            "still_loading",
            "host_oom_killed",
            "kv_cache_oom",
        ),
        "Fetch the rest (journal, rotated file, exit status, kernel log), or start again.",
    ),
    Cause(
        "no_fault",
        "none",
        "none",
        (
            "ready",
            "serving",
        ),
        (
            "still_loading",
            "p2p_unsupported",
            "memory_balance_check",
            "kv_pool_smaller_than_context",
        ),
        "No action is needed.",
    ),
    Cause(
        "no_log",
        "none",
        "warning",
        ("launch",),
        (
            "unreadable_log",
            "still_loading",
            "insufficient_evidence",
        ),
        "Check that the service was started and writes to this file, and look at its exit status.",
    ),
    Cause(
        "still_loading",
        "none",
        "info",
        (
            "launch",
            "tokenizer",
            "distributed_init",
            "weights_load",
            "memory_pool",
            "attention_backend",
            "cuda_graph",
            "warmup",
        ),
        (
            "no_fault",
            "nccl_p2p_hang",
            "insufficient_evidence",
            "scheduler_hang_watchdog",
            "disk_full",
        ),
        "Wait and look again; the progress must have moved.",
    ),
    Cause(
        "unreadable_log",
        "none",
        "warning",
        ("launch",),
        (
            "no_log",
            "no_fault",
        ),
        "Check the path and which file the service writes.",
    ),
)

CAUSES = {cause.id: cause for cause in _TABLE}
