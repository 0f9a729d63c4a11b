"""Earlier versions of a file at which its claims were judged and refused: looks that were spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from audit.analysis.claiming import ClaimResult, judge
from audit.analysis.comparisons import Comparison
from audit.analysis.looks import IN_PLAN
from audit.analysis.measures import Side
from audit.analysis.study import SpentLook, study_of
from audit.analysis.what_settles import BY_INTERVAL
from audit.claims import BASE, claims_of
from audit.results import Results


def may_hide_looks(result: ClaimResult) -> bool:
    """Whether an earlier look would undo a claim: it is supported, and stands in the file."""
    found = result.comparison
    in_file = result.claim.pointer is not None
    return in_file and result.supported and found is not None and found.against != BASE


def spent_looks(
    claims: Sequence[ClaimResult], earlier: Results, version: str
) -> Iterator[SpentLook]:
    """Yield the looks that an earlier version of a file spent on its present claims.

    One is spent where that version made the same claim about fewer of the same runs, its interval
    refused it, and neither the present plan nor ``looked`` covers that look.

    Parameters
    ----------
    claims : sequence of ClaimResult
        Of the present file; the others than `may_hide_looks` names are passed over.
    earlier : Results
    version : str
        Name of the earlier version.
    """
    wanted = [
        (result, result.comparison)
        for result in claims
        if may_hide_looks(result) and result.comparison is not None
    ]
    wanted = [(result, found) for result, found in wanted if _fewer_recorded(earlier, found)]
    if not wanted:
        return
    policy = wanted[0][1].study.policy
    before = judge(study_of(earlier, policy), claims_of(earlier))
    for now, _ in wanted:
        seeds = [n for old in before if (n := _spent(now, old)) is not None]
        if seeds:
            yield SpentLook(now.claim.id, min(seeds), version)


def _spent(now: ClaimResult, old: ClaimResult) -> int | None:
    """Return the runs per arm at which an earlier claim spent a look of a present one."""
    new, past = now.comparison, old.comparison
    if new is None or past is None or _subject(now, new) != _subject(old, past):
        return None
    reasons = {refusal.reason for refusal in old.refusals}
    if not reasons & BY_INTERVAL or "before-first-look" in reasons:
        return None
    fewest = min(past.trained_runs)
    if fewest < now.min_seeds or fewest in new.study.looked or not _fewer(past, new):
        return None
    if old.look is None or now.look is None:
        return None
    if now.look.kind == IN_PLAN and old.look.plan == now.look.plan:
        return None
    return fewest


def _subject(result: ClaimResult, comparison: Comparison) -> object:
    """Return what two versions of a claim share: equal data would decide both."""
    direction = result.claim.direction
    either_way = "gain or loss" if direction in ("gain", "loss") else direction
    return (
        comparison.metric,
        comparison.benchmark,
        comparison.arm,
        comparison.against,
        result.claim.average,
        either_way,
    )


def _fewer_recorded(earlier: Results, now: Comparison) -> bool:
    """Whether a version has fewer runs of the arms of a comparison: seen without judging it."""
    counts = []
    for name in (now.arm, now.against):
        arms = earlier.arm(name), now.study.results.arm(name)
        if arms[0] is None or arms[1] is None:
            return False
        counts.append(len(arms[1].runs) - len(arms[0].runs))
    return min(counts) >= 0 and max(counts) > 0


def _fewer(past: Comparison, new: Comparison) -> bool:
    """Whether a comparison had fewer of the same runs, and no more in either arm."""
    pairs = ((past.treatment, new.treatment), (past.control, new.control))
    grown = [len(later.runs) - len(earlier.runs) for earlier, later in pairs]
    shared = any(_runs(earlier) & _runs(later) for earlier, later in pairs)
    return min(grown) >= 0 and max(grown) > 0 and shared


def _runs(side: Side) -> set[object]:
    return {(run.seed, run.score) for run in side.runs}
