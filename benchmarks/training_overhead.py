"""CPU time per update of the audited trainer against plain TRL, round by round.

All train the addition model at 16 prompts x 8 responses from the same weights and seed. An audited
trainer and one of plain TRL train in one process and hand each other the processor after every
round, so that both meet the same other work on the machine; the overhead is the median over rounds
of the ratio of the two. Which of them begins changes from turn to turn. `AuditCallback` alone,
beside plain TRL, is measured the same way; what it does costs less than such a comparison can tell,
so the time inside it is taken besides, and is held against its goal.

While time is taken the learning rate is 0. Clips that train differently sample answers of different
lengths from the second round on, and longer answers cost more in any trainer (a batch whose longest
has four tokens costs plain TRL some 13 % more than one of three). At 0 every trainer makes the same
rollouts (checked), and the same passes, optimizer steps and record on them; no kernel's time
depends on the numbers in it. So a round is the same work in every run.

Before that, at the rate of training, the fixed clip's weights must equal plain TRL's bit for bit.
Exits with 1 when a clip at level summary costs more than 3 % over plain TRL, or what the callback
does 1 %.

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
import threading
import time
import warnings
from pathlib import Path
from typing import Any

from measuring import add_load_option, conditions, publish, quiet

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

ROUNDS, WARM_UP = 22, 2
UPDATES = 2
"""Updates of a round."""
GOALS = {"summary": 3.0, "callback": 1.0}
"""Percent over plain TRL, by what stands after the stroke."""
INSIDE: list[float] = []
"""Milliseconds inside the callback, update by update."""
Rounds = list[tuple[float, float]]
"""Milliseconds per update of a trainer and of plain TRL beside it, round by round."""
Turns = dict[str, list[Rounds]]
"""What each turn gave, by trainer."""
CALLBACK = "plain/callback"
KINDS = (
    CALLBACK,
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

    class TimedCallback(AuditCallback):
        """Notes the time of what it does in every update; beginning and end are not among it."""

        def on_log(self, *arguments: Any, **named: Any) -> None:
            began = time.process_time()
            super().on_log(*arguments, **named)
            INSIDE.append(1000 * (time.process_time() - began))

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
        if kind == CALLBACK:
            study = audit.Study("plain", folder=Path(tempfile.mkdtemp(dir=folder)))
            trainer.add_callback(TimedCallback(study, "plain"))
    else:
        name, level = kind.split("/")
        region = regions[name]
        recorder = Recorder(level, 8, region.geometry, region.topology)  # type: ignore[arg-type]
        trainer = AuditedGRPOTrainer(**parts, trust_region=region, recorder=recorder)
    trainer.remove_callback(PrinterCallback)
    return trainer


class Partner:
    """A training that holds the processor for a round, then hands it to the one beside it.

    Attributes
    ----------
    milliseconds : list of float
        CPU time per update of each round.
    """

    def __init__(self, trainer: Any) -> None:
        from transformers import TrainerCallback

        partner = self

        class Hand(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
            def on_step_end(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
                if state.global_step % UPDATES == 0:
                    partner._hand_over()

        self.trainer = trainer
        self.milliseconds: list[float] = []
        self.error: BaseException | None = None
        self._random = random_state()
        self._turn = threading.Semaphore(0)
        self._other: Partner | None = None
        self._ended = False
        trainer.add_callback(Hand())

    def train_beside(self, other: Partner) -> None:
        """Train both to their ends, this one first."""
        both = (self, other)
        self._other, other._other = other, self
        threads = [threading.Thread(target=one._train) for one in both]
        for thread in threads:
            thread.start()
        self._turn.release()
        for thread in threads:
            thread.join()
        for one in both:
            if one.error is not None:
                raise one.error

    def _train(self) -> None:
        import torch

        self._wait()
        torch.set_num_threads(1)  # OpenMP keeps the number by thread
        try:
            self.trainer.train()
        except BaseException as error:
            self.error = error
        self._ended = True
        self._release()

    def _hand_over(self) -> None:
        self.milliseconds.append(1000 * (time.process_time() - self._began) / UPDATES)
        self._random = random_state()
        self._release()
        self._wait()

    def _wait(self) -> None:
        assert self._other is not None
        if not self._other._ended:
            self._turn.acquire()
        set_random_state(self._random)
        self._began = time.process_time()

    def _release(self) -> None:
        assert self._other is not None
        self._other._turn.release()


def random_state() -> tuple[Any, Any, Any]:
    """Return the states of the generators that all trainings of a process share."""
    import numpy as np
    import torch

    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def set_random_state(state: tuple[Any, Any, Any]) -> None:
    import numpy as np
    import torch

    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.set_rng_state(state[2])


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


def measure(folder: Path, repeats: int) -> Turns:
    turns: Turns = {kind: [] for kind in KINDS}
    order = random.Random(1)
    expected = None
    for turn in range(repeats + 1):
        for kind in order.sample(KINDS, len(KINDS)):
            ours, plain = (_at_rest(folder, name) for name in (kind, "plain"))
            first, second = (plain, ours) if turn % 2 else (ours, plain)
            gc.collect()
            first.train_beside(second)
            for one in (ours, plain):
                seen = rollouts(one.trainer)
                expected = expected or seen
                if seen != expected:
                    raise SystemExit(f"{kind} did not see the rollouts of the others")
            rounds = list(zip(ours.milliseconds, plain.milliseconds, strict=True))
            if turn:  # the first one warms up
                turns[kind].append(rounds[WARM_UP:])
    return turns


def _at_rest(folder: Path, kind: str) -> Partner:
    """Return a training that leaves its weights as they are."""
    trainer = build(folder, kind)
    trainer.args.learning_rate = 0.0
    return Partner(trainer)


def overhead(turns: list[Rounds]) -> float:
    """Percent over plain TRL: the median of the ratios of rounds beside each other."""
    return 100 * (statistics.median(a / b for rounds in turns for a, b in rounds) - 1)


def inside(turns: Turns) -> float:
    """Percent of an update of plain TRL that is spent inside the callback."""
    return 100 * statistics.median(INSIDE) / plain_milliseconds(turns)


def plain_milliseconds(turns: Turns) -> float:
    """Median of plain TRL over all rounds."""
    return statistics.median(p for found in turns.values() for rounds in found for _, p in rounds)


def table(turns: Turns, load: float) -> str:
    every = {kind: [pair for rounds in found for pair in rounds] for kind, found in turns.items()}
    plain = plain_milliseconds(turns)
    lines = [
        "# Cost of the record, per update",
        "",
        "Written by `python benchmarks/training_overhead.py --write "
        "benchmarks/training_overhead.md`.",
        "CPU milliseconds per update at 16 prompts x 8 responses, two updates a batch, rollouts "
        f"included: medians of {len(every[KINDS[0]])} rounds,",
        f"in {len(turns[KINDS[0]])} turns, each beside one of plain TRL in the same process, all "
        "with the same rollouts (learning rate 0). The overhead",
        "is the median of the ratios of rounds beside each other; the last column has it from "
        "every other turn and from the",
        "rest, which says how firm it is. One thread.",
        conditions(load, "torch", "trl", "transformers"),
        "Trained, the fixed clip's weights equalled plain TRL's, bit for bit.",
        "",
        "| trainer | clip | level | ms per update | over plain TRL | goal | half of the turns, "
        "the rest |",
        "|---|---|---|---:|---:|---:|---:|",
        f"| plain TRL | fixed |  | {plain:.2f} |  |  |  |",
    ]
    lines.append(
        f"| inside `AuditCallback` |  |  | {statistics.median(INSIDE):.2f} | {inside(turns):.2f}% "
        f"| {GOALS['callback']:.0f}% |  |"
    )
    for kind, found in turns.items():
        clip, level = kind.split("/")
        who = "plain TRL with `AuditCallback`" if level == "callback" else "audited"
        goal = f"{GOALS['summary']:.0f}%" if level == "summary" else ""
        halves = ", ".join(f"{overhead(found[half::2]):+.1f}%" for half in (0, 1))
        lines.append(
            f"| {who} | {'fixed' if clip == 'plain' else clip} | "
            f"{'' if level == 'callback' else level} | "
            f"{statistics.median(ours for ours, _ in every[kind]):.2f} | {overhead(found):+.1f}% "
            f"| {goal} | {halves} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--write", type=Path, help="write the table to this file")
    add_load_option(parser)
    options = parser.parse_args()
    if options.repeats < 2:
        parser.error("--repeats must be 2 or more: each half of the turns has its median")
    load = quiet(options)
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        same_weights(Path(folder))
        turns = measure(Path(folder), options.repeats)
    publish(table(turns, load), options)
    over = [overhead(found) for kind, found in turns.items() if kind.endswith("/summary")]
    return int(max(over) > GOALS["summary"] or inside(turns) > GOALS["callback"])


if __name__ == "__main__":
    sys.exit(main())
