"""CPU time per update of the audited trainer against plain TRL, side by side.

Both train the addition model at 16 prompts x 8 responses from the same weights and seed; short runs
take turns, the order turning round each time. The weights at the end of each pair must be equal.

    python benchmarks/training_overhead.py --write benchmarks/training_overhead.md
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

ROUNDS = 10
GOAL_PERCENT = 5.0
Make = Callable[[Path], Any]


def build(folder: Path, kind: str) -> Any:
    """Build a trainer: ``plain``, or the audited one with a clip and a level, ``fixed/summary``."""
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    from audit.training.arguments import grpo_arguments
    from audit.training.recorder import Recorder
    from audit.training.rewards import ScoreReward
    from audit.training.study_file import Training
    from audit.training.tasks.addition import Addition
    from audit.training.trainer import AuditedGRPOTrainer
    from audit.training.trust_region import AdaptiveClip, DivergenceRegion, FixedClip

    regions: dict[str, Any] = {
        "fixed": FixedClip(0.2, 0.28),
        "adaptive": AdaptiveClip(0.2, 0.28),
        "chi2": DivergenceRegion("chi2", "atomic", 0.04),
        "kl": DivergenceRegion("kl", "atomic", 0.02),
    }
    task = Addition()
    training = Training(rounds=ROUNDS, prompts_per_round=16, group_size=8)
    args = grpo_arguments(training, seed=1, folder=folder / "out", world_size=1, on_cpu=True)
    args.epsilon, args.epsilon_high = 0.2, 0.28
    items = task.partition().train
    parts: dict[str, Any] = {
        "model": task.fresh_model(folder),
        "reward_funcs": ScoreReward(task.scorer),
        "args": args,
        "processing_class": task.tokenizer(folder),
        "train_dataset": Dataset.from_list(
            [{"prompt": i.prompt, "answer": i.answer, "row": i.row} for i in items]
        ),
    }
    if kind == "plain":
        trainer = GRPOTrainer(**parts)
    else:
        name, level = kind.split("/")
        region = regions[name]
        recorder = Recorder(level, 8, region.geometry, region.topology)  # type: ignore[arg-type]
        trainer = AuditedGRPOTrainer(**parts, trust_region=region, recorder=recorder)
    trainer.remove_callback(PrinterCallback)
    return trainer


def seconds_per_update(trainer: Any) -> list[float]:
    """CPU seconds of each pair of updates on one batch (with its rollouts), halved."""
    from transformers import TrainerCallback

    clock: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock.append(time.process_time())

    trainer.add_callback(Clock())
    trainer.train()
    ends = clock[1::2]
    # The first round pays for warming up.
    return [(b - a) / 2 for a, b in pairwise(ends)][1:]


def measure(folder: Path, kinds: list[str], repeats: int) -> dict[str, list[float]]:
    from audit.training.parameters import parameters_sha256

    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for kind in kinds:
        seconds_per_update(build(folder, kind))
    for repeat in range(repeats):
        hashes = {}
        for kind in kinds if repeat % 2 == 0 else reversed(kinds):
            trainer = build(folder, kind)
            times[kind] += seconds_per_update(trainer)
            hashes[kind] = parameters_sha256(trainer.model)
        if hashes["plain"] != hashes["fixed/summary"]:
            raise SystemExit("the fixed clip did not give plain TRL's weights")
    return times


def table(times: dict[str, list[float]], repeats: int) -> str:
    packages = ", ".join(f"{n} {version(n)}" for n in ("torch", "trl", "transformers"))
    plain = statistics.median(times["plain"])
    lines = [
        "# Cost of the record, per update",
        "",
        "Written by `python benchmarks/training_overhead.py --write "
        "benchmarks/training_overhead.md`.",
        f"CPU milliseconds per update at 16 prompts x 8 responses, two updates a batch, rollouts "
        f"included; {repeats} short",
        f"runs of {ROUNDS} rounds of each trainer, taking turns; medians over "
        f"{len(times['plain'])} rounds. One thread. Other work may have",
        f"shared the machine: read the ratios. Python {platform.python_version()}, {packages}; "
        f"{os.cpu_count()} cores, {platform.machine()}.",
        "In every pair the weights after training with the fixed clip equalled plain TRL's, bit "
        "for bit.",
        "",
        "| trainer | clip | level | ms per update | quartiles | over plain TRL |",
        "|---|---|---|---:|---:|---:|",
    ]
    for kind, values in times.items():
        middle = statistics.median(values)
        low, _, high = statistics.quantiles(values, n=4)
        name, clip, level = (
            ("plain TRL", "fixed", "") if kind == "plain" else ("audited", *kind.split("/"))
        )
        over = "" if kind == "plain" else f"{100 * (middle / plain - 1):+.1f}%"
        lines.append(
            f"| {name} | {clip} | {level} | {1000 * middle:.1f} | "
            f"{1000 * low:.1f} to {1000 * high:.1f} | {over} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    kinds = [
        "plain",
        "fixed/summary",
        "fixed/full",
        "adaptive/summary",
        "chi2/summary",
        "kl/summary",
    ]
    with tempfile.TemporaryDirectory() as folder:
        times = measure(Path(folder), kinds, options.repeats)
    text = table(times, options.repeats)
    print(text, end="")
    if options.write:
        Path(options.write).write_text(text)
    over = statistics.median(times["fixed/summary"]) / statistics.median(times["plain"]) - 1
    return int(100 * over > GOAL_PERCENT)


if __name__ == "__main__":
    sys.exit(main())
