"""Model directories made by hand: safetensors files are a length, a JSON header and the data."""

from __future__ import annotations

import json
import struct

import pytest

SIZES = {"BF16": 2, "F32": 4, "U8": 1}


def safetensors_bytes(tensors, metadata=None, header=None):
    """The bytes of a safetensors file. ``tensors``: {name: (dtype, shape)}; ``header`` replaces the one made from them."""
    entries, position = ({"__metadata__": metadata} if metadata else {}), 0
    for name, (dtype, shape) in tensors.items():
        size = SIZES[dtype]
        for number in shape:
            size *= number
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [position, position + size]}
        position += size
    text = json.dumps(header if header is not None else entries).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"\x11" * position


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4" * 64 + b"\nsize 4932307584\n"
SHARDS = {
    "model-00001-of-00002.safetensors": {"embed.weight": ("BF16", (16, 4)), "layer.0.weight": ("BF16", (4, 4))},
    "model-00002-of-00002.safetensors": {"layer.1.weight": ("BF16", (4, 4)), "norm.scale": ("F32", (4,))},
}
TOTAL = 16 * 4 * 2 + 4 * 4 * 2 + 4 * 4 * 2 + 4 * 4


@pytest.fixture
def model(tmp_path):
    """A complete model of two shards with an index; the directory's pathlib.Path."""
    directory = tmp_path / "tiny"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}))
    (directory / "tokenizer.json").write_text(json.dumps({"version": "1.0", "model": {"type": "BPE", "vocab": {}}}))
    (directory / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    weight_map = {}
    for name, tensors in SHARDS.items():
        (directory / name).write_bytes(safetensors_bytes(tensors, {"format": "pt"}))
        weight_map.update(dict.fromkeys(tensors, name))
    index = {"metadata": {"total_size": TOTAL}, "weight_map": weight_map}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    return directory
