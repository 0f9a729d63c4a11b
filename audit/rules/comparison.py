"""Which arms are compared with the top one, and what is summed over their runs."""

from __future__ import annotations

from collections.abc import Iterable

from audit.pointer import join
from audit.results import Arm, Results, Run

GENERATED = "generated_training_tokens_including_rejected_groups"


def opponents(results: Results) -> tuple[Arm, ...]:
    """Return the controls by role or name, else every arm but the top one."""
    controls = tuple(arm for arm in results.controls if arm.is_control)
    return controls or results.controls


def training_tokens(run: Run) -> int | None:
    """Return the tokens a run generated in training, if recorded."""
    tokens = run.sampling.get(GENERATED)
    if tokens is None:
        tokens = (run.document.get("cost") or {}).get("generated_tokens")
    return None if tokens is None else int(tokens)


def mean_score(runs: Iterable[Run]) -> float | None:
    """Return the mean accuracy of runs; None where one has none."""
    scores = [run.score() for run in runs]
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known and len(known) == len(scores) else None


def seeds(arm: Arm) -> list[tuple[str, int]]:
    """Return pointer and seed of every run that has a label."""
    return [(join(run.pointer, "seed"), run.seed) for run in arm.runs if run.seed is not None]
