"""Power and expected seeds of one look, of plans, and of a look too early, by the shipped rule.

    python benchmarks/plan_power.py --write benchmarks/plan_power.md

Each study is drawn to the last seed and judged by `seed_delta` after every number of seeds; every
design is then read off the same p-values. Beside each simulated figure stands the planner's. One
process, some minutes of CPU. Exit status 1 where a formula is further from its simulation than
the room below, or where the plan of 12 seeds at most needs more than 9 on average for +0.050 at a
training sd of 0.030.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy is loaded

import numpy as np  # noqa: E402 - after the number of threads is set

from audit.stats import (  # noqa: E402 - as above
    Components,
    SequentialPlan,
    after_look,
    gain_probability,
    seed_delta,
    wilson,
)

TASKS, SAMPLES, STUDIES = 120, 4, 5_000
SEED_TASK_SD, ANSWER_VARIANCE, TASK_EFFECT_SD = 0.065, 0.145, 0.085
# Training sd and true difference; the last is a recipe that changes nothing.
CELLS = ((0.01, 0.05), (0.03, 0.05), (0.03, 0.10), (0.05, 0.05), (0.05, 0.10), (0.03, 0.0))
SEEDS = range(3, 13)
# Cells are whole numbers out of this: figures to 1e-4, as of graded scores.
GRAIN = 20_000
# What the formulas may be off by, beyond the chance of the simulation.
POWER_ROOM, SEEDS_ROOM = 0.025, 0.3
MOST_EXPECTED = 9.0


@dataclass(frozen=True)
class Design:
    """Seeds per arm at which one looks, and the p-value below which each look decides."""

    name: str
    looks: tuple[int, ...]
    thresholds: tuple[float, ...]
    plan: SequentialPlan | None = None


@dataclass(frozen=True)
class Row:
    """One design in one cell: simulated with its interval, and by the planner's formula."""

    cell: tuple[float, float]
    design: Design
    gains: int
    seeds: float
    formula: tuple[float, float] | None

    @property
    def power(self) -> float:
        """Share of the studies that were called a gain."""
        return self.gains / STUDIES

    @property
    def limits(self) -> tuple[float, float]:
        """Wilson's 95% interval of it."""
        found = wilson(self.gains, STUDIES)
        return found.low, found.high


def designs() -> tuple[Design, ...]:
    one = [Design(f"one look, {s}", (s,), (0.05,)) for s in (4, 5, 8, 12)]
    plans = [
        SequentialPlan(12),
        SequentialPlan(12, looks=(4, 8, 12)),
        SequentialPlan(12, first=3, looks=(3, 5, 8, 12)),
        SequentialPlan(8),
        SequentialPlan(8, looks=(4, 6, 8)),
    ]
    named = [
        Design(
            f"plan, {_looks(plan)}",
            plan.planned,
            tuple(map(plan.threshold, plan.planned)),
            plan,
        )
        for plan in plans
    ]
    late = [
        Design(
            f"no plan, {first} then {later}",
            (first, later),
            (0.05, after_look(first, later, later).threshold),
        )
        for first, later in ((3, 8), (3, 12), (5, 12))
    ]
    return (*one, *named, *late)


def _looks(plan: SequentialPlan) -> str:
    if plan.looks is None:
        return f"every seed {plan.first} to {plan.most}"
    return "-".join(map(str, plan.looks))


def components(sd: float) -> Components:
    return Components(sd, sd, SEED_TASK_SD, ANSWER_VARIANCE, TASK_EFFECT_SD)


def p_values(sd: float, effect: float) -> tuple[Any, Any]:
    """P-value and sign of every study after every number of seeds, (studies, looks)."""
    random = np.random.default_rng(zlib.crc32(f"{sd}/{effect}".encode()))
    p, sign = np.ones((2, STUDIES, len(SEEDS)))
    for study in range(STUDIES):
        control, treatment = drawn(sd, effect, random)
        for place, seeds in enumerate(SEEDS):
            found = seed_delta(control[:seeds], treatment[:seeds], samples=GRAIN)
            p[study, place] = found.random.p_value
            sign[study, place] = np.sign(found.delta)
    return p, sign


def drawn(sd: float, effect: float, random: np.random.Generator) -> tuple[Any, Any]:
    """Cells of both arms, seeds x tasks, on half the scale so that none is cut off at its ends."""
    most = SEEDS[-1]
    arms = []
    for shift in (np.zeros(TASKS), effect + random.normal(0, TASK_EFFECT_SD, TASKS)):
        cells = 0.5 * (
            shift
            + random.normal(0, sd, (most, 1))
            + random.normal(0, SEED_TASK_SD, (most, TASKS))
            + random.normal(0, (ANSWER_VARIANCE / SAMPLES) ** 0.5, (most, TASKS))
        )
        counts = np.rint(GRAIN * (0.45 + cells)).astype(np.int64)
        arms.append(np.clip(counts, 0, GRAIN))
    return arms[0], arms[1]


def measured(cell: tuple[float, float]) -> Iterator[Row]:
    p, sign = p_values(*cell)
    for design in designs():
        places = [look - SEEDS[0] for look in design.looks]
        decided = p[:, places] < np.array(design.thresholds)
        stopped = decided.any(axis=1)
        at = np.where(stopped, decided.argmax(axis=1), len(places) - 1)
        gain = stopped & (sign[np.arange(STUDIES), np.array(places)[at]] > 0)
        seeds = float(np.array(design.looks)[at].mean())
        yield Row(cell, design, int(gain.sum()), seeds, formula(cell, design))


def formula(cell: tuple[float, float], design: Design) -> tuple[float, float] | None:
    """Return power and expected seeds as the planner has them; None where it has none."""
    sd, effect = cell
    terms: dict[str, Any] = {"components": components(sd), "tasks": TASKS, "samples": SAMPLES}
    if design.plan is not None:
        found = design.plan.power(effect, **terms)
        return found.power, found.expected_seeds
    if len(design.looks) > 1:
        return None
    (seeds,) = design.looks
    return gain_probability(effect, seeds=seeds, **terms), float(seeds)


def faults(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        if row.formula is not None:
            low, high = row.limits
            off = max(low - row.formula[0], row.formula[0] - high, 0.0)
            if off > POWER_ROOM or abs(row.seeds - row.formula[1]) > SEEDS_ROOM:
                yield f"{row.cell} {row.design.name}: the formula is off"
        promised = row.cell == (0.03, 0.05) and row.design.plan == SequentialPlan(12)
        if promised and (row.seeds > MOST_EXPECTED or row.limits[1] < 0.8):
            yield f"{row.design.name}: {row.power:.3f} with {row.seeds:.2f} seeds"


def table(rows: list[Row]) -> str:
    lines = [
        "# Power and expected seeds",
        "",
        "Written by `python benchmarks/plan_power.py --write benchmarks/plan_power.md`.",
        f"{STUDIES:,} studies a cell, {TASKS} tasks x {SAMPLES} answers, seed x task sd "
        f"{SEED_TASK_SD}, answer variance {ANSWER_VARIANCE},",
        f"task-effect sd {TASK_EFFECT_SD}, level 0.95. Each study is judged by `seed_delta` after "
        "every number of seeds; *power*",
        "is the share called a gain, with Wilson's 95% interval, *seeds* the mean per arm when a "
        "study stops. *Formula* is",
        "the planner's. One look is the rule as it is, without a plan; *no plan, 3 then 8* was "
        "refused at 3 seeds and judged",
        "once more. With no difference, power is the rate of false gains, half of the error rate.",
        f"Python {platform.python_version()}, numpy {np.__version__}.",
        "",
        "| training sd | difference | design | power | formula | seeds | formula |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        low, high = row.limits
        by_formula = ("", "")
        if row.formula is not None:
            by_formula = (f"{row.formula[0]:.3f}", f"{row.formula[1]:.2f}")
        lines.append(
            f"| {row.cell[0]} | {row.cell[1]} | {row.design.name} | {row.power:.3f} "
            f"[{low:.3f}, {high:.3f}] | {by_formula[0]} | {row.seeds:.2f} | {by_formula[1]} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path, help="write the table to this file")
    options = parser.parse_args()
    rows = [row for cell in CELLS for row in measured(cell)]
    text = table(rows)
    print(text)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    wrong = list(faults(rows))
    print("\n".join(wrong), file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
