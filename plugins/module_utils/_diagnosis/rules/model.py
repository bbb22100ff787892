# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about the files of a model: configuration, tokenizer, hub, weights."""

from __future__ import annotations

import re

from .. import remedies_model as fix
from ..frames import stage_of_frames
from ..model_types import TRANSFORMERS_TYPES
from ..record import ERROR, LOG, WEAK, Rule

_LOAD_FRAMES = re.compile(
    r"load_weights|weight_loader|load_model|model_loader|process_weights_after_loading|weight_utils|_load_w|default_loader"
)
_TOKENIZER_FRAMES = re.compile(
    r"tokenization_|get_tokenizer|get_processor|tokenizers?/|processing_utils|image_processing|AutoTokenizer|tokenizer\.py|detokenizer|"
    r"transformers/convert_slow|sentencepiece|_tokenizer"
)


def _frames(pattern):
    return lambda match, context: (
        match.block is not None and any(pattern.search(path + " " + function) for path, function, _unused in match.block.frames)
    )


_IN_LOAD, _IN_TOKENIZER = _frames(_LOAD_FRAMES), _frames(_TOKENIZER_FRAMES)


def _is_stage(*stages):
    """The frames themselves say so; the stage of a match may be no more than the rule's own guess."""
    return lambda match, context: match.block is not None and stage_of_frames(match.block.ordered_frames, match.ready_before) in stages


def _known_type(match, context):
    return (match.groups.get("type") or "") in TRANSFORMERS_TYPES


RULES = (
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
