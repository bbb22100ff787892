# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Causes of the contract: model_and_arguments. Id, group, severity, stages, ids easily reported instead, first advice."""

from __future__ import annotations

# fmt: off
TABLE = (
    (
        "chat_template_missing", "model_and_arguments", "fault", ("serving", "tokenizer"),
        ("tokenizer_failed", "invalid_argument_value"),
        "Use the instruction-tuned model, or give --chat-template FILE.",
    ),
    (
        "checkpoint_layout_mismatch", "model_and_arguments", "fault", ("weights_load",),
        ("corrupt_or_incomplete_weights", "unsupported_quantization", "engine_bug_model_support", "tp_size_not_divisible"),
        "Use a checkpoint or quantisation variant that this SGLang version supports, or a version that supports this checkpoint.",
    ),
    (
        "context_length_exceeds_model", "model_and_arguments", "fault", ("args", "tokenizer"),
        ("rope_scaling_misconfigured", "kv_pool_smaller_than_context", "kv_cache_oom"),
        "Lower --context-length to the derived value; with a valid rope scaling set SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1.",
    ),
    (
        "corrupt_or_incomplete_weights", "model_and_arguments", "fault", ("weights_load",),
        ("checkpoint_layout_mismatch", "disk_full", "model_path_missing"),
        "Compare sizes and checksums with the source, and download the affected shard again.",
    ),
    (
        "dtype_unsupported_by_gpu", "model_and_arguments", "fault", ("args", "tokenizer", "weights_load"),
        ("unsupported_quantization", "missing_kernel_for_gpu"),
        "Set --dtype float16 (half), or use a newer GPU.",
    ),
    (
        "expert_parallel_size_invalid", "model_and_arguments", "fault", ("args", "weights_load"),
        ("tp_size_not_divisible", "invalid_argument_value"),
        "Choose --ep-size as a divisor of both --tp-size and the number of experts, or leave it out.",
    ),
    (
        "fp8_kv_scale_missing", "model_and_arguments", "warning", ("weights_load", "memory_pool"),
        ("no_fault", "unsupported_quantization"),
        "Give the scales (--quantization-param-path or a checkpoint that has them), or use --kv-cache-dtype auto.",
    ),
    (
        "gated_model_no_token", "model_and_arguments", "fault", ("tokenizer", "weights_load"),
        ("hub_unreachable", "model_path_missing", "api_key_missing"),
        "Accept the licence and give the service a token in HF_TOKEN, or use a local --model-path.",
    ),
    (
        "hub_download_timeout", "model_and_arguments", "fault", ("tokenizer", "weights_load"),
        ("hub_unreachable", "disk_full", "still_loading", "corrupt_or_incomplete_weights"),
        "Download the model before the start with retries, raise HF_HUB_DOWNLOAD_TIMEOUT, then start with HF_HUB_OFFLINE=1.",
    ),
    (
        "hub_unreachable", "model_and_arguments", "fault", ("tokenizer", "weights_load"),
        ("gated_model_no_token", "model_path_missing", "hub_download_timeout", "clock_skew"),
        "Set DNS, HTTPS_PROXY or the certificate store for the service, or use a local --model-path with HF_HUB_OFFLINE=1.",
    ),
    (
        "invalid_argument_value", "model_and_arguments", "fault", ("args",),
        ("unknown_argument", "invalid_speculative_config", "expert_parallel_size_invalid"),
        "Take a value from the printed list or range, or a version that knows the value.",
    ),
    (
        "invalid_device_ordinal", "model_and_arguments", "fault", ("distributed_init",),
        ("gpu_fell_off_bus", "cuda_visible_devices_empty", "gpu_not_passed_through"),
        "Count inside the visible set: lower --base-gpu-id or --tp-size, or make more GPUs visible in CUDA_VISIBLE_DEVICES.",
    ),
    (
        "invalid_speculative_config", "model_and_arguments", "fault", ("args", "weights_load", "serving"),
        ("mtp_degenerate_output", "engine_bug_model_support", "unsupported_arch", "invalid_argument_value"),
        "Set --speculative-algorithm and --speculative-draft-model-path to a pair meant for this model, or drop the speculative "
        "options.",
    ),
    (
        "lora_load_failed", "model_and_arguments", "fault", ("args", "weights_load", "memory_pool", "serving"),
        ("model_path_missing", "checkpoint_layout_mismatch"),
        "Correct --lora-paths, raise --max-lora-rank or extend --lora-target-modules, or use an adapter of this base model.",
    ),
    (
        "mamba_page_size_conflict", "model_and_arguments", "fault", ("args", "memory_pool"),
        ("page_size_unsupported_by_backend", "engine_bug_mamba_cache", "kv_cache_oom"),
        "Use --page-size 1 (or leave it out), or a state-cache strategy that supports pages, or --disable-radix-cache.",
    ),
    (
        "mamba_strategy_unsupported_platform", "model_and_arguments", "fault", ("args",),
        ("mamba_page_size_conflict", "attention_backend_unsupported"),
        "Set --mamba-scheduler-strategy no_buffer (in later versions --mamba-radix-cache-strategy), or update.",
    ),
    (
        "model_path_missing", "model_and_arguments", "fault", ("args", "tokenizer", "weights_load"),
        ("model_path_permission", "hub_unreachable", "gated_model_no_token"),
        "Mount the directory at that path, or correct the spelling of --model-path.",
    ),
    (
        "model_path_permission", "model_and_arguments", "fault", ("tokenizer", "weights_load"),
        ("model_path_missing", "cache_dir_not_writable", "mandatory_access_denied"),
        "Give the (mapped) user of the service read and search permission on the whole path, and check User= of the unit.",
    ),
    (
        "page_size_unsupported_by_backend", "model_and_arguments", "fault", ("args", "attention_backend", "memory_pool"),
        ("mamba_page_size_conflict", "attention_backend_unsupported", "invalid_argument_value"),
        "Set --page-size to the value that the message names, or choose another --attention-backend.",
    ),
    (
        "quantization_flag_mismatch", "model_and_arguments", "fault", ("args", "tokenizer", "weights_load"),
        ("unsupported_quantization", "checkpoint_layout_mismatch"),
        "Leave --quantization out so that the configuration of the checkpoint decides, or name the same method.",
    ),
    (
        "rope_scaling_misconfigured", "model_and_arguments", "fault", ("args", "tokenizer", "weights_load"),
        ("context_length_exceeds_model", "transformers_too_old", "invalid_argument_value"),
        "Correct rope_scaling in config.json or in --json-model-override-args (type, factor, original_max_position_embeddings).",
    ),
    (
        "tokenizer_failed", "model_and_arguments", "fault", ("tokenizer",),
        ("transformers_too_old", "chat_template_missing", "model_path_missing"),
        "Fetch the tokenizer files again and update SGLang with its tokenizer library, or correct --tokenizer-path.",
    ),
    (
        "tp_size_not_divisible", "model_and_arguments", "fault", ("args", "weights_load"),
        ("expert_parallel_size_invalid", "checkpoint_layout_mismatch", "weights_oom"),
        "Choose --tp-size as a divisor of the number of heads (for example 1, 2, 4, 8) and use further GPUs by --pp-size or a "
        "second server.",
    ),
    (
        "trust_remote_code_required", "model_and_arguments", "fault", ("tokenizer",),
        ("unsupported_arch", "gated_model_no_token"),
        "Review the code in the model directory, then start with --trust-remote-code.",
    ),
    (
        "unknown_argument", "model_and_arguments", "fault", ("args",),
        ("invalid_argument_value",),
        "Correct the spelling (hyphens), drop the option, or install a version that has it.",
    ),
    (
        "unsupported_arch", "model_and_arguments", "fault", ("tokenizer", "weights_load"),
        ("transformers_too_old", "trust_remote_code_required", "engine_bug_model_support"),
        "Use a converted checkpoint or another model, or an SGLang version that lists the architecture.",
    ),
    (
        "unsupported_quantization", "model_and_arguments", "fault", ("args", "weights_load", "cuda_graph", "warmup"),
        ("missing_kernel_for_gpu", "checkpoint_layout_mismatch", "quantization_flag_mismatch", "dtype_unsupported_by_gpu"),
        "Use a quantisation that the GPU supports (int4/AWQ/GPTQ or bf16 on Ampere), or a GPU of the named generation.",
    ),
)
