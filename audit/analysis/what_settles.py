"""What would settle a refused claim, in figures: more runs, more tasks, another act, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.analysis.design import SPREAD_LIMIT, Design
from audit.analysis.looks import AFTER_LOOK, IN_PLAN, ONE_LOOK, ClaimLook

if TYPE_CHECKING:
    from audit.analysis.comparisons import Comparison
    from audit.claims import Claim
    from audit.stats import Remedy, SequentialPlan
    from audit.stats.remedies import NextJudgement

ACT, RUNS, SEEDS, NOTHING = "act", "runs", "seeds", "nothing"
NEW_STUDY, PLAN, LATER_LOOK = "new-study", "plan", "after-look"
# Refusals that were decided by an interval: the result was looked at.
BY_INTERVAL = frozenset(
    {
        "interval-reaches-zero",
        "not-equivalent",
        "loss-not-excluded",
        "below-noise-floor",
        "within-margin",
        "not-after-holm",
        "wrong-way",
    }
)


@dataclass(frozen=True, slots=True)
class RefusedClaim:
    """A refused claim as far as a remedy depends on it; see `ClaimResult` for its fields."""

    claim: Claim
    slug: str
    comparison: Comparison | None
    look: ClaimLook | None
    min_seeds: int
    rivals: int


@dataclass(frozen=True, slots=True)
class Settling:
    """What would settle a refused claim.

    Attributes
    ----------
    kind : str
        ``act`` (what the table of reasons says of ``reason``), ``runs`` (train up to ``runs`` per
        arm, before anything is judged), ``seeds`` (see ``remedy``; tasks first where it names
        them) or ``nothing`` (no number of seeds or tasks).
    reason : str
        Why: a slug of the table of reasons.
    judgement : str or None
        How the claim will be judged next: ``new-study``, ``plan`` or ``after-look``.
    remedy : Remedy or None
        Seeds and tasks, on a scale of [0, 1]; see `audit.stats.remedy`.
    runs, missing : int or None
        Runs per arm to train up to, and how many of them the smaller arm lacks.
    looked : int or None
        Beside ``after-look``: runs per arm of the look that was refused.
    threshold : float or None
        What a p-value must be below then: at the estimate of the seeds needed, or at the first
        look of a plan. Both one-sided ones of equivalence must.
    futile_below : float or None
        Where a plan advises to stop: the bound that the difference in the claimed direction lies
        below, in the metric's units.
    """

    kind: str
    reason: str
    judgement: str | None = None
    remedy: Remedy | None = None
    runs: int | None = None
    missing: int | None = None
    looked: int | None = None
    threshold: float | None = None
    futile_below: float | None = None


def settling(result: RefusedClaim) -> Settling:
    """Return what would settle a claim."""
    found, slug = result.comparison, result.slug
    if found is None:
        return Settling(ACT, slug)
    fewest = min(found.trained_runs)
    # Records beyond those are copies or evaluations of one run: what settles that is in the table.
    if slug in ("one-seed", "too-few-seeds") and fewest < result.min_seeds:
        return Settling(
            RUNS, slug, NEW_STUDY, runs=result.min_seeds, missing=result.min_seeds - fewest
        )
    if slug == "before-first-look" and result.look is not None and result.look.first is not None:
        first, plan = result.look.first, result.look.plan
        threshold = None if plan is None else _needs(plan, first, result.claim)
        return Settling(
            RUNS, slug, PLAN, runs=first, missing=max(first - fewest, 0), threshold=threshold
        )
    if slug not in BY_INTERVAL:
        return Settling(ACT, slug)
    if not isinstance(found.design, Design):
        return Settling(NOTHING if slug == "wrong-way" else ACT, slug)
    return _by_seeds(result, found, found.design)


def _needs(plan: SequentialPlan, seeds: int, claim: Claim) -> float:
    """Return what the p-value of a claim must be below at a look of a plan."""
    if claim.direction == "equivalent":
        return plan.equivalence_threshold(seeds)
    return plan.threshold(seeds)


def next_threshold(claim: Claim, look: ClaimLook | None) -> float | None:
    """Return what the p-value must be below at the next look of a plan; None where none is left."""
    if look is None or look.plan is None or look.next is None:
        return None
    return _needs(look.plan, look.next, claim)


def _by_seeds(result: RefusedClaim, comparison: Comparison, design: Design) -> Settling:
    claim = result.claim
    if claim.direction == "equivalent" and not design.tasks_known:
        return Settling(ACT, "rounded-scores")
    judgement, looked = next_judgement(result, comparison)
    margin = comparison.settings.margin
    remedy = figures(
        comparison,
        design,
        judgement,
        claim.direction,
        margin=margin,
        beyond=margin if claim.exceeds else 0.0,
        target_effect=target_of(claim, result.look),
    )
    if remedy.nothing is not None:
        return Settling(NOTHING, remedy.nothing, judgement.kind, remedy)
    needed = remedy.to_see or remedy.if_seen
    threshold = None
    if needed is not None and needed.seeds is not None:
        equivalent = claim.direction == "equivalent"
        at = judgement.equivalence_level if equivalent else judgement.level
        threshold = 1 - at(needed.seeds)
    delta, bound = in_direction(claim, comparison), futile_below(claim, comparison, result.look)
    return Settling(
        SEEDS,
        result.slug,
        judgement.kind,
        remedy,
        looked=looked,
        threshold=threshold,
        futile_below=bound if bound is not None and delta is not None and delta < bound else None,
    )


def towards(claim: Claim, comparison: Comparison) -> int:
    """Return the sign of a difference, treatment minus control, in the claimed direction."""
    return 1 if (claim.direction != "loss") == comparison.measure.higher_is_better else -1


def in_direction(claim: Claim, comparison: Comparison) -> float | None:
    """Return the difference seen in the claimed direction, in the metric's units."""
    delta = comparison.delta
    return None if delta is None else towards(claim, comparison) * delta


def futile_below(
    claim: Claim, comparison: Comparison, look: ClaimLook | None, effect: float | None = None
) -> float | None:
    """Return the difference in the claimed direction below which a plan advises to stop.

    None without a plan and target, and where no difference is claimed. ``effect`` is what
    matters, in place of the target, in the metric's units.
    """
    target = effect or target_of(claim, look)
    if look is None or look.plan is None or look.seeds is None or target is None or look.final:
        return None
    beyond = comparison.settings.margin if claim.exceeds else 0.0
    if claim.direction not in ("gain", "loss") or target <= beyond:
        return None
    bound = look.plan.futility_bound(look.seeds, target - beyond)
    return None if bound is None else bound + beyond


def target_of(claim: Claim, look: ClaimLook | None) -> float | None:
    """Return the effect that a claim or its plan was to see, in the metric's units."""
    return claim.target_effect or (look.target_effect if look else None)


def figures(
    comparison: Comparison,
    design: Design,
    judgement: NextJudgement,
    direction: str,
    *,
    margin: float,
    beyond: float = 0.0,
    target_effect: float | None = None,
) -> Remedy:
    """Return seeds and tasks for one comparison: the figures behind every "to see".

    Parameters
    ----------
    comparison : Comparison
    design : Design
        Of that comparison.
    judgement : NextJudgement
    direction : str
        What is claimed.
    margin, beyond, target_effect : float
        In the metric's units; see `audit.stats.remedy`.
    """
    from audit.stats import remedy

    span = comparison.measure.span or 1.0
    towards = 1 if comparison.measure.higher_is_better else -1
    return remedy(
        direction,
        towards * (comparison.delta or 0.0) / span,
        margin=margin / span,
        judgement=judgement,
        components=design.components,
        seed_sds=(design.spread.sd, design.spread.upper(SPREAD_LIMIT)),
        tasks=design.tasks,
        samples=design.samples,
        beyond=beyond / span,
        target_effect=None if target_effect is None else target_effect / span,
        noise_floor=(comparison.floor_of_delta or 0.0) / span,
        shown_equivalent=comparison.verdict.detail == "equivalent",
    )


def figures_unclaimed(comparison: Comparison) -> Remedy | None:
    """Return what a new study would need to see the effect that matters, where nobody claims one.

    None where the runs have no spread to plan with.
    """
    from audit.stats import in_new_study

    design = comparison.design
    if not isinstance(design, Design):
        return None
    towards = 1 if comparison.measure.higher_is_better else -1
    policy = comparison.study.policy
    return figures(
        comparison,
        design,
        in_new_study(level=policy.level, min_seeds=policy.min_seeds),
        "gain" if towards * (comparison.delta or 0.0) >= 0 else "loss",
        margin=comparison.settings.target_effect,
    )


def next_judgement(
    result: RefusedClaim, comparison: Comparison
) -> tuple[NextJudgement, int | None]:
    """Return how a refused claim will be judged next, and the look that was spent on it.

    In a plan by the looks that are left. Without one the look that refused it is spent, and more
    seeds are judged as one later look. After that, and where a plan has ended, only a new study
    is judged.
    """
    from audit.stats import after_this_look, in_new_study, in_plan

    own = comparison.settings.level
    look = result.look or ClaimLook(ONE_LOOK, 1 - own, own)
    level, rivals = look.level, result.rivals
    fewest = min(comparison.trained_runs)
    fresh = in_new_study(level=level, min_seeds=result.min_seeds, claims=rivals)
    if look.kind == IN_PLAN and look.plan is not None:
        left = None if look.final else in_plan(look.plan, look.seeds or 0, claims=rivals)
        return left or fresh, None
    if look.kind == AFTER_LOOK or fewest < max(result.min_seeds, 2):
        return fresh, None
    return after_this_look(fewest, level=level, claims=rivals), fewest
