# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Everything about a model on disk that can be told before a server is started: is it there, readable by the service, and whole?

SGLang comes up READY with a missing shard, and fails after minutes with a cut-off one; both are found here from the headers alone.
"""

from __future__ import annotations

import hashlib
import os
import stat

from .._errors import KproError
from .access import find_account
from .contents import read_json
from .location import check_access, find_location
from .problems import MISSING, TOKENIZER, WEIGHTS, count, problem, size_text, unreadable, valid_text
from .tokenizer import check_tokenizer, tokenizer_files
from .weights import read_file, read_weights

# Checked as JSON when they are there: SGLang or transformers reads them at the start.
_OPTIONAL_JSON = (
    "generation_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "chat_template.json",
    "hf_quant_config.json",
)
# Endings of download tools for files that are not finished.
_UNFINISHED = (".incomplete", ".part", ".partial", ".aria2", ".crdownload", ".download")
# What besides the weights decides how a server behaves, and so belongs to the fingerprint.
_TEXT_ENDINGS = (".json", ".jinja", ".model", ".txt", ".tiktoken", ".py")
_HASH_LIMIT = 64 << 20


def inspect(path, user=None, tokenizer=True, tokenizer_path=None):
    """Return the record that RETURN of sglang_model_info describes as ``model``.

    ``path`` (str): absolute; a directory, or one .gguf file. ``user`` (str or None): whose permissions count besides our own.
    ``tokenizer`` (bool): must there be one? ``tokenizer_path`` (str or None): directory to look for it instead.
    Raises KproError for wrong options only; everything about the model is a problem record.
    """
    for option, value in (("path", path), ("tokenizer_path", tokenizer_path)):
        if value is not None and not os.path.isabs(value):
            raise KproError(
                f"{option} is {value!r}; it must be the absolute path of a model directory on the target, not a name on a model hub"
            )
    account = find_account(user) if user else None
    model = {
        "path": path,
        "complete": False,
        "architectures": [],
        "model_type": None,
        "format": None,
        "shards": 0,
        "shards_expected": 0,
        "weights_bytes": 0,
        "tensors": None,
        "dtypes": {},
        "fingerprint": None,
        "problems": [],
        "notes": [],
    }
    status, wrong = find_location(path, account)
    if wrong:
        model["problems"] = wrong
        return valid_text(model)
    if stat.S_ISDIR(status.st_mode):
        _inspect_directory(model, path, account, tokenizer, tokenizer_path)
    else:
        _take_weights(model, read_file(path))
        model["fingerprint"] = _fingerprint(os.path.dirname(path), [], model.pop("_files"))
    model["complete"] = not model["problems"]
    return valid_text(model)


def _inspect_directory(model, path, account, tokenizer, tokenizer_path):
    names = sorted(os.listdir(path))
    problems = model["problems"]
    weights = read_weights(path, names)
    if not (weights.format == "gguf" and "config.json" not in names):
        _read_config(model, path, names)
    if tokenizer and weights.format != "gguf":
        problems += _tokenizer_problems(tokenizer_path, names, path, account)
    for name in _OPTIONAL_JSON:
        if name in names:
            _value, wrong = _read(path, name, WEIGHTS, dict)
            problems += [wrong] if wrong else []
    _take_weights(model, weights)
    files = model.pop("_files")
    if account is not None:
        read = ["config.json", *tokenizer_files(names), *(name for name in _OPTIONAL_JSON), *(name for name, _size, _digest in files)]
        problems += check_access(path, [name for name in dict.fromkeys(read) if os.path.exists(os.path.join(path, name))], account)
    unfinished = _unfinished(path, names)
    if unfinished:
        model["notes"].append(f"{count(len(unfinished), 'unfinished download')} in the directory: {', '.join(unfinished[:3])}")
    model["fingerprint"] = _fingerprint(path, names, files)


def _read_config(model, path, names):
    if "config.json" not in names:
        snapshots = "snapshots" in names
        model["problems"].append(
            problem(
                "config.json",
                "the file is missing"
                + (" (this is the root of a Hugging Face cache entry, the model is below snapshots/)" if snapshots else ""),
                MISSING,
                expected="the file",
                found=", ".join(names[:5]) if names else "an empty directory",
                do="Set the path to one directory below snapshots/." if snapshots else _no_config_advice(names),
            )
        )
        return
    config, wrong = _read(path, "config.json", WEIGHTS, dict)
    if wrong:
        model["problems"].append(wrong)
        return
    architectures = config.get("architectures")
    model["architectures"] = [str(name) for name in architectures] if isinstance(architectures, list) else []
    model["model_type"] = config["model_type"] if isinstance(config.get("model_type"), str) else None
    if not model["architectures"] and not model["model_type"]:
        model["problems"].append(
            problem(
                "config.json",
                "the file names neither architectures nor a model_type, so no engine can tell what to build",
                WEIGHTS,
                expected="architectures",
                found=", ".join(sorted(config)[:5]) or "{}",
            )
        )


def _no_config_advice(names):
    return (
        "Download the whole model."
        if names
        else "Mount or download the model: an empty directory is often a mount point without its mount."
    )


def _tokenizer_problems(tokenizer_path, names, path, account):
    directory = tokenizer_path or path
    if tokenizer_path:
        _status, wrong = find_location(directory, account)
        if wrong:
            return wrong
        if not os.path.isdir(directory):
            raise KproError(f"tokenizer_path is {directory!r}, which is not a directory; give the directory that holds the tokenizer files")
        names = sorted(os.listdir(directory))
    try:
        found = check_tokenizer(directory, names)
    except OSError as error:
        return [unreadable(os.path.basename(error.filename or directory), error, TOKENIZER)]
    if tokenizer_path:
        for record in found:
            record["file"] = os.path.join(directory, record["file"])
        if account is not None:
            found += check_access(directory, tokenizer_files(names), account)
    return found


def _read(path, name, cause, kind):
    try:
        return read_json(os.path.join(path, name), name, cause, kind)
    except OSError as error:
        return None, unreadable(name, error, cause)


def _take_weights(model, weights):
    model.update(
        format=weights.format,
        shards=len(weights.files),
        shards_expected=weights.expected,
        weights_bytes=weights.data_bytes,
        tensors=weights.tensors,
        dtypes=dict(sorted(weights.dtypes.items())),
    )
    model["problems"] += weights.problems
    model["notes"] += weights.notes
    model["_files"] = weights.files


def _unfinished(path, names):
    """Relative names of unfinished downloads: beside the files, and where ``hf download --local-dir`` keeps them."""
    found = [name for name in names if name.endswith(_UNFINISHED)]
    cache = os.path.join(".cache", "huggingface", "download")
    try:
        found += [os.path.join(cache, name) for name in sorted(os.listdir(os.path.join(path, cache))) if name.endswith(_UNFINISHED)]
    except OSError:
        pass
    return found


def _fingerprint(path, names, files):
    """sha256 (hex) over names, sizes and headers of the weights, and the content of the small files. Times and places do not count."""
    digest = hashlib.sha256()
    for name, size, header in sorted(files, key=lambda entry: entry[0]):
        digest.update(f"weights {name!r} {size} {header}\n".encode())
    for name in names:
        if name.startswith(".") or not name.endswith(_TEXT_ENDINGS):
            continue
        place = os.path.join(path, name)
        try:
            size = os.stat(place).st_size
            content = None
            if size <= _HASH_LIMIT and os.path.isfile(place):
                with open(place, "rb") as stream:
                    content = hashlib.sha256(stream.read()).hexdigest()
        except OSError:
            continue
        digest.update(f"file {name!r} {size} {content}\n".encode())
    return digest.hexdigest()


def summary(model):
    """One sentence for people, the first problem first."""
    if model["complete"]:
        tensors = f", {count(model['tensors'], 'tensor')}" if model["tensors"] else ""
        kind = (model["architectures"] or [model["model_type"] or model["format"]])[0]
        return (
            f"The model in {model['path']} is complete: {kind}, {count(model['shards'], 'file')} of weights, "
            f"{size_text(model['weights_bytes'])}{tensors}."
        )
    first = model["problems"][0]
    place = "" if first["file"] in (".", model["path"]) else first["file"] + ": "
    others = len(model["problems"]) - 1
    more = f" ({count(others, 'more problem')})" if others else ""
    compared = f", expected {first['expected']}, found {first['found']}" if first["expected"] and first["found"] else ""
    return f"The model in {model['path']} cannot be served: {place}{first['problem']}{compared}{more}. {first['do']}"
