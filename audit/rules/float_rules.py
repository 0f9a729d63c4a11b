"""FLOAT: logged numbers are single precision, as fine as it allows and no finer."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from operator import and_
from typing import TYPE_CHECKING, Any

from audit.facts.training_logs import AUDIT_NUMBERS, UPDATE_NUMBERS, ArmLog, RunLog, step_pointer
from audit.finding import ERROR, WARNING
from audit.pointer import join
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.float32 import odd_places, to_float32
from audit.rules.regions import Region, region_of
from audit.rules.rule import rule
from audit.rules.scopes import NO_AUDITS

if TYPE_CHECKING:
    from audit.facts.training_logs import BooleanArray, FloatArray

# Denominator of the float32 log-probabilities below probability e^-1/2 = 0.61.
_COMMON_STEP = 2**24
# In logs of language models a level of fineness holds a sixth of the coarser one before it (23, 4
# and 2 values in a three-seed study) or none: after 40 values a single finer one is a surprise.
_SHARP = 40
_FEWEST = 20
# Below 2^-2 float32 is finer than any log ratio that is held against it.
_FIRST_LEVEL = -2
# A ratio of e^8 is far beyond any region in use.
_LARGEST = 8.0


@rule("FLOAT001", "single-precision", WARNING, each=ArmLog, needs=("audits",), missing=NO_AUDITS)
def single_precision(arm: ArmLog) -> Iterator[CheckResult]:
    """A value is not a float32 in a column that otherwise is.

    Why
        Trainers compute in single precision, and such numbers end in 29 zero bits when read as
        doubles. A value that does not was rounded, scaled or typed afterwards.
    Fix
        Write every value as the trainer gave it.
    Bad
        "gradient_l2_norm": 0.28 among values like 0.27938181161880493
    Good
        "gradient_l2_norm": 0.27938181161880493
    """
    arrays = {name: array for name, array in _long_columns(arm) if _all_single(array)}
    yield Passed(sum(map(len, arrays.values())))
    for name, values, pointer in _float_columns(arm, arrays):
        if not values:
            continue
        odd = odd_places(values)
        if odd is None:
            yield Unchecked(f"{name} is not logged in single precision", arm.arm.pointer)
            continue
        yield Passed(len(values) - len(odd))
        for place in odd:
            message = f"alone in its column with more digits than float32 ({len(values)} values)"
            nearest = repr(to_float32(values[place]))
            yield Failed(pointer(place), message, nearest, repr(values[place]))


def _long_columns(arm: ArmLog) -> Iterator[tuple[str, FloatArray]]:
    """Yield the columns of a long log that are arrays."""
    for name in AUDIT_NUMBERS:
        array = arm.array(name)
        if array is not None:
            yield name, array
    for name in UPDATE_NUMBERS if arm.all_audited else ():
        array = arm.update_array(name)
        if array is not None:
            yield name, array
    if arm.update_arrays is not None:
        yield "advantages", arm.update_arrays.advantages


def _all_single(array: FloatArray) -> bool:
    """Whether every value is a float32."""
    import numpy as np

    with np.errstate(over="ignore"):
        return bool((array.astype(np.float32) == array).all())


def _float_columns(
    arm: ArmLog, without: Container[str]
) -> Iterator[tuple[str, list[float], Callable[[int], str]]]:
    """Yield name, values and the pointer of each value, of every column of floats but some."""
    for name in UPDATE_NUMBERS:
        if name in without:
            continue
        column = arm.update_column(name)
        kept: Sequence[int] = range(len(column))
        if None in column or not arm.all_audited:
            audited = (update.first < update.end for update in arm.updates)
            known = (value is not None for value in column)
            kept = [place for place, both in enumerate(map(and_, audited, known)) if both]
            column = [column[place] for place in kept]
        yield name, column, partial(_update_pointer, arm, name, kept)
    if "advantages" not in without:
        logs = arm.steps()
        lists = [(log, at, step["advantages"]) for log, at, step in logs if "advantages" in step]
        flat = list(chain.from_iterable(values for _, _, values in lists))
        yield "advantages", flat, partial(_advantage_pointer, lists)
    for name in AUDIT_NUMBERS:
        if name in without or not arm.known(name):
            continue
        column = arm.column(name)
        kept = range(len(column))
        if not arm.complete(name):
            kept = [index for index, value in enumerate(column) if value is not None]
            column = [column[index] for index in kept]
        yield name, column, partial(_audit_pointer, arm, name, kept)


def _update_pointer(arm: ArmLog, name: str, kept: Sequence[int], at: int) -> str:
    return join(arm.updates[kept[at]].pointer, name)


def _audit_pointer(arm: ArmLog, name: str, kept: Sequence[int], at: int) -> str:
    return arm.pointer(kept[at], name)


def _advantage_pointer(lists: list[tuple[RunLog, int, list[Any]]], at: int) -> str:
    for log, place, values in lists:
        if at < len(values):
            return step_pointer(log, place, "advantages", at)
        at -= len(values)
    raise IndexError(at)


@rule(
    "FLOAT002",
    "log-ratio-in-region",
    ERROR,
    each=ArmLog,
    needs=("audits",),
    missing="no unclipped log ratios in an atomic region",
)
def log_ratio_in_region(arm: ArmLog) -> Iterator[CheckResult]:
    """A log ratio is finer than float32 leaves it inside the trust region.

    Where nothing was clipped, an atomic region lets a ratio this far from 1 only at an old
    probability below a known one. Both log-probabilities are then at least so large, and their
    float32 difference is a multiple of a known power of two.

    Why
        A log ratio that was computed obeys it; one that was typed or scaled does so by chance.
    Fix
        Log the value as computed, and the region it was computed in.
    Bad
        "max_abs_log_ratio": 0.37544802 in a chi2/atomic region of 0.04 with "clip_fraction": 0
    Good
        "max_abs_log_ratio": 0.3750729560852051
    """
    held = 0
    fractions, ratios = arm.array("clip_fraction"), arm.array("max_abs_log_ratio")
    for log, first, end in arm.spans:
        region = region_of(log) if log.token_ratios else None
        if region is None or not region.atomic:
            continue
        edges = _edges(region)
        left: Sequence[int] = range(first, end)
        if fractions is not None and ratios is not None:
            asked, fine = _fine_at_once(fractions[first:end], ratios[first:end], edges)
            held += int(fine.sum())
            left = (first + (asked & ~fine).nonzero()[0]).tolist()
        clipped = arm.column("clip_fraction") if left else []
        column = arm.column("max_abs_log_ratio") if left else []
        for index in left:
            value = column[index]
            if not value or value < edges[0] or clipped[index] != 0:
                continue
            exponent = _FIRST_LEVEL + bisect_right(edges, value) - 24
            if value % 2.0**exponent == 0:
                held += 1
                continue
            message = "finer than float32 log-probabilities differ in this region"
            pointer = arm.pointer(index, "max_abs_log_ratio")
            yield Failed(pointer, message, f"a multiple of 2^{exponent}", repr(value))
    yield Passed(held)


def _fine_at_once(
    fractions: FloatArray, ratios: FloatArray, edges: list[float]
) -> tuple[BooleanArray, BooleanArray]:
    """Return which log ratios are checked, and which of these are as fine as they may be."""
    import numpy as np

    asked = (fractions == 0) & (ratios != 0) & (ratios >= edges[0])
    exponents = _FIRST_LEVEL + np.searchsorted(edges, ratios, "right") - 24
    return asked, asked & (np.fmod(ratios, np.ldexp(1.0, exponents)) == 0)


@lru_cache(maxsize=256)  # runs of one recipe have one region
def _edges(region: Region) -> list[float]:
    """Log ratios from which on both log-probabilities are at least 2^-2, 2^-1 and so on.

    From 2^k on a float32 is a multiple of 2^(k - 23).
    """
    edges = []
    for level in range(_FIRST_LEVEL, 4):
        low, high = 0.0, _LARGEST
        for _ in range(50):  # the least log-probability grows with the log ratio
            middle = (low + high) / 2
            if _least_log_probability(region, middle) >= 2.0**level:
                high = middle
            else:
                low = middle
        edges.append(high)
    return edges


def _least_log_probability(region: Region, value: float) -> float:
    """Smaller size of the two log-probabilities that allow a log ratio of this size."""
    up = region.log_probability(math.expm1(value)) - value
    down = region.log_probability(-math.expm1(-value))
    # The margin covers the float32 roundings of the ratio and its bounds.
    return min(up, down) - 1e-4


@rule("FLOAT003", "log-ratio-step", WARNING, each=Case)
def log_ratio_step(case: Case) -> Iterator[CheckResult]:
    """One log ratio of the file, and only one, is finer than all the others.

    Log ratios are differences of float32 log-probabilities and come in multiples of a power of
    two. Below probability 0.61 that is 2^-24 or more; where log-probabilities are taken from
    logits it is the step of the logits. A value that alone breaks it came from a very likely
    token or was not computed: a hint, not a proof.

    Why
        An edited number falls off the grid that computed ones lie on.
    Fix
        Compare the value with the run's own log; correct it, or waive it.
    Bad
        "max_abs_log_ratio": 0.22697665 among multiples of 2^-24
    Good
        "max_abs_log_ratio": 0.22674989700317383
    """
    arms = []
    counts = Counter[int]()
    for arm in case.logs:
        if all(log.token_ratios for log in arm.runs):
            arms.append(arm)
            counts += _denominators(arm, "max_abs_log_ratio")
        else:
            yield Unchecked("ratios of whole responses", arm.arm.pointer)
    if counts.total() < _FEWEST:
        yield Unchecked(f"fewer than {_FEWEST} log ratios")
        return
    finest, *coarser = sorted(counts, reverse=True)
    usual = coarser[0] if coarser and counts[coarser[0]] >= _SHARP else _COMMON_STEP
    if counts[finest] > 1 or finest <= usual:
        yield Passed(counts.total())
    elif coarser and coarser[0] > usual:
        yield Unchecked("the log ratios have no common step")
    else:
        step = f"multiple of 2^-{usual.bit_length() - 1}"
        message = f"the only one of {counts.total()} log ratios that is no {step}"
        for arm in arms:
            for index, value in enumerate(arm.column("max_abs_log_ratio")):
                if value and value.as_integer_ratio()[1] == finest:
                    pointer = arm.pointer(index, "max_abs_log_ratio")
                    yield Failed(pointer, message, f"a {step}", repr(value))


def _denominators(arm: ArmLog, name: str) -> Counter[int]:
    """Count the denominators, powers of two, of a column's values other than 0."""
    array = arm.array(name)
    if array is None:
        return Counter(v.as_integer_ratio()[1] for v in arm.column(name) if v)
    import numpy as np

    mantissa, exponent = np.frexp(array[array != 0])
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    factor = np.frexp((whole & -whole).astype(float))[1] - 1  # of two, in the whole number
    powers, times = np.unique(np.maximum(53 - exponent - factor, 0), return_counts=True)
    return Counter({1 << k: n for k, n in zip(powers.tolist(), times.tolist(), strict=True)})
