"""Resampled figures beside a verdict: shown, never judged by.

The exact distributions are counted out, not drawn: over tasks (percentile and BCa), over seeds and
tasks together, and the p-values of flipped signs and exchanged labels. None of them decides: a
bootstrap over tasks sees no training, and few seeds make a resampled interval too narrow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from audit.analysis.floors import NotMeasured
from audit.analysis.tables import Aligned
from audit.errors import InsufficientData

if TYPE_CHECKING:
    from audit.stats import BootstrapDistribution

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResampledInterval:
    """An interval of the difference in the metric's units.

    ``over`` says what was resampled: ``tasks`` or ``seeds and tasks``; ``kind`` is ``percentile``,
    ``bca`` or ``normal`` (of the distribution's spread alone), ``method`` how exactly it was
    counted out.
    """

    over: str
    kind: str
    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, slots=True)
class Resampled:
    """What resampling says of one comparison.

    Attributes
    ----------
    percentile, bca, two_level : ResampledInterval or NotMeasured
    sign_flip_p_value : float or NotMeasured
        Of the differences by task: signs are exchangeable where the arms do not differ.
    label_p_value : float or NotMeasured
        Of the runs' scores, their arms exchanged; never below 2 / C(2S, S).
    """

    percentile: ResampledInterval | NotMeasured
    bca: ResampledInterval | NotMeasured
    two_level: ResampledInterval | NotMeasured
    sign_flip_p_value: float | NotMeasured
    label_p_value: float | NotMeasured


def resample(aligned: Aligned, *, span: float, paired: bool, level: float) -> Resampled:
    """Return the resampled figures of two sides with outcomes per task.

    Parameters
    ----------
    aligned : Aligned
        Outcomes without missing cells.
    span : float
        Width of the metric's scale.
    paired : bool
        Pairing of the seeds was declared.
    level : float
    """
    from audit.analysis.tables import run_means
    from audit.stats import (
        exact_bootstrap_counts,
        seed_permutation_p_value,
        sign_flip_p_value,
        two_level_bootstrap,
        two_level_sd,
    )
    from audit.stats.quantiles import normal_quantile

    control, treatment = aligned.control, aligned.treatment
    counts = control.counts, treatment.counts
    samples = control.drawn, treatment.drawn

    def over_tasks(kind: str) -> ResampledInterval:
        found = exact_bootstrap_counts(*counts, samples=samples, kind=kind, level=level)
        return _scaled("tasks", found, span)

    def over_both() -> ResampledInterval:
        try:
            found = two_level_bootstrap(*counts, samples=samples, paired=paired, level=level)
        except InsufficientData as error:
            if error.reason != "too-large":
                raise
            return normal_approximation()
        return _scaled("seeds and tasks", found, span)

    def normal_approximation() -> ResampledInterval:
        """Beyond a few seeds the distribution is too large to count out; its spread is not."""
        sd = two_level_sd(*counts, samples=samples, paired=paired)
        means = [sum(run_means(side)) / len(side.counts) for side in (control, treatment)]
        delta, half = float(means[1] - means[0]), normal_quantile(level) * sd
        low, high = (delta - half) * span, (delta + half) * span
        return ResampledInterval("seeds and tasks", "normal", low, high, level, "exact spread")

    def flipped() -> float:
        means = [_task_means(side.counts, side.samples) for side in (control, treatment)]
        return sign_flip_p_value([b - a for a, b in zip(*means, strict=True)])

    def exchanged() -> float:
        return seed_permutation_p_value(run_means(control), run_means(treatment))

    return Resampled(
        percentile=_or_reason(lambda: over_tasks("percentile")),
        bca=_or_reason(lambda: over_tasks("bca")),
        two_level=_or_reason(over_both),
        sign_flip_p_value=_or_reason(flipped),
        label_p_value=_or_reason(exchanged),
    )


def _or_reason(compute: Callable[[], T]) -> T | NotMeasured:
    try:
        return compute()
    except InsufficientData as error:
        return NotMeasured(str(error))


def _scaled(over: str, found: BootstrapDistribution, span: float) -> ResampledInterval:
    return ResampledInterval(
        over=over,
        kind=found.kind,
        low=found.low * span,
        high=found.high * span,
        level=found.level,
        method=found.method,
    )


def _task_means(counts: list[list[int]], samples: list[list[int]]) -> list[Fraction]:
    """Return each task's exact mean over the runs."""
    return [
        sum((Fraction(c, k) for c, k in zip(right, drawn, strict=True)), Fraction(0)) / len(right)
        for right, drawn in zip(zip(*counts, strict=True), zip(*samples, strict=True), strict=True)
    ]
