# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Causes of the contract: software_stack. Id, group, severity, stages, ids easily reported instead, first advice."""

from __future__ import annotations

# fmt: off
TABLE = (
    (
        "attention_backend_unsupported", "software_stack", "fault", ("args", "attention_backend", "cuda_graph"),
        ("missing_kernel_for_gpu", "page_size_unsupported_by_backend", "invalid_argument_value"),
        "Choose another --attention-backend (triton is the most general) or drop the option with which it conflicts.",
    ),
    (
        "compiler_missing", "software_stack", "fault", ("cuda_graph", "warmup", "attention_backend"),
        ("nvcc_missing", "python_headers_missing", "ninja_missing", "torch_compile_failure"),
        "Install gcc/g++ (build-essential) in the container, or start without --enable-torch-compile.",
    ),
    (
        "cuda_home_malformed", "software_stack", "fault", ("attention_backend", "cuda_graph", "warmup"),
        ("nvcc_missing",),
        "Set CUDA_HOME to exactly one directory such as /usr/local/cuda in the environment of the service.",
    ),
    (
        "cuda_major_mismatch", "software_stack", "fault", ("imports",),
        ("missing_system_library", "driver_library_missing", "sgl_kernel_abi_mismatch", "driver_too_old"),
        "Keep one CUDA major in the environment: install the kernel wheel that matches torch, or the runtime libraries of the major"
        " the wheel asks for.",
    ),
    (
        "engine_bug_mamba_cache", "software_stack", "fault", ("serving",),
        ("mamba_slots_exhausted", "engine_leak_check", "mamba_page_size_conflict"),
        "Update SGLang; until then start with --disable-radix-cache or without --enable-hierarchical-cache.",
    ),
    (
        "engine_bug_model_support", "software_stack", "fault", ("weights_load", "memory_pool", "attention_backend", "cuda_graph"),
        ("unsupported_arch", "transformers_too_old", "invalid_speculative_config", "checkpoint_layout_mismatch"),
        "Change the SGLang version, or try another --attention-backend.",
    ),
    (
        "engine_leak_check", "software_stack", "fault", ("serving",),
        ("kv_cache_oom", "engine_bug_mamba_cache", "host_oom_killed"),
        "Update SGLang; until then start with --disable-radix-cache.",
    ),
    (
        "flashinfer_version_mismatch", "software_stack", "fault", ("imports", "launch"),
        ("python_package_missing", "missing_kernel_for_gpu"),
        "Install flashinfer-python at the demanded version and its companion packages at the same version, or choose another "
        "--attention-backend.",
    ),
    (
        "glibc_too_old", "software_stack", "fault", ("launch", "imports"),
        ("sgl_kernel_abi_mismatch", "missing_system_library"),
        "Use a newer distribution in the container, or a wheel built for an older manylinux.",
    ),
    (
        "illegal_memory_access", "software_stack", "fault", ("cuda_graph", "warmup", "serving"),
        ("gpu_hardware_ecc", "gpu_kernel_exception", "gpu_fell_off_bus", "xid_application_fault"),
        "Update SGLang; to narrow it down lower --max-running-requests, use --disable-cuda-graph or another --attention-backend, "
        "and switch speculative decoding off.",
    ),
    (
        "missing_kernel_for_gpu", "software_stack", "fault", ("weights_load", "attention_backend", "cuda_graph", "warmup"),
        ("toolchain_too_old_for_gpu", "sgl_kernel_abi_mismatch", "unsupported_quantization", "attention_backend_unsupported"),
        "Install builds that contain the compute capability of the card (for new cards a newer CUDA variant), or choose a backend "
        "that compiles at run time (--attention-backend triton).",
    ),
    (
        "missing_system_library", "software_stack", "fault", ("imports",),
        ("sgl_kernel_abi_mismatch", "cuda_major_mismatch", "driver_library_missing"),
        "Install the distribution package that holds the named file; reinstalling the wheel does not help.",
    ),
    (
        "ninja_missing", "software_stack", "fault", ("attention_backend", "cuda_graph", "warmup"),
        ("nvcc_missing", "compiler_missing", "cuda_home_malformed"),
        "Install ninja in the environment of the server and put its bin directory into PATH of the service.",
    ),
    (
        "nvcc_missing", "software_stack", "fault", ("imports", "weights_load", "attention_backend", "cuda_graph", "warmup"),
        ("cuda_home_malformed", "compiler_missing", "ninja_missing", "driver_too_old"),
        "Install the CUDA toolkit of the CUDA major of torch and set CUDA_HOME and PATH in the service, or use prebuilt kernels "
        "(jit-cache package, SGLANG_ENABLE_JIT_DEEPGEMM=0).",
    ),
    (
        "python_headers_missing", "software_stack", "fault", ("attention_backend", "cuda_graph", "warmup"),
        ("compiler_missing", "torch_compile_failure"),
        "Install the development package of exactly the interpreter that runs the server (python3.X-dev).",
    ),
    (
        "python_package_missing", "software_stack", "fault", ("imports", "args", "tokenizer"),
        ("sgl_kernel_abi_mismatch", "missing_system_library", "flashinfer_version_mismatch"),
        "Install the package, or reinstall SGLang with its pinned dependencies in a fresh environment.",
    ),
    (
        "sgl_kernel_abi_mismatch", "software_stack", "fault", ("imports",),
        ("missing_kernel_for_gpu", "driver_too_old", "missing_system_library", "cuda_major_mismatch"),
        "Install the torch version that the kernel wheel pins, or the kernel wheel of the installed torch.",
    ),
    (
        "toolchain_too_old_for_gpu", "software_stack", "fault", ("attention_backend", "cuda_graph", "warmup"),
        ("missing_kernel_for_gpu", "nvcc_missing"),
        "Install torch/Triton or a CUDA toolkit new enough for the GPU, or point TRITON_PTXAS_PATH to a newer ptxas.",
    ),
    (
        "torch_compile_failure", "software_stack", "fault", ("cuda_graph", "warmup"),
        ("compiler_missing", "python_headers_missing", "triton_shared_memory_limit", "toolchain_too_old_for_gpu"),
        "Start without --enable-torch-compile, or lower --torch-compile-max-bs; update torch and SGLang together.",
    ),
    (
        "torch_cpu_only_build", "software_stack", "fault", ("launch", "args", "imports", "distributed_init"),
        ("gpu_not_passed_through", "driver_too_old", "cuda_visible_devices_empty"),
        "Install the CUDA build of torch that SGLang pins.",
    ),
    (
        "transformers_too_old", "software_stack", "fault", ("tokenizer",),
        ("unsupported_arch", "trust_remote_code_required", "tokenizer_failed"),
        "Update SGLang, which brings a transformers that knows the type; do not update transformers alone.",
    ),
    (
        "triton_shared_memory_limit", "software_stack", "fault", ("cuda_graph", "warmup", "serving"),
        ("shm_too_small", "cuda_graph_oom", "host_oom_killed"),
        "Update SGLang or add a tuned kernel configuration with fewer stages for this GPU, or choose another MoE backend or "
        "quantisation.",
    ),
)
