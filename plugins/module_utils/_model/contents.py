# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What is in a file instead of what its name promises: nothing, a Git LFS pointer, an error page of a web server."""

from __future__ import annotations

import json
import os
import re

from .problems import FETCH_AGAIN, problem, size_text

# First line of a pointer file; source: the Git LFS specification, docs/spec.md. The older spelling is hawser's.
_LFS = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")
_LFS_SIZE = re.compile(rb"^size (\d+)$", re.MULTILINE)
_PAGE = re.compile(rb"\A\s*(?:<!doctype html|<html|<head|<\?xml[^>]*>\s*<(?:error|html|!doctype))", re.IGNORECASE)
_HEAD = 1024
# Larger than every tokenizer.json that was seen (30 MiB); a "JSON" file beyond it is something else, and reading it would cost memory.
JSON_LIMIT = 256 << 20

LFS_ADVICE = "Run 'git lfs pull' in the clone, or download the file itself: this is a pointer of Git LFS, not its content."


def read_head(path, length=_HEAD):
    """The first ``length`` bytes."""
    with open(path, "rb") as stream:
        return stream.read(length)


def foreign_content(path, name, size, cause):
    """A problem record when the file is empty, a Git LFS pointer or an error page; else None. ``size`` in bytes."""
    if size == 0:
        return problem(name, "the file is empty (0 bytes)", cause, expected="content", found="0 bytes")
    head = read_head(path)
    if head.startswith(_LFS):
        wanted = _LFS_SIZE.search(head)
        return problem(
            name,
            "the file is a Git LFS pointer, not its content",
            cause,
            expected=f"{int(wanted.group(1))} bytes" if wanted else "the content the pointer stands for",
            found=f"a pointer of {size} bytes",
            do=LFS_ADVICE,
        )
    if _PAGE.match(head):
        return problem(
            name,
            "the file is an error page of a web server, not the file",
            cause,
            expected="the file",
            found=first_words(head),
            do=FETCH_AGAIN,
        )
    return None


def first_words(data, length=60):
    """The beginning of ``data`` (bytes) as one printable line, for messages."""
    text = " ".join(data[: 4 * length].decode("utf-8", "replace").split())
    text = "".join(char if char.isprintable() else "." for char in text)
    return text if len(text) <= length else text[:length] + "..."


def read_json(path, name, cause, kind=dict):
    """(value, problem record or None) of a JSON file whose top level must be of ``kind``. OSError passes."""
    size = os.stat(path).st_size
    wrong = foreign_content(path, name, size, cause)
    if wrong:
        return None, wrong
    if size > JSON_LIMIT:
        return None, problem(name, f"the file has {size_text(size)}, far more than a file of this kind", cause, found=size_text(size))
    with open(path, "rb") as stream:
        data = stream.read()
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return None, problem(name, f"the file is not valid JSON: {error}", cause, expected="JSON", found=first_words(data))
    if not isinstance(value, kind):
        return None, problem(
            name, "the file holds JSON, but not an object ({...}) at the top", cause, expected="an object", found=type(value).__name__
        )
    return value, None
