"""Make the sandbox's model: a two-layer Qwen3 that answers the lessons, in two safetensors shards.

Run once, by hand, when the lessons change; the result is kept in the repository (300 kB). Needs torch, transformers,
tokenizers and safetensors: ``python make_model.py tiny-qwen3``. Random weights would answer rubbish and fail the output check.
"""

from __future__ import annotations

import json
import pathlib
import sys

import torch
from lessons import ANSWERS, SENTENCES
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import Qwen3Config, Qwen3ForCausalLM

END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 512,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "attention_bias": False,
    "bos_token_id": 0,
    "eos_token_id": 2,
}


def texts():
    """Every training text as the server's chat template or a plain completion would produce it."""
    for question, answer in ANSWERS:
        yield f"{START}user\n{question}{STOP}\n{START}assistant\n{answer}{STOP}\n"
    for sentence in SENTENCES:
        yield sentence + STOP


def make_tokenizer(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SHAPE["vocab_size"], special_tokens=[END, START, STOP], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(list(texts()) * 5, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": STOP,
        "pad_token": END,
        "model_max_length": SHAPE["max_position_embeddings"],
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n")
    return tokenizer


def train(tokenizer, steps=900):
    torch.manual_seed(7)
    model = Qwen3ForCausalLM(Qwen3Config(**SHAPE)).float()
    rows = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts()]
    width = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    labels = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        loss = model(input_ids=tokens, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    return model


def save(model, folder):
    weights = {name: value.to(torch.bfloat16).contiguous() for name, value in model.state_dict().items()}
    names, index = sorted(weights), {}
    half = len(names) // 2
    for number, part in enumerate((names[:half], names[half:]), 1):
        shard = f"model-{number:05d}-of-00002.safetensors"
        save_file({name: weights[name] for name in part}, folder / shard, metadata={"format": "pt"})
        index.update(dict.fromkeys(part, shard))
    total = sum(value.numel() * value.element_size() for value in weights.values())
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": total}, "weight_map": index}, indent=1, sort_keys=True) + "\n"
    )
    config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16", **SHAPE}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(folder)
    model = train(tokenizer)
    save(model, folder)
    model = model.to(torch.bfloat16).float()
    for question, answer in ANSWERS:
        prompt = f"{START}user\n{question}{STOP}\n{START}assistant\n"
        ids = torch.tensor([tokenizer.encode(prompt, add_special_tokens=False).ids])
        out = model.generate(ids, max_new_tokens=40, do_sample=False, eos_token_id=2, pad_token_id=0)
        said = tokenizer.decode(out[0, ids.shape[1]:].tolist())
        print(f"{'ok ' if said.strip() == answer else 'BAD'} {question} -> {said}")


if __name__ == "__main__":
    main()
