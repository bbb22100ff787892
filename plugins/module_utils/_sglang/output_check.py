# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Does a server answer with text? Finds empty, repeating and newline-only output (a server can be up and answer rubbish)."""

from __future__ import annotations

import re
import unicodedata

#: Plain continuations that any language model can go on from; greedy, so that a second run says the same.
PROMPTS = (
    "The capital of France is",
    "The quick brown fox",
    "One, two, three, four,",
)
MAX_NEW_TOKENS = 48
# Shorter than this nothing can be said about repetition (a correct answer may be one word).
_ENOUGH_WORDS = 12


def fault(text):
    """Return in a few words what is wrong with an answer, or None when it looks like language."""
    if not text:
        return "the answer is empty"
    if not text.strip():
        return f"the answer is {len(text)} characters of white space"
    if "\ufffd" * 3 in text:
        return "the answer is not valid UTF-8"
    stripped = re.sub(r"\s+", " ", text).strip()
    if len(stripped) >= 8 and not any(unicodedata.category(char)[0] in "LN" for char in stripped):
        return "the answer holds no letter and no digit"
    run = re.search(r"(\S)\1{19,}", text)
    if run:
        return f"the answer repeats {run.group(1)!r} {len(run.group(0))} times"
    return _loop(stripped.split(" "))


def _loop(words):
    """One phrase of up to eight words that fills most of the answer is a loop, not language."""
    if len(words) < _ENOUGH_WORDS:
        return None
    for length in range(1, 9):
        repeats = 1
        while (repeats + 1) * length <= len(words) and words[-(repeats + 1) * length:][:length] == words[-length:]:
            repeats += 1
        if repeats >= 4 and repeats * length >= len(words) // 2:
            return f"the answer repeats {' '.join(words[-length:])!r} {repeats} times"
    return None


def ask(client, timeout):
    """Ask the fixed prompts through /generate; return [{prompt, text, fault}]. ``timeout``: seconds for each."""
    answers = []
    for prompt in PROMPTS:
        body = {"text": prompt, "sampling_params": {"temperature": 0, "max_new_tokens": MAX_NEW_TOKENS}}
        answer = client.post("/generate", body, timeout)
        value = answer.json() if answer.ok else None
        if not isinstance(value, dict) or not isinstance(value.get("text"), str):
            answers.append({"prompt": prompt, "text": None, "fault": f"no answer: {answer.error or f'HTTP {answer.status}'}"})
            continue
        answers.append({"prompt": prompt, "text": value["text"], "fault": fault(value["text"])})
    return answers
