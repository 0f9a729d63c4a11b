"""Speed of the exact resampling methods beside the Monte Carlo they replace, in one run.

1319 tasks, 4 samples a task, one process, one thread, CPU seconds. The two methods of a comparison
take turns after one warm-up each; a turn of ours is as many calls as take 0.1 s, one of the peer's
is one call. The ratio is taken within each turn, and its median is shown. Comparisons whose package
is not installed are reported as not measured. The peers live outside the project's dependencies
(rliable's own dependency `arch` needs pandas below 3)::

    python -m pip install whileai rliable "pandas<3"
    python benchmarks/stats_speed.py --write benchmarks/stats_speed.md
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from statistics import median
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy is loaded: one thread for everyone

import numpy as np  # noqa: E402 - after the number of threads is set
from measuring import add_load_option, conditions, publish, quiet  # noqa: E402 - as above

from audit.stats import (  # noqa: E402 - as above
    exact_bootstrap,
    exact_bootstrap_counts,
    sign_flip_p_value,
    two_level_bootstrap,
)

TASKS, SAMPLES, DRAWS = 1319, 4, 10_000
TURN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: seconds, or why there are none."""

    what: str
    ours: float | None
    peer: float | None
    ratio: float | None
    goal: str
    note: str


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path, help="write the table to this file")
    add_load_option(parser)
    options = parser.parse_args()
    load = quiet(options)
    table = rendered(measured(), load)
    publish(table, options)


def measured() -> list[Row]:
    counts = arms(seeds=5)
    differences = (counts[1][0] - counts[0][0]) / SAMPLES
    return [
        *against_scipy(differences),
        *against_whileai(counts[0][0], counts[1][0], differences),
        *against_rliable(counts[0], counts[1]),
    ]


def arms(seeds: int) -> tuple[Any, Any]:
    """Right answers of two arms, from a fixed generator: the same data in every run."""
    rng = np.random.default_rng(20)
    rates = rng.beta(1.0, 1.6, TASKS)
    low, high = (np.clip(rates + shift, 0, 1) for shift in (0.0, 0.02))
    return rng.binomial(SAMPLES, low, (seeds, TASKS)), rng.binomial(SAMPLES, high, (seeds, TASKS))


def side_by_side(
    ours: Callable[[], object], peer: Callable[[], object], turns: int
) -> tuple[float, float, float]:
    """Return the median CPU seconds of a call of each, and the median of the turns' ratios."""
    ours(), peer()
    times = [(call_seconds(ours, TURN_SECONDS), call_seconds(peer, 0.0)) for _ in range(turns)]
    ratio = median(theirs / mine for mine, theirs in times)
    return median(mine for mine, _ in times), median(theirs for _, theirs in times), ratio


def call_seconds(method: Callable[[], object], at_least: float) -> float:
    """Return the CPU seconds of a call: the mean of calls for at least so long, or of one."""
    start, calls = time.process_time(), 0
    while not calls or time.process_time() - start < at_least:
        method()
        calls += 1
    return (time.process_time() - start) / calls


def against_scipy(differences: Any) -> list[Row]:
    stats = import_module("scipy.stats")
    rows = []
    for kind, name in (("percentile", "percentile"), ("bca", "BCa")):

        def peer(method: str = name) -> object:
            return stats.bootstrap(
                (differences,), np.mean, n_resamples=DRAWS, method=method, vectorized=True,
                rng=np.random.default_rng(0),
            )  # fmt: skip

        def ours(kind: str = kind) -> object:
            return exact_bootstrap(differences, kind=kind)

        times = side_by_side(ours, peer, 15)
        what = f"{name} interval over tasks, against scipy.stats.bootstrap, {DRAWS:,} draws"
        rows.append(Row(what, *times, "50", "same input: an array of differences"))

    def flips() -> object:
        return stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=DRAWS,
            vectorized=True, rng=np.random.default_rng(0),
        )  # fmt: skip

    times = side_by_side(lambda: sign_flip_p_value(differences), flips, 7)
    what = f"sign-flip p-value, against scipy.stats.permutation_test, {DRAWS:,} draws"
    return [*rows, Row(what, *times, "20", "same input: an array of differences")]


def against_whileai(control: Any, treatment: Any, differences: Any) -> list[Row]:
    what = "interval over tasks, against whileai compare_runs (2,000 draws)"
    both = "interval and sign-flip p-value, against whileai compare_runs (2,000 draws of each)"
    try:
        peers = import_module("whileai")
        compare = (
            getattr(peers, "compare_runs", None)
            or import_module("whileai.simulations.score.stats").compare_runs
        )
    except ImportError as error:
        return [
            Row(name, None, None, None, "1000", f"not measured: {error}") for name in (what, both)
        ]
    rows = [
        [{"task_id": f"t{t}", "reward": int(i < c)} for t, c in enumerate(run) for i in range(4)]
        for run in (control.tolist(), treatment.tolist())
    ]

    def peer() -> object:
        return compare(rows[0], rows[1])

    def interval() -> object:
        return exact_bootstrap_counts(control, treatment, samples=SAMPLES)

    def interval_and_p() -> object:
        return interval(), sign_flip_p_value(differences)

    note = "the peer starts from rows and computes both figures in one call"
    return [
        Row(what, *side_by_side(interval, peer, 3), "1000", note),
        Row(both, *side_by_side(interval_and_p, peer, 3), "1000", note),
    ]


def against_rliable(control: Any, treatment: Any) -> list[Row]:
    what = f"two-level interval, 5 paired seeds, against rliable's stratified bootstrap, {DRAWS:,}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its imports warn of their own deprecations
            library = import_module("rliable.library")
    except ImportError as error:
        return [Row(what, None, None, None, "20", f"not measured: {error}")]
    scores = {"difference": (treatment - control) / SAMPLES}

    def peer() -> object:
        return library.get_interval_estimates(
            scores,
            lambda x: np.array([x.mean()]),
            reps=DRAWS,
            random_state=np.random.RandomState(0),
        )

    def ours() -> object:
        return two_level_bootstrap(control, treatment, samples=SAMPLES, paired=True)

    note = "the peer with task_bootstrap: it draws tasks, and seeds anew for each task"
    return [Row(what, *side_by_side(ours, peer, 3), "20", note)]


def rendered(rows: list[Row], load: float) -> str:
    names = ("numpy", "scipy", "whileai", "rliable")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    lines = [
        "# Speed of exact resampling",
        "",
        "Written by `python benchmarks/stats_speed.py --write benchmarks/stats_speed.md`.",
        f"{TASKS} tasks, {SAMPLES} samples a task, one process, one thread; CPU time. The two",
        "methods of a comparison take turns; *times faster* is the median of the turns' ratios.",
        f"{versions}; {conditions(load)}",
        "",
        "| comparison | audit, ms | peer, ms | times faster | goal | |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        ours, peer = (("-" if t is None else f"{t * 1e3:.3g}") for t in (row.ours, row.peer))
        ratio = f"{row.ratio:,.0f}" if row.ratio else "not measured"
        lines.append(f"| {row.what} | {ours} | {peer} | {ratio} | {row.goal} | {row.note} |")
    return "\n".join(lines) + "\n"


def version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    main()
