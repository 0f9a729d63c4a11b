"""CONF: gains that could be length, cut-off or dropped items."""

from __future__ import annotations

from collections.abc import Iterable

from audit import numerals
from audit.facts.lengths import cut_off, tokens_per_response
from audit.finding import INFO, WARNING
from audit.pointer import join
from audit.results import Evaluation, Run
from audit.rules.check import CheckResult, Failed, Unchecked
from audit.rules.rule import rule
from audit.rules.scopes import Versus

LENGTH_SHARE = 0.2
"""Mean lengths further apart than this, relative to the control's, count as a shift."""
TRUNCATION_GAP = 0.1
"""Shares of cut-off responses further apart than this count as a gap."""


def _gain(arms: Versus) -> float | None:
    """Return by how much the top arm scores higher than the other."""
    top, other = _mean_score(arms.top.finished), _mean_score(arms.other.finished)
    return None if top is None or other is None else top - other


def _mean_score(runs: Iterable[Run]) -> float | None:
    """Return the mean accuracy of runs; None where one has none."""
    scores = [run.score() for run in runs]
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known and len(known) == len(scores) else None


@rule("CONF001", "length-shift", WARNING, each=Versus)
def length_shift(arms: Versus) -> CheckResult | None:
    """The better arm writes responses of a different length.

    Why
        Longer responses alone can raise a score (more room to reason), and so can shorter ones
        (fewer cut off); the gain is then not due to the recipe. Reported from a difference of one
        fifth of the control's length.
    Fix
        Compare at equal token budgets, or report scores against lengths.
    Bad
        0.75 at 540 tokens per response against 0.70 at 410
    Good
        0.75 at 420 tokens per response against 0.70 at 410
    """
    ours, theirs = tokens_per_response(arms.top), tokens_per_response(arms.other)
    gain = _gain(arms)
    if ours is None or not theirs or gain is None:
        reason = "scores and response lengths of both arms are not recorded"
        return Unchecked(reason, arms.pointer)
    shift = ours / theirs - 1
    if gain <= 0 or abs(shift) <= LENGTH_SHARE:
        return None
    message = f"the gain comes with responses of {ours:.0f} tokens against {theirs:.0f}"
    return Failed(arms.pointer, message, f"within {LENGTH_SHARE:.0%}", f"{shift:+.0%}")


@rule("CONF002", "truncation-gap", WARNING, each=Versus)
def truncation_gap(arms: Versus) -> CheckResult | None:
    """The better arm has more or fewer responses cut off.

    Why
        A response that is cut off has no answer and counts as wrong, so fewer of them is a gain
        without better reasoning. Reported from ten points apart; as information where the gap is
        smaller but as large as the gain.
    Fix
        Raise the token limit of the evaluation until few responses reach it.
    Bad
        2% cut off against 20%
    Good
        2% cut off against 3%
    """
    ours, theirs, gain = cut_off(arms.top), cut_off(arms.other), _gain(arms)
    if ours is None or theirs is None or gain is None:
        reason = "scores and cut-off responses of both arms are not recorded"
        return Unchecked(reason, arms.pointer)
    gap = theirs[0] / theirs[1] - ours[0] / ours[1]
    wide = gain > 0 and abs(gap) > TRUNCATION_GAP
    if not (wide or (gain > 0 and gap >= gain - 1e-12)):
        return None
    message = (
        f"{ours[0]} of {ours[1]} responses cut off against {theirs[0]} of {theirs[1]}: "
        f"a gap of {numerals.signed(gap)} beside a gain of {numerals.signed(gain)}"
    )
    severity = WARNING if wide else INFO
    return Failed(arms.pointer, message, f"within {TRUNCATION_GAP}", severity=severity)


@rule("CONF003", "errored-items", WARNING, each=Evaluation, needs=("errored",))
def errored_items(evaluation: Evaluation) -> Failed | None:
    """Some samples of an evaluation ended in an error.

    Why
        They count as wrong, whatever the model would have answered. An arm with more errors looks
        worse, and one whose errors were dropped looks better.
    Fix
        Run these samples again; if the errors remain, report the score with and without them.
    Bad
        "errored": [0, 4, 0]
    Good
        "errored": [0, 0, 0]
    """
    errored = evaluation.document["errored"]
    lost = sum(errored)
    if not lost:
        return None
    message = f"{lost} samples of {sum(map(bool, errored))} tasks ended in an error"
    right, drawn = evaluation.counts, sum(evaluation.samples or [])
    if right is not None and drawn > lost:
        message += f": {sum(right)}/{drawn} with them, {sum(right)}/{drawn - lost} without"
    return Failed(join(evaluation.pointer, "errored"), message, "0", str(lost))
