"""What the tests of whole studies share: the command, what it wrote, and a model of characters."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from audit.cli import train


def audit_train(*arguments: str) -> int:
    """The command in this process."""
    parser = argparse.ArgumentParser()
    train.configure(parser)
    return train.main(parser.parse_args([*arguments, "--quiet"]))


def without_times(path: Path) -> Any:
    document = json.loads(path.read_text())
    arms = [document["seed_results"], *(c["seed_results"] for c in document["controls"].values())]
    for run in (run for arm in arms for run in arm):
        assert run["cost"].pop("minutes") > 0
    return document


def verified(document: Any, folder: Path) -> Any:
    import audit

    path = folder / "document.json"
    path.write_text(json.dumps(document))
    return audit.verify(audit.load(str(path)))


def save_character_model(folder: Path) -> None:
    import string

    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    words = ["<pad>", "<end>", "<unk>", *string.printable]
    tokens = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokens.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokens, pad_token="<pad>", eos_token="<end>", unk_token="<unk>"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=256,
        eos_token_id=1,
        pad_token_id=0,
        bos_token_id=None,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
