"""What changed between two versions of a study, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from audit import numerals
from audit.facts.study_changes import LabelledRun, ScoreChange, SettingChange, VersionChange
from audit.safetext import shortened
from audit.views.claim_view import ClaimView

# Changes of one kind that are told; the others are counted.
SHOWN = 3
_LONGEST_VALUE = 60


def change_lines(
    change: VersionChange, before: Sequence[ClaimView] = (), after: Sequence[ClaimView] = ()
) -> tuple[str, ...]:
    """Return what changed, a line a kind, what was lost in front.

    Parameters
    ----------
    change : VersionChange
    before, after : sequence of ClaimView
        The claims of both files as they were judged by one policy; where a file claims nothing,
        its comparisons.
    """
    return tuple(_lines(change, before, after))


def _lines(
    change: VersionChange, before: Sequence[ClaimView], after: Sequence[ClaimView]
) -> Iterator[str]:
    if change.lost:
        yield f"lost: {_runs(change.lost)}"
    if change.unlisted:
        yield f"lost: launched {_runs(change.unlisted)}"
    for claim in change.dropped:
        yield f"lost: the claim {claim.typed_text}"
    if change.added:
        yield _more(change.added)
    yield from _several("score changed", map(_score, change.scores))
    yield from _several("setting changed", map(_setting, change.settings))
    for claim in change.claimed:
        yield f"new claim: {claim.typed_text}"
    for reworded in change.reworded:
        old, new = reworded.before.typed_text, reworded.after.typed_text
        terms = ", ".join(reworded.terms).replace("_", " ")
        yield f"claim changed: {old} to {new}" if old != new else f"claim changed: {new} ({terms})"
    yield from _verdicts(before, after)


def _runs(runs: Iterable[LabelledRun]) -> str:
    """Return runs by arm: ``dapo 4, 5; grpo 4``."""
    parts = []
    for arm, members in groupby(runs, key=lambda run: run.arm):
        parts.append(f"{arm} {', '.join(run.label for run in members)}")
    return "; ".join(parts)


def _more(runs: Sequence[LabelledRun]) -> str:
    counts = {arm: len(list(members)) for arm, members in groupby(runs, key=lambda run: run.arm)}
    if len(counts) > 1 and len(set(counts.values())) == 1:
        return f"{numerals.counted(next(iter(counts.values())), 'run')} per arm more"
    return f"more runs: {_runs(runs)}"


def _several(what: str, lines: Iterable[str]) -> Iterator[str]:
    told = list(lines)
    if told:
        more = f" (+{len(told) - SHOWN} more)" if len(told) > SHOWN else ""
        yield f"{what}: {'; '.join(told[:SHOWN])}{more}"


def _score(change: ScoreChange) -> str:
    where = f" on {change.benchmark}" if change.benchmark else ""
    name = f"{change.metric}{where} of {change.run.arm} {change.run.label}"
    if change.before == change.after:
        return f"{name}: other answers, the same mean"
    values = ("none" if v is None else numerals.fraction(v) for v in (change.before, change.after))
    return f"{name}: {' to '.join(values)}"


def _setting(change: SettingChange) -> str:
    values = (
        "none" if value is None else shortened(value, _LONGEST_VALUE)
        for value in (change.before, change.after)
    )
    return f"{change.pointer}: {' to '.join(values)}"


def _verdicts(before: Sequence[ClaimView], after: Sequence[ClaimView]) -> Iterator[str]:
    """Yield the verdicts that are others now, or rest on other figures."""
    was = {view.sentence: view for view in before}
    for view in after:
        old = was.get(view.sentence)
        if old is None or (_judged(old) == _judged(view) and old.estimate == view.estimate):
            continue
        was_it, is_it = (f"{_judged(one)} {one.estimate}".strip() for one in (old, view))
        told = f"was {was_it}, is {is_it}"
        yield told if len(after) == 1 else f"{view.sentence}: {told}"


def _judged(view: ClaimView) -> str:
    if not view.claimed:
        return view.verdict
    return f"{view.result}, {view.label}" if view.label else view.result
