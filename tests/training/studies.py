"""A study that trains in seconds, and the ways the tests run it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from audit.cli import train

ROOT = Path(__file__).resolve().parents[2]

ARMS = """\
[arms.adaptive-clip]
role = "method"
clip = "adaptive"
epsilon_low = 0.2
epsilon_high_max = 0.28
[arms.fixed-clip]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.01
"""

STUDY = (
    """\
seeds = [1, 2]
[task]
name = "addition"
limit = 20
train_prompts = 300
holdout_tasks = 20
warm_up_steps = 60
[training]
rounds = 3
prompts_per_round = 4
learning_rate = 1e-3
[evaluation]
samples = 2
[telemetry]
level = "full"
"""
    + ARMS
)

DRIVER = """\
import argparse, sys
from audit.cli import train
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    train.configure(parser)
    sys.exit(train.main(parser.parse_args()))
"""


def audit_train(*arguments: str, quiet: bool = True) -> int:
    """The command in this process."""
    parser = argparse.ArgumentParser()
    train.configure(parser)
    return train.main(parser.parse_args([*arguments, *(["--quiet"] if quiet else [])]))


def without_times(path: Path) -> Any:
    document = json.loads(path.read_text())
    arms = [document["seed_results"], *(c["seed_results"] for c in document["controls"].values())]
    for one in chain(document["base_evaluations"], *arms):
        assert one["cost"].pop("minutes") > 0
        one["cost"].pop("runs_at_once")  # as many as there were workers and pieces left
        for block in filter(None, (one.get("evaluation"), *one.get("evaluations", ()))):
            assert datetime.fromisoformat(block.pop("date")).tzinfo is UTC
    return document


def launch(
    folder: Path, study: Path, output: Path, *more: str, until: bool = False
) -> subprocess.Popen[bytes]:
    driver = folder / "driver.py"
    driver.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [
            *(sys.executable, *more, str(driver), str(study), "-o", str(output)),
            *(("--until", "decided") if until else ()),
        ],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def dead_lock(folder: Path) -> Path:
    """Leave the lock of a process that is gone."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    lock = folder / "lock"
    holder = {"process": gone.pid, "host": platform.node(), "since": "2026-01-01T00:00:00+00:00"}
    lock.write_text(json.dumps(holder))
    return lock


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
