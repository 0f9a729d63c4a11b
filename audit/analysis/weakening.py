"""What a reader must know beside a supported claim."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from audit import numerals
from audit.analysis.comparisons import Comparison, compare
from audit.analysis.looks import AFTER_LOOK, IN_PLAN, ClaimLook
from audit.analysis.parsing import Parsing
from audit.analysis.verdict import Verdict, Weakening
from audit.claims import BASE, Claim
from audit.column import largest
from audit.reasons import words_for

if TYPE_CHECKING:
    from audit.stats import SharedSeeds

# From this share on, what was not parsed is not worth a line.
ALL_PARSED = 0.99
# Arms besides those of a claim whose verdicts are told; the others are counted.
OTHERS_SHOWN = 3
# Qualifiers that are said in a line of their own below, and those that weaken nothing.
_TOLD_APART = frozenset(
    {
        "format",
        "material",
        "below-margin",
        "errors-decide",
        "last-differs",
        "pairs-do-not-show-it",
    }
)


def weakenings(claim: Claim, comparison: Comparison, look: ClaimLook | None) -> Iterator[Weakening]:
    """Yield what weakens a claim that the data support, the most telling first."""
    yield from _format(comparison.parsing)
    for slug in comparison.verdict.qualifiers:
        if slug not in _TOLD_APART:
            yield Weakening(slug.partition(" ")[0], words_for(slug))
    yield from _last_step(comparison)
    yield from _shared_seeds(comparison)
    yield from _readings(comparison)
    yield from _looks(look)
    yield from _decoding(comparison)
    yield from _runs(comparison)
    yield from _other_arms(comparison)
    if claim.direction == "gain":
        yield from _collapse(comparison)


def _format(found: Parsing | None) -> Iterator[Weakening]:
    if found is None or min(found.parsed) >= ALL_PARSED:
        return
    mine, theirs = (numerals.fraction(share) for share in found.parsed)
    shares = f"parsed {theirs} to {mine}" if mine != theirs else f"parsed {mine} in both arms"
    form, content = (numerals.signed(part.delta) for part in found.parts)
    parts = f"{form} is format, {content} content"
    yield Weakening("format", f"{shares}: {parts}")


def _readings(comparison: Comparison) -> Iterator[Weakening]:
    """Say how much of either arm ended in an error, where any of it did."""
    aligned = comparison.aligned
    if aligned is None or not aligned.has_errors:
        return
    mine, theirs = (
        numerals.percent(side.errored_share, 1) for side in (aligned.treatment, aligned.control)
    )
    line = f"{mine} of the answers errored against {theirs}"
    dropped = comparison.without_errors
    if dropped is not None:
        line += f"; without them {numerals.signed(dropped.delta)}"
    yield Weakening("errored", line)


def _last_step(comparison: Comparison) -> Iterator[Weakening]:
    """Say where the arms part at the last of several claimed steps."""
    found, last = comparison.last_contrast, comparison.at_last_step
    if found is None or not found.differs or last is None:
        return
    number = numerals.spelled(len(comparison.measure.checkpoints))
    mean, end = numerals.signed(comparison.delta), numerals.signed(last.delta)
    yield Weakening(
        "last-differs",
        f"the arms part at the end: {mean} over {number} checkpoints, {end} at the last",
    )


def _shared_seeds(comparison: Comparison) -> Iterator[Weakening]:
    shared = comparison.shared_seeds
    if shared is not None and shared.warns:
        yield Weakening("pairs-do-not-show-it", shared_seeds_line(comparison, shared))


def shared_seeds_line(comparison: Comparison, shared: SharedSeeds[int]) -> str:
    """Return what the runs that share a seed show, and which runs have no partner."""
    span = comparison.measure.span or 1.0
    line = f"over {numerals.counted(shared.pairs, 'shared seed')}"
    if shared.interval is not None:
        low, high = shared.interval.low * span, shared.interval.high * span
        line = f"{numerals.estimate((low + high) / 2, low, high)} {line}"
    if shared.correlation is not None:
        line += f", r = {numerals.fraction(shared.correlation)}"
    alone = [
        f"{arm} {', '.join(map(str, seeds))}"
        for arm, seeds in (
            (comparison.arm, shared.treatment_only),
            (comparison.against, shared.control_only),
        )
        if seeds
    ]
    return line + (f"; without a partner: {'; '.join(alone)}" if alone else "")


def _looks(look: ClaimLook | None) -> Iterator[Weakening]:
    if look is None:
        return
    if look.kind == AFTER_LOOK and look.total_error is not None:
        rate = numerals.percent(look.total_error, 2)
        yield Weakening(
            "after-unplanned-look",
            f"judged before at {look.first} runs per arm without a plan; error rate {rate}",
        )
    if look.kind == IN_PLAN and look.dated is None:
        yield Weakening("plan-not-dated", "when the plan was declared cannot be checked")
    if look.kind != IN_PLAN and look.dated is False:
        yield Weakening(
            "plan-not-dated", "the plan is not from before the first evaluation: it is none"
        )


def _runs(comparison: Comparison) -> Iterator[Weakening]:
    results = comparison.study.results
    launched = results.block("launched_seeds")
    sides = [side for side in (comparison.treatment, comparison.control) if side.name != BASE]
    unlisted = [
        side.name
        for side in sides
        if side.name not in launched and not (side.name == results.method and "method" in launched)
    ]
    if unlisted:
        yield Weakening(
            "launched-not-recorded",
            f"how many runs of {' and of '.join(unlisted)} were launched is not recorded",
        )
    for side in sides:
        if side.set_aside:
            labels = ", ".join(run.label for run in side.set_aside)
            yield Weakening("left-out-of-pairing", f"{side.name} {labels} without a partner")


def _other_arms(comparison: Comparison) -> Iterator[Weakening]:
    """Say what the arms that the claim does not name came to, against the same control."""
    named = (comparison.arm, comparison.against)
    others = [arm.name for arm in comparison.study.results.arms if arm.name not in named]
    if not others:
        return
    told = []
    for name in others[:OTHERS_SHOWN]:
        found = compare(
            comparison.study,
            comparison.measure,
            name,
            comparison.against,
            replace(comparison.settings, direction=None),
        )
        delta = "" if found.delta is None else f" {numerals.signed(found.delta)}"
        verdict = Verdict(found.verdict.word, found.verdict.detail).text
        told.append(f"{name} over {comparison.against}{delta}, {verdict}")
    more = f"; {len(others) - OTHERS_SHOWN} more" if len(others) > OTHERS_SHOWN else ""
    yield Weakening("other-arms", "; ".join(told) + more)


def _decoding(comparison: Comparison) -> Iterator[Weakening]:
    """Say where copies were looked for as among greedy answers, since nobody says otherwise.

    That is so for one answer per task; runs with records of their own need no such test.
    """
    found = comparison.evidence
    if found is not None and found.reaches("A"):
        return
    runs = (run for side in (comparison.treatment, comparison.control) for run in side.runs)
    for run in runs:
        own = run.evaluation
        if run.outcomes is None or own is None or own.greedy or own.sampled:
            continue
        if run.outcomes.samples and largest(run.outcomes.samples) == 1:
            line = "no temperature is recorded: copies are looked for as among greedy answers"
            yield Weakening("decoding-not-recorded", line)
            return


def _collapse(comparison: Comparison) -> Iterator[Weakening]:
    bounds = comparison.description.collapse_bound
    bound = bounds.get(comparison.arm)
    if bound is None:
        return
    runs, limit = len(comparison.treatment.runs), numerals.percent(bound)
    line = f"none of {runs} {comparison.arm} runs collapsed; up to {limit} could (95%)"
    risk = comparison.collapse_risk
    if risk is not None and risk.undoing_rate is not None and risk.undoing_rate < bound:
        line += f", and {numerals.percent(risk.undoing_rate)} would undo the gain"
    yield Weakening("collapse", line)
