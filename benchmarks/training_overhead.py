"""CPU time per update of the audited trainer against plain TRL, in alternating pairs.

All train the addition model at 16 prompts x 8 responses from the same weights and seed. Each short
run of an audited trainer has a partner of plain TRL right beside it, before it and after it in
turn, so that both meet the same other work on the machine; the overhead is the median over pairs of
the ratio of the two. `AuditCallback` alone, beside plain TRL, is measured the same way.

While time is taken the learning rate is 0. Clips that train differently sample answers of different
lengths from the second round on, and longer answers cost more in any trainer (a batch whose longest
has four tokens costs plain TRL some 13 % more than one of three). At 0 every trainer makes the same
rollouts (checked), and the same passes, optimizer steps and record on them; no kernel's time
depends on the numbers in it. So a round is the same work in every run.

Before that, at the rate of training, the fixed clip's weights must equal plain TRL's bit for bit.
Exits with 1 when a clip at level summary costs more than 3 % over plain TRL, or the callback 1 %.

    python benchmarks/training_overhead.py --write benchmarks/training_overhead.md
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

from measuring import add_load_option, conditions, publish, quiet

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

ROUNDS = 10
GOALS = {"summary": 3.0, "callback": 1.0}
"""Percent over plain TRL, by what stands after the stroke."""
Pairs = dict[str, list[tuple[float, float]]]
"""Milliseconds per update of a trainer and of plain TRL beside it, by trainer."""
KINDS = (
    "plain/callback",
    "fixed/summary",
    "fixed/full",
    "adaptive/summary",
    "chi2/summary",
    "kl/summary",
)


def build(folder: Path, kind: str) -> Any:
    """Build a trainer: ``plain``, or the audited one with a clip and a level, ``fixed/summary``.

    ``plain/callback`` is plain TRL with an `AuditCallback`.
    """
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    import audit
    from audit.training.arguments import grpo_arguments
    from audit.training.callback import AuditCallback
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
    if kind.startswith("plain"):
        trainer = GRPOTrainer(**parts)
        if kind == "plain/callback":
            study = audit.Study("plain", folder=Path(tempfile.mkdtemp(dir=folder)))
            trainer.add_callback(AuditCallback(study, "plain"))
    else:
        name, level = kind.split("/")
        region = regions[name]
        recorder = Recorder(level, 8, region.geometry, region.topology)  # type: ignore[arg-type]
        trainer = AuditedGRPOTrainer(**parts, trust_region=region, recorder=recorder)
    trainer.remove_callback(PrinterCallback)
    return trainer


def milliseconds_per_update(trainer: Any) -> float:
    """Median over rounds of the CPU time of a round, its rollouts and two updates, halved."""
    from transformers import TrainerCallback

    clock: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock.append(time.process_time())

    trainer.add_callback(Clock())
    gc.collect()
    trainer.train()
    # The first two rounds warm up.
    return statistics.median(500 * (end - start) for start, end in pairwise(clock[3::2]))


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


def measure(folder: Path, repeats: int) -> Pairs:
    pairs: Pairs = {kind: [] for kind in KINDS}
    order = random.Random(1)
    expected = None

    def milliseconds(kind: str) -> float:
        nonlocal expected
        trainer = build(folder, kind)
        trainer.args.learning_rate = 0.0
        found = milliseconds_per_update(trainer)
        seen = rollouts(trainer)
        expected = expected or seen
        if seen != expected:
            raise SystemExit(f"{kind} did not see the rollouts of the others")
        return found

    for turn in range(repeats + 1):
        for kind in order.sample(KINDS, len(KINDS)):
            first, second = ("plain", kind) if turn % 2 else (kind, "plain")
            times = {first: milliseconds(first), second: milliseconds(second)}
            if turn:  # the first one warms up
                pairs[kind].append((times[kind], times["plain"]))
    return pairs


def overhead(pairs: list[tuple[float, float]]) -> float:
    """Percent over plain TRL: the median of the ratios within pairs."""
    return 100 * (statistics.median(ours / plain for ours, plain in pairs) - 1)


def table(pairs: Pairs, load: float) -> str:
    plain = statistics.median(plain for runs in pairs.values() for _, plain in runs)
    lines = [
        "# Cost of the record, per update",
        "",
        "Written by `python benchmarks/training_overhead.py --write "
        "benchmarks/training_overhead.md`.",
        "CPU milliseconds per update at 16 prompts x 8 responses, two updates a batch, rollouts "
        f"included: medians of {len(pairs[KINDS[0]])} short",
        f"runs of {ROUNDS} rounds, each beside one of plain TRL, before and after it in turn, all "
        "with the same rollouts (learning rate",
        "0). The overhead is the median of the ratios within pairs; the last column has it from "
        "every other pair and from the",
        "rest, which says how firm it is. One thread.",
        conditions(load, "torch", "trl", "transformers"),
        "Trained, the fixed clip's weights equalled plain TRL's, bit for bit.",
        "",
        "| trainer | clip | level | ms per update | over plain TRL | goal | half of the pairs, "
        "the rest |",
        "|---|---|---|---:|---:|---:|---:|",
        f"| plain TRL | fixed |  | {plain:.2f} |  |  |  |",
    ]
    for kind, runs in pairs.items():
        clip, level = kind.split("/")
        who = "plain TRL with `AuditCallback`" if level == "callback" else "audited"
        goal = f"{GOALS[level]:.0f}%" if level in GOALS else ""
        halves = ", ".join(f"{overhead(runs[half::2]):+.1f}%" for half in (0, 1))
        lines.append(
            f"| {who} | {'fixed' if clip == 'plain' else clip} | "
            f"{'' if level == 'callback' else level} | "
            f"{statistics.median(ours for ours, _ in runs):.2f} | {overhead(runs):+.1f}% | {goal} "
            f"| {halves} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--write", type=Path, help="write the table to this file")
    add_load_option(parser)
    options = parser.parse_args()
    if options.repeats < 2:
        parser.error("--repeats must be 2 or more: each half of the pairs has its median")
    load = quiet(options)
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        same_weights(Path(folder))
        pairs = measure(Path(folder), options.repeats)
    publish(table(pairs, load), options)
    limits = {kind: GOALS.get(kind.partition("/")[2]) for kind in pairs}
    return int(any(limit and overhead(pairs[kind]) > limit for kind, limit in limits.items()))


if __name__ == "__main__":
    sys.exit(main())
