"""Checks of the trainer against plain TRL, offline, in seconds on a CPU.

Each check trains the tiny addition model, or computes on numbers, and says what it saw.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.errors import AuditError

if TYPE_CHECKING:
    from audit.training.trust_region import TrustRegion

_GROUP = 8


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried."""

    name: str
    passed: bool
    detail: str


def selftest() -> Iterator[Check]:
    """Run all checks, yielding each as it is done.

    Raises
    ------
    AuditError
        When the packages installed could not train at all.
    """
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, check in _CHECKS.items():
            try:
                passed, detail = check(Path(folder))
            except AuditError:  # nothing can be trained here, and the message says why
                raise
            except Exception as error:  # a check that raises has failed
                passed, detail = False, f"{type(error).__name__}: {error}"
            yield Check(name, passed, detail)


def _schedule(folder: Path) -> tuple[bool, str]:
    import torch

    from audit.training.trust_region import AdaptiveClip

    widths = AdaptiveClip(0.2, 0.28).epsilon_high(torch.arange(9.0), _GROUP).tolist()
    expected = [0.28] + [0.2 + 0.08 * (8 - c) / 7 for c in range(1, 9)]
    gap = max(abs(a - b) for a, b in zip(widths, expected, strict=True))
    return gap < 1e-6, f"0 of 8 right {widths[0]:.4f}, 1 {widths[1]:.4f}, 7 {widths[7]:.4f}"


def _clamp(folder: Path) -> tuple[bool, str]:
    import torch

    from audit.training.trust_region import AdaptiveClip

    old = torch.zeros(2, 3)
    lower, upper = AdaptiveClip(0.2, 0.28).bounds(old, torch.tensor([1, 7]), _GROUP)
    ratio = torch.tensor([[0.5, 1.0, 1.5], [0.5, 1.0, 1.5]])
    clamped = torch.clamp(ratio, lower, upper)
    expected = torch.tensor([[0.8, 1.0, 1.28], [0.8, 1.0, 1.2 + 0.08 / 7]])
    return bool(torch.allclose(clamped, expected)), f"1.5 becomes {clamped[:, 2].tolist()}"


def _bounds_follow(folder: Path) -> tuple[bool, str]:
    from audit.training.trust_region import AdaptiveClip

    trainer = _trainer(folder, AdaptiveClip(0.2, 0.28), slices=4, accumulation=2, updates=8)
    trainer.train()
    wrong, seen = 0, 0
    for r in trainer.recorder.rounds:
        bounds: dict[int, set[tuple[float, float]]] = {}
        for audit in itertools.chain.from_iterable(u.audits for u in r.updates):
            seen += 1
            bounds.setdefault(audit.sequence, set()).add((audit.lower_mean, audit.upper_mean))
            count = max(1, r.correct[audit.sequence // _GROUP])
            ceiling = 1.2 + 0.08 * (_GROUP - count) / (_GROUP - 1)
            wrong += audit.upper_mean > ceiling + 1e-6
            wrong += audit.tokens != r.tokens[audit.sequence]
        wrong += sum(len(b) > 1 for b in bounds.values())
    return wrong == 0 and seen > 0, f"{seen} audits after the shuffle, {wrong} out of place"


def _first_ratio(folder: Path) -> tuple[bool, str]:
    from audit.training.trust_region import FixedClip

    trainer = _trainer(folder, FixedClip(0.2, 0.28), updates=8)
    trainer.train()
    rounds = trainer.recorder.rounds
    first = max(a.max_abs_log_ratio for r in rounds for a in r.updates[0].audits)
    second = max(a.max_abs_log_ratio for r in rounds for a in r.updates[1].audits)
    return first == 0 < second, f"largest |log ratio| {first} on first updates, {second:.3f} later"


def _same_as_trl(folder: Path) -> tuple[bool, str]:
    from audit.training.parameters import parameters_sha256
    from audit.training.trust_region import FixedClip

    hashes = []
    for region in (None, FixedClip(0.2, 0.28)):
        trainer = _trainer(folder, region, slices=4, accumulation=2, updates=20)
        trainer.train()
        hashes.append(parameters_sha256(trainer.model))
    return hashes[0] == hashes[1], f"plain TRL {hashes[0][:12]}, audited {hashes[1][:12]}"


def _trainer(
    folder: Path,
    region: TrustRegion | None,
    *,
    updates: int,
    slices: int = 1,
    accumulation: int = 1,
) -> Any:
    """Build an audited trainer of 64 responses a round, or plain TRL's where no region is given."""
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    from audit.training.arguments import grpo_arguments
    from audit.training.recorder import Recorder
    from audit.training.rewards import ScoreReward
    from audit.training.study_file import Training
    from audit.training.tasks.addition import Addition
    from audit.training.trainer import AuditedGRPOTrainer

    task = Addition(limit=20, train_prompts=300, holdout_tasks=40, warm_up_steps=120)
    rounds = updates * accumulation // (2 * slices)
    training = Training(
        rounds=rounds,
        prompts_per_round=8,
        group_size=_GROUP,
        steps_per_generation=slices,
        accumulation=accumulation,
        learning_rate=1e-3,
    )
    args = grpo_arguments(training, seed=3, folder=folder / "out", world_size=1, on_cpu=True)
    args.epsilon, args.epsilon_high = 0.2, 0.28
    items = task.partition().train
    parts: dict[str, Any] = {
        "model": task.fresh_model(folder),
        "reward_funcs": ScoreReward(task.scorer),
        "args": args,
        "processing_class": task.tokenizer(folder),
        "train_dataset": Dataset.from_list(
            [{"prompt": i.prompt, "answer": i.answer} for i in items]
        ),
    }
    if region is None:
        trainer = GRPOTrainer(**parts)
    else:
        recorder = Recorder("full", _GROUP, region.geometry, region.topology)
        trainer = AuditedGRPOTrainer(**parts, trust_region=region, recorder=recorder)
    trainer.remove_callback(PrinterCallback)
    return trainer


_CHECKS: dict[str, Callable[[Path], tuple[bool, str]]] = {
    "the adaptive ceiling follows its schedule": _schedule,
    "tensor bounds clamp row by row": _clamp,
    "bounds follow their sequence through TRL's shuffle": _bounds_follow,
    "the ratio is exactly 1 on the first update of a round": _first_ratio,
    "a fixed clip gives plain TRL's weights bit for bit": _same_as_trl,
}
