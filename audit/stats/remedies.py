"""What would settle a refused claim: seeds, tasks, or nothing. Numbers and slugs, no words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from audit.stats.planning import (
    FEWEST_SEEDS,
    equivalence_seeds_needed,
    equivalence_tasks_at_least,
    seeds_needed,
    tasks_at_least,
)
from audit.stats.quantiles import check_level
from audit.stats.records import Components
from audit.stats.sequential import SequentialPlan
from audit.stats.unplanned import after_look

CLAIMS = ("gain", "loss", "equivalent", "no loss")
_MOST_SEEDS = 1000


@dataclass(frozen=True, slots=True)
class NextJudgement:
    """At which level the claim will be judged next, by the seeds per arm it then has.

    Attributes
    ----------
    kind : str
        ``"new-study"``, ``"plan"`` or ``"after-look"``.
    level : callable of int
        Level of the interval that decides about a gain or loss.
    equivalence_level : callable of int
        One minus the error rate of each one-sided test of equivalence.
    least, most : int
        Seeds per arm that may be judged.
    """

    kind: str
    level: Callable[[int], float]
    equivalence_level: Callable[[int], float]
    least: int
    most: int


def in_new_study(
    *, level: float = 0.95, min_seeds: int = FEWEST_SEEDS, claims: int = 1
) -> NextJudgement:
    """Return the judgement of a new study looked at once.

    Parameters
    ----------
    level : float
    min_seeds : int
        Fewest seeds per arm that a claim may rest on.
    claims : int
        Claims among which Holm's correction may still hold this one to 1 / claims of the error
        rate: those not yet supported, this one included.
    """
    held = level_of_each(level, claims)
    least = max(min_seeds, FEWEST_SEEDS)
    return NextJudgement("new-study", lambda _: held, lambda _: held, least, _MOST_SEEDS)


def in_plan(plan: SequentialPlan, seeds: int, *, claims: int = 1) -> NextJudgement | None:
    """Return the judgement of the looks of a plan after the one at ``seeds``; None at its end.

    ``claims`` is that of `in_new_study`.
    """
    strict = replace(plan, level=level_of_each(plan.level, claims))
    left = [s for s in plan.planned if s > seeds]
    if not left:
        return None
    return NextJudgement(
        "plan",
        lambda s: 1 - strict.threshold(s),
        lambda s: 1 - strict.equivalence_threshold(s),
        left[0],
        plan.most,
    )


def after_this_look(looked: int, *, level: float = 0.95, claims: int = 1) -> NextJudgement:
    """Return the judgement of the same study with seeds added, without a plan.

    Parameters
    ----------
    looked : int
        Seeds per arm of the look that was refused.
    level, claims
        As for `in_new_study`.
    """
    held = level_of_each(level, claims)
    return NextJudgement(
        "after-look",
        lambda s: 1 - after_look(looked, s, s, level=held).threshold,
        lambda s: 1 - after_look(looked, s, s, level=held).equivalence_threshold,
        max(looked + 1, FEWEST_SEEDS),
        _MOST_SEEDS,
    )


def level_of_each(level: float, claims: int) -> float:
    """Return the level at which each of so many claims is judged in Holm's first step.

    Raises
    ------
    ValueError
        When there is no claim, or the level is none.
    """
    if claims < 1:
        raise ValueError(f"claims must be at least 1, got {claims}")
    return 1 - (1 - check_level(level)) / claims


@dataclass(frozen=True, slots=True)
class Needed:
    """What it takes to see one effect; see `remedy`.

    Attributes
    ----------
    effect : float
        Size of what must be seen, on [0, 1]; for equivalence the true difference assumed.
    seeds, seeds_upper : int or None
        Seeds per arm with the seed sd at its estimate and at its upper limit; None where the most
        that may be judged do not do, or ``tasks`` must come first.
    tasks : int or None
        Tasks without which no number of seeds does; None where those at hand do.
    """

    effect: float
    seeds: int | None
    seeds_upper: int | None
    tasks: int | None


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would settle a refused claim; see `remedy`.

    Attributes
    ----------
    claim : str
        One of ``CLAIMS``.
    nothing : str or None
        Why no number of seeds or tasks settles it: ``"wrong-way"``, ``"within-margin"`` (the
        difference seen is not beyond the margin that it should exceed), ``"equivalent"`` (the
        arms differ by less than the margin), ``"not-equivalent"`` (the difference seen is not
        inside the margin) or ``"loss-not-excluded"`` (the loss seen is the margin or more).
    target_only : bool
        Beside ``"within-margin"``: the target effect lies beyond the margin, the one seen not.
    to_see : Needed or None
        For the effect that matters.
    if_seen : Needed or None
        If the true difference is the one seen; None where that is 0 or below the noise floor.
    """

    claim: str
    nothing: str | None
    target_only: bool
    to_see: Needed | None
    if_seen: Needed | None


def remedy(
    claim: str,
    delta: float,
    *,
    margin: float,
    judgement: NextJudgement,
    components: Components,
    seed_sds: tuple[float, float],
    tasks: int,
    samples: int,
    beyond: float = 0.0,
    target_effect: float | None = None,
    noise_floor: float = 0.0,
    shown_equivalent: bool = False,
    target_power: float = 0.8,
) -> Remedy:
    """Return what would settle a refused claim.

    Parameters
    ----------
    claim : {"gain", "loss", "equivalent", "no loss"}
    delta : float
        Difference seen, treatment minus control, higher is better; on [0, 1].
    margin : float
        Of a claim of equivalence or of no loss its own, else the smallest difference of interest;
        on [0, 1].
    judgement : NextJudgement
        How the claim will be judged next.
    components : Components
        Variances; for a claim about these tasks alone with a ``task_effect_sd`` of 0.
    seed_sds : tuple of two
        Standard deviation between training runs: estimate and upper limit, on [0, 1].
    tasks, samples : int
        Tasks, and answers drawn for each by each run.
    beyond : float
        Margin that a gain or loss is claimed to exceed.
    target_effect : float, optional
        Effect the study was planned to see.
    noise_floor : float
        Difference that evaluating one model twice gives: no smaller one is planned for.
    shown_equivalent : bool
        The arms were shown to differ by less than the margin.
    target_power : float

    Returns
    -------
    Remedy

    Notes
    -----
    A gain or loss of size d beyond m is planned for as an effect of d - m; no loss beyond m as an
    effect of d + m; equivalence within m by the power of its own test at a true difference of 0
    and of d. The effect that matters is the target effect, else the margin.
    """
    if claim not in CLAIMS:
        raise ValueError(f"claim must be one of {', '.join(CLAIMS)}, got {claim!r}")
    plan = _Planner(judgement, components, seed_sds, tasks, samples, target_power)
    heard = abs(delta) >= noise_floor
    if claim == "equivalent":
        return _equivalence(delta, margin, plan)
    if claim == "no loss":
        return _no_loss(delta, margin, plan)
    seen = -delta if claim == "loss" else delta
    nothing = None
    if shown_equivalent:
        nothing = "equivalent"
    elif seen < 0:
        nothing = "wrong-way"
    elif beyond > 0 and seen <= beyond:
        nothing = "within-margin"
    if nothing is not None:
        beyond_it = target_effect is not None and target_effect > beyond
        return Remedy(claim, nothing, nothing == "within-margin" and beyond_it, None, None)
    matters = target_effect if target_effect is not None or beyond else margin
    if matters is not None:
        matters = matters - beyond if matters > beyond else None
    return Remedy(
        claim=claim,
        nothing=None,
        target_only=False,
        to_see=None if matters is None else plan.gain(matters),
        if_seen=plan.gain(seen - beyond) if seen > beyond and heard else None,
    )


def _equivalence(delta: float, margin: float, plan: _Planner) -> Remedy:
    if abs(delta) >= margin:
        return Remedy("equivalent", "not-equivalent", False, None, None)
    return Remedy(
        "equivalent", None, False, plan.equivalence(margin, 0.0), plan.equivalence(margin, delta)
    )


def _no_loss(delta: float, margin: float, plan: _Planner) -> Remedy:
    if delta <= -margin:
        return Remedy("no loss", "loss-not-excluded", False, None, None)
    return Remedy("no loss", None, False, plan.gain(margin), plan.gain(margin + delta))


@dataclass(frozen=True, slots=True)
class _Planner:
    judgement: NextJudgement
    components: Components
    seed_sds: tuple[float, float]
    tasks: int
    samples: int
    target_power: float

    def gain(self, effect: float) -> Needed:
        """Return what an interval that excludes 0 takes."""
        judged = self.judgement
        fewest = tasks_at_least(
            effect,
            task_effect_sd=self.components.task_effect_sd,
            target_power=self.target_power,
            level=judged.level(judged.most),
        )

        def needed(sd: float) -> int | None:
            return seeds_needed(
                effect,
                components=self.components.with_seed_sd(sd),
                tasks=self.tasks,
                samples=self.samples,
                target_power=self.target_power,
                level=judged.level,
                least=judged.least,
                limit=judged.most,
            )

        return self._needed(effect, fewest, needed)

    def equivalence(self, margin: float, effect: float) -> Needed:
        """Return what two one-sided tests of the margin take."""
        judged = self.judgement
        fewest = equivalence_tasks_at_least(
            margin,
            effect=effect,
            task_effect_sd=self.components.task_effect_sd,
            target_power=self.target_power,
            level=judged.equivalence_level(judged.most),
        )

        def needed(sd: float) -> int | None:
            return equivalence_seeds_needed(
                margin,
                effect=effect,
                components=self.components.with_seed_sd(sd),
                tasks=self.tasks,
                samples=self.samples,
                target_power=self.target_power,
                level=judged.equivalence_level,
                least=judged.least,
                limit=judged.most,
            )

        return self._needed(effect, fewest, needed)

    def _needed(
        self, effect: float, fewest: int | None, needed: Callable[[float], int | None]
    ) -> Needed:
        if fewest is not None and self.tasks < fewest:
            return Needed(effect, None, None, fewest)
        low, high = self.seed_sds
        return Needed(effect, needed(low), needed(high), None)
