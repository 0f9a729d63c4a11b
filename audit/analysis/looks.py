"""Which look at a study a claim is judged at, and the threshold that look has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from audit.analysis.measures import Side
from audit.analysis.settings import Settings
from audit.analysis.study import Study
from audit.analysis.verdict import Refusal
from audit.claims import BASE, Claim
from audit.facts.plans import DeclaredPlan

if TYPE_CHECKING:
    from audit.stats import SequentialPlan

ONE_LOOK, IN_PLAN, AFTER_LOOK = "one-look", "plan", "after-unplanned-look"


@dataclass(frozen=True, slots=True)
class ClaimLook:
    """How a claim was looked at.

    Attributes
    ----------
    kind : str
        ``one-look`` (no plan), ``plan``, or ``after-unplanned-look``.
    threshold : float or None
        The p-value must be below it; None before the first look of a plan.
    seeds, first, maximum, next : int or None
        Runs per arm of this look, of the first, at most, and of the next look.
    dated : bool or None
        Whether the plan was declared before the first evaluation; None where unknown.
    total_error : float or None
        Error rate of all looks together.
    rate : float
        What a p-value is multiplied by to be held against the level of the claim, where no plan
        does it.
    target_effect : float or None
    """

    kind: str
    threshold: float | None
    seeds: int | None = None
    first: int | None = None
    maximum: int | None = None
    next: int | None = None
    dated: bool | None = None
    total_error: float | None = None
    rate: float = 1.0
    target_effect: float | None = None
    plan: SequentialPlan | None = None
    final: bool = False

    @property
    def level(self) -> float:
        """Confidence level of the claim: one minus the error rate of all planned looks."""
        if self.plan is not None:
            return self.plan.level
        return 1 - (self.threshold or 0.0) * self.rate

    def adjusted(self, p_value: float, *, equivalence: bool = False) -> float:
        """Return the p-value that is held against the claim's level, whatever was looked at."""
        if self.plan is None or self.seeds is None:
            return min(p_value * self.rate, 1.0)
        if equivalence:
            return self.plan.equivalence_p_plan(p_value, self.seeds, final=self.final)
        return self.plan.p_plan(p_value, self.seeds, final=self.final)


def look_at(
    study: Study, claim: Claim, control: Side, treatment: Side, level: float
) -> ClaimLook | Refusal:
    """Return the look at which a claim is judged, or why it cannot be judged now.

    Parameters
    ----------
    study : Study
    claim : Claim
    control, treatment : Side
    level : float
        Confidence level of the claim.
    """
    plan = study.plan
    if (
        control.name != BASE
        and plan is not None
        and plan.covers(claim.id)
        and plan.dated is not False
    ):
        return _in_plan(study, plan, claim, control, treatment, level)
    looked = study.looked
    if not looked or control.name == BASE:
        return ClaimLook(ONE_LOOK, 1 - level)
    if len(looked) > 1:
        return Refusal(
            "unplanned-looks",
            f"judged before at {', '.join(map(str, looked))} runs per arm without a plan: one "
            "later look is judged, not more",
        )
    if study.policy.unplanned_looks == "refuse":
        return Refusal(
            "unplanned-looks",
            f"judged before at {looked[0]} runs per arm without a plan, which the policy refuses",
        )
    return _after(looked[0], control, treatment, level)


def _after(looked: int, control: Side, treatment: Side, level: float) -> ClaimLook | Refusal:
    from audit.stats import after_look

    seeds = max(len(control.runs), len(treatment.runs))
    if not 2 <= looked < seeds:
        return ClaimLook(ONE_LOOK, 1 - level)
    found = after_look(looked, len(control.runs), len(treatment.runs), level=level)
    return ClaimLook(
        AFTER_LOOK,
        found.threshold,
        seeds=seeds,
        first=looked,
        total_error=found.total_error,
        rate=(1 - level) / found.threshold,
    )


def _in_plan(
    study: Study,
    declared: DeclaredPlan,
    claim: Claim,
    control: Side,
    treatment: Side,
    level: float,
) -> ClaimLook | Refusal:
    from audit.stats import SequentialPlan

    top = study.results.method
    most = [declared.most(side.name, top=side.name == top) for side in (control, treatment)]
    if None in most:
        name = (control, treatment)[most.index(None)].name
        return Refusal("beyond-plan", f"the plan names no maximum for {name}")
    maximum = (most[0] or 0, most[1] or 0)
    try:
        plan = SequentialPlan(
            maximum=maximum if maximum[0] != maximum[1] else maximum[0],
            first=declared.first,
            looks=declared.looks,
            level=max(level, declared.level or 0.0),
            paired=declared.paired and claim.pairing == "seeds",
        )
    except ValueError as error:
        return Refusal("beyond-plan", f"the plan cannot be carried out: {error}")
    found = plan.look(
        len(control.runs), len(treatment.runs), launched=_launched(study, control, treatment)
    )
    look = ClaimLook(
        IN_PLAN,
        found.threshold,
        seeds=found.seeds,
        first=plan.planned[0],
        maximum=plan.most,
        next=found.next,
        dated=declared.dated,
        total_error=1 - plan.level,
        target_effect=declared.target_effect,
        plan=plan,
        final=found.final,
    )
    if found.state == "beyond-plan":
        runs = f"{len(treatment.runs)} v {len(control.runs)}"
        return Refusal("beyond-plan", f"{runs} runs, the plan ends at {plan.most} per arm")
    return look


def _launched(study: Study, control: Side, treatment: Side) -> tuple[int, int] | None:
    """Return the runs of both arms that were started and have ended; None where unknown."""
    launched = study.results.block("launched_seeds")
    counts = []
    for side in (control, treatment):
        seeds = launched.get(side.name)
        if seeds is None and side.name == study.results.method:
            seeds = launched.get("method")
        if not isinstance(seeds, list) or any(run.status == "running" for run in side.lost):
            return None
        counts.append(len(seeds))
    return counts[0], counts[1]


def settings_at(look: ClaimLook, settings: Settings) -> Settings:
    """Return the terms of a comparison judged at a look: its interval is that of the threshold."""
    if look.kind == ONE_LOOK or look.threshold is None:
        return settings
    narrow = None
    if look.plan is not None and look.seeds is not None:
        narrow = 1 - 2 * look.plan.equivalence_threshold(look.seeds, final=look.final)
    return replace(settings, level=1 - look.threshold, narrow_level=narrow)
