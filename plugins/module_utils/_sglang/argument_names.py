# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Names of SGLang's flags that need care: other spellings, flags that take JSON, flags that the ``--config`` file cannot carry.

Read from the argument parsers of SGLang 0.5.9, 0.5.12, 0.5.14, 0.5.16, 0.5.17, 0.5.20 and 0.5.23 (srt/server_args.py, srt/arg_groups/).
"""

from __future__ import annotations

# Other spelling -> the spelling that is also the parser's destination: up to 0.5.17 a --config file knows a bare flag by that one only.
# tp, pp, dp and dcp are the abbreviations that people use; argparse takes some of them only as long as they are unique.
ALIASES = {
    "model": "model-path",
    "tp": "tp-size",
    "tensor-parallel-size": "tp-size",
    "pp": "pp-size",
    "pipeline-parallel-size": "pp-size",
    "dp": "dp-size",
    "data-parallel-size": "dp-size",
    "ep": "ep-size",
    "expert-parallel-size": "ep-size",
    "dcp": "dcp-size",
    "decode-context-parallel-size": "dcp-size",
    "attention-context-parallel-size": "attn-cp-size",
    "attention-data-parallel-size": "attn-dp-size",
    "moe-data-parallel-size": "moe-dp-size",
    "nccl-init-addr": "dist-init-addr",
    "speculative-draft-model": "speculative-draft-model-path",
    "hierarchical-sparse-attention-extra-config": "hisparse-config",
    "enable-hicache": "enable-hierarchical-cache",
    "context-bucket": "cuda-graph-prefill-max-context",
    "grpc-http-sidecar-port": "smg-http-sidecar-port",
}

# Flags whose one value is JSON: a dict (or a list) given for them becomes one compact JSON string.
JSON_FLAGS = frozenset(
    (
        "cuda-graph-config",
        "decoupled-spec-connect-endpoints",
        "deepep-config",
        "default-chat-template-kwargs",
        "disaggregation-ib-device",
        "extra-metric-labels",
        "forward-hooks",
        "hicache-storage-backend-extra-config",
        "hisparse-config",
        "json-model-override-args",
        "kv-events-config",
        "limit-mm-data-per-request",
        "mm-process-config",
        "model-loader-extra-config",
        "modelexpress-config",
        "preferred-sampling-params",
        "radix-eviction-policy-config",
        "remote-instance-weight-loader-send-weights-group-ports",
        "sidecar-args",
        "unified-cache-external-linker-config",
        "watermark-config",
    )
)

# Flags that the --config parser of some release refuses ("Unsupported config option"): it knows plain and bare flags only, no --x/--no-x
# pairs, deprecated spellings or --lora-paths. On the command line every release that has them takes them.
ARGV_ONLY = frozenset(
    (
        "collect-tokens-histogram",
        "cuda-graph-bs",
        "cuda-graph-max-bs",
        "dcp-replicate-q-proj",
        "disable-cuda-graph",
        "disable-piecewise-cuda-graph",
        "dllm-fdfo",
        "dsa-prefill-cp-mode",
        "enable-breakable-cuda-graph",
        "enable-decoder-swa-bounded-replay",
        "enable-dp-attention",
        "enable-dsa-fused-indexer",
        "enable-dsa-prefill-context-parallel",
        "enable-fused-qk-norm-rope",
        "enable-gdn-replayssm-spec",
        "enable-nsa-prefill-context-parallel",
        "enable-piecewise-cuda-graph",
        "enable-prefill-context-parallel",
        "enable-tf32-matmul",
        "enable-tp-lm-head-all-to-all",
        "enforce-piecewise-cuda-graph",
        "experts-shared-outer-loras",
        "hybrid-kvcache-ratio",
        "lora-paths",
        "lora-strict-loading",
        "mamba-scheduler-strategy",
        "mm-enable-dp-encoder",
        "monokernel-backend",
        "nsa-decode-backend",
        "nsa-prefill-backend",
        "nsa-prefill-cp-mode",
        "piecewise-cuda-graph-compiler",
        "piecewise-cuda-graph-max-tokens",
        "piecewise-cuda-graph-tokens",
        "ple-offload-embedding",
        "prefill-cp-mode",
        "prefill-round-robin-balance",
        "record-nolora-graph",
        "speculative-dflash-draft-window-size",
        "speculative-enable-w4a4-mxfp4-megamoe",
        "stream-output",
    )
)
