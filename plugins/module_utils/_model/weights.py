# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Weights of a model directory: which files SGLang will load, and whether each is whole.

The choice follows SGLang with ``--load-format auto`` (srt/model_loader/weight_utils.py): safetensors before PyTorch files; with an index
only the files it names, without one every file. Releases differ in whether a missing shard stops the start, so it is found here.
"""

from __future__ import annotations

import os
import re

from .contents import foreign_content, read_head, read_json
from .problems import WEIGHTS, count, problem, size_text, unreadable
from .safetensors import read_shard

SAFETENSORS_INDEX = "model.safetensors.index.json"
PYTORCH_INDEX = "pytorch_model.bin.index.json"
# Leftovers of a training run, not weights (the same list as SGLang's).
_NOT_WEIGHTS = ("training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.pt", "scaler.pt")
_NUMBERED = re.compile(r"(?P<stem>.+)-(?P<number>\d{3,6})-of-(?P<total>\d{3,6})(?P<end>\.[a-z]+)\Z")
_FORMATS = ((".safetensors", "safetensors"), (".bin", "pytorch"), (".pt", "pytorch"), (".pth", "pytorch"), (".gguf", "gguf"))


class Weights:
    """What was found. ``format`` (safetensors | pytorch | gguf | None); ``files`` [(name, size in bytes, digest of the header or None)];
    ``expected`` (int, files there should be); ``tensors`` (int or None), ``data_bytes`` (int, tensor data; whole files where it cannot be
    told), ``dtypes`` {name: bytes}; ``problems``, ``notes`` (list of str: worth knowing, no reason to stop)."""

    def __init__(self):
        self.format = None
        self.files = []
        self.expected = 0
        self.tensors = None
        self.data_bytes = 0
        self.dtypes = {}
        self.problems = []
        self.notes = []


def read_weights(directory, names):
    """Check the weights among ``names`` (file names in ``directory``) and return a Weights. OSError passes for the directory only."""
    weights = Weights()
    if SAFETENSORS_INDEX in names:
        weights.format = "safetensors"
        _indexed(weights, directory, names, SAFETENSORS_INDEX)
        return weights
    candidates = [name for name in names if not name.endswith(_NOT_WEIGHTS)]
    for ending, form in _FORMATS:
        found = sorted(name for name in candidates if name.endswith(ending))
        if ending == ".bin" and PYTORCH_INDEX in names:
            weights.format = form
            _indexed(weights, directory, names, PYTORCH_INDEX)
            return weights
        if found:
            weights.format = form
            _unindexed(weights, directory, found)
            return weights
    weights.problems.append(
        problem(
            ".",
            "there are no weights (no *.safetensors, *.bin, *.pt or *.gguf)",
            WEIGHTS,
            expected="weights",
            found=count(len(names), "other file"),
            do="Download the whole model again, with its weights.",
        )
    )
    return weights


def read_file(path):
    """A Weights for a path that is itself one file (a .gguf model)."""
    weights = Weights()
    name = os.path.basename(path)
    weights.format = dict(_FORMATS).get(os.path.splitext(name)[1])
    _unindexed(weights, os.path.dirname(path), [name])
    return weights


def _indexed(weights, directory, names, index_name):
    index, wrong = _guarded(index_name, lambda: read_json(os.path.join(directory, index_name), index_name, WEIGHTS))
    if wrong:
        weights.problems.append(wrong)
        return
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map or not all(isinstance(name, str) for name in weight_map.values()):
        weights.problems.append(
            problem(index_name, "the index has no weight_map of tensor names to file names", WEIGHTS, expected="weight_map", found="none")
        )
        return
    wanted: dict = {}
    for tensor, name in weight_map.items():
        wanted.setdefault(name, set()).add(tensor)
    weights.expected = len(wanted)
    shards = {}
    for name in sorted(wanted):
        if _leaves(name):
            weights.problems.append(
                problem(
                    index_name,
                    f"the index names {name!r}, a path that leaves the model directory",
                    WEIGHTS,
                    expected="a file in the model directory",
                    found=name,
                    do="Do not use this model before its source is known to be good; fetch the index again.",
                )
            )
            continue
        shard = _one(weights, directory, name, needed_for=count(len(wanted[name]), "tensor"))
        if shard is not None:
            shards[name] = shard
            _compare(weights, index_name, name, wanted[name], shard)
    if index_name == SAFETENSORS_INDEX and len(shards) == len(wanted):
        _compare_total(weights, index)
    ending = ".safetensors" if index_name == SAFETENSORS_INDEX else ".bin"
    extra = sorted(name for name in names if name.endswith(ending) and name not in wanted and not name.endswith(_NOT_WEIGHTS))
    if extra:
        weights.notes.append(
            f"{count(len(extra), 'file')} of weights not named by {index_name}, which SGLang leaves alone: {', '.join(extra[:3])}"
        )


def _unindexed(weights, directory, found):
    weights.expected = len(found)
    for name in _numbered_but_absent(found):
        weights.expected += 1
        weights.problems.append(_missing(name, "its number is missing in the row"))
    for name in found:
        _one(weights, directory, name)


def _numbered_but_absent(found):
    """Names that the numbering (``…-00002-of-00003…``) of the others asks for, when there is no index."""
    rows: dict = {}
    for name in found:
        match = _NUMBERED.match(name)
        if match:
            key = (match["stem"], match["total"], match["end"], len(match["number"]))
            rows.setdefault(key, set()).add(int(match["number"]))
    absent = []
    for (stem, total, end, width), numbers in sorted(rows.items()):
        first = 0 if 0 in numbers else 1
        for number in range(first, first + int(total)):
            if number not in numbers:
                absent.append(f"{stem}-{number:0{width}d}-of-{total}{end}")
    return absent


def _one(weights, directory, name, needed_for=None):
    """Check one file; returns its Shard when it is a readable safetensors file, else None."""
    path = os.path.join(directory, name)
    if not os.path.lexists(path):
        weights.problems.append(_missing(name, f"the index puts {needed_for} into it" if needed_for else None))
        return None
    shard, wrong = _guarded(name, lambda: _read_one(weights, path, name))
    if wrong:
        weights.problems.append(wrong)
    return shard


def _read_one(weights, path, name):
    size = os.stat(path).st_size
    if name.endswith(".safetensors"):
        shard, wrong = read_shard(path, name)
        weights.files.append((name, size, shard.digest if shard else None))
        if shard is not None:
            weights.tensors = (weights.tensors or 0) + len(shard.tensors)
            weights.data_bytes += shard.data_bytes
            for dtype, tensor_bytes in shard.tensors.values():
                weights.dtypes[dtype] = weights.dtypes.get(dtype, 0) + tensor_bytes
        return shard, wrong
    weights.files.append((name, size, None))
    weights.data_bytes += size
    return None, foreign_content(path, name, size, WEIGHTS) or _broken_container(path, name, size)


def _broken_container(path, name, size):
    """What can be told of a PyTorch or GGUF file without reading it: its first bytes, and the directory at the end of a zip archive."""
    magic = read_head(path, 4)
    if name.endswith(".gguf"):
        if magic != b"GGUF":
            return problem(name, "the file is not a GGUF file", WEIGHTS, expected="b'GGUF' at the start", found=repr(magic))
        return None
    if magic.startswith(b"PK\x03\x04"):
        import zipfile

        if not zipfile.is_zipfile(path):
            text = "the file is cut off: it is a zip archive without its directory at the end"
            return problem(name, text, WEIGHTS, expected="a whole archive", found=size_text(size))
        return None
    if not magic.startswith(b"\x80"):  # a pickle, PyTorch's older format
        return problem(
            name, "the file is neither of PyTorch's two formats", WEIGHTS, expected="a zip archive or a pickle", found=repr(magic)
        )
    return None


def _compare(weights, index_name, name, wanted, shard):
    absent = sorted(wanted - set(shard.tensors))
    if absent:
        weights.problems.append(
            problem(
                name,
                f"{count(len(absent), 'tensor')} that {index_name} puts into this file are not in its header, first {absent[0]!r}",
                WEIGHTS,
                expected=count(len(wanted), "tensor"),
                found=count(len(shard.tensors), "tensor"),
                do="Fetch the index and this file again, both from the same revision of the model.",
            )
        )
    surplus = len(set(shard.tensors) - wanted)
    if surplus:
        weights.notes.append(f"{name} holds {count(surplus, 'tensor')} that {index_name} does not name")


def _compare_total(weights, index):
    """Only a note: published indexes are often wrong here (tied weights, quantised later), and every file was checked exactly."""
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, (int, float)) and not isinstance(total, bool) and int(total) != weights.data_bytes:
        weights.notes.append(f"the index says total_size {int(total)}, the files hold {weights.data_bytes} bytes of tensors")


def _missing(name, why):
    return problem(
        name,
        "the file is missing" + (f" ({why})" if why else ""),
        WEIGHTS,
        expected="the file",
        found="nothing",
        do="Download the model again: tools that fetch a model go on where they stopped.",
    )


def _leaves(name):
    return os.path.isabs(name) or ".." in name.split("/") or "\0" in name or not name


def _guarded(name, read):
    """(value, problem record) of ``read()``; an OSError becomes a problem, because the other files are still worth checking."""
    try:
        return read()
    except OSError as error:
        return None, unreadable(name, error, WEIGHTS)
