"""Train on or stop: what the looks that are left may still show of a claim, and at what cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

from audit.analysis.claiming import ClaimResult, judge
from audit.analysis.comparisons import Comparison
from audit.analysis.design import Design
from audit.analysis.looks import AFTER_LOOK, IN_PLAN
from audit.analysis.measures import Side
from audit.analysis.study import SpentLook, study_of
from audit.analysis.what_settles import (
    BY_INTERVAL,
    LATER_LOOK,
    NOTHING,
    RUNS,
    SEEDS,
    futile_below,
    in_direction,
    target_of,
)
from audit.claims import BASE, Claim, claims_of
from audit.policy import Policy
from audit.results import Results

if TYPE_CHECKING:
    from audit.stats import Chances

TRAIN_ON, SUPPORTED, FUTILE, AT_MAXIMUM = "train-on", "supported", "futile", "at-maximum"
# What a loop does over several claims: it trains while any claim can gain by it.
_FIRST = (TRAIN_ON, AT_MAXIMUM, FUTILE, SUPPORTED)


@dataclass(frozen=True, slots=True)
class MoreRuns:
    """The runs of one arm up to the next look.

    Attributes
    ----------
    arm : str
    runs : int
    seeds : tuple of int
        Labels they may have: those the other arm has already, then new ones. Empty where the
        runs of the file have no seeds.
    usd, minutes : float or None
        At the mean recorded cost of a run of that arm; None where none is recorded.
    """

    arm: str
    runs: int
    seeds: tuple[int, ...]
    usd: float | None
    minutes: float | None


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about one claim.

    Attributes
    ----------
    result : ClaimResult
    word : str or None
        ``train-on``, ``supported``, ``futile`` or ``at-maximum``; None where more runs are not
        what is missing.
    delta : float or None
        Difference seen in the claimed direction, in the metric's units.
    p_value, needs : float or None
        What the p-value of the claim is, before any correction, and what it must be below: of a
        difference two-sided, of equivalence the larger of two one-sided ones.
    next_seeds : int or None
        Seeds per arm of the next look.
    more : tuple of MoreRuns
        What is to be trained for it.
    effect : float or None
        True difference assumed for the chances: the target, else the margin, and 0 where
        equivalence or no loss is claimed; metric's units.
    chance_next, chance_end : float or None
        Probability that the next look settles the claim, and that any look up to the maximum
        does; None before the first look.
    futile_below : float or None
        Difference below which stopping is advised at this look; metric's units.
    """

    result: ClaimResult
    word: str | None
    delta: float | None = None
    p_value: float | None = None
    needs: float | None = None
    next_seeds: int | None = None
    more: tuple[MoreRuns, ...] = ()
    effect: float | None = None
    chance_next: float | None = None
    chance_end: float | None = None
    futile_below: float | None = None


def advise(
    results: Results,
    *,
    policy: Policy | None = None,
    claims: Iterable[Claim] = (),
    looked: Iterable[int] = (),
    effect: Callable[[float], float] | None = None,
    unrecorded: Callable[[Sequence[ClaimResult]], Sequence[SpentLook]] | None = None,
) -> tuple[Advice, ...]:
    """Return the advice on every claim of a file.

    Parameters
    ----------
    results : Results
    policy : Policy, optional
        The built-in defaults when left out.
    claims : iterable of Claim
        Beside those of the file.
    looked : iterable of int
        Earlier looks without a plan, beside those of the file.
    effect : callable, optional
        Returns the effect that matters, in place of the declared one, in the units of a metric
        whose scale has the width that it is given.
    unrecorded : callable, optional
        Returns the looks at the judged claims that the file does not record.
    """
    looked, made = tuple(looked), (*claims_of(results), *claims)
    judged = judge(study_of(results, policy, looked), made)
    spent = () if unrecorded is None else unrecorded(judged)
    if spent:
        judged = judge(study_of(results, policy, looked, spent), made)
    return tuple(
        advice_on(result, None if effect is None else effect(_span(result))) for result in judged
    )


def _span(result: ClaimResult) -> float:
    return 1.0 if result.comparison is None else result.comparison.measure.span or 1.0


def overall(advice: Sequence[Advice]) -> str | None:
    """Return one word for all claims; None where there is none for any."""
    words = {one.word for one in advice}
    return next((word for word in _FIRST if word in words), None)


def advice_word(result: ClaimResult) -> str | None:
    """Return the advice on one claim in one word; see `Advice`."""
    found = result.comparison
    if found is None or result.supported:
        return SUPPORTED if result.supported else None
    bound = futile_below(result.claim, found, result.look)
    return _word(result, in_direction(result.claim, found), bound)[0]


def advice_on(result: ClaimResult, effect: float | None = None) -> Advice:
    """Return the advice on one claim; see `advise`."""
    found = result.comparison
    if found is None:
        return Advice(result, None)
    delta = in_direction(result.claim, found)
    p_value, needs = result.held
    if result.supported:
        return Advice(result, SUPPORTED, delta, p_value, needs)
    bound = futile_below(result.claim, found, result.look, effect)
    word, seeds = _word(result, delta, bound)
    if word != TRAIN_ON or seeds is None:
        return Advice(result, word, delta, p_value, needs, futile_below=bound)
    assumed = _assumed(result, found, effect)
    chances = _chances(result, found, delta, seeds, assumed)
    return Advice(
        result,
        word,
        delta,
        p_value,
        needs,
        next_seeds=seeds,
        more=_more(result, found, seeds),
        effect=assumed,
        chance_next=None if chances is None else chances.next_look,
        chance_end=None if chances is None else chances.by_end,
        futile_below=bound,
    )


def _word(
    result: ClaimResult, delta: float | None, bound: float | None
) -> tuple[str | None, int | None]:
    """Return the advice, and the seeds per arm of the next look; below ``bound`` it is to stop."""
    look, settling = result.look, result.settling
    if settling is None:
        return None, None
    planned = look is not None and look.kind == IN_PLAN and look.plan is not None
    if settling.kind == RUNS:
        return TRAIN_ON, settling.runs
    if result.slug == "beyond-plan":
        return (AT_MAXIMUM if _past_the_plan(result) else None), None
    if result.slug not in BY_INTERVAL:
        return None, None
    if result.slug == "wrong-way":  # the opposite is shown
        return FUTILE, None
    if planned and look is not None:
        if look.next is None:
            return AT_MAXIMUM, None
        if bound is not None and delta is not None and delta < bound:
            return FUTILE, None
        return TRAIN_ON, look.next
    if settling.kind == NOTHING:
        return FUTILE, None
    if look is not None and look.kind == AFTER_LOOK:
        return AT_MAXIMUM, None
    needed = settling.remedy.to_see or settling.remedy.if_seen if settling.remedy else None
    if settling.kind != SEEDS or needed is None or needed.tasks is not None:
        return None, None
    return (FUTILE, None) if needed.seeds is None else (TRAIN_ON, needed.seeds)


def _past_the_plan(result: ClaimResult) -> bool:
    """Whether both arms have more runs than planned; not so where the plan cannot be read."""
    found = result.comparison
    plan = None if found is None else found.study.plan
    if found is None or plan is None or not plan.covers(result.claim.id):
        return False
    top = found.study.results.method
    sides = (found.control, found.treatment)
    most = [plan.most(side.name, top=side.name == top) for side in sides]
    return all(
        number is not None and len(side.runs) > number
        for side, number in zip(sides, most, strict=True)
    )


def _assumed(result: ClaimResult, comparison: Comparison, effect: float | None) -> float:
    """Return the true difference that chances assume: none where none is claimed."""
    if result.claim.direction not in ("gain", "loss"):
        return 0.0
    return effect or target_of(result.claim, result.look) or comparison.settings.margin


def _chances(
    result: ClaimResult,
    comparison: Comparison,
    delta: float | None,
    seeds: int,
    effect: float,
) -> Chances | None:
    """Return the chances of the looks that are left, if the true difference is ``effect``.

    Where several claims are not supported yet, each is held to its share of the error rate: the
    first step of Holm's correction, which the others may make milder. None before the first look,
    and where the runs have no spread to plan with.
    """
    look, design, standing = result.look, comparison.design, comparison.standing
    if look is None or standing is None or delta is None or not isinstance(design, Design):
        return None
    span = comparison.measure.span or 1.0
    margin, beyond = comparison.settings.margin, result.beyond
    p_value = standing.two_sided_p_value(comparison.settings, result.towards * beyond)
    equivalent = result.claim.direction == "equivalent"
    shown, assumed = (delta - beyond) / span, (effect - beyond) / span
    components = design.components.with_seed_sd(design.spread.sd)
    terms: dict[str, Any] = {
        "effect": assumed,
        "components": components,
        "tasks": design.tasks,
        "samples": design.samples,
    }
    from audit.stats import level_of_each

    if look.plan is not None:
        if look.seeds is None:
            return None
        plan = replace(look.plan, level=level_of_each(look.plan.level, result.rivals))
        if equivalent:
            return plan.equivalence_chances(margin / span, shown, look.seeds, **terms)
        return plan.chances(shown, p_value, look.seeds, **terms)
    settling = result.settling
    if settling is None or settling.judgement != LATER_LOOK or settling.looked is None:
        return None
    from audit.stats import later_look_chances

    now = (len(comparison.control.runs), len(comparison.treatment.runs))
    return later_look_chances(
        shown,
        p_value,
        (now, (max(now[0], seeds), max(now[1], seeds))),
        looked=settling.looked,
        margin=margin / span if equivalent else None,
        level=level_of_each(look.level, result.rivals),
        **terms,
    )


def _more(result: ClaimResult, comparison: Comparison, seeds: int) -> tuple[MoreRuns, ...]:
    """Return the runs that each arm lacks for a look; an arm that lacks none is left out."""
    look = result.look
    plan = None if look is None else look.plan
    sides = (comparison.treatment, comparison.control)
    maxima = (plan.maxima[1], plan.maxima[0]) if plan is not None else (seeds, seeds)
    most = max(maxima) if plan is not None else seeds
    found = []
    taken = {seed for side in sides for seed in _seeds(side) if seed is not None}
    for side, maximum in zip(sides, maxima, strict=True):
        if side.name == BASE:
            continue
        lacking = max(ceil(seeds * maximum / most) - len(side.runs), 0)
        if lacking:
            labels = _labels(side, lacking, taken)
            found.append(MoreRuns(side.name, lacking, labels, *_cost(side, lacking)))
    return tuple(found)


def _seeds(side: Side) -> set[int | None]:
    return {run.seed for run in side.runs} | {run.seed for run in side.lost}


def _labels(side: Side, number: int, taken: set[int]) -> tuple[int, ...]:
    own = _seeds(side)
    if not taken or None in own:
        return ()
    partners = sorted(taken - own)
    after = range(max(taken) + 1, max(taken) + 1 + number)
    return tuple((*partners, *after)[:number])


def _cost(side: Side, runs: int) -> tuple[float | None, float | None]:
    """Return dollars and minutes of so many runs at the mean of those that recorded theirs."""
    found: list[float | None] = []
    for key in ("usd", "minutes"):
        known = [
            float(value)
            for run in side.runs
            if run.run is not None
            and isinstance(value := (run.run.document.get("cost") or {}).get(key), int | float)
        ]
        found.append(runs * sum(known) / len(known) if known else None)
    return found[0], found[1]
