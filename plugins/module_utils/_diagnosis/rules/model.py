# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about the model's files, its architecture, and arguments that do not fit it."""

from __future__ import annotations

import re

from .. import remedies_general as fix
from ..frames import stage_of_frames
from ..model_types import TRANSFORMERS_TYPES
from ..record import ANY, ERROR, LOG, WEAK, Rule

_LOAD_FRAMES = re.compile(
    r"load_weights|weight_loader|load_model|model_loader|process_weights_after_loading|weight_utils|_load_w|default_loader"
)
_TOKENIZER_FRAMES = re.compile(
    r"tokenization_|get_tokenizer|get_processor|tokenizers?/|processing_utils|image_processing|AutoTokenizer|tokenizer\.py|detokenizer|"
    r"transformers/convert_slow|sentencepiece|_tokenizer"
)
_TP_SOURCE = re.compile(r"% *(?:self\.)?(?:attn_)?tp_(?:size|world|rank_size)|tp_size *% *|% *tensor_model_parallel|% *(?:self\.)?tp\b")


def _frames(pattern):
    return lambda match, context: (
        match.block is not None and any(pattern.search(path + " " + function) for path, function, _unused in match.block.frames)
    )


_IN_LOAD, _IN_TOKENIZER = _frames(_LOAD_FRAMES), _frames(_TOKENIZER_FRAMES)


def _is_stage(*stages):
    """The frames themselves say so; the stage of a match may be no more than the rule's own guess."""
    return lambda match, context: match.block is not None and stage_of_frames(match.block.ordered_frames, match.ready_before) in stages


def _tp_assert(match, context):
    return match.block is not None and bool(match.block.frames) and _TP_SOURCE.search(match.block.frames[-1][2] or "") is not None


def _known_type(match, context):
    return (match.groups.get("type") or "") in TRANSFORMERS_TYPES


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
    # --- command line
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
    # --- configuration, tokenizer, hub
    Rule(
        "remote-code",
        "trust_remote_code_required",
        r"[Pp]lease pass the argument `?trust_remote_code=True|requires you to execute the (?:configuration|modeling|tokenizer|"
        r"processor)? ?file|set the option `?trust_remote_code=True",
        strength=8,
        stage="tokenizer",
        support=None,
        remedies=fix.remote_code,
        say="The model ships its own Python code and SGLang refuses to run it without --trust-remote-code.",
        source="transformers dynamic_module_utils.py",
    ),
    Rule(
        "remote-code-first-line",
        "trust_remote_code_required",
        r"contains custom code which must be executed",
        strength=7,
        stage="tokenizer",
        remedies=fix.remote_code,
        say="The model ships its own Python code and SGLang refuses to run it without --trust-remote-code.",
        source="transformers dynamic_module_utils.py",
    ),
    Rule(
        "type-newer",
        "transformers_too_old",
        r"model type [`'\"](?P<type>[\w.-]+)[`'\"] but Transformers does not recognize",
        strength=7,
        stage="tokenizer",
        when=_known_type,
        say="The installed transformers does not know the model type {type}, newer ones do.",
        remedies=fix.newer_sglang,
        source="transformers configuration_auto.py",
    ),
    Rule(
        "type-unknown",
        "unsupported_arch",
        r"model type [`'\"](?P<type>[\w.-]+)[`'\"] but Transformers does not recognize",
        strength=6,
        stage="tokenizer",
        when=lambda match, context: not _known_type(match, context),
        confidence=0.65,
        say="Neither SGLang nor transformers knows the model type {type}.",
        remedies=fix.newer_sglang,
        source="transformers configuration_auto.py",
    ),
    Rule(
        "transformers-version",
        "transformers_too_old",
        r"Transformers version \S+ is not supported for model|[Pp]lease upgrade transformers|requires? transformers ?(?:>=|version)",
        strength=7,
        stage="tokenizer",
        remedies=fix.newer_sglang,
        say="The installed transformers is too old for this model.",
        source="configs/model_config.py",
    ),
    Rule(
        "architecture",
        "unsupported_arch",
        r"Model architectures \[?(?P<arch>[^\]]*)\]? (?:are not supported|failed to be inspected)|"
        r"is not a registered model in the Transformers library|has no SGlang implementation|Cannot find model module|"
        r"Unrecognized model in |Unrecognized configuration class|No supported architecture",
        strength=7,
        stage="weights_load",
        stages=("tokenizer", "weights_load"),
        remedies=fix.newer_sglang,
        say="This SGLang has no implementation for the architecture of the model.",
        source="models/registry.py, model_loader/utils.py",
    ),
    Rule(
        "gated",
        "gated_model_no_token",
        r"gated repo|GatedRepoError|Access to model \S+ is restricted|Cannot access gated|401 Client Error|403 Client Error|"
        r"Invalid (?:user )?(?:credentials|token)\b.*(?:hugging|hf)|must (?:have access|be authenticated) to|"
        r"Repository Not Found[^\n]*401",
        strength=7,
        stage="tokenizer",
        scope=ERROR,
        remedies=fix.gated,
        say="The model hub refuses access to this model.",
        source="huggingface_hub",
    ),
    Rule(
        "hub-timeout",
        "hub_download_timeout",
        r"Read timed out|ReadTimeoutError|IncompleteRead|ChunkedEncodingError|ConnectionResetError.*(?:hugging|hf\.co|cdn)|"
        r"Connection broken|Consistency check failed|ReadTimeout\b|ContentTooShortError|"
        r"peer closed connection without sending complete message|download .*(?:stalled|timed out)|error decoding response body",
        strength=5,
        stage="weights_load",
        stages=("tokenizer", "weights_load"),
        remedies=fix.hub_timeout,
        say="A download from the model hub broke off.",
        source="requests, urllib3, httpx, huggingface_hub",
    ),
    Rule(
        "hub",
        "hub_unreachable",
        r"[Cc]ouldn't connect to ['\"]?https?|Temporary failure in name resolution|Name or service not known|NameResolutionError|"
        r"Failed to resolve ['\"(]|ConnectTimeout|Failed to establish a new connection|ProxyError|CERTIFICATE_VERIFY_FAILED|SSLError|"
        r"LocalEntryNotFoundError|"
        r"OfflineModeIsEnabled|Cannot reach https?|outgoing traffic has been disabled|offline mode is enabled|HF_HUB_OFFLINE|"
        r"Network is unreachable|cannot find the (?:requested|appropriate) (?:files|snapshot)[^\n]*(?:cache|disk)|No route to host|"
        r"All connection attempts failed",
        strength=6,
        stage="tokenizer",
        stages=("tokenizer", "weights_load"),
        remedies=fix.hub,
        say="The model hub cannot be reached, and the model is not in the local cache.",
        source="huggingface_hub, requests, httpx, transformers utils/hub.py",
        scope=ERROR,
        when=lambda match, context: not re.search(r"gated repo|401 Client|403 Client|not yet valid", match.message()),
    ),
    Rule(
        "model-missing",
        "model_path_missing",
        r"Repo id must (?:be in the form|use alphanumeric)|HFValidationError|does not appear to have a file named|"
        r"is not a local folder and is not a valid model identifier|not a valid model identifier|"
        r"Can't load (?:the )?config(?:uration)? for|"
        r"No such file or directory: ['\"][^'\"]*(?:config\.json|params\.json)['\"]|Repository Not Found|404 Client Error|"
        r"RevisionNotFound|Entry Not Found|Incorrect path_or_model_id|[Mm]odel (?:path|directory) \S+ (?:does not|doesn't) exist",
        strength=7,
        stage="tokenizer",
        stages=("args", "tokenizer", "weights_load"),
        unless=r"adapter|lora|LoRA|tokenizer",
        remedies=fix.model_path,
        say="The model directory, or a file that must be in it, is not where the server looks for it.",
        source="huggingface_hub _validators.py, transformers utils/hub.py",
    ),
    Rule(
        "tokenizer",
        "tokenizer_failed",
        r"data did not match any variant of untagged enum|Can't load (?:the )?(?:tokenizer|processor|feature extractor|"
        r"image processor)|[Ff]ailed to load (?:the )?(?:tokenizer|processor)|Unable to load (?:vocabulary|tokenizer)|"
        r"[Cc]ouldn't instantiate the backend tokenizer|"
        r"Tokenizer class \S+ does not exist|not a string.*tokenizer|tokenizer\.(?:json|model)\b[^\n]*(?:not|fail|invalid|error)|"
        r"preprocessor_config\.json|Internal: .*sentencepiece|ModelWrapper|Unrecognized (?:processing|image processor|"
        r"feature extractor) class|"
        r"[Tt]okenizer[^\n]*(?:is not a valid|could not|cannot be|corrupt)",
        strength=6,
        stage="tokenizer",
        remedies=fix.tokenizer,
        say="The tokenizer or processor files cannot be read or built.",
        source="transformers, tokenizers",
    ),
    Rule(
        "tokenizer-frames",
        "tokenizer_failed",
        r"^(?:Exception|ValueError|TypeError|KeyError|OSError|RuntimeError|AttributeError|IndexError|json\.decoder\.JSONDecodeError|"
        r"UnicodeDecodeError|ImportError)\b",
        strength=2,
        stage="tokenizer",
        when=lambda match, context: _IN_TOKENIZER(match, context) and _is_stage("tokenizer")(match, context),
        confidence=0.7,
        remedies=fix.tokenizer,
        say="The tokenizer or processor files cannot be read or built.",
        source="transformers, tokenizers",
    ),
    Rule(
        "tokenizer-unreadable",
        "tokenizer_failed",
        r"_fix_v5_\w+: (?:unexpected error|failed to)|[Ff]ailed to (?:read|parse|load) (?:the )?(?:tokenizer|tokenizer_config)\b",
        scope=LOG,
        weight=WEAK,
        strength=4,
        stage="tokenizer",
        fixed=True,
        confidence=0.7,
        remedies=fix.tokenizer,
        say="The tokenizer's files could not be read, and the launch failed on the tokens it then made.",
        source="utils/hf_transformers/tokenizer.py",
    ),
    Rule(
        "rope",
        "rope_scaling_misconfigured",
        r"rope_(?:scaling|parameters|theta|type)\b|[Uu]nknown (?:RoPE|rope)|(?:RoPE|rope) (?:scaling|parameter|type)|`rope|"
        r"json[_-]model[_-]override[_-]args",
        strength=6,
        stage="tokenizer",
        unless=r"context_length|does not recognize|[Uu]nrecognized keys",
        remedies=fix.rope,
        say="The rope settings of the model configuration or of its override are invalid.",
        source="transformers modeling_rope_utils.py, layers/rotary_embedding",
    ),
    Rule(
        "dtype",
        "dtype_unsupported_by_gpu",
        r"[Bb][Ff]loat16 is (?:only|not) supported|bfloat16[^\n]*(?:compute capability|not supported on|requires (?:SM|sm|compute))|"
        r"does not support bfloat16",
        strength=7,
        stage="weights_load",
        stages=("args", "tokenizer", "weights_load"),
        remedies=fix.dtype,
        say="The GPU is too old for this number format (bfloat16).",
        source="model_runner.py; vLLM platforms/cuda.py",
    ),
    Rule(
        "quantization-flag",
        "quantization_flag_mismatch",
        r"[Qq]uantization method specified in the model config[^\n]*does not match|Cannot find (?:the )?(?:config file|"
        r"quantization config)|no quantization[ _]config|is not quantized|Could not find [^\n]*quantization config",
        strength=8,
        stage="args",
        stages=("args", "tokenizer", "weights_load"),
        remedies=fix.quantization_flag,
        say="--quantization contradicts the configuration of the checkpoint.",
        source="configs/model_config.py",
    ),
    Rule(
        "quantization",
        "unsupported_quantization",
        r"quantization method \S+ is not supported for the current GPU|Minimum capability: \d+\. Current capability: \d+|"
        r"type fp8\w+ not supported in this architecture|Unknown quantization method|is not supported for quantization method|"
        r"(?:NVFP4|nvfp4|FP4|fp4|FP8|fp8|MXFP\d|mxfp\d|AWQ|GPTQ|[Mm]arlin|[Qq]uantiz\w+|w8a8\w*)[^\n]*(?:requires?|only (?:supported|"
        r"supports|available)|not (?:be )?supported|not support|needs?)[^\n]*(?:SM|sm_?\d|capability|GPU|Hopper|Blackwell|Ada|Ampere|"
        r"platform|device|architecture|ROCm|CUDA)|"
        r"[Nn]o (?:supported|compatible|suitable) (?:FP4|FP8|NVFP4|quantization|Marlin)[^\n]*(?:backend|kernel)",
        strength=6,
        unless=r"KV cache dtype|kv_cache",
        stage="weights_load",
        stages=("args", "weights_load", "cuda_graph", "warmup"),
        remedies=fix.quantization,
        say="The quantisation of the model cannot run on this GPU or platform.",
        source="model_loader/loader.py, triton language/semantic.py, layers/quantization/",
    ),
    # --- weights
    Rule(
        "weights-corrupt",
        "corrupt_or_incomplete_weights",
        r"[Ee]rror while deserializing header|SafetensorError|MetadataIncompleteBuffer|HeaderTooLarge|HeaderTooSmall|InvalidHeader|"
        r"Cannot find any model weights|references \d+ shard file\(s\) missing|PytorchStreamReader failed|UnpicklingError|"
        r"invalid load key|"
        r"unexpected EOF|failed finding central directory|incomplete metadata|Ran out of input|[Ii]ncomplete download|"
        r"No such file or directory: ['\"]?[^'\"]*\.(?:safetensors|bin|pt|gguf)\b|No such file or directory[^\n]*\.safetensors|"
        r"GGUF magic|"
        r"[Ff]ile is not a (?:valid )?(?:zip|safetensors|checkpoint)|Some weights are not initialized from checkpoints|"
        r"checkpoint .*(?:corrupt|truncated)|could not find (?:the )?checkpoint files|safetensors_rust\S*Error",
        unless=r"Permission denied|os error (?:13|24|28)\b",
        scope=ERROR,
        strength=8,
        stage="weights_load",
        remedies=fix.weights_corrupt,
        say="A weight file is damaged, cut off, missing or no weight file at all.",
        source="safetensors, torch.load, model_loader/weight_utils.py",
    ),
    Rule(
        "config-corrupt",
        "corrupt_or_incomplete_weights",
        r"looks like the config file at ['\"](?P<path>[^'\"]+)['\"] is not a valid JSON",
        strength=8,
        stage="tokenizer",
        fixed=True,
        confidence=0.6,
        remedies=fix.weights_corrupt,
        say="{path} is not valid JSON: the model directory is damaged.",
        source="transformers configuration_utils.py",
    ),
    Rule(
        "layout",
        "checkpoint_layout_mismatch",
        r"not found in params_dict|Attempted to load weight \(|param_data\.shape|loaded_weight\.(?:shape|size)|size mismatch for |"
        r"is not divisible by tile_|gptq_marlin_repack|[Mm]issing key\(?s?\)?[^\n]*(?:state|loaded)|[Uu]nexpected key|"
        r"(?:[Ww]eight|[Pp]arameter|[Cc]heckpoint|[Tt]ensor)[^\n]*shape mismatch|does not (?:exist|match)[^\n]*(?:parameter|param|"
        r"tensor|shape)|There is no module or parameter named",
        scope=ERROR,
        strength=6,
        stage="weights_load",
        when=lambda match, context: match.stage in ("weights_load", "memory_pool", "warmup", "launch", "tokenizer"),
        support=r"not found in params_dict",
        support_first=True,
        remedies=fix.layout,
        say="Names or shapes of tensors in the checkpoint do not fit what this SGLang builds for the model.",
        source="model_loader/weight_utils.py, layers/linear.py, models/",
    ),
    Rule(
        "layout-frames",
        "checkpoint_layout_mismatch",
        r"^(?:KeyError: ['\"](?P<key>[\w.]*\w\.\w[\w.]*)['\"]|AssertionError\s*$|AssertionError:? .*|"
        r"RuntimeError: (?:The size of tensor|start \(|The expanded size|shape ').*|IndexError\b.*|ValueError: .*(?:shape|size|dim).*)",
        strength=3,
        stage="weights_load",
        when=lambda match, context: (
            _IN_LOAD(match, context)
            and match.stage == "weights_load"
            and any(re.search(r"weight_loader|load_weights|process_weights|_load_w", frame[1]) for frame in match.block.frames)
        ),
        confidence=0.75,
        support=r"not found in params_dict",
        support_first=True,
        remedies=fix.layout,
        say="Names or shapes of tensors in the checkpoint do not fit what this SGLang builds for the model.",
        source="layers/linear.py weight_loader, models/ load_weights",
    ),
)
