# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about the command line and arguments that do not fit the model or the machine."""

from __future__ import annotations

import re

from .. import remedies_model as fix
from ..frames import stage_of_frames
from ..record import ANY, ERROR, WEAK, Rule

_TP_SOURCE = re.compile(r"% *(?:self\.)?(?:attn_)?tp_(?:size|world|rank_size)|tp_size *% *|% *tensor_model_parallel|% *(?:self\.)?tp\b")


def _is_stage(*stages):
    """The frames themselves say so; the stage of a match may be no more than the rule's own guess."""
    return lambda match, context: match.block is not None and stage_of_frames(match.block.ordered_frames, match.ready_before) in stages


def _tp_assert(match, context):
    return match.block is not None and bool(match.block.frames) and _TP_SOURCE.search(match.block.frames[-1][2] or "") is not None


def _speculative_without_draft(match, context):
    args = context.args
    if not args.get("speculative_algorithm") or match.block is None:
        return False
    deep = " ".join(path for path, _unused, _unused2 in match.block.frames[-6:])
    no_draft = not (args.get("speculative_draft_model_path") or args.get("speculative_draft_model"))
    return "speculative" in " ".join(path for path, _unused, _unused2 in match.block.frames) and (no_draft or "draft" in deep)


def _refused_value(match, context):
    """Name the option and the value, as argparse does."""
    groups = match.groups
    if groups.get("flag2"):
        return "Options that SGLang needs are missing: %s." % groups["flag2"].strip()[:120]
    value = re.search(r"invalid (?:choice|\w+ value): ('[^']*'|\S+)", match.line.body)
    flag = (groups.get("flag") or "an option").strip().split("/")[0]
    return "SGLang does not accept %s for %s." % ("the value " + value.group(1)[:80] if value else "what was given", flag)


RULES = (
    Rule(
        "unknown-flag",
        "unknown_argument",
        r"error: unrecognized arguments: (?P<what>.+)|error: ambiguous option: (?P<flag>\S+) could match",
        scope=ANY,
        ends=True,
        strength=9,
        stage="args",
        fixed=True,
        remedies=fix.unknown_flag,
        say="The installed SGLang does not know what stands in its command line: {what}{flag}.",
        source="argparse",
    ),
    Rule(
        "bad-value",
        "invalid_argument_value",
        r"error: argument (?P<flag>[^:]+): (?P<what>(?:invalid|expected|ignored explicit|not allowed|must|should).*)|"
        r"error: the following arguments are required: (?P<flag2>.+)|: error: one of the arguments",
        scope=ANY,
        ends=True,
        strength=8,
        stage="args",
        fixed=True,
        remedies=fix.bad_value,
        say=_refused_value,
        source="argparse",
    ),
    Rule(
        "serve-arguments",
        "invalid_argument_value",
        r"^Exception: Error: (?:--model-path is required|--model-type requires a value|invalid --model-type)",
        strength=8,
        stage="args",
        fixed=True,
        say="sglang serve misses a value or does not accept one.",
        source="cli/serve.py, cli/utils.py",
    ),
    Rule(
        "config-file",
        "invalid_argument_value",
        r"Config file (?:must|not found)|Multiple config files specified|No config file specified after|Unsupported config option",
        strength=7,
        stage="args",
        fixed=True,
        say="The configuration file of the command line cannot be used.",
        source="server_args_config_parser.py",
    ),
    Rule(
        "context-length",
        "context_length_exceeds_model",
        r"User-specified (?:context_length|max_model_len) \((?P<asked>\d+)\) is greater than the derived \w+ "
        r"\(?(?:\w+=)?(?P<derived>\d+)?",
        strength=8,
        stage="tokenizer",
        remedies=fix.context_length,
        say="The context length asked for ({asked}) is greater than the model's ({derived}).",
        source="configs/model_config.py; vLLM config",
    ),
    Rule(
        "extra-buffer",
        "mamba_strategy_unsupported_platform",
        r"extra_buffer\w* (?:needs|requires|is only supported on|only supports?) .*(?:CUDA|MUSA|NPU|FLA)|"
        r"Mamba extra_buffer is only supported on CUDA|extra_buffer\w* (?:is )?(?:not supported|unsupported) on (?:ROCm|HIP|CPU|NPU|"
        r"XPU|this platform)",
        strength=8,
        stage="args",
        remedies=fix.no_buffer,
        say="The cache strategy extra_buffer for recurrent states does not exist on this platform.",
        source="server_args.py, arg_groups/mamba_hook.py",
    ),
    Rule(
        "speculative",
        "invalid_speculative_config",
        r"[Oo]nly .* speculative algorithms? (?:is|are) supported|[Ss]peculative decoding (?:for \S+ )?(?:is|"
        r"does) (?:currently )?not (?:compatible|support)|[Uu]nknown speculative[ _]algorithm|"
        r"speculative[_ ](?:algorithm|draft|num|eagle|decoding|token)\w*[^\n]*(?:must|requires?|not support|unsupported|invalid|cannot|"
        r"should|only|missing|needs?)|(?:requires?|need|set|specify|provide)[^\n]*speculative[_-]draft|"
        r"Spec(?:ulative)? v2 (?:currently )?only supports|[Dd]raft model[^\n]*(?:not found|required|mismatch|must|does not match|"
        r"incompatible|no )|topk = 1 for speculative|speculative_eagle_topk|topk > 1 speculative|enable_mixed_chunk is (?:required|"
        r"not supported)|EAGLE-?3? (?:requires|only supports|needs)",
        strength=6,
        stage="args",
        remedies=fix.speculative,
        say="The options for speculative decoding do not fit each other or the model.",
        source="server_args.py, arg_groups/speculative_hook.py, speculative/",
    ),
    Rule(
        "speculative-no-draft",
        "invalid_speculative_config",
        r"^(?:AttributeError|TypeError|KeyError|ValueError|AssertionError|NotImplementedError)\b",
        strength=3,
        when=_speculative_without_draft,
        confidence=0.7,
        stage="weights_load",
        stages=("args", "weights_load", "serving"),
        remedies=fix.speculative,
        say="Speculative decoding fails: draft and model do not fit.",
        source="speculative/",
    ),
    Rule(
        "expert-parallel",
        "expert_parallel_size_invalid",
        r"\bep[_-]size\b[^\n]*(?:divisible|divide|must|equal|greater|larger|exceed|smaller)|(?:divisible|divide|must|equal|larger|"
        r"greater)[^\n]*\bep[_-]size\b|num_(?:\w+_)?experts[^\n]*(?:divisible|not divide)|"
        r"[Ee]xpert[- ]parallel[^\n]*(?:divisible|must|not support|no experts|larger|greater)|moe_(?:ep|dp)_size[^\n]*(?:must|"
        r"divisible|equal)",
        strength=8,
        stage="args",
        stages=("args", "weights_load"),
        say="The expert-parallel size does not fit experts or tensor-parallel size.",
        remedies=fix.ep_size,
        source="arg_groups/parallel_hook.py, layers/moe",
    ),
    Rule(
        "tp-divisible",
        "tp_size_not_divisible",
        r"\b(?P<number>\d{1,9}) is not divisible by (?P<tp>\d{1,9})|(?:attention|KV|kv|key) heads?[^\n]*(?:divisible|divide)|"
        r"divisible by (?:the )?(?:tensor[- ]parallel|tensor_parallel|tp)[_ ]?(?:size|world)?|"
        r"_size_per_partition *= *\d+ is not divisible|tp_size[^\n]*(?:must|should) (?:be )?divi",
        unless=r"tile_|number of nodes|attn_cp|page_size|dp_size",
        strength=6,
        stage="weights_load",
        stages=("args", "weights_load"),
        remedies=fix.tp_size,
        say="The tensor-parallel size does not divide a dimension of the model.",
        source="distributed/utils.py, layers/linear.py, models/, model_runner.py",
    ),
    Rule(
        "tp-blocks",
        "tp_size_not_divisible",
        r"For quantized MoE models, please make sure",
        strength=9,
        stage="weights_load",
        stages=("args", "weights_load"),
        remedies=fix.tp_size,
        say="The tensor-parallel size cuts the experts into pieces that the quantisation blocks do not divide.",
        source="model_runner.py, moe_ep_setup.py",
    ),
    Rule(
        "tp-assert",
        "tp_size_not_divisible",
        r"^AssertionError\b",
        when=_tp_assert,
        strength=5,
        stage="weights_load",
        remedies=fix.tp_size,
        say="The tensor-parallel size does not divide the heads of the model.",
        source="models/: assert heads % tp_size == 0",
    ),
    Rule(
        "page-size",
        "page_size_unsupported_by_backend",
        r"(?:[Pp]age[_ -]?size|page sizes?)[^\n]*(?:backend|[Aa]ttention|FlashMLA|flashmla|TRT-?LLM|trtllm|[Cc]utlass|fa[34])[^\n]*|"
        r"(?:backend|FlashMLA|flashmla\w*|TRT-?LLM \w+|trtllm\w*|[Cc]utlass\w*|fa[34])[^\n]*(?:only supports?|requires?|must|"
        r"supports)[^\n]*page[_ -]?size",
        unless=r"[Mm]amba|no_buffer|overrid|chang(?:e|ing)|topk|speculative",
        strength=7,
        stage="args",
        stages=("args", "attention_backend", "memory_pool"),
        remedies=fix.page_size,
        say="The attention backend does not accept this KV page size.",
        source="server_args.py, layers/attention/",
    ),
    Rule(
        "backend",
        "attention_backend_unsupported",
        r"(?:[Bb]ackends?|FlashAttention v\d|FlashMLA|trtllm_m[lh]a|TRTLLM M[LH]A|FA[34]|fa[34]|flashinfer|"
        r"[Ff]lashInfer)[^\n]*(?:only (?:be )?supported|are the only supported|is only supported|not supported|not support|"
        r"requires? (?:SM|sm|compute|Hopper|Blackwell|GPU)|does not support|"
        r"doesn't support|can only be used|is incompatible|unsupported)|Only \{?[\w', /]+\}? backends? (?:is|are) supported|"
        r"Cross attention is not supported|Invalid attention backend|Can not import FA\d|"
        r"[Hh]ead[_ ]?(?:size|dim)[^\n]*(?:not supported|unsupported)|KV4 |not supported (?:by|with|"
        r"in) (?:the )?\w+ (?:attention )?backend|Unsupported (?:attention|head)",
        unless=r"[Qq]uantiz|FP4|fp8e4|distributed backend|transformers backend|Transformers implementation|grammar|gloo|nccl",
        strength=5,
        stage="attention_backend",
        stages=("args", "attention_backend", "cuda_graph"),
        remedies=fix.attention_backend,
        say="The chosen backend refuses to run on this GPU, model or data type.",
        source="layers/attention/attention_registry.py, arg_groups/attention_hook.py",
    ),
    Rule(
        "refused-argument",
        "invalid_argument_value",
        r"^(?:AssertionError|ValueError|NotImplementedError|RuntimeError|argparse\.ArgumentTypeError|KeyError|TypeError|"
        r"FileNotFoundError|ImportError|json\.decoder\.JSONDecodeError)\b",
        unless=r"scheduler died|Initialization failed",
        when=_is_stage("args"),
        strength=1,
        weight=WEAK,
        stage="args",
        confidence=0.75,
        remedies=fix.refused,
        say="SGLang refuses the combination or value of its arguments.",
        source="server_args.py, arg_groups/",
    ),
    Rule(
        "device-ordinal",
        "invalid_device_ordinal",
        r"invalid device ordinal|cudaErrorInvalidDevice\b|Invalid device id|device >= 0 && device < num_gpus|base_gpu_id must be",
        strength=6,
        stage="distributed_init",
        remedies=fix.device_ordinal,
        say="A GPU index beyond the visible GPUs is selected.",
        source="CUDA runtime",
    ),
    Rule(
        "lora",
        "lora_load_failed",
        r"(?:LoRA|lora|Lora)[^\n]*(?:not (?:found|exist|support|compatible|loaded)|fail|exceed|invalid|incompatib|must|need to|cannot|"
        r"can't|unsupported|greater|larger|mismatch|only)|adapter_config\.json|adapter_model\.\w+|"
        r"[Ff]ailed to load (?:the )?(?:LoRA|lora)? ?adapter",
        unless=r"successful|[Ee]xplor|(?:kv|q|o|qk)_lora_rank",
        scope=ERROR,
        strength=6,
        stage="weights_load",
        stages=("args", "weights_load", "memory_pool", "serving"),
        say="A LoRA adapter cannot be loaded.",
        remedies=fix.lora,
        source="lora/, arg_groups/lora_hook.py",
    ),
)
