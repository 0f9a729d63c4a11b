"""Each arm's own rate of right answers, pass@1 and pass@k, with intervals for new tasks."""

from __future__ import annotations

from dataclasses import dataclass

from audit.analysis.floors import NotMeasured
from audit.analysis.measures import Measure, Side, pass_at
from audit.analysis.study import Study
from audit.analysis.tables import Table, align
from audit.errors import InsufficientData


@dataclass(frozen=True, slots=True)
class Rate:
    """An arm's mean on one measure, in the metric's units.

    ``runs`` models entered. With one run the interval tells of new tasks for that very model and
    knows nothing of training variance (``one_run``).
    """

    name: str
    mean: float
    low: float
    high: float
    level: float
    runs: int

    @property
    def one_run(self) -> bool:
        """Whether the interval lacks training variance."""
        return self.runs == 1


@dataclass(frozen=True, slots=True)
class ArmRates:
    """One arm on one metric and benchmark: the metric itself, and pass@k of its answers."""

    arm: str
    measure: Measure
    rate: Rate | NotMeasured
    at_k: Rate | NotMeasured


def arm_rates(study: Study, name: str, measure: Measure) -> ArmRates:
    """Return an arm's rates; ``name`` may be ``base``."""
    side = study.side(name, measure)
    drawn = [k for _, _, found in side.entries() for k in found.samples if k]
    attempts = min(drawn, default=0)
    at_k: Rate | NotMeasured = NotMeasured("needs two answers per task or more")
    if attempts > 1 and all(found.independent is None for _, _, found in side.entries()):
        wider = pass_at(measure, attempts)
        at_k = _rate(study.side(name, wider), wider, study.policy.level)
    return ArmRates(name, measure, _rate(side, measure, study.policy.level), at_k)


def _rate(side: Side, measure: Measure, level: float) -> Rate | NotMeasured:
    if not side.per_task:
        return NotMeasured("no outcomes per task")
    aligned = align(side.entries(), side.entries()[:1])
    if isinstance(aligned, str):
        return NotMeasured(aligned)
    whole = aligned.complete()
    if not whole.tasks:
        return NotMeasured("no task is in every run")
    try:
        mean, low, high = _interval(whole.control, level)
    except InsufficientData as error:
        return NotMeasured(str(error))
    bottom, span = measure.low or 0.0, measure.span or 1.0
    return Rate(
        name=measure.name,
        mean=bottom + mean * span,
        low=bottom + low * span,
        high=bottom + high * span,
        level=level,
        runs=len(side.runs),
    )


def _interval(table: Table, level: float) -> tuple[float, float, float]:
    """Return a mean with its interval as a difference from a model that is never right.

    Such a model has no variance of its own, which leaves the arm's between runs and tasks.
    """
    from audit.stats import base_delta, one_seed_interval

    never = [[0] * len(table.counts[0])]
    if len(table.counts) == 1:
        one = one_seed_interval(never, table.counts, samples=(1, table.drawn), level=level)
        return one.mean, max(one.low, 0.0), min(one.high, 1.0)
    several = base_delta(never * 2, table.counts, samples=table.drawn, base_samples=1, level=level)
    return several.delta, max(several.random.low, 0.0), min(several.random.high, 1.0)
