# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Tokenizer files of a model directory: is there one, and can it be parsed?"""

from __future__ import annotations

import base64
import binascii
import os

from .contents import first_words, foreign_content, read_head, read_json
from .problems import FETCH_AGAIN, TOKENIZER, problem

# Any one of these sets is a tokenizer. tekken.json is Mistral's, vocab.txt BERT's, spiece/sentencepiece T5's and XLM-R's.
SETS = (
    ("tokenizer.json",),
    ("tokenizer.model",),
    ("vocab.json", "merges.txt"),
    ("tekken.json",),
    ("tiktoken.model",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("vocab.txt",),
)
# Read when they are there.
_CONFIGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")


def tokenizer_files(names):
    """The tokenizer files among ``names``, those of a complete set first."""
    files: list = []
    for parts in SETS:
        if all(part in names for part in parts):
            files += parts
    files += sorted(name for name in names if name.endswith(".tiktoken"))
    return files + [name for name in _CONFIGS if name in names]


def check_tokenizer(directory, names):
    """Problem records of the tokenizer in ``directory`` (``names``: its file names). OSError passes: the caller knows the file's place."""
    files = tokenizer_files(names)
    if not any(name not in _CONFIGS for name in files):
        parts = [part for parts in SETS for part in parts if part in names]
        return [
            problem(
                ".",
                "there is no tokenizer" + (f" ({parts[0]} alone is not one)" if parts else ""),
                TOKENIZER,
                expected="tokenizer.json, tokenizer.model, vocab.json with merges.txt, or *.tiktoken",
                found=", ".join(parts) or "none of them",
                do="Fetch the tokenizer files of the model too, or say with tokenizer_path where they are.",
            )
        ]
    return [found for found in (_check(os.path.join(directory, name), name) for name in files) if found]


def _check(path, name):
    if name.endswith(".json"):
        value, wrong = read_json(path, name, TOKENIZER)
        if wrong:
            return wrong
        if name == "tokenizer.json" and not isinstance(value.get("model"), dict):
            text = "the file has no 'model' object, so it is no tokenizer of the tokenizers library"
            return problem(name, text, TOKENIZER, expected="an object 'model'", found=", ".join(sorted(value)[:5]) or "{}")
        return None
    wrong = foreign_content(path, name, os.stat(path).st_size, TOKENIZER)
    if wrong:
        return wrong
    head = read_head(path)
    if name in ("tiktoken.model",) or name.endswith(".tiktoken"):
        return None if _is_tiktoken(head) else _not(name, "a tiktoken file", "lines of base64 and a rank", head)
    if name.endswith(".model") and not (head.startswith(b"\n") or _is_tiktoken(head)):
        # A serialised ModelProto of SentencePiece begins with field 1, length-delimited: byte 0x0a. Llama 3 ships tiktoken under this name.
        return _not(name, "a SentencePiece model", "a serialised model", head)
    return None


def _is_tiktoken(head):
    word, _space, rank = head.split(b"\n", 1)[0].strip().partition(b" ")
    try:
        base64.b64decode(word, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(word) and rank.isdigit()


def _not(name, what, expected, head):
    return problem(name, f"the file is not {what}", TOKENIZER, expected=expected, found=first_words(head), do=FETCH_AGAIN)
