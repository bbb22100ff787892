# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Frames of a traceback -> stage of the launch in which the exception struck.

The deepest frame that says something decides: an import that fails inside the argument parser is a failed import. Files moved
between releases; the names of 0.3 … 0.5.23 are here, and vLLM's where its logs are read.
"""

from __future__ import annotations

import re

#: (stage, what the path ends with or holds, function or None for any). The first entry that fits a frame wins.
_ENTRIES = (
    (
        "cuda_graph",
        r"(?:cuda_graph_runner|graph_runner|graph_backend\w*|cuda_graph_setup|piecewise_cuda_graph\w*|breakable_cuda_graph\w*)\.py$|"
        r"model_executor/(?:runner|runner_backend|runner_backend_utils|cuda_graph)\w*/|runner_backend_utils/|/cudagraph_utils\.py$",
        None,
    ),
    (
        "cuda_graph",
        r"",
        r"(?:init_cuda_graphs?|init_device_graphs?|init_piecewise_cuda_graphs?|capture(?:_one_\w+|_model|_graphs?|_prepare)?|"
        r"capture_cuda_graphs?|_capture\w*|get_batch_sizes_to_capture)",
    ),
    (
        "warmup",
        r"(?:gpu_worker|worker|gpu_model_runner|model_runner)\.py$",
        r"(?:profile_run|determine_available_memory|determine_num_available_blocks|_dummy_run|_dummy_sampler_run|kernel_warmup)",
    ),
    (
        "warmup",
        r"",
        r"(?:_execute_server_warmup|_wait_and_warmup|_warmup\w*|kernel_warmup|_flashinfer_autotune|deep_gemm_warmup|"
        r"precompile_\w*deep_?gemm\w*)",
    ),
    (
        "memory_pool",
        r"(?:kv_cache_configurator|pool_configurator|model_runner_kv_cache_mixin|memory_pool_host|pool_host/\w+)\.py$",
        None,
    ),
    (
        "memory_pool",
        r"",
        r"(?:init_memory_pool|_init_pools|init_cache_with_memory_pool|profile_max_num_token|_profile_available_bytes|"
        r"handle_max_mamba_cache|_handle_max_mamba_cache|"
        r"init_memory_pools?|_apply_memory_pool_config|initialize_kv_caches?|_initialize_kv_caches|allocate_kv_cache\w*|"
        r"init_kv_cache_pool|_create_buffers)",
    ),
    (
        "memory_pool",
        r"(?:radix_cache|memory_pool|hiradix_cache|allocator|registry|hybrid_cache\w*)\.py$",
        r"(?:__init__|create_tree_cache|build\w*)",
    ),
    (
        "attention_backend",
        r"layers/attention/(?:\w+/)*\w+\.py$",
        r"(?:__init__|create_\w+_backend|attn_backend_wrapper|init_forward_metadata_capture_cuda_graph_init)",
    ),
    (
        "attention_backend",
        r"",
        r"(?:init_attention_backends?|_get_attention_backend\w*|_init_attention_backend|get_attention_backend|"
        r"init_attention_backend_\w+)",
    ),
    ("weights_load", r"(?:model_loader/\w+|weight_utils|load_model_utils|loader)\.py$", None),
    (
        "weights_load",
        r"",
        r"(?:load_model|load_weights|_initialize_model|process_weights_after_loading|weight_loader|load_weights_and_postprocess|"
        r"create_weights|download_weights_from_hf|"
        r"_load_w13|_load_w2|init_lora_manager|load_lora_adapter)",
    ),
    (
        "distributed_init",
        r"",
        r"(?:init_torch_distributed|init_distributed_environment|initialize_model_parallel|init_process_group|"
        r"_new_process_group_helper|_create_c10d_store|"
        r"init_parallel|_init_distributed\w*|init_device|new_group|initialize_dp_attention|bootstrap_\w+)",
    ),
    (
        "distributed_init",
        r"(?:distributed/parallel_state|distributed/bootstrap|pynccl|pynccl_wrapper|custom_all_reduce\w*|rendezvous|"
        r"distributed_c10d)\.py$",
        None,
    ),
    (
        "SERVE",
        r"(?:managers/scheduler\w*|managers/schedule_batch|scheduler_components/\w+|managers/tp_worker_overlap_thread|v1/engine/core|"
        r"model_executor/forward_batch_info)\.py$",
        r"(?:event_loop\w*|run_event_loop|dispatch_event_loop|run_batch|process_batch_result\w*|get_new_batch_prefill|"
        r"_get_new_batch_prefill_raw|get_next_batch_to_run|forward_thread_func_?|"
        r"check_memory|self_check_during_idle|prepare_for_(?:extend|decode)|run_busy_loop|recv_requests|process_input_requests|on_idle|"
        r"resolve_last_batch_result)",
    ),
    ("SERVE", r"", r"(?:event_loop\w*|run_event_loop|dispatch_event_loop|run_busy_loop|handle_loop)"),
    ("SERVE", r"entrypoints/openai/\w+\.py$", None),
    (
        "tokenizer",
        r"(?:configs/model_config|hf_transformers_utils|hf_transformers/\w+|tokenizer_manager|tokenizer_manager_multiitem_mixin|"
        r"auto/(?:configuration|tokenization|processing|image_processing)_auto|configuration_utils|"
        r"tokenization_utils\w*|processing_utils|image_processing_\w+|_validators|dynamic_module_utils|template_manager|base_processor|"
        r"utils/hub|tokenizer/\w+|tokenizer_group|transformers_utils/\w+|config/model)\.py$",
        None,
    ),
    ("tokenizer", r"", r"(?:init_tokenizer\w*|get_tokenizer|get_processor|get_config|init_model_config|get_tokenizer_and_processor)"),
    (
        "imports",
        r"(?:sgl_kernel|flashinfer|deep_gemm|torch|triton|vllm|transformers|numpy|torchvision|xgrammar|outlines|tilelang|"
        r"torchao)/(?:__init__|load_utils|_load\w*|_ops)\.py$",
        r"(?:<module>|_load\w*)",
    ),
    (
        "imports",
        r"(?:sglang/srt/|site-packages/|dist-packages/|/lib/python|vllm/)(?!.*(?:launch_server|cli/main|cli/\w+|__main__|"
        r"api_server)\.py$).*\.py$",
        r"<module>",
    ),
    ("imports", r"", r"(?:_call_with_frames_removed|_load_unlocked|import_module|_find_and_load\w*)"),
    ("args", r"(?:server_args|server_args_config_parser|arg_utils|argparse|arg_groups/\w+|arg_groups/\w+/\w+)\.py$", None),
    ("args", r"<string>$", r"__init__"),
    ("launch", r"(?:entrypoints/engine)\.py$", r"(?:_set_envs_and_config|_check_\w+|init_new)"),
)
_COMPILED = tuple(
    (stage, re.compile(path) if path else None, re.compile(function + r"$") if function else None) for stage, path, function in _ENTRIES
)
_ARGS_SOURCE = re.compile(r"prepare_server_args\(|parse_args\(")
#: Inside these the work of an engine runs whatever library is entered below: deeper frames of other stages do not count.
_STICKY = {
    "cuda_graph": ("attention_backend", "memory_pool", "imports", "SERVE", "weights_load"),
    "SERVE": ("tokenizer", "cuda_graph", "warmup", "attention_backend", "memory_pool", "weights_load", "imports"),
    "warmup": ("attention_backend", "memory_pool", "SERVE", "imports"),
}


def stage_of_frames(frames, ready):
    """Stage of the deepest telling frame, or None. frames: [(file, function, source)]. ready: the ready line was printed before."""
    found = ""
    for path, function, source in frames:
        stage = _stage(path.replace("\\", "/"), function, source)
        if stage is None:
            continue
        if found in _STICKY and stage in _STICKY[found]:
            continue
        found = stage
    if found == "SERVE":
        return "serving" if ready else "warmup"
    return found or None


def _stage(path, function, source):
    for stage, path_pattern, function_pattern in _COMPILED:
        if path_pattern is not None and not path_pattern.search(path):
            continue
        if function_pattern is not None and not function_pattern.match(function):
            continue
        return stage
    if source and _ARGS_SOURCE.search(source):
        return "args"
    return None
