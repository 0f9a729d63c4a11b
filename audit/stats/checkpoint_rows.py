"""Seeds per arm by the number of checkpoints averaged, at more evaluations or at none more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from audit.stats.checkpoint_tables import PooledCheckpoints
from audit.stats.exact import outcomes
from audit.stats.planning import FEWEST_SEEDS, seeds_needed
from audit.stats.records import Components
from audit.stats.spread import pooled_seed_spread, sampling_variance, variance_split

# Numbers of checkpoints a table of designs shows.
SHOWN = (1, 2, 3, 5, 9)


@dataclass(frozen=True, slots=True)
class CheckpointDesign:
    """Seeds per arm that see an effect by the mean over so many checkpoints.

    Attributes
    ----------
    checkpoints : int
    steps : tuple of int
        The last so many of the file.
    components : Components
        Of the pooled table, both arms' seed sd pooled.
    seed_sd_upper : float
        Upper limit of that seed sd.
    answers : int
        Answers per task drawn over all checkpoints.
    seeds, seeds_upper : int or None
        Seeds per arm at the estimate and at the upper limit of the seed sd; None above 1,000.
    traded_answers : int
        Answers per task at each checkpoint where all of them together cost what one checkpoint
        costs now, at least 1.
    traded_seeds, traded_seeds_upper : int or None
        Seeds per arm with these.
    """

    checkpoints: int
    steps: tuple[int, ...]
    components: Components
    seed_sd_upper: float
    answers: int
    seeds: int | None
    seeds_upper: int | None
    traded_answers: int
    traded_seeds: int | None
    traded_seeds_upper: int | None


def checkpoint_designs(
    effect: float,
    control: PooledCheckpoints,
    treatment: PooledCheckpoints,
    *,
    numbers: Sequence[int] = SHOWN,
    new_tasks: bool = True,
    target_power: float = 0.8,
    level: float = 0.95,
    least: int = FEWEST_SEEDS,
    upper: float = 0.8,
) -> tuple[CheckpointDesign, ...]:
    """Return the seeds per arm that an effect needs by the number of checkpoints averaged.

    Parameters
    ----------
    effect : float
        What is to be seen, on [0, 1].
    control, treatment : PooledCheckpoints
        All checkpoints that a next study could declare, evenly spaced.
    numbers : sequence of int
        Numbers of checkpoints shown, the last ones of the file; those it has not are left out.
    new_tasks : bool
        Whether the question is about new tasks; else differences between tasks are no noise.
    target_power, level, least
        As for `seeds_needed`.
    upper : float
        One-sided level of the upper limit of the seed sd.

    Returns
    -------
    tuple of CheckpointDesign

    Notes
    -----
    Each row is planned from its own pooled table: no model of the correlation between
    checkpoints is needed. The variance of an answer is taken within checkpoints: in pooled counts
    a change of the rate between checkpoints would count as sampling.
    """
    if control.steps != treatment.steps:
        raise ValueError("arms have different checkpoints")
    rows = []
    for number in sorted({n for n in numbers if 1 <= n <= len(control.steps)}):
        arms = (control.last(number), treatment.last(number))
        each = min(arm.independent for arm in arms)
        components = pooled_components(*arms)
        spread = pooled_seed_spread([a.right for a in arms], samples=[a.drawn for a in arms])
        components = components.with_seed_sd(spread.sd)
        if not new_tasks:
            components = replace(components, task_effect_sd=0.0)
        limit = spread.upper(upper)
        traded = max(each // number, 1)

        def needed(sd: float, answers: int, parts: Components = components) -> int | None:
            return seeds_needed(
                effect,
                components=parts.with_seed_sd(sd),
                tasks=control.right.shape[1],
                samples=answers,
                target_power=target_power,
                level=level,
                least=least,
            )

        rows.append(
            CheckpointDesign(
                checkpoints=number,
                steps=arms[0].steps,
                components=components,
                seed_sd_upper=limit,
                answers=number * each,
                seeds=needed(spread.sd, number * each),
                seeds_upper=needed(limit, number * each),
                traded_answers=traded,
                traded_seeds=needed(spread.sd, number * traded),
                traded_seeds_upper=needed(limit, number * traded),
            )
        )
    return tuple(rows)


def pooled_components(control: PooledCheckpoints, treatment: PooledCheckpoints) -> Components:
    """Return the planner's components of a pooled table; ``samples`` are those of all checkpoints.

    The variance of an answer is the mean over checkpoints of that within each. With one answer a
    cell and checkpoint it cannot be told from the rest.
    """
    arms = (control, treatment)
    each = min(arm.independent for arm in arms)
    within = 0.0
    if each > 1:
        within = float(np.mean([_answer_variance(arm) for arm in arms]))
    return variance_split(
        control.right,
        treatment.right,
        samples=(control.drawn, treatment.drawn),
        answers=each * len(control.steps),
        answer_variance=within,
    )


def _answer_variance(arm: PooledCheckpoints) -> float:
    parts = [
        sampling_variance(outcomes(right, arm.drawn_by_step, "arm")).of_answer
        for right in arm.by_step
    ]
    return float(sum(parts, Fraction(0)) / len(parts))
