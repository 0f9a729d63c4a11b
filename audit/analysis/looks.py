"""Which look at a study a claim is judged at, and the threshold that look has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from audit.analysis.measures import Side
from audit.analysis.settings import Settings
from audit.analysis.study import Study
from audit.analysis.verdict import Refusal
from audit.claims import BASE, Claim, claims_of
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
    threshold, equivalence_threshold : float or None
        The p-value, and for equivalence both one-sided ones, must be below it; None where the
        claim cannot be judged at this look, for equivalence also where its own level holds.
    seeds, first, maximum, next : int or None
        Runs per arm of this look, of the first, at most, and of the next look.
    dated : bool or None
        Whether the plan was declared before the first evaluation; None where unknown, or where
        there is none.
    total_error : float or None
        Error rate of all looks together.
    level : float
        Confidence level of the claim: one minus the error rate of all looks that were planned.
    target_effect : float or None
    """

    kind: str
    threshold: float | None
    level: float
    equivalence_threshold: float | None = None
    seeds: int | None = None
    first: int | None = None
    maximum: int | None = None
    next: int | None = None
    dated: bool | None = None
    total_error: float | None = None
    target_effect: float | None = None
    plan: SequentialPlan | None = None
    final: bool = False

    def adjusted(self, p_value: float, *, equivalence: bool = False) -> float:
        """Return the p-value that is held against the claim's level, whatever was looked at."""
        if self.plan is None or self.seeds is None:
            needed = self.equivalence_threshold if equivalence else self.threshold
            return p_value if needed is None else min(p_value * (1 - self.level) / needed, 1.0)
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
    covered = plan is not None and plan.covers(claim.id)
    if plan is not None and not covered and (strays := _strays(plan, study)):
        return Refusal(
            "beyond-plan", f"the plan is for claims that the file does not make: {strays}"
        )
    if plan is not None and covered and _is_a_plan(plan, study):
        if control.name == BASE:
            return _against_base(study, plan, treatment, level)
        return _in_plan(study, plan, claim, control, treatment, level)
    late = False if plan is not None and covered else None
    one_look = ClaimLook(ONE_LOOK, 1 - level, level, dated=late)
    if control.name == BASE:
        return one_look
    seeds = max(len(control.runs), len(treatment.runs))
    # Fewer runs than a claim may rest on show no result, so that was no look.
    looked = [n for n in study.looked if n >= study.min_seeds]
    if any(n > seeds for n in looked):
        return Refusal(
            "unplanned-looks",
            f"judged before at {max(looked)} runs per arm, and at most {seeds} are here",
        )
    before = [n for n in looked if n < seeds]
    if not before:
        return one_look
    if len(before) > 1:
        return Refusal(
            "unplanned-looks",
            f"judged before at {', '.join(map(str, before))} runs per arm without a plan: one "
            "later look is judged, not more",
        )
    if study.policy.unplanned_looks == "refuse":
        return Refusal(
            "unplanned-looks",
            f"judged before at {before[0]} runs per arm without a plan, which the policy refuses",
        )
    return _after(before[0], control, treatment, level, late)


def not_recorded(study: Study, claim: Claim, look: ClaimLook) -> Refusal | None:
    """Return the refusal of a claim whose earlier looks stand in another version of the file.

    The line to add is in it. It changes no verdict: what is recorded decides that.
    """
    spent = [one for one in study.spent if one.claim == claim.id]
    if not spent:
        return None
    seeds = sorted({one.seeds for one in spent})
    listed = sorted({*study.looked, *seeds})
    outside = " without this plan" if look.kind == IN_PLAN else ""
    instead = "in place of the plan" if look.kind == IN_PLAN else "to the file"
    where = ", ".join(dict.fromkeys(one.version for one in spent))
    options = " ".join(f"--looked {n}" for n in seeds)
    return Refusal(
        "looks-not-recorded",
        f"judged{outside} at {_listed(seeds)} runs per arm and refused ({where}), which the file "
        f'does not say: add "looked": {listed} {instead}, or {options}',
    )


def _listed(seeds: list[int]) -> str:
    return " and ".join(map(str, seeds))


def _is_a_plan(plan: DeclaredPlan, study: Study) -> bool:
    """Whether a plan was there before the first result, as far as that can be checked.

    One declared after the first evaluation is none; nor is one without a date that can be
    checked where the study was judged without a plan before.
    """
    return plan.dated is True or (plan.dated is None and not study.looked)


def _strays(plan: DeclaredPlan, study: Study) -> str:
    """Return what a plan covers that is no claim of the file: a claim may be meant by it."""
    known = {claim.id for claim in claims_of(study.results)}
    listed = plan.claims or ()
    return ", ".join(name for name in listed if name not in known) if listed else "none"


def _against_base(
    study: Study, plan: DeclaredPlan, treatment: Side, level: float
) -> ClaimLook | Refusal:
    """Judge against the base once, at the end: several looks would not keep the error rate."""
    if not plan.maximum:
        return _unreadable()
    most = plan.most(treatment.name, top=treatment.name == study.results.method)
    if most is not None and len(treatment.runs) < most:
        return Refusal(
            "before-first-look",
            f"against the base a plan is judged once, at its maximum of {most} runs",
        )
    return ClaimLook(ONE_LOOK, 1 - level, level)


def _unreadable() -> Refusal:
    return Refusal(
        "beyond-plan",
        "a plan is declared and cannot be read: it lacks maximum, has a key that is not known, or "
        "breaks the contract",
    )


def _after(
    looked: int, control: Side, treatment: Side, level: float, late: bool | None
) -> ClaimLook:
    from audit.stats import after_look

    found = after_look(looked, len(control.runs), len(treatment.runs), level=level)
    return ClaimLook(
        AFTER_LOOK,
        found.threshold,
        level,
        equivalence_threshold=found.equivalence_threshold,
        seeds=found.seeds,
        first=looked,
        dated=late,
        total_error=found.total_error,
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

    if not declared.maximum:
        return _unreadable()
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
            paired=claim.pairing == "seeds",
        )
    except ValueError as error:
        return Refusal("beyond-plan", f"the plan cannot be carried out: {error}")
    found = plan.look(
        len(control.runs), len(treatment.runs), launched=_launched(study, control, treatment)
    )
    look = ClaimLook(
        IN_PLAN,
        found.threshold,
        plan.level,
        equivalence_threshold=found.equivalence_threshold,
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
    narrow = look.equivalence_threshold
    return replace(
        settings,
        level=1 - look.threshold,
        narrow_level=None if narrow is None else 1 - 2 * narrow,
    )
