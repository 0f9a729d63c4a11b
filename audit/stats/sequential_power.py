"""What a plan with several looks can see, and after how many seeds it stops on average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from audit.stats.boundary import Start, crossings, first_inside
from audit.stats.distributions import normal_ppf
from audit.stats.planning import gain_probability, half_width_quantiles, standard_error
from audit.stats.records import Components

# Probabilities nearer to 0 or 1 than this have the same drift: it is finite, and moves nothing.
_CERTAIN = 1e-12
# Widths of the interval that stand for all; twice as many move a chance by less than 0.002.
_WIDTHS = 16


@dataclass(frozen=True, slots=True)
class LookChance:
    """What a look of a plan is expected to say.

    Attributes
    ----------
    seeds : int
        Seeds per arm of the look.
    runs : tuple of int
        Runs of control and treatment by then.
    gain : float
        Probability that the study stops here with what is claimed: an effect in the planned
        direction, or equivalence.
    other : float
        Probability that it stops here otherwise: with the opposite effect, or on advice.
    """

    seeds: int
    runs: tuple[int, int]
    gain: float
    other: float


@dataclass(frozen=True, slots=True)
class SequentialPower:
    """Power and length of a study with several looks; see `SequentialPlan.power`.

    Attributes
    ----------
    power : float
        Probability of an effect in the planned direction at some look.
    expected_seeds : float
        Mean seeds per arm when it stops.
    expected_runs : float
        Mean runs of both arms together.
    most_runs : int
        Runs of both arms together at the maximum.
    looks : tuple of LookChance
    """

    power: float
    expected_seeds: float
    expected_runs: float
    most_runs: int
    looks: tuple[LookChance, ...]


@dataclass(frozen=True, slots=True)
class Chances:
    """What the looks that are left may still show; see `SequentialPlan.chances`.

    Attributes
    ----------
    next_look : float
        Probability that the next look shows what is claimed.
    by_end : float
        Probability that any look up to the maximum does.
    looks : tuple of LookChance
    """

    next_look: float
    by_end: float
    looks: tuple[LookChance, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """The normal process that stands for a plan's looks under one true effect.

    Attributes
    ----------
    seeds : tuple of int
        Seeds per arm at each look.
    runs : tuple of (int, int)
        Runs of control and treatment at each look.
    critical : tuple of float
        Value of |Z| at which each look decides.
    drifts : tuple of float
        Mean of Z at each look: that at which Z exceeds the critical value as often as the
        verdict's own rule finds a gain at the look's level.
    errors : tuple of float
        True standard error of the difference at each look.
    effect : float
    """

    seeds: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]
    critical: tuple[float, ...]
    drifts: tuple[float, ...]
    errors: tuple[float, ...]
    effect: float

    def means(self) -> tuple[float, ...]:
        """Return the mean of Z sqrt(S) at each look."""
        return tuple(d * sqrt(s) for d, s in zip(self.drifts, self.seeds, strict=True))

    def bounds(self, advice: Sequence[float | None] | None) -> list[tuple[float, float]]:
        """Return what stays inside, its bottom raised to the differences that advise to stop."""
        ends = []
        for place, c in enumerate(self.critical):
            low = -c
            if advice is not None and (stop := advice[place]) is not None:
                z = self.drifts[place] + (stop - self.effect) / self.errors[place]
                low = min(max(low, z), c)
            ends.append((low, c))
        return ends


def course(
    effect: float,
    seeds: Sequence[int],
    thresholds: Sequence[float],
    runs: Sequence[tuple[int, int]],
    *,
    components: Components,
    tasks: int,
    samples: int,
) -> Course:
    """Return the process of looks at these thresholds; see `Course`."""
    critical = tuple(-normal_ppf(p / 2) for p in thresholds)
    drifts, errors = [], []
    for p, c, pair in zip(thresholds, critical, runs, strict=True):
        seen = gain_probability(
            effect, components=components, seeds=pair, tasks=tasks, samples=samples, level=1 - p
        )
        drifts.append(c + normal_ppf(min(max(seen, _CERTAIN), 1 - _CERTAIN)))
        errors.append(
            standard_error(components=components, seeds=pair, tasks=tasks, samples=samples)
        )
    return Course(tuple(seeds), tuple(runs), critical, tuple(drifts), tuple(errors), effect)


def power_of(process: Course, advice: Sequence[float | None] | None = None) -> SequentialPower:
    """Return the power and expected length of a process.

    Parameters
    ----------
    process : Course
    advice : sequence of float or None, optional
        Difference at each look below which the study stops on advice.
    """
    looks = _chances(process, advice, Start(), 0)
    left = 1 - sum(look.gain + look.other for look in looks)
    stops = [(look, look.gain + look.other) for look in looks]
    last = looks[-1]
    return SequentialPower(
        power=sum(look.gain for look in looks),
        expected_seeds=sum(look.seeds * p for look, p in stops) + last.seeds * left,
        expected_runs=sum(sum(look.runs) * p for look, p in stops) + sum(last.runs) * left,
        most_runs=sum(last.runs),
        looks=looks,
    )


def chances_of(process: Course, delta: float, p_value: float) -> Chances:
    """Return the chances of all looks but the first, which gave a difference and its p-value."""
    seeds = process.seeds[0]
    z = -normal_ppf(max(p_value, 1e-300) / 2) * (1 if delta >= 0 else -1)
    begin = Start(seeds, z * sqrt(seeds), process.means()[0])
    looks = _chances(process, None, begin, 1)
    return Chances(
        next_look=looks[0].gain if looks else 0.0,
        by_end=sum(look.gain for look in looks),
        looks=looks,
    )


def equivalence_chances(
    margin: float,
    effect: float,
    delta: float,
    seeds: Sequence[int],
    levels: Sequence[float],
    runs: Sequence[tuple[int, int]],
    *,
    components: Components,
    tasks: int,
    samples: int,
) -> Chances:
    """Return the chances that looks show two arms to be within a margin of each other.

    Parameters
    ----------
    margin, effect, delta : float
        Margin, true difference assumed from here on, and the difference seen at the first look.
    seeds, runs : sequence, shape (looks,)
        Seeds per arm, and runs of control and treatment, at each look; the first was taken.
    levels : sequence of float, shape (looks - 1,)
        One minus the error rate of each one-sided test, at every look that is left.
    components, tasks, samples
        As for `course`.

    Notes
    -----
    The difference is a normal process with the true standard errors of its looks. Equivalence is
    shown where it lies within the margin by more than half the width of the look's interval;
    first entries are integrated for each of some quantiles of those widths, the same at all
    looks, since the runs seen already stay in every later estimate. A difference that an
    earlier look shows ends no claim of equivalence.
    """
    terms: dict[str, Any] = {"components": components, "tasks": tasks, "samples": samples}
    errors = [max(standard_error(seeds=pair, **terms), _CERTAIN) for pair in runs]
    halves = [
        half_width_quantiles(_WIDTHS, seeds=pair, level=2 * level - 1, **terms)
        for pair, level in zip(runs[1:], levels, strict=True)
    ]
    means = [effect / error * sqrt(n) for error, n in zip(errors, seeds, strict=True)]
    begin = Start(seeds[0], delta / errors[0] * sqrt(seeds[0]), means[0])
    shown = [0.0] * len(halves)
    for widths in zip(*halves, strict=True):
        bands = [(margin - h) / error for h, error in zip(widths, errors[1:], strict=True)]
        entries = first_inside(seeds[1:], bands, means[1:], start=begin)
        shown = [p + entry / _WIDTHS for p, entry in zip(shown, entries, strict=True)]
    looks = tuple(map(LookChance, seeds[1:], runs[1:], shown, [0.0] * len(shown)))
    return Chances(shown[0] if shown else 0.0, sum(shown), looks)


def _chances(
    process: Course, advice: Sequence[float | None] | None, start: Start, skipped: int
) -> tuple[LookChance, ...]:
    up, down = crossings(
        process.seeds[skipped:],
        process.bounds(advice)[skipped:],
        process.means()[skipped:],
        start=start,
    )
    return tuple(
        LookChance(seeds, runs, gain, other)
        for seeds, runs, gain, other in zip(
            process.seeds[skipped:], process.runs[skipped:], up, down, strict=True
        )
    )
