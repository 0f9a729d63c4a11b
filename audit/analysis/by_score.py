"""The test of two sides of which one score per run is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from audit.analysis.measures import Measure, MeasuredRun, Side
from audit.analysis.numbers import Numbers
from audit.analysis.settings import Settings
from audit.analysis.verdict import Refusal
from audit.errors import InsufficientData


def score_numbers(
    control: Side,
    treatment: Side,
    measure: Measure,
    settings: Settings,
    printed: Sequence[float],
) -> Numbers | Refusal:
    """Return the test of two sides by their scores, or why it cannot be made.

    ``printed`` are all scores of the metric in the file: their decimals say how far they are
    rounded. Recorded answers bound the variance of a share of right ones, and of nothing else.
    """
    scores = [scores_of(side) for side in (control, treatment)]
    answers = _answers_behind((*control.runs, *treatment.runs)) if measure.share else None
    if measure.span is None:
        return Refusal("unknown-scale", f"{measure.name} has no bounds, so no floor can be set")
    if min(map(len, scores)) < 2:
        side = min((control, treatment), key=lambda s: len(s.runs))
        return Refusal("one-seed", f"{side.name} has one training run with a score")
    shares = [[on_unit(value, measure) for value in values] for values in scores]
    if any(not 0 <= value <= 1 for values in shares for value in values):
        return Refusal("unknown-scale", f"a score of {measure.name} lies outside its scale")
    from audit.stats import printed_unit, score_delta

    unit = printed_unit(printed) / Fraction(repr(measure.span))
    try:
        result = score_delta(*shares, answers=answers, unit=unit, level=settings.level)
    except InsufficientData as error:
        return Refusal(error.reason, str(error))
    return Numbers(result, measure, answers, min(map(len, scores)))


def on_unit(value: Fraction, measure: Measure) -> Fraction:
    """Return a score on the scale from 0 to 1."""
    if measure.span == 1 and measure.low == 0:
        return value
    return (value - Fraction(repr(measure.low))) / Fraction(repr(measure.span))


def _answers_behind(runs: Iterable[MeasuredRun]) -> int | None:
    """Return the fewest answers behind the scores of several runs; None where one is unknown."""
    numbers = [run.answers for run in runs]
    known = [number for number in numbers if number is not None]
    return min(known) if known and len(known) == len(numbers) else None


def scores_of(side: Side) -> list[Fraction]:
    """Return the scores of a side's runs, in the metric's units."""
    return [run.score for run in side.runs if run.score is not None]
