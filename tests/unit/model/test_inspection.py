"""What sglang_model_info says about whole and broken models."""

from __future__ import annotations

import json
import os
import shutil
import zipfile

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._model.inspection import inspect, summary
from ansible_collections.kpro.sglang.plugins.modules import sglang_model_info

from .conftest import LFS_POINTER, SHARDS, TOTAL, safetensors_bytes

FIRST, SECOND = sorted(SHARDS)
INDEX = "model.safetensors.index.json"


def only_problem(model):
    result = inspect(str(model))
    assert [len(result["problems"]), result["complete"]] == [1, False], result["problems"]
    return result["problems"][0]


def edit_json(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_a_complete_model(model):
    result = inspect(str(model))
    assert result["problems"] == [] and result["notes"] == []
    assert result["complete"] is True
    assert result["architectures"] == ["Qwen3ForCausalLM"] and result["model_type"] == "qwen3"
    assert (result["format"], result["shards"], result["shards_expected"], result["tensors"]) == ("safetensors", 2, 2, 4)
    assert result["weights_bytes"] == TOTAL
    assert result["dtypes"] == {"BF16": TOTAL - 16, "F32": 16}
    assert summary(result).startswith(f"The model in {model} is complete: Qwen3ForCausalLM, 2 files of weights, 208 bytes, 4 tensors")


def test_a_single_file_model(model):
    for name in (*SHARDS, INDEX):
        (model / name).unlink()
    (model / "model.safetensors").write_bytes(safetensors_bytes({"a": ("U8", (3,))}))
    result = inspect(str(model))
    assert result["complete"] and (result["shards"], result["weights_bytes"], result["tensors"]) == (1, 3, 1)


def test_a_missing_shard(model):
    (model / SECOND).unlink()
    problem = only_problem(model)
    assert problem["file"] == SECOND and problem["cause"] == "corrupt_or_incomplete_weights"
    assert "missing" in problem["problem"] and "2 tensors" in problem["problem"]
    result = inspect(str(model))
    assert (result["shards"], result["shards_expected"]) == (1, 2)
    assert SECOND in summary(result)


def test_a_missing_shard_without_an_index(model):
    (model / INDEX).unlink()
    (model / FIRST).unlink()
    assert only_problem(model)["file"] == FIRST


@pytest.mark.parametrize("change", [-1, -40, 1])
def test_a_shard_of_the_wrong_size(model, change):
    data = (model / FIRST).read_bytes()
    (model / FIRST).write_bytes(data[:change] if change < 0 else data + b"\0" * change)
    problem = only_problem(model)
    assert problem["file"] == FIRST and problem["cause"] == "corrupt_or_incomplete_weights"
    assert problem["expected"] == f"{len(data)} bytes" and problem["found"] == f"{len(data) + change} bytes"
    assert ("cut off" in problem["problem"]) == (change < 0)


@pytest.mark.parametrize(
    "content, word",
    [
        (b"", "empty"),
        (LFS_POINTER, "Git LFS pointer"),
        (b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", "error page"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "error page"),
        (b"Entry not found", "not a safetensors file"),
        (b"\x10\x00\x00", "not a safetensors file"),
        (b"\xff" * 8 + b"{}", "not a safetensors file"),
        (b"\x40" + b"\0" * 7 + b'{"a":', "cut off inside its header"),
        (b"\x08" + b"\0" * 7 + b"notjson!", "not valid JSON"),
        (b"\x02" + b"\0" * 7 + b"[]", "not a JSON object"),
    ],
)
def test_a_shard_that_is_something_else(model, content, word):
    (model / FIRST).write_bytes(content)
    problem = only_problem(model)
    assert problem["file"] == FIRST and word in problem["problem"] and problem["cause"] == "corrupt_or_incomplete_weights"


def test_a_pointer_says_what_it_stands_for(model):
    (model / FIRST).write_bytes(LFS_POINTER)
    problem = only_problem(model)
    assert problem["expected"] == "4932307584 bytes" and "git lfs pull" in problem["do"]


@pytest.mark.parametrize(
    "entry, word",
    [
        ({"dtype": "BF16", "shape": [2], "data_offsets": [0, 3]}, "needs 4"),
        ({"dtype": "BF16", "shape": [2], "data_offsets": [4, 0]}, "before it begins"),
        ({"dtype": "BF16", "shape": [2], "data_offsets": [8, 12]}, "where 0 must be"),
        ({"dtype": "BF16", "shape": [2]}, "data_offsets"),
        ({"dtype": "BF16", "shape": [-2], "data_offsets": [0, 4]}, "shape"),
        ({"shape": [2], "data_offsets": [0, 4]}, "dtype"),
        ("x", "dtype"),
    ],
)
def test_damaged_headers(model, entry, word):
    (model / INDEX).unlink()
    (model / SECOND).unlink()
    (model / FIRST).rename(model / "model.safetensors")
    (model / "model.safetensors").write_bytes(safetensors_bytes({}, header={"t": entry}) + b"\0" * 4)
    problem = only_problem(model)
    assert "header is damaged" in problem["problem"] and word in problem["problem"]


def test_four_bit_and_unknown_types_are_accepted(model):
    (model / INDEX).unlink()
    for name in SHARDS:
        (model / name).unlink()
    header = {
        "a": {"dtype": "F4", "shape": [3, 2], "data_offsets": [0, 3]},
        "b": {"dtype": "X9", "shape": [7], "data_offsets": [3, 8]},
    }
    (model / "model.safetensors").write_bytes(safetensors_bytes({}, header=header) + b"\0" * 8)
    result = inspect(str(model))
    assert result["complete"] and result["dtypes"] == {"F4": 3, "X9": 5}


def test_a_tensor_that_the_index_promises(model):
    edit_json(model / INDEX, lambda index: index["weight_map"].update({"lm_head.weight": SECOND}))
    problem = only_problem(model)
    assert problem["file"] == SECOND and "'lm_head.weight'" in problem["problem"]


def test_a_path_that_leaves_the_directory(model):
    for name in ("../outside.safetensors", "/etc/passwd", "a/../../b.safetensors"):
        edit_json(model / INDEX, lambda index, name=name: index["weight_map"].update({"norm.scale": name}))
        problem = only_problem(model)
        assert problem["file"] == INDEX and "leaves the model directory" in problem["problem"]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": 1}}'])
def test_a_useless_index(model, content):
    (model / INDEX).write_text(content)
    assert only_problem(model)["file"] == INDEX


def test_total_size_and_surplus_are_notes_only(model):
    def change(index):
        index["metadata"]["total_size"] = 5
        del index["weight_map"]["norm.scale"]

    edit_json(model / INDEX, change)
    (model / "consolidated.safetensors").write_bytes(b"x")
    result = inspect(str(model))
    assert result["complete"]
    notes = " | ".join(result["notes"])
    assert "total_size 5" in notes and f"{SECOND} holds 1 tensor" in notes and "consolidated.safetensors" in notes


def test_unfinished_downloads_are_mentioned(model):
    cache = model / ".cache" / "huggingface" / "download"
    cache.mkdir(parents=True)
    (cache / "abc.incomplete").write_bytes(b"")
    (model / "x.safetensors.part").write_bytes(b"")
    assert inspect(str(model))["notes"] == [
        "2 unfinished downloads in the directory: x.safetensors.part, .cache/huggingface/download/abc.incomplete"
    ]


@pytest.mark.parametrize("content, word", [("{", "not valid JSON"), ("", "empty"), ("[1]", "not an object"), ('{"a": 1}', "architectures")])
def test_a_bad_config(model, content, word):
    (model / "config.json").write_text(content)
    problem = only_problem(model)
    assert problem["file"] == "config.json" and word in problem["problem"]


def test_model_type_alone_is_enough(model):
    (model / "config.json").write_text('{"model_type": "llama"}')
    assert inspect(str(model))["complete"]


def test_no_config(model):
    (model / "config.json").unlink()
    assert only_problem(model)["cause"] == "model_path_missing"


def test_root_of_a_hub_cache_entry(tmp_path):
    for name in ("blobs", "refs", "snapshots"):
        (tmp_path / name).mkdir()
    problem = inspect(str(tmp_path))["problems"][0]
    assert "snapshots/" in problem["problem"] and "snapshots/" in problem["do"]


def test_a_broken_link(model):
    (model / FIRST).unlink()
    (model / FIRST).symlink_to("../blobs/4711")
    problem = only_problem(model)
    assert "symbolic link" in problem["problem"] and "blobs" in problem["do"]


@pytest.mark.parametrize(
    "name, content, word",
    [
        ("tokenizer.json", b"", "empty"),
        ("tokenizer.json", LFS_POINTER, "Git LFS pointer"),
        ("tokenizer.json", b'{"a": 1}', "'model'"),
        ("tokenizer.json", b"{", "not valid JSON"),
        ("tokenizer_config.json", b"{", "not valid JSON"),
        ("tokenizer.model", b"hello", "SentencePiece"),
        ("qwen.tiktoken", b"hello world", "tiktoken"),
        ("tekken.json", b"[", "not valid JSON"),
    ],
)
def test_a_bad_tokenizer_file(model, name, content, word):
    (model / name).write_bytes(content)
    problem = only_problem(model)
    assert problem["file"] == name and word in problem["problem"] and problem["cause"] == "tokenizer_failed"


@pytest.mark.parametrize(
    "files",
    [
        {"tokenizer.model": b"\n\x05<unk>"},
        {"tokenizer.model": b"IQ== 0\nIg== 1\n"},
        {"vocab.json": b"{}", "merges.txt": b"#version\n"},
        {"qwen.tiktoken": b"IQ== 0\n"},
        {"tekken.json": b"{}"},
    ],
)
def test_other_tokenizers(model, files):
    (model / "tokenizer.json").unlink()
    for name, content in files.items():
        (model / name).write_bytes(content)
    assert inspect(str(model))["problems"] == []


def test_no_tokenizer(model, tmp_path):
    (model / "tokenizer.json").unlink()
    (model / "vocab.json").write_text("{}")
    problem = only_problem(model)
    assert problem["cause"] == "tokenizer_failed" and "vocab.json alone" in problem["problem"]
    assert inspect(str(model), tokenizer=False)["complete"]
    elsewhere = tmp_path / "tokenizer"
    elsewhere.mkdir()
    missing = inspect(str(model), tokenizer_path=str(elsewhere))["problems"]
    assert [record["file"] for record in missing] == [os.path.join(str(elsewhere), ".")]
    (elsewhere / "tokenizer.json").write_text('{"model": {}}')
    assert inspect(str(model), tokenizer_path=str(elsewhere))["complete"]


def test_damaged_generation_config(model):
    (model / "generation_config.json").write_text("{,}")
    assert only_problem(model)["file"] == "generation_config.json"


def test_no_weights(model):
    for name in (*SHARDS, INDEX):
        (model / name).unlink()
    (model / "optimizer.bin").write_bytes(b"x")
    problem = only_problem(model)
    assert problem["file"] == "." and "no weights" in problem["problem"]


def make_pytorch(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"x" * 5000)


def test_pytorch_files(model):
    for name in (*SHARDS, INDEX):
        (model / name).unlink()
    make_pytorch(model / "pytorch_model-00001-of-00002.bin")
    (model / "pytorch_model.bin.index.json").write_text(
        json.dumps({"weight_map": {"a": "pytorch_model-00001-of-00002.bin", "b": "pytorch_model-00002-of-00002.bin"}})
    )
    assert only_problem(model)["file"] == "pytorch_model-00002-of-00002.bin"
    (model / "pytorch_model-00002-of-00002.bin").write_bytes(b"\x80\x02}q\x00.")
    result = inspect(str(model))
    assert result["complete"] and result["format"] == "pytorch" and result["tensors"] is None
    whole = (model / "pytorch_model-00001-of-00002.bin").read_bytes()
    (model / "pytorch_model-00001-of-00002.bin").write_bytes(whole[:-30])
    assert "cut off" in only_problem(model)["problem"]
    (model / "pytorch_model-00001-of-00002.bin").write_bytes(b"junk")
    assert "neither" in only_problem(model)["problem"]


def test_gguf(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0")
    for place in (path, tmp_path):
        result = inspect(str(place))
        assert result["complete"] and result["format"] == "gguf" and result["weights_bytes"] == 8
    path.write_bytes(b"oops")
    assert "not a GGUF file" in inspect(str(path))["problems"][0]["problem"]


def test_the_path_is_missing(model):
    result = inspect(str(model.parent / "tinny" / "x"))
    problem = result["problems"][0]
    assert problem["cause"] == "model_path_missing" and result["fingerprint"] is None
    assert problem["expected"] == str(model.parent / "tinny")
    assert problem["do"] == f"Did you mean {model}?"
    below_a_file = inspect(str(model / "config.json" / "x"))["problems"][0]
    assert "is a file" in below_a_file["found"]


def test_a_link_loop_is_a_problem(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert inspect(str(tmp_path / "loop"))["problems"][0]["cause"] == "model_path_missing"


def test_wrong_options():
    with pytest.raises(KproError, match="path is 'Qwen/Qwen3'"):
        inspect("Qwen/Qwen3")
    with pytest.raises(KproError, match="user is 'nosuchuser'"):
        inspect("/tmp", user="nosuchuser")


def test_fingerprint_is_of_the_content_and_not_of_place_or_time(model, tmp_path):
    first = inspect(str(model))["fingerprint"]
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    os.utime(copy / FIRST, (1, 1))
    (copy / "README.md").write_text("x")
    assert inspect(str(copy))["fingerprint"] == first
    (copy / "chat_template.jinja").write_text("x")
    assert inspect(str(copy))["fingerprint"] != first
    (copy / "chat_template.jinja").unlink()
    tensors = dict(SHARDS[FIRST])
    tensors["embed.weight"] = ("BF16", (4, 16))  # the same size, another header
    (copy / FIRST).write_bytes(safetensors_bytes(tensors, {"format": "pt"}))
    assert inspect(str(copy))["fingerprint"] != first


def test_tensor_data_is_not_read(model):
    """A sparse shard of 1 TiB is checked from its header alone."""
    (model / INDEX).unlink()
    for name in SHARDS:
        (model / name).unlink()
    elements = 1 << 39
    header = {"w": {"dtype": "BF16", "shape": [elements], "data_offsets": [0, 2 * elements]}}
    path = model / "model.safetensors"
    path.write_bytes(safetensors_bytes({}, header=header))
    os.truncate(path, path.stat().st_size + 2 * elements)
    result = inspect(str(model))
    assert result["complete"] and result["weights_bytes"] == 1 << 40


def test_names_that_are_no_text_do_not_break_the_result(model):
    os.close(os.open(os.fsencode(str(model)) + b"/\xff.safetensors.part", os.O_CREAT | os.O_WRONLY, 0o644))
    edit_json(model / "config.json", lambda config: config.update(model_type="\ud800"))
    json.dumps(inspect(str(model)), ensure_ascii=False).encode("utf-8")


def test_module(run_module, model):
    result = run_module(sglang_model_info, {"path": str(model)}, check=True)
    assert not result["failed"] and not result["changed"] and result["model"]["complete"]
    (model / FIRST).write_bytes(LFS_POINTER)
    result = run_module(sglang_model_info, {"path": str(model)})
    assert result["failed"] and "Git LFS pointer" in result["msg"] and result["model"]["problems"][0]["file"] == FIRST
    result = run_module(sglang_model_info, {"path": str(model), "fail": False})
    assert not result["failed"] and not result["model"]["complete"] and "Git LFS pointer" in result["msg"]
    assert "absolute" in run_module(sglang_model_info, {"path": "x/y"})["msg"]


def test_module_with_a_user_that_is_not_made_yet(run_module, model):
    options = {"path": str(model), "user": "nosuchuser"}
    assert "user is 'nosuchuser'" in run_module(sglang_model_info, options)["msg"]
    result = run_module(sglang_model_info, options, check=True)
    assert not result["failed"] and result["model"]["complete"]
