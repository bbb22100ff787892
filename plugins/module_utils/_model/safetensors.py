# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Headers of safetensors files: read, checked, and compared with the size of the file. No tensor data is read.

Layout: 8 bytes little-endian length of the header, the header (JSON, padded with spaces), the data. Source: the format section of the
safetensors project's README, and its validation (contiguous offsets from 0, file size exact, header at most 100 MB).
"""

from __future__ import annotations

import hashlib
import json
import os

from .contents import first_words, foreign_content
from .problems import WEIGHTS, problem

MAX_HEADER_BYTES = 100_000_000
# Bits per element.
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32,
    "I64": 64, "U64": 64, "F64": 64, "C64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


class Shard:
    """One safetensors file: ``name``, ``size`` (bytes), ``tensors`` {name: (dtype, bytes)}, ``digest`` (sha256 of the header, hex)."""

    def __init__(self, name, size, tensors, digest):
        self.name = name
        self.size = size
        self.tensors = tensors
        self.digest = digest

    @property
    def data_bytes(self):
        """Bytes of tensor data."""
        return sum(size for _dtype, size in self.tensors.values())


def read_shard(path, name):
    """(Shard or None, problem record or None). A file that is too short or too long has both. OSError passes."""
    size = os.stat(path).st_size
    wrong = foreign_content(path, name, size, WEIGHTS)
    if wrong:
        return None, wrong
    with open(path, "rb") as stream:
        prefix = stream.read(8)
        length = int.from_bytes(prefix, "little")
        if len(prefix) < 8 or not 2 <= length <= MAX_HEADER_BYTES:
            return None, problem(
                name,
                "the file is not a safetensors file: its first 8 bytes are no sane header length",
                WEIGHTS,
                expected=f"a header of 2 to {MAX_HEADER_BYTES} bytes",
                found=f"{length} from {first_words(prefix)!r}" if len(prefix) == 8 else f"{size} bytes in all",
            )
        header = stream.read(length)
    if len(header) < length:
        return None, problem(
            name,
            "the file is cut off inside its header",
            WEIGHTS,
            expected=f"more than {8 + length} bytes",
            found=f"{size} bytes",
        )
    tensors, end, fault = _parse(header)
    if fault:
        return None, problem(name, f"the header is damaged: {fault}", WEIGHTS, expected="a safetensors header", found=first_words(header))
    shard = Shard(name, size, tensors, hashlib.sha256(header).hexdigest())
    wanted = 8 + length + end
    if size < wanted:
        text = f"the file is cut off: {wanted - size} bytes are missing"
    elif size > wanted:
        text = f"the file is {size - wanted} bytes longer than its header announces"
    else:
        return shard, None
    return shard, problem(name, text, WEIGHTS, expected=f"{wanted} bytes", found=f"{size} bytes")


def _parse(header):
    """({tensor: (dtype, bytes)}, end of the data, None) or (None, 0, what is wrong)."""
    try:
        entries = json.loads(header.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return None, 0, f"not valid JSON ({error})"
    if not isinstance(entries, dict):
        return None, 0, "not a JSON object"
    tensors, spans = {}, []
    for name, entry in entries.items():
        if name == "__metadata__":
            continue
        fault = _entry_fault(entry)
        if fault:
            return None, 0, f"tensor {name!r} {fault}"
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], end - begin)
        spans.append((begin, end, name))
    position = 0
    for begin, end, name in sorted(spans):
        if begin != position:
            return None, 0, f"the data of tensor {name!r} begins at {begin} where {position} must be"
        position = end
    return tensors, position, None


def _entry_fault(entry):
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        return "has no dtype"
    offsets, shape = entry.get("data_offsets"), entry.get("shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_is_size(number) for number in offsets):
        return "has no sane data_offsets"
    if not isinstance(shape, list) or not all(_is_size(number) for number in shape):
        return "has no sane shape"
    begin, end = offsets
    if end < begin:
        return f"ends at {end} before it begins at {begin}"
    bits = DTYPE_BITS.get(entry["dtype"])
    if bits is None:
        return None  # a newer type: its size cannot be told
    for number in shape:
        bits *= number
    if (bits + 7) // 8 != end - begin:
        return f"has {end - begin} bytes, but {entry['dtype']} {shape} needs {(bits + 7) // 8}"
    return None


def _is_size(number):
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0
