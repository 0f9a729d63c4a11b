"""CPU time of planning and of a verdict: dear functions, and the commands as people start them.

    python benchmarks/planning_speed.py --write benchmarks/planning_speed.md

CPU seconds, not wall time, so that other work on the machine counts little; medians, one thread.
Functions are called with nothing cached; commands are whole processes after one that is not
counted. Exit status 1 where a limit is not kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy is loaded

import numpy as np  # noqa: E402 - after the number of threads is set
from measuring import add_load_option, conditions, publish, quiet, used  # noqa: E402 - as above

from audit.stats import (  # noqa: E402 - as above
    Components,
    SequentialPlan,
    pair_agreements,
    plan_needed,
    seed_delta,
)
from audit.stats.boundary import boundary  # noqa: E402 - as above

ROOT = Path(__file__).resolve().parent.parent
PLANNED = ROOT / "tests" / "data" / "planned" / "results.json"
TIMES = 9
PARTS = Components(0.03, 0.03, 0.065, 0.145, 0.085)
DESIGN: dict[str, Any] = {"components": PARTS, "tasks": 120, "samples": 4}

Row = tuple[str, float, float | None]


def rows() -> list[Row]:
    looks = tuple(range(4, 13))
    spent = np.diff([0.0, *(0.05 * (s / 12) ** 2 for s in looks)]).tolist()
    plan = SequentialPlan(12)
    see = {"effect": 0.05, **DESIGN}
    equal = {"effect": 0.0, **DESIGN}
    audit = [sys.executable, "-m", "audit"]
    often = range(4, 41)
    rng = np.random.default_rng(0)
    runs = rng.binomial(4, rng.beta(0.5, 0.5, 1319), (64, 1319))
    return [
        ("boundary of a plan, looks 4 to 12", called(lambda: boundary(looks, spent)), 0.020),
        (
            "boundary of a plan, looks 4 to 40",
            called(lambda: boundary(often, [0.05 / len(often)] * len(often))),
            None,
        ),
        ("chances of a gain after look 4", called(lambda: plan.chances(0.04, 0.1, 4, **see)), None),
        (
            "chances of equivalence after look 4",
            called(lambda: plan.equivalence_chances(0.05, 0.01, 4, **equal)),
            None,
        ),
        ("shortest plan that sees +0.050", called(lambda: plan_needed(0.05, **DESIGN)), None),
        (
            "difference of 10 v 10 runs on 1319 tasks",
            called(lambda: seed_delta(runs[:10], runs[10:20], samples=4)),
            0.005,
        ),
        (
            "64 runs of 1319 tasks, each compared with all",
            called(lambda: pair_agreements(runs, samples=4)),
            2.0,
        ),
        ("audit next FILE", started([*audit, "next", str(PLANNED)]), 0.7),
        ("audit plan FILE", started([*audit, "plan", str(PLANNED)]), None),
    ]


def called(work: Callable[[], object]) -> float:
    """Return the median CPU seconds of a call, with every cache of the statistics emptied."""
    return median(_one(work) for _ in range(TIMES))


def _one(work: Callable[[], object]) -> float:
    from audit.stats import boundary as home
    from audit.stats import planning, sequential, unplanned

    for module in (home, planning, sequential, unplanned):
        for value in vars(module).values():
            clear = getattr(value, "cache_clear", None)
            if clear is not None and value is not home._gauss_legendre:
                clear()
    begun = time.process_time()
    work()
    return time.process_time() - begun


def started(command: list[str]) -> float:
    """Return the median CPU seconds of a process and what it starts."""
    used(command, allowed=(0,))
    return median(used(command, allowed=(0,)).cpu for _ in range(TIMES))


def table(found: list[Row], load: float) -> str:
    lines = [
        "# CPU time of planning and of a verdict",
        "",
        "Written by `python benchmarks/planning_speed.py --write benchmarks/planning_speed.md`.",
        f"Median CPU milliseconds of {TIMES}, nothing cached, one thread; commands are whole "
        "processes.",
        conditions(load, "numpy", "scipy"),
        "",
        "| what | ms | at most |",
        "|---|---:|---:|",
    ]
    for what, seconds, most in found:
        limit = "" if most is None else f"{1000 * most:.0f}"
        lines.append(f"| {what} | {1000 * seconds:.1f} | {limit} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path, help="write the table to this file")
    add_load_option(parser)
    options = parser.parse_args()
    load = quiet(options)
    found = rows()
    publish(table(found, load), options)
    return int(any(most is not None and seconds > most for _, seconds, most in found))


if __name__ == "__main__":
    sys.exit(main())
