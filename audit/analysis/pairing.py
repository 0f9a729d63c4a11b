"""What stands beside a verdict and decides nothing: every run's score, pairs, one-seed figures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from audit.analysis.measures import Measure, MeasuredRun, Side
from audit.analysis.numbers import Interval, has_width, is_level
from audit.analysis.tables import Aligned
from audit.claims import BASE
from audit.errors import InsufficientData
from audit.results import DEFAULT_METRIC, Results

if TYPE_CHECKING:
    from audit.stats import PairedT


@dataclass(frozen=True, slots=True)
class RunScore:
    """One training run's score, in the metric's units."""

    run: str
    seed: int | None
    score: float


@dataclass(frozen=True, slots=True)
class SeedPair:
    """The scores of both arms at one seed."""

    seed: int
    treatment: float
    control: float
    delta: float


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A run without a partner, and why."""

    arm: str
    run: str
    reason: str


@dataclass(frozen=True, slots=True)
class Description:
    """Figures of a comparison that no verdict rests on.

    Attributes
    ----------
    scores : dict of tuple of RunScore
        Every run's score by arm.
    pairs : tuple of SeedPair
        Runs of both arms at one seed; unlabelled runs are never paired.
    unpaired : tuple of Unpaired
    correlation : float or None
        Of the paired scores; None below two pairs or without variation.
    paired_t : PairedT or None
        Student's interval of the paired differences.
    one_seed : Interval or None
        For a refused comparison: the interval over tasks of these very models, or the printed
        one. It knows nothing of training variance.
    tipping_sd : float or None
        Training standard deviation of an arm that would erase that interval's significance.
    collapse_bound : dict of float
        Upper 95% limit, by arm, of the rate of collapsing runs if none of two or more collapsed.
    """

    scores: dict[str, tuple[RunScore, ...]]
    pairs: tuple[SeedPair, ...]
    unpaired: tuple[Unpaired, ...]
    correlation: float | None
    paired_t: PairedT | None
    one_seed: Interval | None
    tipping_sd: float | None
    collapse_bound: dict[str, float]


def describe(
    results: Results,
    control: Side,
    treatment: Side,
    *,
    measure: Measure,
    level: float,
    aligned: Aligned | None,
    refused: bool,
) -> Description:
    """Return the figures beside a verdict.

    Parameters
    ----------
    results : Results
    control, treatment : Side
    measure : Measure
    level : float
        Confidence level.
    aligned : Aligned or None
        Outcomes per task, where both sides have them.
    refused : bool
        No verdict is given: the interval of these very models is shown instead.
    """
    from audit.stats import paired_t, seed_correlation

    pairs = [] if control.name == BASE else _pairs(control, treatment)
    differences = [b - a for _, a, b in pairs]
    several = len(pairs) > 1
    interval = None
    if refused and aligned is not None:
        interval = _one_seed_interval(aligned, measure, level)
    elif refused:
        interval = _printed_interval(results, measure, treatment.name, control.name)
    return Description(
        scores={side.name: _run_scores(side) for side in (treatment, control)},
        pairs=tuple(SeedPair(seed, float(b), float(a), float(b - a)) for seed, a, b in pairs),
        unpaired=() if control.name == BASE else _unpaired(control, treatment),
        correlation=(
            seed_correlation([a for _, a, _ in pairs], [b for _, _, b in pairs])
            if several
            else None
        ),
        paired_t=paired_t(differences, level=level) if several else None,
        one_seed=interval,
        tipping_sd=_tipping_sd(interval),
        collapse_bound=_collapse_bounds(treatment, control),
    )


def _collapse_bounds(*sides: Side) -> dict[str, float]:
    several = [side for side in sides if len(side.runs) > 1 and side.name != BASE]
    if not several:
        return {}
    from audit.stats import unseen_collapse_bound

    return {side.name: unseen_collapse_bound(len(side.runs)) for side in several}


def _run_scores(side: Side) -> tuple[RunScore, ...]:
    return tuple(
        RunScore(run.label, run.seed, float(run.score))
        for run in side.runs
        if run.score is not None
    )


def _by_seed(side: Side) -> dict[int, MeasuredRun]:
    return {run.seed: run for run in side.runs if run.seed is not None and run.score is not None}


def _pairs(control: Side, treatment: Side) -> list[tuple[int, Fraction, Fraction]]:
    a, b = _by_seed(control), _by_seed(treatment)
    return [
        (seed, a[seed].score or Fraction(0), b[seed].score or Fraction(0))
        for seed in sorted(a.keys() & b.keys())
    ]


def _unpaired(control: Side, treatment: Side) -> tuple[Unpaired, ...]:
    found: list[Unpaired] = []
    for side, other in ((treatment, control), (control, treatment)):
        scored, lost = _by_seed(other), {run.seed: run for run in reversed(other.lost)}
        for run in (*side.runs, *side.set_aside):
            if run.seed is None:
                found.append(Unpaired(side.name, run.label, "its seed was not recorded"))
            elif run.seed in lost and run.seed not in scored:
                why = f"the run of {other.name} at this seed is {lost[run.seed].status}"
                found.append(Unpaired(side.name, run.label, why))
            elif run.seed not in scored:
                why = f"{other.name} has no run at this seed"
                found.append(Unpaired(side.name, run.label, why))
    return tuple(found)


def _one_seed_interval(aligned: Aligned, measure: Measure, level: float) -> Interval | None:
    from audit.stats import one_seed_interval

    span = measure.span or 1.0
    table = aligned.complete()
    if not table.tasks:
        return None
    try:
        seen = one_seed_interval(
            table.control.counts,
            table.treatment.counts,
            samples=(table.control.drawn, table.treatment.drawn),
            level=level,
        )
    except InsufficientData:
        return None
    return Interval(
        low=seen.low * span,
        high=seen.high * span,
        level=level,
        about="these-runs",
        method="task-t",
        se=seen.se * span,
        df=seen.df,
        p_value=seen.p_value,
    )


def _printed_interval(
    results: Results, measure: Measure, arm: str, against: str
) -> Interval | None:
    """Return the interval the source printed for these two arms."""
    if measure.name not in (DEFAULT_METRIC, "pass@1"):
        return None
    for printed in results.block("reported").get("comparisons") or ():
        names = [_resolved(results, printed.get(key)) for key in ("arm", "against")]
        if names == [arm, against] and _complete(printed):
            return printed_interval(printed)
    return None


def _resolved(results: Results, name: Any) -> str | None:
    arm = results.arm(name) if isinstance(name, str) and name != BASE else None
    return arm.name if arm is not None else name


def _complete(printed: dict[str, Any]) -> bool:
    low, high = printed.get("low"), printed.get("high")
    known = low is not None and high is not None and has_width(low, high)
    return known and is_level(float(printed.get("level") or 0.95))


def printed_interval(printed: dict[str, Any]) -> Interval:
    """Return a printed interval with the standard error a normal one of its width has."""
    from audit.stats.quantiles import normal_quantile

    level = float(printed.get("level") or 0.95)
    low, high = float(printed["low"]), float(printed["high"])
    return Interval(
        low=low,
        high=high,
        level=level,
        about="these-runs",
        method="printed",
        se=(high - low) / (2 * normal_quantile(level)),
    )


def _tipping_sd(interval: Interval | None) -> float | None:
    if interval is None or interval.se is None:
        return None
    from audit.stats import tipping_sd

    return tipping_sd((interval.low + interval.high) / 2, interval.se, level=interval.level)
