"""CONF: gains that could be length, cut-off or dropped items."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import Severity
from audit.pointer import join
from audit.results import Arm
from audit.rules.comparison import mean_score, opponents
from audit.rules.measurements import all_evaluations, trained
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped

LENGTH_SHARE = 0.2
"""Mean lengths further apart than this, relative to the control's, count as a shift."""
TRUNCATION_GAP = 0.1
"""Shares of cut-off responses further apart than this count as a gap."""


def _gain(case: Case, arm: Arm) -> float | None:
    """Return by how much the top arm scores higher than ``arm``."""
    top, other = mean_score(case.results.arms[0].finished), mean_score(arm.finished)
    return None if top is None or other is None else top - other


def _tokens_per_response(arm: Arm) -> float | None:
    found = [(m.tokens, m.responses) for m in trained(arm)]
    tokens = sum(t for t, drawn in found if t is not None and drawn)
    responses = sum(drawn for t, drawn in found if t is not None and drawn)
    return tokens / responses if responses else None


def _cut_off(arm: Arm) -> tuple[int, int] | None:
    """Return responses cut off and responses drawn over the arm's runs."""
    found = [(m.truncated, m.responses) for m in trained(arm)]
    known = [(cut, drawn) for cut, drawn in found if cut is not None and drawn]
    if not known:
        return None
    return sum(cut for cut, _ in known), sum(drawn for _, drawn in known)


def length_shift(case: Case) -> Iterator[Outcome]:
    """The better arm writes responses of another length.

    Why
        Longer responses alone can raise a score (more room to reason), shorter ones too (fewer cut
        off); the gain is then not the recipe's. Spoken on from a fifth of the control's length.
    Fix
        Compare at equal token budgets, or report the score against the length.
    Bad
        0.75 at 540 tokens a response against 0.70 at 410
    Good
        0.75 at 420 tokens a response against 0.70 at 410
    """
    ours = _tokens_per_response(case.results.arms[0])
    for arm in opponents(case.results):
        theirs, gain = _tokens_per_response(arm), _gain(case, arm)
        if ours is None or not theirs or gain is None:
            yield Skipped("scores and response lengths of both arms are not recorded", arm.pointer)
        elif gain > 0 and abs(ours / theirs - 1) > LENGTH_SHARE:
            message = f"the gain comes with responses of {ours:.0f} tokens against {theirs:.0f}"
            limit = f"within {LENGTH_SHARE:.0%}"
            yield Found(arm.pointer, message, limit, f"{ours / theirs - 1:+.0%}")
        else:
            yield Held()
    if not opponents(case.results):
        yield Skipped("there is no other arm")


def truncation_gap(case: Case) -> Iterator[Outcome]:
    """The better arm has fewer or more responses cut off.

    Why
        A response that is cut off has no answer and counts as wrong; fewer of them is a gain
        without better reasoning. Spoken on from ten points apart; as information where the gap is
        smaller than that but as large as the gain.
    Fix
        Raise the token limit of the evaluation until few responses reach it.
    Bad
        2% cut off against 20%
    Good
        2% cut off against 3%
    """
    ours = _cut_off(case.results.arms[0])
    for arm in opponents(case.results):
        theirs, gain = _cut_off(arm), _gain(case, arm)
        if ours is None or theirs is None or gain is None:
            yield Skipped("scores and cut-off responses of both arms are not recorded", arm.pointer)
            continue
        gap = theirs[0] / theirs[1] - ours[0] / ours[1]
        wide = gain > 0 and abs(gap) > TRUNCATION_GAP
        if wide or (gain > 0 and gap >= gain - 1e-12):
            message = (
                f"{ours[0]} of {ours[1]} responses cut off against {theirs[0]} of {theirs[1]}: "
                f"a gap of {gap:+.3f} beside a gain of {gain:+.3f}"
            )
            severity = Severity.WARNING if wide else Severity.INFO
            yield Found(arm.pointer, message, f"within {TRUNCATION_GAP}", severity=severity)
        else:
            yield Held()
    if not opponents(case.results):
        yield Skipped("there is no other arm")


def errored_items(case: Case) -> Iterator[Outcome]:
    """Samples of an evaluation ended in an error.

    Why
        They count as wrong, whatever the model would have answered; an arm with more of them looks
        worse, one whose errors were dropped looks better.
    Fix
        Run the samples again; if they stay, look at the score both ways.
    Bad
        "errored": [0, 4, 0]
    Good
        "errored": [0, 0, 0]
    """
    compared = False
    for evaluation in all_evaluations(case.results):
        errored = evaluation.document.get("errored")
        if errored is None:
            continue
        compared = True
        lost = sum(errored)
        if not lost:
            yield Held()
            continue
        message = f"{lost} samples of {sum(map(bool, errored))} tasks ended in an error"
        right, drawn = evaluation.counts, sum(evaluation.samples or [])
        if right is not None and drawn > lost:
            message += f": {sum(right)}/{drawn} with them, {sum(right)}/{drawn - lost} without"
        yield Found(join(evaluation.pointer, "errored"), message, "0", str(lost))
    if not compared:
        yield Skipped("no evaluation counts its errors")


RULES = (
    Rule("CONF001", "length-shift", Severity.WARNING, length_shift),
    Rule("CONF002", "truncation-gap", Severity.WARNING, truncation_gap),
    Rule("CONF003", "errored-items", Severity.WARNING, errored_items),
)
