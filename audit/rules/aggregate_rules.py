"""AGG: means, standard deviations and counts, computed again from the runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.facts.rounding import tolerance
from audit.finding import ERROR
from audit.pointer import join
from audit.results import Arm, Results
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule

_PAIRED = re.compile(r"paired_(.+)_difference_vs_(.+)")


@dataclass(frozen=True)
class _Aggregate:
    pointer: str
    recorded: Mapping[str, Any]
    values: tuple[float, ...]
    reason: str
    peers: tuple[float, ...]

    @property
    def tolerance(self) -> float:
        return tolerance(self.peers, max(map(abs, self.values), default=0.0))


def _aggregates(case: Case) -> Iterator[_Aggregate]:
    block = case.results.block("aggregate_metrics")
    peers = tuple(
        float(entry[name]) for entry in block.values() for name in ("mean", "std") if name in entry
    )
    for key, entry in block.items():
        values, reason = _values(case.results, key)
        yield _Aggregate(join("/aggregate_metrics", key), entry, values, reason, peers)


def _values(results: Results, key: str) -> tuple[tuple[float, ...], str]:
    """Return the figures of the runs that a key names, or why there are none."""
    scope, _, metric = key.rpartition(".")
    paired = _PAIRED.fullmatch(key)
    if paired:
        return _paired(results, paired[1], paired[2])
    if scope == "baseline":
        return _known(_base_values(results, metric), metric)
    if scope == "method_metrics":
        return _known([run.score(metric) for run in results.arms[0].finished], metric)
    for arm in results.controls:
        if scope == f"{arm.name.replace('-', '_')}.validation":
            return _known([run.score(metric) for run in arm.finished], metric)
    return (), "the name of the aggregate does not say from what it is made"


def _base_values(results: Results, metric: str) -> list[float | None]:
    values = [run.baseline.get(metric) for run in results.arms[0].finished]
    if any(value is not None for value in values):
        return values
    return [entry.get(metric) for entry in results.items("base_evaluations")]


def _known(values: list[float | None], metric: str) -> tuple[tuple[float, ...], str]:
    known = tuple(float(value) for value in values if value is not None)
    return known, "" if known else f"no run records {metric}"


def _paired(results: Results, metric: str, word: str) -> tuple[tuple[float, ...], str]:
    """Pair the top arm with the one of that name, else the only one whose first word it is."""
    named = [arm for arm in results.controls if arm.name == word] or [
        arm for arm in results.controls if re.split(r"[-_ ]", arm.name)[0] == word
    ]
    if len(named) != 1:
        return (), f"{len(named) or 'no'} arms have a name that begins with {word}"
    top, other = _by_seed(results.arms[0], metric), _by_seed(named[0], metric)
    pairs = tuple(top[seed] - other[seed] for seed in top if seed in other)
    return pairs, "" if pairs else "no seed is in both arms"


def _by_seed(arm: Arm, metric: str) -> dict[int, float]:
    scores = {run.seed: run.score(metric) for run in arm.finished if run.seed is not None}
    return {seed: score for seed, score in scores.items() if score is not None}


def _mean(values: Sequence[float]) -> float:
    return math.fsum(value / len(values) for value in values)  # the sum itself may overflow


def _sd(values: Sequence[float], ddof: int) -> float:
    mean = _mean(values)
    return math.hypot(*(value - mean for value in values)) / math.sqrt(len(values) - ddof)


def _checkable(case: Case, part: str) -> Iterator[_Aggregate | Unchecked]:
    found = False
    for aggregate in _aggregates(case):
        found = True
        if not aggregate.values:
            yield Unchecked(aggregate.reason, aggregate.pointer)
        elif part in aggregate.recorded:
            yield aggregate
    if not found:
        yield Unchecked("the file has no aggregate_metrics")


@rule("AGG001", "aggregate-mean", ERROR, each=Case)
def aggregate_mean(case: Case) -> Iterator[CheckResult]:
    """A recorded mean is not the mean of the runs.

    Why
        The mean is what gets quoted. A mean that the runs do not give was computed from other runs,
        edited, or left over from an earlier version.
    Fix
        Compute the aggregates from seed_results when the file is written.
    Bad
        runs 0.75, 0.75, 0.625 and "mean": 0.75
    Good
        runs 0.75, 0.75, 0.625 and "mean": 0.7083333333333334
    """
    for aggregate in _checkable(case, "mean"):
        if isinstance(aggregate, Unchecked):
            yield aggregate
            continue
        exact = _mean(aggregate.values)
        recorded = aggregate.recorded["mean"]
        if abs(recorded - exact) <= aggregate.tolerance:
            yield Passed()
        else:
            message = f"the mean of the {len(aggregate.values)} values in the runs is another"
            yield Failed(join(aggregate.pointer, "mean"), message, repr(exact), repr(recorded))


def _spreads(case: Case) -> Iterator[tuple[_Aggregate, float, bool] | Unchecked]:
    """Yield each aggregate with its sd over the runs and whether the ddof 0 form explains it."""
    for aggregate in _checkable(case, "std"):
        if isinstance(aggregate, Unchecked):
            yield aggregate
        elif len(aggregate.values) < 2:
            yield aggregate, 0.0, False
        else:
            exact = _sd(aggregate.values, ddof=1)
            population = _sd(aggregate.values, ddof=0)
            recorded, near = aggregate.recorded["std"], aggregate.tolerance
            explained = abs(recorded - population) <= near < abs(recorded - exact)
            yield aggregate, exact, explained


@rule("AGG002", "aggregate-std", ERROR, each=Case)
def aggregate_std(case: Case) -> Iterator[CheckResult]:
    """A recorded standard deviation is not that of the runs (ddof 1).

    Why
        Every interval and every noise floor scales with it. One run has no standard deviation: a
        0.0 there reads as certainty.
    Fix
        Compute it over the runs with n - 1 in the denominator; leave it out for one run.
    Bad
        runs 0.75, 0.75, 0.625 and "std": 0.05
    Good
        runs 0.75, 0.75, 0.625 and "std": 0.07216878364870322
    """
    for item in _spreads(case):
        if isinstance(item, Unchecked):
            yield item
            continue
        aggregate, exact, explained = item
        pointer, recorded = join(aggregate.pointer, "std"), aggregate.recorded["std"]
        if len(aggregate.values) < 2:
            yield Failed(pointer, "one value has no standard deviation", "no std", repr(recorded))
        elif abs(recorded - exact) <= aggregate.tolerance:
            yield Passed()
        elif not explained:
            message = f"the standard deviation of the {len(aggregate.values)} values is another"
            yield Failed(pointer, message, repr(exact), repr(recorded))


@rule("AGG003", "sd-ddof-0", ERROR, each=Case)
def sd_ddof_0(case: Case) -> Iterator[CheckResult]:
    """A recorded standard deviation divides by n, not by n - 1.

    Why
        With three seeds the population form is 18% too small, and every floor built on it too.
        NumPy's default is ddof=0.
    Fix
        numpy.std(values, ddof=1), or statistics.stdev(values).
    Bad
        runs 0.764, 0.7708, 0.7664 and "std": 0.0028158282775923994
    Good
        runs 0.764, 0.7708, 0.7664 and "std": 0.003448671241700703
    """
    for item in _spreads(case):
        if isinstance(item, Unchecked):
            yield item
            continue
        aggregate, exact, explained = item
        if explained:
            message = "the standard deviation was computed with ddof 0"
            recorded = repr(aggregate.recorded["std"])
            yield Failed(join(aggregate.pointer, "std"), message, repr(exact), recorded)
        elif len(aggregate.values) > 1:
            yield Passed()


@rule("AGG004", "aggregate-count", ERROR, each=Case)
def aggregate_count(case: Case) -> Iterator[CheckResult]:
    """A recorded n is not the number of runs that have the figure.

    Why
        A run that is counted but absent, or present but not counted, was dropped somewhere.
    Fix
        List every run, failed ones with their status, and count the runs that the mean is made of.
    Bad
        two runs and "n": 3
    Good
        three runs and "n": 3
    """
    for aggregate in _checkable(case, "n"):
        if isinstance(aggregate, Unchecked):
            yield aggregate
        elif aggregate.recorded["n"] == len(aggregate.values):
            yield Passed()
        else:
            message = "the number of values in the runs is another"
            actual = str(aggregate.recorded["n"])
            yield Failed(join(aggregate.pointer, "n"), message, str(len(aggregate.values)), actual)
