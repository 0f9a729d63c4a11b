"""CPU time per update of the audited trainer against plain TRL, side by side.

All train the addition model at 16 prompts x 8 responses from the same weights and seed; short runs
take turns in a shuffled order.

While time is taken the learning rate is 0. Clips that train differently sample answers of different
lengths from the second round on, and longer answers cost more in any trainer (a batch whose longest
has four tokens costs plain TRL some 13 % more than one of three). At 0 every trainer makes the same
rollouts (checked), and the same passes, optimizer steps and record on them; no kernel's time
depends on the numbers in it. So a round is the same work in every run, and its cost is the least
any run took: other work on the machine only ever adds.

Before that, at the rate of training, the fixed clip's weights must equal plain TRL's bit for bit.
Exits with 1 when a clip at level summary costs more than 5 % over plain TRL.

    python benchmarks/training_overhead.py --write benchmarks/training_overhead.md
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import random
import statistics
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

ROUNDS = 10
GOAL_PERCENT = 5.0
Times = dict[str, list[list[float]]]
"""Milliseconds per update by trainer, run and round."""
KINDS = (
    "plain",
    "fixed/summary",
    "fixed/full",
    "adaptive/summary",
    "chi2/summary",
    "kl/summary",
)


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


def milliseconds_per_update(trainer: Any) -> list[float]:
    """CPU time of each round, its rollouts and two updates, halved."""
    from transformers import TrainerCallback

    clock: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock.append(time.process_time())

    trainer.add_callback(Clock())
    gc.collect()
    trainer.train()
    # The first two rounds warm up.
    return [500 * (end - start) for start, end in pairwise(clock[3::2])]


def rollouts(trainer: Any) -> list[tuple[float, ...]]:
    """Return what TRL logged of each update's answers: tokens until then, lengths and rewards."""
    names = ("num_tokens", "completions/mean_length", "completions/max_length", "reward")
    return [tuple(log[n] for n in names) for log in trainer.state.log_history if "reward" in log]


def same_weights(folder: Path) -> None:
    from audit.training.parameters import parameters_sha256

    hashes = set()
    for kind in ("plain", "fixed/summary"):
        trainer = build(folder, kind)
        trainer.train()
        hashes.add(parameters_sha256(trainer.model))
    if len(hashes) > 1:
        raise SystemExit("the fixed clip did not give plain TRL's weights")


def measure(folder: Path, repeats: int) -> Times:
    times: Times = {kind: [] for kind in KINDS}
    order = random.Random(1)
    expected = None
    for turn in range(repeats + 1):
        for kind in order.sample(KINDS, len(KINDS)):
            trainer = build(folder, kind)
            trainer.args.learning_rate = 0.0
            milliseconds = milliseconds_per_update(trainer)
            seen = rollouts(trainer)
            expected = expected or seen
            if seen != expected:
                raise SystemExit(f"{kind} did not see the rollouts of the others")
            if turn:  # the first one warms up
                times[kind].append(milliseconds)
    return times


def cost(runs: list[list[float]]) -> float:
    """Mean over rounds of the least that any run took for the round."""
    return statistics.fmean(map(min, zip(*runs, strict=True)))


def overheads(times: Times) -> dict[str, float]:
    """Percent over plain TRL, by trainer."""
    plain = cost(times["plain"])
    return {kind: 100 * (cost(runs) / plain - 1) for kind, runs in times.items()}


def table(times: Times) -> str:
    packages = ", ".join(f"{n} {version(n)}" for n in ("torch", "trl", "transformers"))
    over = overheads(times)
    halves = [overheads({k: runs[half::2] for k, runs in times.items()}) for half in (0, 1)]
    lines = [
        "# Cost of the record, per update",
        "",
        "Written by `python benchmarks/training_overhead.py --write "
        "benchmarks/training_overhead.md`.",
        "CPU milliseconds per update at 16 prompts x 8 responses, two updates a batch, rollouts "
        f"included; {len(times['plain'])} short",
        f"runs of {ROUNDS} rounds of each trainer, taking turns, all with the same rollouts "
        "(learning rate 0): of each round the",
        "least of the runs, then the mean over rounds. The last column has the overhead from every "
        "other turn and from the",
        "rest, which says how firm it is. One thread. Other work may have shared the machine. "
        f"Python {platform.python_version()},",
        f"{packages}; {os.cpu_count()} cores, {platform.machine()}.",
        "Trained, the fixed clip's weights equalled plain TRL's, bit for bit.",
        "",
        "| trainer | clip | level | ms per update | over plain TRL | half of the turns, the rest |",
        "|---|---|---|---:|---:|---:|",
    ]
    for kind, runs in times.items():
        if kind == "plain":
            lines.append(f"| plain TRL | fixed |  | {cost(runs):.2f} |  |  |")
            continue
        clip, level = kind.split("/")
        lines.append(
            f"| audited | {clip} | {level} | {cost(runs):.2f} | {over[kind]:+.1f}% | "
            f"{halves[0][kind]:+.1f}%, {halves[1][kind]:+.1f}% |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    if options.repeats < 2:
        parser.error("--repeats must be 2 or more")
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        same_weights(Path(folder))
        times = measure(Path(folder), options.repeats)
    text = table(times)
    print(text, end="")
    if options.write:
        Path(options.write).write_text(text)
    summary = [over for kind, over in overheads(times).items() if kind.endswith("/summary")]
    return int(max(summary) > GOAL_PERCENT)


if __name__ == "__main__":
    sys.exit(main())
