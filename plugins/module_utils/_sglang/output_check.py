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
# Where a run of one character, or of a short phrase, begins to be a loop: a correct answer may be a word or two, said twice.
_RUN = 20
_LOOP_CHARACTERS = 36
_LOOP_WORDS = 12
_LOOP_REPEATS = 4
#: Longest phrase (characters) that is looked for, and how much of a long answer is looked at.
_PHRASE = 240
_LOOK = 3000


def fault(text, prompt=None):
    """Return in a few words what is wrong with an answer, or None when it looks like language.

    ``prompt``: what was asked. A sound small model that answers greedily may repeat the sentence it was given for ever; a loop
    that holds the prompt is therefore none.
    """
    if not text:
        return "the answer is empty"
    if not any(_visible(char) for char in text):
        return f"the answer is {len(text)} characters of white space"
    blank = max((match.group(0) for match in re.finditer(r"\s{10,}", text)), key=len, default="")
    if blank.count("\n") >= 10 or len(blank) >= max(_RUN, len(text) // 2):
        return f"the answer holds {len(blank)} characters of white space in a row"
    # The last character may be cut in the middle by the limit of tokens: one mark for each of its bytes at most.
    if re.sub("\ufffd{1,3}\\Z", "", text).count("\ufffd") >= 3:
        return "the answer is not valid UTF-8"
    line = re.sub(r"\s+", " ", text).strip()
    if len(line) >= 8 and not any(unicodedata.category(char)[0] in "LN" for char in line):
        return "the answer holds no letter and no digit"
    run = re.search(r"([^\W\d_])\1{19,}", line)
    if run:
        return f"the answer repeats {run.group(1)!r} {len(run.group(0))} times"
    phrase, repeats = _loop(line[-_LOOK:])
    if phrase and not (prompt and prompt.strip() in " ".join((phrase, phrase))):
        return f"the answer repeats {phrase!r} {repeats} times"
    return None


def _visible(char):
    return not char.isspace() and unicodedata.category(char)[0] != "C"


def _loop(line):
    """(phrase, times) of one phrase said again and again that fills at least half of the text, else (None, 0).

    Compares characters and not words: Chinese has no spaces, and the limit of tokens may cut the last word.
    """
    for period in range(1, min(_PHRASE, len(line) // _LOOP_REPEATS) + 1):
        longest, end = _longest_run(line, period)
        repeats = longest // period
        said = line[end - longest : end]
        enough = longest >= (_RUN if period == 1 else _LOOP_CHARACTERS) or len(said.split()) >= _LOOP_WORDS
        if enough and repeats >= _LOOP_REPEATS and 2 * longest >= len(line):
            return said[-period:].strip() or said[:period], repeats
    return None, 0


def _longest_run(line, period):
    """(length, end) of the longest stretch of the text in which every character is the one ``period`` places before it."""
    longest = run = end = 0
    for place in range(period, len(line)):
        run = run + 1 if line[place] == line[place - period] else 0
        if run > longest:
            longest, end = run, place + 1
    return longest + period, end


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
        answers.append({"prompt": prompt, "text": value["text"], "fault": fault(value["text"], prompt)})
    return answers
