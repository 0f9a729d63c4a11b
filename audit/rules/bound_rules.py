"""BOUND: the bounds of the ratio are those of one trust region, the one the protocol names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from audit.facts.training_logs import ArmLog, LoggedUpdate
from audit.finding import ERROR
from audit.pointer import join
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.regions import Region, region_of
from audit.rules.rule import rule
from audit.rules.scopes import NO_AUDITS

# A float32 mean of n equal bounds is off by up to log2(n) roundings of 2^-24; 16 of them.
_MEAN_NOISE = 16 * 2.0**-24
# The chord from (1 - a, 1) to (0, 2) lies below the curve for a up to 1/2 (tv) and 2/3 (chi2).
_CHORD_HOLDS = 0.5
_MEANS = ("lower_mean", "upper_mean")
_NO_REGION = "the protocol does not fix the bounds of the ratio"


@rule(
    "BOUND001",
    "bounds-around-one",
    ERROR,
    each=ArmLog,
    needs=("audits",),
    missing="no bounds in the log",
)
def bounds_around_one(arm: ArmLog) -> Iterator[CheckResult]:
    """A mean lower bound lies above 1, or a mean upper bound below.

    Why
        A trust region contains the policy it was built around, whose ratio is 1.
    Fix
        Write the bounds themselves, not their distances from 1.
    Bad
        "lower_mean": 0.2, "upper_mean": 0.28
    Good
        "lower_mean": 0.8, "upper_mean": 1.28
    """
    held = 0
    for name, sign in (("lower_mean", 1), ("upper_mean", -1)):
        expected = "at most 1" if sign > 0 else "at least 1"
        limits = (-math.inf, 1 + _MEAN_NOISE) if sign > 0 else (1 - _MEAN_NOISE, math.inf)
        for index, value in _beyond(arm, name, (0, len(arm.audits)), limits):
            held -= 1
            message = "the bounds do not include the ratio 1"
            yield Failed(arm.pointer(index, name), message, expected, repr(value))
        held += arm.known(name)
    yield Passed(held)


def _beyond(
    arm: ArmLog, name: str, span: tuple[int, int], limits: tuple[float, float]
) -> Iterator[tuple[int, float]]:
    """Yield place and value of a column's entries in a span that lie outside two limits."""
    (first, end), (least, most) = span, limits
    whole = arm.array(name)
    if whole is not None and first < end:
        part = whole[first:end]
        if least <= part.min() and part.max() <= most:
            return
    column = arm.column(name)
    values = column[first:end]
    if not arm.complete(name):
        values = [value for value in values if value is not None]
    if not values or (least <= min(values) and max(values) <= most):
        return
    for index in range(first, end):
        value = column[index]
        if value is not None and not least <= value <= most:
            yield index, value


@rule(
    "BOUND002",
    "bounds-constant",
    ERROR,
    each=ArmLog,
    needs=("audits",),
    missing="no response in two updates of a step",
)
def bounds_constant(arm: ArmLog) -> Passed | Iterator[CheckResult]:
    """A response's mean bounds differ between the updates of one step.

    Why
        They follow from the policy that sampled, which does not change within a step.
    Fix
        Compute the bounds from the old log-probabilities; name responses by sequence where an
        update has only part of them.
    Bad
        "upper_mean": 1.12 in inner update 1 and 1.14 in inner update 2
    Good
        "upper_mean": 1.12 in both
    """
    held = _constant_at_once(arm)
    if held:
        return Passed(held)
    return _bounds_by_step(arm)


def _constant_at_once(arm: ArmLog) -> int:
    """Return how many bounds were repeated if all were, to the last bit; 0 in doubt.

    Each update of each step must audit the same number of responses.
    """
    lower, upper = (arm.array(name) for name in _MEANS)
    if lower is None or upper is None or arm.sequences is not None or not arm.updates:
        return 0
    _, _, places, _, firsts, _ = zip(*arm.updates, strict=True)
    updates: int = 1 + max(places)
    audits = len(lower) // len(places)
    steps = len(places) // updates
    alike = audits and len(lower) == audits * len(places)
    alike = alike and list(places) == [*range(updates)] * steps
    if not alike or firsts != tuple(range(0, len(lower), audits)):
        return 0
    means = [array.reshape(steps, updates, audits) for array in (lower, upper)]
    if all(bool((mean[:, 1:] == mean[:, :1]).all()) for mean in means):
        return 2 * steps * (updates - 1) * audits
    return 0


def _bounds_by_step(arm: ArmLog) -> Iterator[CheckResult]:
    held = 0
    sequences = arm.sequences
    columns = [(name, arm.column(name)) for name in _MEANS]
    lowers, uppers = (column for _, column in columns)
    first: LoggedUpdate | None = None
    for update in arm.updates:
        if update.place == 0 or first is None:
            first = update
            continue
        if sequences is None and update.end - update.first == first.end - first.first:
            one, other = slice(first.first, first.end), slice(update.first, update.end)
            held += len(columns) * (update.end - update.first)
            if lowers[one] == lowers[other] and uppers[one] == uppers[other]:
                continue
        for name, column in columns:
            for index, before in _matched(update, first, sequences):
                held += sequences is not None
                a, b = column[before], column[index]
                if None in (a, b) or abs(a - b) <= _MEAN_NOISE * abs(a):
                    continue
                held -= 1
                message = "not the bound of the same response in the step's first update"
                yield Failed(arm.pointer(index, name), message, repr(a), repr(b))
    yield Passed(held)


def _matched(
    update: LoggedUpdate, first: LoggedUpdate, sequences: list[Any] | None
) -> Iterator[tuple[int, int]]:
    """Yield pairs (place of an audit, place of the same response's audit in the first update)."""
    if sequences is None:
        if update.end - update.first == first.end - first.first:
            yield from zip(
                range(update.first, update.end), range(first.first, first.end), strict=True
            )
        return
    before = {sequences[index]: index for index in range(first.first, first.end)}
    for index in range(update.first, update.end):
        name = sequences[index]
        if name is not None and name in before:
            yield index, before[name]


@rule("BOUND003", "region-named", ERROR, each=ArmLog, needs=("audits",), missing=NO_AUDITS)
def region_named(arm: ArmLog) -> Iterator[CheckResult]:
    """A response was audited in another trust region than the rest of its arm, or than the protocol
    names.

    Why
        An arm is one recipe. Bounds of two kinds mean that two recipes were run under one name.
    Fix
        Write the geometry and topology in force; where the protocol has null for both, that is
        the fixed clip: tv, mc.
    Bad
        "protocol": {"geometry": "chi2"} with audits of "geometry": "tv"
    Good
        "protocol": {"geometry": "chi2"} with audits of "geometry": "chi2"
    """
    held = 0
    for name, fixed in (("geometry", "tv"), ("topology", "mc")):
        column = arm.column(name)
        counts = Counter(column)
        del counts[None]
        if not counts:
            yield Unchecked(f"no audit names its {name}", arm.arm.pointer)
            continue
        usual = max(counts, key=lambda value: (counts[value], value))
        held += counts[usual]
        for index, value in enumerate(column) if len(counts) > 1 else ():
            if value not in (None, usual):
                message = f"another {name} than the rest of the arm"
                yield Failed(arm.pointer(index, name), message, usual, value)
        for log in arm.runs:
            if name not in log.run.protocol:
                continue
            named = log.run.protocol[name] or fixed
            if named == usual:
                held += 1
                continue
            pointer = join(log.run.pointer, "protocol", name)
            yield Failed(pointer, f"not the {name} of the audits", usual, named)
    yield Passed(held)


@rule(
    "BOUND004",
    "fixed-bounds",
    ERROR,
    each=ArmLog,
    needs=("audits",),
    missing="no audits under a fixed clip",
)
def fixed_bounds(arm: ArmLog) -> Iterator[CheckResult]:
    """A mean bound is not that of the fixed clip, which is the same for every token.

    The lower bound is 1 - epsilon up to float32 noise. The upper one is at most 1 + epsilon, and
    below it where ceilings were capped at 1 / p: no ratio exceeds that.

    Why
        A fixed clip with other bounds is another clip.
    Fix
        State protocol.epsilon_low and epsilon_high where they are not 0.2.
    Bad
        "geometry": null in the protocol with "lower_mean": 0.75
    Good
        "geometry": null in the protocol with "lower_mean": 0.800000011920929
    """
    held = 0
    for region, first, end in _regions(arm):
        if region.atomic:
            continue
        floor = max(0.0, 1 - region.low)
        for name, least, most in (
            ("lower_mean", floor, floor),
            ("upper_mean", 1.0, 1 + region.high),
        ):
            held += end - first
            if not arm.complete(name):
                held -= arm.column(name)[first:end].count(None)
            noise = _MEAN_NOISE * max(1.0, most)
            limits = least - noise, most + noise
            for index, value in _beyond(arm, name, (first, end), limits):
                held -= 1
                expected = f"{least:.6g}" if least == most else f"{least:.6g} to {most:.6g}"
                message = "not a bound of the fixed clip"
                yield Failed(arm.pointer(index, name), message, expected, repr(value))
    yield Passed(held)


def _regions(arm: ArmLog) -> Iterator[tuple[Region, int, int]]:
    """Yield the region of each run that states it, and the span of its audits."""
    for log, first, end in arm.spans:
        region = region_of(log)
        if region is not None and first < end:
            yield region, first, end


@rule("BOUND005", "clipping-explained", ERROR, each=ArmLog, needs=("audits",), missing=_NO_REGION)
def clipping_explained(arm: ArmLog) -> Iterator[CheckResult]:
    """A response was clipped inside its bounds, or not clipped outside them.

    Why
        A token is outside exactly when its log ratio leaves the logarithms of the bounds. The
        largest log ratio of a response tells on most of them.
    Fix
        Take clip_fraction and max_abs_log_ratio from one forward pass.
    Bad
        "clip_fraction": 0.01, "max_abs_log_ratio": 0.1 with bounds 0.8 and 1.2
    Good
        "clip_fraction": 0.01, "max_abs_log_ratio": 0.25 with bounds 0.8 and 1.2
    """
    held = 0
    every, largest = arm.array("clip_fraction"), arm.array("max_abs_log_ratio")
    for region, first, end in _regions(arm):
        inside, outside = _edges(region)
        left: Sequence[int] = range(first, end)
        if every is not None and largest is not None:
            clipped, of_token = every[first:end] != 0, largest[first:end]
            wrong = (clipped & (of_token < inside)) | (~clipped & (of_token > outside))
            left = (first + wrong.nonzero()[0]).tolist()
            held += end - first - len(left)
        fractions = arm.column("clip_fraction") if left else []
        ratios = arm.column("max_abs_log_ratio") if left else []
        for index in left:
            fraction, ratio = fractions[index], ratios[index]
            if ratio is None or fraction is None:
                continue
            held += 1
            if fraction:
                if ratio >= inside:
                    continue
                problem = f"clipped, and no |log ratio| above {ratio!r}"
                expected = f"0, or a |log ratio| of {inside:.4f} or more"
            elif ratio > outside:
                problem = f"not clipped at a |log ratio| of {ratio!r}"
                expected = f"above 0, or no |log ratio| above {outside:.4f}"
            else:
                continue
            held -= 1
            pointer = arm.pointer(index, "clip_fraction")
            yield Failed(pointer, problem, expected, repr(fraction))
    yield Passed(held)


def _edges(region: Region) -> tuple[float, float]:
    """Return the largest |log r| that is never outside and the smallest that always is."""
    up = math.log1p(region.high)
    down = -math.log1p(-region.low) if region.low < 1 else math.inf
    always = math.inf if region.atomic else max(up, down)
    return min(math.log1p(region.least_high), down) - _MEAN_NOISE, always + _MEAN_NOISE


@rule(
    "BOUND006",
    "means-feasible",
    ERROR,
    each=ArmLog,
    needs=("audits",),
    missing="no audits in a known atomic region",
)
def means_feasible(arm: ArmLog) -> Iterator[CheckResult]:
    """No mix of token probabilities gives the mean bounds of an atomic region.

    For half-width a at probability 1 the bounds of a token lie on a curve from (1 - a, 1) over
    (0, 2) upwards, and their means in its convex hull: lower at most 1 - a and, for a up to 1/2,
    upper at least on the chord from (1 - a, 1) to (0, 2), above which the curve then stays.

    Why
        Means outside the hull were computed with another radius, or not at all.
    Fix
        State the radius in protocol.delta; take both means over the same tokens.
    Bad
        chi2, atomic, "delta": 0.04 with "lower_mean": 0.85
    Good
        chi2, atomic, "delta": 0.04 with "lower_mean": 0.76, "upper_mean": 1.12
    """
    held = 0
    low, high = (arm.array(name) for name in _MEANS)
    for region, first, end in _regions(arm):
        if not region.atomic:
            continue
        highest = max(0.0, 1 - region.high)
        slope = 1 / highest if highest >= _CHORD_HOLDS else 0.0
        most, least = highest + _MEAN_NOISE, 1 + highest * slope - _MEAN_NOISE * (1 + slope)
        left: Sequence[int] = range(first, end)
        if low is not None and high is not None:
            part = low[first:end]
            beyond = (part > most) | (high[first:end] + part * slope < least)
            left = (first + beyond.nonzero()[0]).tolist()
            held += end - first - len(left)
        lowers, uppers = (arm.column(name) if left else [] for name in _MEANS)
        for index in left:
            lower, upper = lowers[index], uppers[index]
            if lower is None or upper is None:
                continue
            held += 1
            if lower > most:
                name, expected, actual = "lower_mean", f"at most {highest:.6g}", lower
            elif upper + lower * slope < least:
                name, actual = "upper_mean", upper
                expected = f"at least {1 + (highest - lower) * slope:.6g}"
            else:
                continue
            held -= 1
            message = "no mix of tokens has this mean in a region of this radius"
            yield Failed(arm.pointer(index, name), message, expected, repr(actual))
    yield Passed(held)
