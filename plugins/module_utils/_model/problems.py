# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""One record for everything that is wrong with a file of a model, and figures as people read them."""

from __future__ import annotations

# Ids of the collection's causes: what SGLang's own failure would later be called.
WEIGHTS = "corrupt_or_incomplete_weights"
MISSING = "model_path_missing"
PERMISSION = "model_path_permission"
TOKENIZER = "tokenizer_failed"

FETCH_AGAIN = "Fetch this file again from the source of the model and compare its size and checksum there."


def problem(file, text, cause, expected=None, found=None, do=FETCH_AGAIN):
    """A problem record.

    ``file`` (str) is relative to the model directory, or absolute for a place outside it; ``text`` one sentence that does not repeat the
    file; ``cause`` an id of the causes; ``expected`` and ``found`` (str or None) what to compare; ``do`` the next step.
    """
    return {"file": file, "problem": text, "cause": cause, "expected": expected, "found": found, "do": do}


LINK_ADVICE = (
    "Copy the files, not the links: a Hugging Face cache keeps them in blobs/ beside snapshots/, so mount or copy the whole "
    "models--* directory, or copy with links followed (rsync -L, cp -L)."
)


def unreadable(name, error, cause):
    """A problem record for the OSError that reading a file ended with; ``cause`` when it is neither the permission nor a link."""
    if isinstance(error, PermissionError):
        text = "the file cannot be read by the user running this module"
        return problem(name, text, PERMISSION, expected="read permission", found="permission denied", do="Make the file readable.")
    if isinstance(error, FileNotFoundError):
        target = "a symbolic link whose target does not exist"
        return problem(name, f"the file is {target}", cause, expected="the file", found=target, do=LINK_ADVICE)
    text = error.strerror or str(error)
    return problem(name, f"the file cannot be read: {text}", cause, expected="a readable file", found=text)


def valid_text(value):
    """``value`` with every string in it valid UTF-8: names of files may hold any byte, and Ansible refuses results that do."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {valid_text(key): valid_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [valid_text(inner) for inner in value]
    return value


def count(number, word):
    """``3 shards``, ``1 shard``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def size_text(number):
    """Bytes as GiB (2**30) from 1 GiB on, MiB from 1 MiB on, else bytes."""
    if number >= 1 << 30:
        return f"{number / (1 << 30):.2f} GiB"
    if number >= 1 << 20:
        return f"{number / (1 << 20):.1f} MiB"
    return count(number, "byte")
