"""RATIO: what single precision and the definition of the ratio leave in losses and log ratios."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from audit.finding import Severity
from audit.pointer import join
from audit.rules.float32 import (
    EXACT_PER_ODD,
    odd_places,
    smallest_denominator,
    to_float32,
)
from audit.rules.regions import Region, region_of
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped
from audit.rules.telemetry import ArmLog, RunLog, Update, each_arm, step_pointer

# Log-probabilities of one float32 model from two kernels or batch shapes differ by some 1e-6 to
# 1e-5; a policy that has taken a step moves its largest log ratio by far more than 1e-4.
_SAME_POLICY = 1e-4
# A float32 mean over n equal values is off by up to log2(n) roundings of 2^-24: 32 covers any n.
_TOKEN_MEAN = 32 * 2.0**-24
# Below probability e^-1/2 = 0.61 a float32 log-probability is a multiple of 2^-24.
_COMMON_STEP = 2.0**-24
_FEWEST = 20
_FRACTIONS = ("clip_fraction", "gated_clip_fraction")
_AUDIT_FLOATS = (*_FRACTIONS, "lower_mean", "upper_mean", "max_abs_log_ratio")


def ratio_one_at_first(case: Case) -> Iterator[Outcome]:
    """On the first update of a batch the ratio is not 1, or something was clipped.

    Why
        The policy that is updated is still the one that sampled, so every ratio is 1. If it is
        not, old log-probabilities come from another model, or the log was altered.
    Fix
        Compute both log-probabilities with the same weights and without dropout.
    Bad
        "inner_update": 1 with "max_abs_log_ratio": 0.02
    Good
        "inner_update": 1 with "max_abs_log_ratio": 0.0, "clip_fraction": 0.0
    """
    return each_arm(case, _ratio_one_at_first)


def _ratio_one_at_first(arm: ArmLog) -> Iterator[Outcome]:
    held = 0
    limits = {"max_abs_log_ratio": _SAME_POLICY, "clip_fraction": 0.0, "gated_clip_fraction": 0.0}
    for name, limit in limits.items():
        column = arm.column(name)
        for update in arm.updates:
            if update.place or update.first == update.end:
                continue
            values = column[update.first : update.end]
            held += len(values) - values.count(None)
            if not any(values):
                continue
            for index, value in enumerate(values, update.first):
                if value is not None and value > limit:
                    held -= 1
                    message = "the policy that sampled has ratio 1 and nothing to clip"
                    yield Found(arm.pointer(index, name), message, "0", repr(value))
    yield Held(held) if held else Skipped("no audits of a first update", arm.arm.pointer)


def first_loss(case: Case) -> Iterator[Outcome]:
    """The loss of a batch's first update is not minus the mean advantage.

    Why
        With ratio 1 the loss of GRPO is minus the mean of the advantages: 0 for whole groups, up
        to float noise. Another value is another loss, or an altered one.
    Fix
        Name the loss in telemetry.loss_type; log it before the optimizer step.
    Bad
        "inner_update": 1 with "loss": 0.003
    Good
        "inner_update": 1 with "loss": 2.98e-08
    """
    return each_arm(case, _first_loss)


def _first_loss(arm: ArmLog) -> Iterator[Outcome]:
    held, seen = 0, False
    for update in arm.updates:
        loss = update.document.get("loss")
        if update.place or loss is None or not update.log.mean_loss:
            continue
        advantages = _advantages(arm, update)
        if not advantages:
            continue
        seen = True
        expected = -sum(advantages) / len(advantages)
        if abs(loss - expected) <= _TOKEN_MEAN * max(map(abs, advantages)):
            held += 1
        else:
            shown = "0 up to float noise" if abs(expected) < _TOKEN_MEAN else f"{expected:.7g}"
            pointer = join(update.pointer, "loss")
            yield Found(pointer, "not minus the mean advantage", shown, repr(loss))
    if seen:
        yield Held(held)
    else:
        yield Skipped("no first update with a loss of type grpo and advantages", arm.arm.pointer)


def _advantages(arm: ArmLog, update: Update) -> list[float]:
    """Advantages of the responses in an update; empty where they cannot be told."""
    every: list[float] = update.step_document.get("advantages") or []
    if arm.sequences is None:
        return every if update.end - update.first in (0, len(every)) else []
    present = arm.sequences[update.first : update.end]
    known = [number for number in present if number is not None and number < len(every)]
    return [every[number] for number in known] if len(known) == len(present) else []


def loss_lattice(case: Case) -> Iterator[Outcome]:
    """A loss is no multiple of the step that float32 leaves in a mean over the responses.

    A response's mean loss is at least its |advantage| times exp(-max |log ratio|) in size, so as
    a float32 it is a multiple of a known power of two; the mean over 2^k responses is one of that
    power over 2^k, however small the loss. It is checked where most losses of the arm are.

    Why
        A loss that was computed lies on that lattice; one that was typed or scaled does not.
    Fix
        Log the loss as the trainer computed it, unrounded.
    Bad
        "loss": 0.00158237 where all others are multiples of 2^-26
    Good
        "loss": 0.0015807896852493286
    """
    return each_arm(case, _loss_lattice)


def _loss_lattice(arm: ArmLog) -> Iterator[Outcome]:
    found: list[Found] = []
    held = 0
    for update in arm.updates:
        loss = update.document.get("loss")
        step = _loss_step(arm, update) if loss else None
        if loss is None or step is None:
            continue
        if (loss / step).is_integer():
            # Of larger float32 numbers one in eight or more are on the lattice by chance, and a
            # first loss is made of advantages, which may be float32 where later means are not.
            held += update.place > 0 and abs(loss) < step * 2.0**20
        else:
            message = "not on the lattice of float32 means over the responses"
            expected = f"a multiple of 2^{round(math.log2(step))}"
            found.append(Found(join(update.pointer, "loss"), message, expected, repr(loss)))
    if held < max(1, EXACT_PER_ODD * len(found)):
        reason = "not all" if found else "none small enough to tell"
        yield Skipped(
            f"losses that are float32 means over 2^k responses: {reason}", arm.arm.pointer
        )
    else:
        yield from found
        yield Held(held)


def _loss_step(arm: ArmLog, update: Update) -> float | None:
    """Power of two that the loss must be a multiple of; None where nothing follows."""
    if update.first == update.end or not update.log.mean_loss:
        return None
    advantages = _advantages(arm, update)
    ratios = arm.column("max_abs_log_ratio")[update.first : update.end]
    count = len(advantages)
    if not count or count & (count - 1) or None in ratios:
        return None
    sizes = [abs(advantage) for advantage in advantages if advantage]
    # The margin covers the roundings of the token mean.
    least = min(sizes, default=0.0) * math.exp(-max(ratios)) * (1 - _TOKEN_MEAN)
    # Below 2^-60 nothing is left to check, and subnormal numbers are out of the way.
    return math.ldexp(1.0, math.frexp(least)[1] - 24) / count if least > 2.0**-60 else None


def clip_fraction_quotient(case: Case) -> Iterator[Outcome]:
    """A clip fraction is not p / q for whole tokens p of a response of q tokens.

    Why
        It counts tokens, and a response has at most max_tokens of them; in float32 the quotient
        is one exact number.
    Fix
        Log the fraction as computed, unrounded.
    Bad
        "clip_fraction": 0.0171, "max_tokens": 512
    Good
        "clip_fraction": 0.016949152573943138 (1/59)
    """
    return each_arm(case, _clip_fraction_quotient)


def _clip_fraction_quotient(arm: ArmLog) -> Iterator[Outcome]:
    held = 0
    limits = {id(log): log.run.protocol.get("max_tokens") for log in arm.runs}
    known = [limit for limit in limits.values() if limit is not None]
    smallest = min(known, default=0)
    for name in _FRACTIONS:
        column = arm.column(name)
        values = {value for value in column if value and value <= 1}
        large = {v for v in values if smallest_denominator(v) > smallest} if known else set()
        held += len(column) - column.count(None) if known else 0
        for index, value in enumerate(column) if large else ():
            limit = limits[id(arm.update_of(index).log)] if value in large else None
            if limit is not None and smallest_denominator(value) > limit:
                held -= 1
                expected = f"p / q with q at most {limit}"
                message = "no fraction of the tokens of a response"
                yield Found(arm.pointer(index, name), message, expected, repr(value))
    yield Held(held) if held else Skipped("max_tokens is not recorded", arm.arm.pointer)


def clip_fraction_tokens(case: Case) -> Iterator[Outcome]:
    """A clip fraction is not a whole number of the response's recorded tokens.

    Why
        Tokens and fraction describe one response; one of them is another response's.
    Fix
        Write tokens, clip_fraction and gated_clip_fraction from the same mask.
    Bad
        "tokens": 100, "clip_fraction": 0.015
    Good
        "tokens": 100, "clip_fraction": 0.02
    """
    return each_arm(case, _clip_fraction_tokens)


def _clip_fraction_tokens(arm: ArmLog) -> Iterator[Outcome]:
    held = 0
    tokens = arm.column("tokens")
    for name in _FRACTIONS:
        column = arm.column(name)
        pairs = {pair for pair in zip(column, tokens, strict=True) if None not in pair}
        bad = {pair for pair in pairs if not _is_share(*pair)}
        held += len(column) if pairs else 0
        for index, pair in enumerate(zip(column, tokens, strict=True)) if bad else ():
            if pair in bad:
                held -= 1
                message = f"no whole number of {pair[1]} tokens"
                yield Found(arm.pointer(index, name), message, actual=repr(pair[0]))
    yield Held(held) if held else Skipped("tokens are not recorded", arm.arm.pointer)


def _is_share(fraction: float, tokens: int) -> bool:
    if not fraction or not tokens:
        return not fraction
    share = round(fraction * tokens) / tokens
    return fraction in (share, to_float32(share))


def gated_share(case: Case) -> Iterator[Outcome]:
    """More tokens were stopped by the clip than lay outside the bounds.

    Why
        The sign of the advantage can only take tokens away from those outside.
    Fix
        Count both from the same mask and bounds.
    Bad
        "clip_fraction": 0.01, "gated_clip_fraction": 0.02
    Good
        "clip_fraction": 0.02, "gated_clip_fraction": 0.01
    """
    return each_arm(case, _gated_share)


def _gated_share(arm: ArmLog) -> Iterator[Outcome]:
    held = 0
    pairs = zip(arm.column("clip_fraction"), arm.column("gated_clip_fraction"), strict=True)
    for index, (outside, gated) in enumerate(pairs):
        if outside is None or gated is None:
            continue
        if gated <= outside:
            held += 1
        else:
            pointer = arm.pointer(index, "gated_clip_fraction")
            message = "above the share outside the bounds"
            yield Found(pointer, message, f"at most {outside!r}", repr(gated))
    yield Held(held) if held else Skipped("no gated_clip_fraction", arm.arm.pointer)


def single_precision(case: Case) -> Iterator[Outcome]:
    """A value is no float32 in a column that otherwise is.

    Why
        Trainers compute in single precision, and such numbers have 29 zero bits at their end as
        doubles. One that has not was rounded, scaled or typed after the fact.
    Fix
        Write every value as the trainer gave it.
    Bad
        "gradient_l2_norm": 0.28 among values like 0.27938181161880493
    Good
        "gradient_l2_norm": 0.27938181161880493
    """
    return each_arm(case, _single_precision)


def _single_precision(arm: ArmLog) -> Iterator[Outcome]:
    for name, values, pointer in _float_columns(arm):
        odd = odd_places(values)
        if not values:
            continue
        if odd is None:
            yield Skipped(f"{name} is not logged in single precision", arm.arm.pointer)
            continue
        yield Held(len(values) - len(odd))
        for place in odd:
            message = f"alone in its column with more digits than float32 ({len(values)} values)"
            nearest = repr(to_float32(values[place]))
            yield Found(pointer(place), message, nearest, repr(values[place]))


def _float_columns(arm: ArmLog) -> Iterator[tuple[str, list[float], Callable[[int], str]]]:
    """Yield name, values and the pointer of each value, of every column of floats."""
    audited = [update for update in arm.updates if update.first < update.end]
    for name in ("loss", "gradient_l2_norm"):
        having = [update for update in audited if name in update.document]
        pointers = partial(_update_pointer, having, name)
        yield name, [update.document[name] for update in having], pointers
    lists = [(log, at, step["advantages"]) for log, at, step in arm.steps() if "advantages" in step]
    flat = [value for _, _, values in lists for value in values]
    yield "advantages", flat, partial(_advantage_pointer, lists)
    for name in _AUDIT_FLOATS:
        column = arm.column(name)
        kept: Sequence[int] = range(len(column))
        if None in column:
            kept = [index for index, value in enumerate(column) if value is not None]
            column = [column[index] for index in kept]
        yield name, column, partial(_audit_pointer, arm, name, kept)


def _update_pointer(having: list[Update], name: str, at: int) -> str:
    return join(having[at].pointer, name)


def _audit_pointer(arm: ArmLog, name: str, kept: Sequence[int], at: int) -> str:
    return arm.pointer(kept[at], name)


def _advantage_pointer(lists: list[tuple[RunLog, int, list[Any]]], at: int) -> str:
    for log, place, values in lists:
        if at < len(values):
            return step_pointer(log, place, "advantages", at)
        at -= len(values)
    raise IndexError(at)


def log_ratio_in_region(case: Case) -> Iterator[Outcome]:
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
    return each_arm(case, _log_ratio_in_region)


def _log_ratio_in_region(arm: ArmLog) -> Iterator[Outcome]:
    held = 0
    regions = {id(log): region_of(log) for log in arm.runs if log.token_ratios}
    clipped = arm.column("clip_fraction")
    column = arm.column("max_abs_log_ratio")
    for update in arm.updates:
        region = regions.get(id(update.log))
        if region is None or not region.atomic:
            continue
        for index in range(update.first, update.end):
            value = column[index]
            if not value or clipped[index] != 0:
                continue
            step = _least_step(region, value)
            if step is None:
                continue
            if (value / step).is_integer():
                held += 1
            else:
                expected = f"a multiple of 2^{round(math.log2(step))}"
                message = "finer than float32 log-probabilities differ in this region"
                yield Found(arm.pointer(index, "max_abs_log_ratio"), message, expected, repr(value))
    if held:
        yield Held(held)
    else:
        yield Skipped("no unclipped log ratios in an atomic region", arm.arm.pointer)


def _least_step(region: Region, value: float) -> float | None:
    """Spacing of float32 at the smaller of the two log-probabilities that allow the ratio."""
    if value > 8:  # e^8 is far beyond any region in use, and exp must not overflow
        return None
    up, down = (
        region.log_probability(math.expm1(value)),
        region.log_probability(-math.expm1(-value)),
    )
    # The margin covers the float32 roundings of the ratio and its bounds.
    least = min(up - value, down) - 1e-4
    # Above 2^-2 only: what float32 leaves below is finer than any value it is held against.
    return math.ldexp(1.0, math.frexp(least)[1] - 24) if least >= 0.25 else None


def log_ratio_step(case: Case) -> Iterator[Outcome]:
    """One log ratio of the file, and only one, is finer than 2^-24.

    A float32 log-probability below -1/2 is a multiple of 2^-24, and so is the difference of two.
    Where all of at least 20 log ratios but one are such multiples, that one came from a token
    with probability above 0.61 or it was not computed. It is a hint, not a proof.

    Why
        An edited number falls off the grid that computed ones lie on.
    Fix
        Compare the value with the run's own log.
    Bad
        "max_abs_log_ratio": 0.22697665 among multiples of 2^-24
    Good
        "max_abs_log_ratio": 0.22674989700317383
    """
    count, odd = 0, []
    for arm in case.logs:
        if not all(log.token_ratios for log in arm.runs):
            yield Skipped("ratios of whole responses", arm.arm.pointer)
            continue
        column = arm.column("max_abs_log_ratio")
        count += sum(1 for value in column if value)
        odd += [(arm, i) for i, v in enumerate(column) if v and (v / _COMMON_STEP) % 1.0]
    if count < _FEWEST or len(odd) > 1:
        few = f"fewer than {_FEWEST} log ratios" if count < _FEWEST else "several are finer"
        yield Skipped(few)
    elif odd:
        arm, index = odd[0]
        value = repr(arm.column("max_abs_log_ratio")[index])
        message = f"the only one of {count} log ratios that is no multiple of 2^-24"
        yield Found(arm.pointer(index, "max_abs_log_ratio"), message, "a multiple of 2^-24", value)
    else:
        yield Held(count)


RULES = (
    Rule("RATIO001", "ratio-one-at-first", Severity.ERROR, ratio_one_at_first),
    Rule("RATIO002", "first-loss", Severity.ERROR, first_loss),
    Rule("RATIO003", "loss-lattice", Severity.ERROR, loss_lattice),
    Rule("RATIO004", "clip-fraction-quotient", Severity.ERROR, clip_fraction_quotient),
    Rule("RATIO005", "clip-fraction-tokens", Severity.ERROR, clip_fraction_tokens),
    Rule("RATIO006", "gated-share", Severity.ERROR, gated_share),
    Rule("RATIO007", "single-precision", Severity.WARNING, single_precision),
    Rule("RATIO008", "log-ratio-in-region", Severity.ERROR, log_ratio_in_region),
    Rule("RATIO009", "log-ratio-step", Severity.WARNING, log_ratio_step),
)
