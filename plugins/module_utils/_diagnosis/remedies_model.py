# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Remedies for the command line, arguments and files of a model. Each builder takes (match, context), the best remedy first."""

from __future__ import annotations

import re

from .record import remedy


def unknown_flag(match, context):
    what = (match.groups.get("what") or match.groups.get("flag") or "").strip()
    flag = what.split()[0].split("=")[0] if what else None
    found = [remedy("Drop or correct %s" % (flag or "the option"), flag, "remove", None, None)]
    if flag and "_" in flag:
        found.insert(0, remedy("Write it with hyphens", flag.replace("_", "-"), "set", None, "This parser does not take underscores."))
    else:
        found.append(remedy("Or install a release that has it"))
    return found


def bad_value(match, context):
    flag = (match.groups.get("flag") or match.groups.get("flag2") or "").strip()
    flag = flag.split("/")[0].split(",")[0] or None
    choices = re.search(r"\(choose from (.*?)\)", match.line.body)
    text = choices.group(1) if choices else None
    if text and len(text) > 200:
        text = text[:200].rsplit(",", 1)[0] + ", …"
    return [
        remedy(
            "Give %s a value that this release accepts" % (flag or "the option"),
            flag,
            "set",
            None,
            "It accepts " + text + "." if text else None,
        )
    ]


def refused(match, context):
    return [remedy("Change the arguments as the message says")]


def context_length(match, context):
    derived = match.groups.get("derived")
    return [
        remedy(
            "Lower --context-length%s" % (" to " + derived if derived else ""),
            "--context-length",
            "lower",
            derived,
            "The model's configuration gives this length.",
        ),
        remedy(
            "Only with a valid rope scaling: SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN",
            "set",
            "1",
            None,
        ),
    ]


def no_buffer(match, context):
    flag = context.flag("mamba-scheduler-strategy")
    return [remedy("Use the strategy no_buffer", flag, "set", "no_buffer", None)]


def speculative(match, context):
    text = match.message()
    found = []
    if "extra_buffer" in text:
        found.append(
            remedy(
                "Use the strategy that the message names",
                context.flag("mamba-scheduler-strategy"),
                "set",
                "extra_buffer",
                "With SGLANG_ENABLE_SPEC_V2=1 in releases before 0.5.14.",
            )
        )
        found.append(remedy("Or switch the prefix cache off", "--disable-radix-cache", "add", None, None))
    found.append(
        remedy(
            "Set --speculative-algorithm and --speculative-draft-model-path to a pair meant for this model",
            "--speculative-algorithm",
            "set",
            None,
            None,
        )
    )
    found.append(remedy("Or drop the speculative options", "--speculative-algorithm", "remove", None, None))
    return found


def ep_size(match, context):
    return [
        remedy(
            "Choose --ep-size as a divisor of both --tp-size and the number of experts, or leave it out", "--ep-size", "set", None, None
        )
    ]


def tp_size(match, context):
    number, tp = match.groups.get("number"), match.groups.get("tp")
    value = None
    if number and tp and int(tp) > 1:
        value = next((str(size) for size in range(int(tp) - 1, 0, -1) if int(number) % size == 0), None)
    return [
        remedy(
            "Choose a tensor-parallel size that divides the dimensions of the model",
            context.flag("tp-size"),
            "set",
            value,
            "%s is not a multiple of %s." % (number, tp) if number and tp else None,
        ),
        remedy("Use further GPUs by --pp-size or a second server"),
    ]


def page_size(match, context):
    found = re.search(r"page[_ -]?size\w*[^\n]*?\b(?:of|is|to|=|be|:)?\s*(\d+)", match.line.body)
    return [
        remedy("Set the page size that the message names", "--page-size", "set", found.group(1) if found else None, None),
        remedy("Or choose another attention backend", "--attention-backend", "set", None, None),
    ]


def attention_backend(match, context):
    return [remedy("Choose another attention backend (triton is the most general)", "--attention-backend", "set", "triton", None)]


def device_ordinal(match, context):
    tp = context.tp_size
    return [
        remedy(
            "Count inside the visible GPUs: lower --tp-size%s or --base-gpu-id" % (" from %d" % tp if tp and tp > 1 else ""),
            context.flag("tp-size") if tp and tp > 1 else "--base-gpu-id",
            "lower",
            None,
            None,
        ),
        remedy("Or make more GPUs visible", "CUDA_VISIBLE_DEVICES", "set", None, None),
    ]


def lora(match, context):
    return [
        remedy(
            "Correct --lora-paths, or raise --max-lora-rank or extend --lora-target-modules to what the adapter needs",
            "--lora-paths",
            "set",
            None,
            None,
        )
    ]


def remote_code(match, context):
    return [remedy("Review the code in the model directory, then allow it", "--trust-remote-code", "add", None, None)]


def newer_sglang(match, context):
    return [remedy("Use an SGLang release that supports this model (it brings its own transformers; do not update transformers alone)")]


def gated(match, context):
    return [
        remedy("Accept the model's licence and give the service a token in HF_TOKEN", "HF_TOKEN", "set", None, None),
        remedy("Or use a local directory", "--model-path", "set", None, None),
    ]


def hub_timeout(match, context):
    return [
        remedy(
            "Download the model before the start, with retries, then start with HF_HUB_OFFLINE=1", "HF_HUB_OFFLINE", "set", "1", None
        ),
        remedy("Raise the time for downloads", "HF_HUB_DOWNLOAD_TIMEOUT", "raise", None, None),
    ]


def hub(match, context):
    return [
        remedy("Use a local model directory with HF_HUB_OFFLINE=1", "--model-path", "set", None, None),
        remedy("Or give the service working DNS, proxy (HTTPS_PROXY) and certificates"),
    ]


def model_path(match, context):
    path = context.args.get("model_path")
    found = re.search(r"'(/[^']*)'", match.message())
    path = found.group(1) if found else path
    return [
        remedy(
            "Mount the model where the server looks for it%s, or correct --model-path" % (" (%s)" % path if path else ""),
            "--model-path",
            "set",
            None,
            "A local path that does not exist is taken for a hub name." if found else None,
        )
    ]


def tokenizer(match, context):
    return [
        remedy("Fetch the tokenizer files again"),
        remedy("Or correct the tokenizer's path, or update SGLang", "--tokenizer-path", "set", None, None),
    ]


def rope(match, context):
    return [
        remedy(
            "Correct rope_scaling in config.json or in --json-model-override-args (type, factor, original_max_position_embeddings)",
            "--json-model-override-args",
            "set",
            None,
            None,
        )
    ]


def dtype(match, context):
    return [remedy("Use half precision", "--dtype", "set", "float16", None)]


def quantization_flag(match, context):
    return [remedy("Leave --quantization out, so that the checkpoint decides", "--quantization", "remove", None, None)]


def quantization(match, context):
    found = re.search(r"Minimum capability: (\d+)\. Current capability: (\d+)", match.message())
    why = "It needs compute capability %s, the GPU has %s." % found.groups() if found else None
    return [
        remedy("Use a quantisation that this GPU supports (AWQ or GPTQ in int4, or bf16 on Ampere)", "--quantization", "set", None, why)
    ]


def weights_corrupt(match, context):
    return [
        remedy(
            "Compare sizes and checksums of the model's files with the source and fetch the bad ones again",
            None,
            None,
            None,
            "A pointer file of Git LFS or a cut download has the wrong size.",
        )
    ]


def layout(match, context):
    return [remedy("Use a checkpoint or quantisation variant that this SGLang supports, or a release that supports this checkpoint")]
