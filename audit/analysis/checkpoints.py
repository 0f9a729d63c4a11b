"""Two arms at every checkpoint that all their runs were evaluated at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from audit.analysis.measures import Measure, Side, common_steps
from audit.analysis.outcomes import TaskOutcomes
from audit.analysis.study import Study
from audit.claims import BASE

if TYPE_CHECKING:
    from audit.stats import LastContrast, PooledCheckpoints

Run = dict[int, TaskOutcomes]


def steps_of(study: Study, measure: Measure, *names: str) -> tuple[int, ...]:
    """Return the steps that every finished run of some arms was evaluated at, increasing."""
    arms = [arm for name in names if name != BASE and (arm := study.results.arm(name))]
    return common_steps(replace(measure, checkpoints=()), arms)


def sides_by_step(
    study: Study, measure: Measure, name: str, steps: Sequence[int]
) -> list[tuple[int, Side]]:
    """Return the runs of an arm as they were at each step."""
    return [(step, study.side(name, replace(measure, checkpoints=(step,)))) for step in steps]


def pooled(
    study: Study, measure: Measure, control: str, treatment: str
) -> tuple[PooledCheckpoints, PooledCheckpoints] | None:
    """Return the counts of both arms at all common steps; None where they are no such table.

    Every run must have counts of the same tasks at two steps or more, none missing.
    """
    from audit.errors import InsufficientData
    from audit.stats import pool_checkpoints

    steps = steps_of(study, measure, control, treatment)
    if len(steps) < 2:
        return None
    arms = [_runs(study, measure, name, steps) for name in (control, treatment)]
    lists = [one for runs in arms for run in runs for one in run.values()]
    if not all(arms) or any(one.ids != lists[0].ids or one.independent for one in lists):
        return None
    if any(0 in one.samples or len(one.samples) != len(lists[0].samples) for one in lists):
        return None
    try:
        first, second = (
            pool_checkpoints(
                [{step: one.counts for step, one in run.items()} for run in runs],
                steps,
                samples=[{step: one.samples for step, one in run.items()} for run in runs],
            )
            for runs in arms
        )
    except InsufficientData:
        return None
    return first, second


def last_step_contrast(
    study: Study, measure: Measure, control: str, treatment: str
) -> LastContrast | None:
    """Compare between arms the last step of a claim with the mean over its steps.

    In the metric's units; None for one step, against the base, and where a run lacks a step.
    """
    steps = sorted(measure.checkpoints)
    if len(steps) < 2 or measure.parts or BASE in (control, treatment):
        return None
    from audit.stats import last_contrast

    arms = [_scores(study, measure, name, steps) for name in (control, treatment)]
    if any(len(scores) < 2 for scores in arms):
        return None
    return last_contrast(*arms)


def _scores(
    study: Study, measure: Measure, name: str, steps: Sequence[int]
) -> list[list[Fraction]]:
    """Return each run's scores, the last step last; empty where one is missing."""
    columns = [
        [run.score for run in side.runs] for _, side in sides_by_step(study, measure, name, steps)
    ]
    if len({len(column) for column in columns}) != 1:
        return []
    rows = [list(row) for row in zip(*columns, strict=True)]
    found = [[score for score in row if score is not None] for row in rows]
    return found if all(len(row) == len(steps) for row in found) else []


def _runs(study: Study, measure: Measure, name: str, steps: Sequence[int]) -> list[Run]:
    """Return each run's outcomes by step; empty where one lacks them."""
    found: dict[str, Run] = {}
    for step, side in sides_by_step(study, measure, name, steps):
        for place, run in enumerate(side.runs):
            if run.outcomes is not None:
                found.setdefault(f"{run.label} {place}", {})[step] = run.outcomes
    runs = list(found.values())
    return runs if runs and all(len(run) == len(steps) for run in runs) else []
