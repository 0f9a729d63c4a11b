"""RATIO: probability ratios of a first update, and the shares of tokens that a clip touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

from audit.facts.training_logs import ArmLog
from audit.finding import ERROR
from audit.rules.check import CheckResult, Failed, Passed
from audit.rules.float32 import smallest_denominator, to_float32
from audit.rules.rule import rule

# Log-probabilities of one float32 model from two kernels or batch shapes differ by some 1e-6 to
# 1e-5; a policy that has taken a step moves its largest log ratio by far more than 1e-4.
_SAME_POLICY = 1e-4
_FRACTIONS = ("clip_fraction", "gated_clip_fraction")


@rule(
    "RATIO001",
    "ratio-one-at-first",
    ERROR,
    each=ArmLog,
    needs=("audits",),
    missing="no audits of a first update",
)
def ratio_one_at_first(arm: ArmLog) -> Iterator[CheckResult]:
    """On the first update of a batch a ratio is not 1, or something was clipped.

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
    held = 0
    limits = {"max_abs_log_ratio": _SAME_POLICY, "clip_fraction": 0.0, "gated_clip_fraction": 0.0}
    for name, limit in limits.items():
        if not arm.known(name):
            continue
        left: Sequence[int] = range(len(arm.audits))
        array = arm.array(name)
        if array is not None:
            import numpy as np

            of_first = np.frombuffer(arm.of_first_updates, np.bool_)
            left = ((array > limit) & of_first).nonzero()[0].tolist()
            held += arm.of_first_updates.count(1)
        else:
            values = list(compress(arm.column(name), arm.of_first_updates))
            held += len(values) - values.count(None)
            left = left if any(values) else ()
        column = arm.column(name) if left else []
        for index in left:
            value = column[index]
            if value and value > limit and arm.of_first_updates[index]:
                held -= 1
                message = "the policy that sampled has ratio 1 and nothing to clip"
                yield Failed(arm.pointer(index, name), message, "0", repr(value))
    yield Passed(held)


@rule(
    "RATIO002",
    "clip-fraction-quotient",
    ERROR,
    each=ArmLog,
    needs=("audits",),
    missing="max_tokens is not recorded",
)
def clip_fraction_quotient(arm: ArmLog) -> Iterator[CheckResult]:
    """A clip fraction is not p / q for a whole number p of the q tokens of a response.

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
    held = 0
    limits = {id(log): log.run.protocol.get("max_tokens") for log in arm.runs}
    known = [limit for limit in limits.values() if limit is not None]
    smallest = min(known, default=0)
    for name in _FRACTIONS:
        values = _shares(arm, name)
        large = {v for v in values if smallest_denominator(v) > smallest} if known else set()
        held += arm.known(name) if known else 0
        for index, value in enumerate(arm.column(name)) if large else ():
            limit = limits[id(arm.update_of(index).log)] if value in large else None
            if limit is not None and smallest_denominator(value) > limit:
                held -= 1
                expected = f"p / q with q at most {limit}"
                message = "no fraction of the tokens of a response"
                yield Failed(arm.pointer(index, name), message, expected, repr(value))
    yield Passed(held)


def _shares(arm: ArmLog, name: str) -> set[float]:
    """Return the different values of a column that are not 0 and at most 1."""
    array = arm.array(name)
    if array is not None:
        return set(array[(array != 0) & (array <= 1)].tolist())
    return {value for value in arm.column(name) if value and value <= 1}


@rule(
    "RATIO003",
    "clip-fraction-tokens",
    ERROR,
    each=ArmLog,
    needs=("audits",),
    missing="tokens are not recorded",
)
def clip_fraction_tokens(arm: ArmLog) -> Iterator[CheckResult]:
    """A clip fraction is not a whole number of the response's recorded tokens.

    Why
        Tokens and fraction describe one response; here one of them belongs to another.
    Fix
        Write tokens, clip_fraction and gated_clip_fraction from the same mask.
    Bad
        "tokens": 100, "clip_fraction": 0.015
    Good
        "tokens": 100, "clip_fraction": 0.02
    """
    held = 0
    tokens = arm.column("tokens")
    for name in _FRACTIONS if arm.known("tokens") else ():
        column = arm.column(name)
        pairs = {pair for pair in zip(column, tokens, strict=True) if None not in pair}
        bad = {pair for pair in pairs if not _is_share(*pair)}
        held += len(column) if pairs else 0
        for index, pair in enumerate(zip(column, tokens, strict=True)) if bad else ():
            if pair in bad:
                held -= 1
                message = f"no whole number of {pair[1]} tokens"
                yield Failed(arm.pointer(index, name), message, actual=repr(pair[0]))
    yield Passed(held)


def _is_share(fraction: float, tokens: int) -> bool:
    if not fraction or not tokens:
        return not fraction
    share = round(fraction * tokens) / tokens
    return fraction in (share, to_float32(share))


@rule(
    "RATIO004",
    "gated-share",
    ERROR,
    each=ArmLog,
    needs=("audits",),
    missing="no gated_clip_fraction",
)
def gated_share(arm: ArmLog) -> Iterator[CheckResult]:
    """More tokens were stopped by the clip than lay outside the bounds.

    Why
        The sign of the advantage can only remove tokens from those outside the bounds.
    Fix
        Count both from the same mask and bounds.
    Bad
        "clip_fraction": 0.01, "gated_clip_fraction": 0.02
    Good
        "clip_fraction": 0.02, "gated_clip_fraction": 0.01
    """
    held = 0
    if not arm.known("gated_clip_fraction"):
        return
    pairs = zip(arm.column("clip_fraction"), arm.column("gated_clip_fraction"), strict=True)
    for index, (outside, gated) in enumerate(pairs):
        if outside is None or gated is None:
            continue
        if gated <= outside:
            held += 1
        else:
            pointer = arm.pointer(index, "gated_clip_fraction")
            message = "above the share outside the bounds"
            yield Failed(pointer, message, f"at most {outside!r}", repr(gated))
    yield Passed(held)
