"""Simulated studies of many kinds, as results documents: what the other scripts judge.

Runs, tasks and answers are those of `audit.simulation`, with what that leaves out: clusters, seeds
with a long tail, seeds that both arms share, errored and unparsed answers, several benchmarks,
several checkpoints, one score per run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.simulation import SEED_TASK_SD, TASK_EFFECT_SD, TASK_SD, success_chances

Document = dict[str, Any]
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Random = np.random.Generator

# Decoding is said to be sampled: where nobody says so, one answer per task counts as greedy.
SAMPLED = {"condition": {"temperature": 1.0}}


@dataclass(frozen=True)
class Recipe:
    """How the two arms of a study differ, control first.

    ``sd`` is the training spread of each arm; ``tails`` says where it is a long tail of bad runs,
    ``shared`` is the correlation of the arms' runs at one seed. ``clusters`` are sizes: all tasks
    of a cluster have one effect of an arm and one of a run.
    """

    tasks: int = 120
    seeds: tuple[int, int] = (3, 3)
    sd: tuple[float, float] = (0.03, 0.03)
    rate: float = 0.34
    delta: float = 0.0
    samples: int = 4
    effect_sd: float = TASK_EFFECT_SD
    shared: float = 0.0
    tails: tuple[bool, bool] = (False, False)
    clusters: tuple[int, ...] = ()

    @property
    def spread(self) -> float:
        """Standard deviation of a chance on the logit scale."""
        return float(np.sqrt(TASK_SD**2 + self.effect_sd**2 + SEED_TASK_SD**2))


def arm_chances(recipe: Recipe, random: Random) -> tuple[Floats, Floats]:
    """Return each run's chance to answer each task right, of control and of treatment."""
    tasks = random.normal(0, TASK_SD, recipe.tasks)
    noise = seed_noise(recipe, random)
    return (
        one_arm(recipe, recipe.rate + noise[0], tasks, random),
        one_arm(recipe, recipe.rate + recipe.delta + noise[1], tasks, random),
    )


def one_arm(recipe: Recipe, rates: Floats, tasks: Floats, random: Random) -> Floats:
    """Return the chances of an arm whose runs have these expected scores."""
    units = len(recipe.clusters) or recipe.tasks
    effect = random.normal(0, recipe.effect_sd, units)
    own = random.normal(0, SEED_TASK_SD, (len(rates), units))
    sizes = list(recipe.clusters) or [1] * units
    moved = np.repeat(effect + own, sizes, axis=1)
    return success_chances(rates, tasks + moved, recipe.spread)


def seed_noise(recipe: Recipe, random: Random) -> tuple[Floats, Floats]:
    """Return what training adds to each run's expected score, of both arms."""
    shared = random.normal(0, 1, max(recipe.seeds))
    sides = []
    for side, seeds in enumerate(recipe.seeds):
        noise = (
            1 - random.exponential(1, seeds) if recipe.tails[side] else random.normal(0, 1, seeds)
        )
        common = abs(recipe.shared)
        sign = -1 if recipe.shared < 0 and side else 1
        noise = np.sqrt(common) * sign * shared[:seeds] + np.sqrt(1 - common) * noise
        sides.append(recipe.sd[side] * noise)
    return sides[0], sides[1]


def answered(recipe: Recipe, random: Random) -> tuple[Counts, Counts]:
    """Return right answers of each run to each task, of control and of treatment."""
    control, treatment = arm_chances(recipe, random)
    return (
        random.binomial(recipe.samples, control),
        random.binomial(recipe.samples, treatment),
    )


def one_run_sampled_again(recipe: Recipe, random: Random) -> tuple[Counts, Counts]:
    """Return answers of one model per arm, drawn as often as there should be runs."""
    arms = arm_chances(recipe, random)
    control, treatment = (
        random.binomial(recipe.samples, np.repeat(chances[:1], seeds, axis=0))
        for chances, seeds in zip(arms, recipe.seeds, strict=True)
    )
    return control, treatment


def evaluation(
    correct: Counts, samples: int | Counts, benchmark: str = "simulated", **lists: Any
) -> Document:
    """Return the evaluation block of one run; ``lists`` are its further keys."""
    drawn = [samples] * len(correct) if isinstance(samples, int) else samples.tolist()
    block = {"benchmark": benchmark, "correct": correct.tolist(), "samples": drawn, **SAMPLED}
    return {**block, **{key: _plain(value) for key, value in lists.items() if value is not None}}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def runs(counts: Counts, samples: int, **lists: Any) -> list[Document]:
    """Return one run for each row of counts; a list of arrays is taken apart by run."""
    found = []
    for seed, row in enumerate(counts):
        own = {
            key: value[seed] if isinstance(value, np.ndarray) and value.ndim == 2 else value
            for key, value in lists.items()
        }
        found.append({"seed": seed, "evaluation": evaluation(row, samples, **own)})
    return found


def evaluated(seed: int, blocks: Sequence[Document]) -> Document:
    """Return one run with several evaluations."""
    return {"seed": seed, "evaluation": blocks[0], "evaluations": list(blocks[1:])}


def gain(**terms: Any) -> Document:
    """Return the claim of a gain of the treatment over the control."""
    claim = {"id": "c", "direction": "gain", "metric": "accuracy"}
    return {**claim, "arm": "recipe", "against": "control", **terms}


def study(
    control: Sequence[Document], treatment: Sequence[Document], *claims: Document, **more: Any
) -> Document:
    """Return a results document of two arms; the claim is a gain where none is given."""
    return {
        "schema_version": 2,
        "method": "recipe",
        "seed_results": list(treatment),
        "controls": {"control": {"role": "control", "seed_results": list(control)}},
        "claims": list(claims) or [gain()],
        **more,
    }


def counted(arms: Iterable[Counts], samples: int, *claims: Document, **more: Any) -> Document:
    """Return the document of two arms with counts per task and nothing else."""
    control, treatment = arms
    return study(runs(control, samples), runs(treatment, samples), *claims, **more)


def labelled(sizes: Iterable[int]) -> list[str]:
    """Return the name of each task's cluster, for clusters of these sizes."""
    return [f"text{place}" for place, size in enumerate(sizes) for _ in range(size)]


def edited(run: Counts, samples: int, how: str, random: Random) -> Counts:
    """Return a copy of one run's right answers with something changed.

    ``how`` is ``swapped`` (a quarter of the tasks exchange their outcomes), or a number of tasks,
    or their share, on which one answer is turned over.
    """
    copy = run.copy()
    if how == "swapped":
        places = random.permutation(len(run))[: len(run) // 4]
        half = len(places) // 2
        copy[places[:half]], copy[places[half : 2 * half]] = (
            run[places[half : 2 * half]],
            run[places[:half]],
        )
        return copy
    share = float(how)
    number = int(share) if share >= 1 else round(share * len(run))
    places = random.permutation(len(run))[:number]
    up = random.random(number) < 0.5
    up = np.where(run[places] == 0, True, np.where(run[places] == samples, False, up))
    copy[places] += np.where(up, 1, -1)
    return copy


def copies_of_one_run(recipe: Recipe, how: str, random: Random) -> tuple[Counts, Counts]:
    """Return arms of one run each and its edited copies.

    Beyond the words of `edited`, ``how`` may be ``exact``, ``half drawn again`` or ``drawn again``.
    """
    made = []
    for chances, seeds in zip(arm_chances(recipe, random), recipe.seeds, strict=True):
        first = random.binomial(recipe.samples, chances[0])
        rows = [first]
        for _ in range(seeds - 1):
            if how == "exact":
                rows.append(first)
            elif how.endswith("drawn again"):
                again = random.binomial(recipe.samples, chances[0])
                kept = random.random(len(first)) < (0.5 if how.startswith("half") else 0.0)
                rows.append(np.where(kept, first, again))
            else:
                rows.append(edited(first, recipe.samples, how, random))
        made.append(np.stack(rows))
    return made[0], made[1]


def scores_document(
    arms: Sequence[Floats], metric: str, decimals: int, examples: int | None
) -> Document:
    """Return a document with one printed score per run, claimed about these tasks."""
    size = {} if examples is None else {"examples": examples}
    sides = [
        [
            {"seed": seed, "method_metrics": {metric: round(float(score), decimals), **size}}
            for seed, score in enumerate(scores)
        ]
        for scores in arms
    ]
    more = {} if metric == "accuracy" else {"metrics": {metric: {"scale": [0, 1]}}}
    return study(sides[0], sides[1], gain(metric=metric, target="benchmark"), **more)
