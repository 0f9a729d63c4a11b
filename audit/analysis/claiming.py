"""Whether each claim stands on its verdict, and if not why and what would settle it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from audit import numerals
from audit.analysis.comparisons import Comparison, compare
from audit.analysis.design import MORE_TASKS, Design
from audit.analysis.floors import NotMeasured
from audit.analysis.measures import Measure, find_measures
from audit.analysis.settings import settings_for
from audit.analysis.study import Study
from audit.analysis.verdict import LookTaken, Refusal, Verdict, Weakening
from audit.claims import BASE, Claim
from audit.reasons import find_reason

_STANDS = "stands"
# Refusals that more runs can settle, and how many the planner tells.
_BY_MORE_RUNS = (
    "interval-reaches-zero",
    "not-equivalent",
    "below-noise-floor",
    "within-margin",
    "not-after-holm",
)
# Two runs per arm are provisional: no policy lets a claim rest on them.
FEWEST_FOR_A_CLAIM = 3


@dataclass(frozen=True)
class ClaimResult:
    """A claim and what became of it.

    Attributes
    ----------
    claim : Claim
    stands : bool
    slug : str
        ``stands``, or why it does not.
    reason : str
        The same in one line.
    verdict : Verdict
        The word about the comparison the claim names.
    comparison : Comparison or None
        None where the file lacks the arm or the metric.
    p_value : float
        Of the claim alone; 1 where it is refused.
    holm_p_value : float
        Adjusted for all declared claims.
    min_seeds : int
        Training runs per arm the policy asks for.
    evidence : str or None
        Grade of the evidence that the runs are trainings, A to D; None below two runs per arm.
    weakened_by : tuple of Weakening
        What a reader must know beside a supported claim.
    next : tuple of str
        What to do next, one act or command each.
    look : LookTaken or None
        The look it was judged at, where there is a plan or an earlier look.
    """

    claim: Claim
    stands: bool
    slug: str
    reason: str
    verdict: Verdict
    comparison: Comparison | None
    p_value: float
    holm_p_value: float
    min_seeds: int
    evidence: str | None = None
    weakened_by: tuple[Weakening, ...] = ()
    next: tuple[str, ...] = ()
    look: LookTaken | None = None

    @property
    def supported(self) -> bool:
        """Whether the data support the claim; a claim is supported or refused."""
        return self.stands

    @cached_property
    def settles(self) -> str:
        """What would settle the claim, in one line; empty where it stands."""
        if self.stands:
            return ""
        if self.slug in ("one-seed", "too-few-seeds"):
            return f"train at least {self.min_seeds} seeds per arm"
        if self.slug not in _BY_MORE_RUNS:
            reason = find_reason(self.slug)
            return "" if reason is None else reason.settles
        if self.verdict.detail == "equivalent" and self.comparison is not None:
            margin = self.comparison.settings.margin
            return f"nothing: the arms differ by less than {margin:g}"
        return self._more_runs()

    def _more_runs(self) -> str:
        comparison = self.comparison
        if comparison is None or not isinstance(comparison.design, Design):
            return "more training seeds"
        effect = self.claim.target_effect or abs(comparison.delta or 0.0)
        return needed_text(comparison, effect) or "a larger effect than the one seen"


def needed_text(comparison: Comparison, effect: float) -> str | None:
    """Return the seeds per arm that show an effect at 80% power, and with ten times the tasks."""
    design = comparison.design
    if not isinstance(design, Design) or not effect:
        return None
    unit = effect / (comparison.measure.span or 1.0)
    here = design.seeds_for(unit)
    wider_tasks = design.tasks * MORE_TASKS
    wider = design.seeds_for(unit, wider_tasks)
    if here is None and wider is None:
        return None
    now = "more than 1000 seeds per arm" if here is None else f"{here} seeds per arm"
    if wider is None or (here is not None and wider >= here):
        return now
    return f"{now}, or {wider} seeds with {wider_tasks} tasks"


# Each claim costs some milliseconds; a file with more is refused, not waited for.
MOST_CLAIMS = 200
_TOO_MANY = Refusal("too-many-claims", f"only the first {MOST_CLAIMS} claims of a file are judged")


@dataclass(frozen=True, slots=True)
class _Draft:
    claim: Claim
    comparison: Comparison | None
    refusal: Refusal | None
    p_value: float

    @property
    def hypothesis(self) -> object:
        """What makes two claims the same one."""
        found = self.comparison
        if found is None:
            return replace(self.claim, id="", pointer=None)
        # A declared margin is part of a gain only where the claim is to lie beyond it.
        margin = self.claim.margin if self.claim.exceeds else None
        terms = replace(found.settings, target_effect=0.0, margin=_judged_margin(self.claim, found))
        return found.measure, found.arm, found.against, terms, margin


def _judged_margin(claim: Claim, comparison: Comparison) -> float:
    return comparison.settings.margin if claim.direction == "equivalent" else 0.0


def judge(study: Study, claims: Sequence[Claim]) -> tuple[ClaimResult, ...]:
    """Judge several claims together: Holm's correction runs over all of them.

    A claim that is refused stays in the family with p = 1.
    """
    min_seeds = max(study.policy.min_seeds, FEWEST_FOR_A_CLAIM)
    drafts = [_draft(study, claim, min_seeds) for claim in claims[:MOST_CLAIMS]]
    drafts += [_Draft(claim, None, _TOO_MANY, 1.0) for claim in claims[MOST_CLAIMS:]]
    if not drafts:
        return ()
    adjusted = _adjusted(drafts)
    return tuple(
        _result(draft, p_value, min_seeds) for draft, p_value in zip(drafts, adjusted, strict=True)
    )


def _adjusted(drafts: Sequence[_Draft]) -> list[float]:
    """Return each draft's p-value after Holm's correction; a claim made twice is one of them."""
    places: dict[object, int] = {}
    order = [places.setdefault(draft.hypothesis, len(places)) for draft in drafts]
    p_values = [0.0] * len(places)
    for place, draft in zip(order, drafts, strict=True):
        p_values[place] = draft.p_value
    if len(p_values) > 1:
        from audit.stats import holm

        p_values = list(holm(p_values).adjusted)
    return [p_values[place] for place in order]


def _result(draft: _Draft, holm_p_value: float, min_seeds: int) -> ClaimResult:
    refusal, comparison = draft.refusal, draft.comparison
    if refusal is None and comparison is not None:
        alpha = 1 - comparison.settings.level
        if not holm_p_value < alpha:
            refusal = Refusal(
                "not-after-holm",
                f"p = {holm_p_value:.4g} after Holm's correction over the claims, "
                f"not below {alpha:.3g}",
            )
    verdict = comparison.verdict if comparison is not None else _no_verdict(refusal)
    return ClaimResult(
        claim=draft.claim,
        stands=refusal is None,
        slug=_STANDS if refusal is None else refusal.reason,
        reason=verdict.text if refusal is None else refusal.line,
        verdict=verdict,
        comparison=comparison,
        p_value=draft.p_value,
        holm_p_value=holm_p_value,
        min_seeds=min_seeds,
    )


def _no_verdict(refusal: Refusal | None) -> Verdict:
    known = refusal or Refusal("not-measured", "nothing to compare")
    return Verdict("refused", known.reason, line=known.line)


def _draft(study: Study, claim: Claim, min_seeds: int) -> _Draft:
    found = _subject(study, claim)
    if isinstance(found, Refusal):
        return _Draft(claim, None, found, 1.0)
    measure, arm, against = found
    settings = settings_for(study.policy, claim)
    comparison = compare(study, measure, arm, against, settings)
    refusal = _refusal(claim, comparison, min_seeds)
    return _Draft(claim, comparison, refusal, 1.0 if refusal else _p_value(claim, comparison))


def _subject(study: Study, claim: Claim) -> tuple[Measure, str, str] | Refusal:
    results = study.results
    if not claim.direction:
        return Refusal("no-direction", "the claim states no direction")
    names = [_arm_name(study, claim.arm), claim.against]
    if claim.against != BASE:
        names[1] = _arm_name(study, claim.against)
    if BASE in names and results.arm(BASE) is not None:
        return Refusal(
            "reserved-name", "an arm is named base, which is the word for the untrained checkpoint"
        )
    if None in names:
        unknown = claim.arm if names[0] is None else claim.against
        known = ", ".join(arm.name for arm in results.arms)
        return Refusal("unknown-arm", f"no arm {unknown!r}; the file has {known}")
    if names[0] == names[1]:
        return Refusal("unknown-arm", f"{names[0]} is compared with itself")
    found = find_measures(results, claim.metric, claim.benchmark)
    where = f" on {claim.benchmark}" if claim.benchmark else ""
    if not found:
        return Refusal("not-measured", f"no run has {claim.metric}{where}")
    if len(found) > 1:
        seen = ", ".join(" ".join(filter(None, (m.benchmark, m.split))) or "unnamed" for m in found)
        return Refusal("ambiguous-benchmark", f"{claim.metric} was measured on several: {seen}")
    return found[0], str(names[0]), str(names[1])


def _arm_name(study: Study, name: str) -> str | None:
    arm = study.results.arm(name)
    return None if arm is None else arm.name


def _refusal(claim: Claim, comparison: Comparison, min_seeds: int) -> Refusal | None:
    """Return why the comparison does not carry the claim, before Holm's correction."""
    if comparison.refusal is not None:
        return comparison.refusal
    if comparison.kind == "scores" and comparison.settings.target == "tasks":
        return Refusal(
            "no-per-task-outcomes",
            "the claim is about new tasks, and the file has one score per run",
        )
    fewest = min(comparison.trained_runs)
    if fewest < min_seeds:
        return Refusal("too-few-seeds", f"{fewest} training runs per arm, {min_seeds} are needed")
    if claim.direction == "equivalent":
        return _not_equivalent(comparison)
    return _not_different(claim, comparison)


def _not_equivalent(comparison: Comparison) -> Refusal | None:
    margin, span = comparison.settings.margin, comparison.measure.span
    if span is not None and margin >= span:
        return Refusal("not-equivalent", f"a margin of {margin:g} spans the whole scale")
    if comparison.verdict.detail == "equivalent":
        return None
    narrow = comparison.settings.equivalence_level
    found = comparison.interval(comparison.settings.target, narrow)
    ends = "" if isinstance(found, NotMeasured) else numerals.interval(found.low, found.high, 3)
    return Refusal(
        "not-equivalent",
        f"the {numerals.percent(narrow)} interval {ends} is not wholly within {margin:g} of zero"
        if ends and comparison.verdict.word == "flat"
        else f"the verdict is {comparison.verdict.word}",
    )


def _not_different(claim: Claim, comparison: Comparison) -> Refusal | None:
    verdict, standing = comparison.verdict, comparison.standing
    assert standing is not None  # a comparison that is not refused has numbers
    about = standing.about(comparison.settings)
    low, high = standing.improvement(about, comparison.settings.level)
    ends = numerals.interval(low, high, 3)
    wrong_way = (low + high < 0) == (claim.direction == "gain") and low + high != 0
    if verdict.word not in ("flat", claim.direction):
        return Refusal("wrong-way", f"the difference points the other way, {ends}")
    if verdict.word == "flat":
        way = ", and the difference points the other way" if wrong_way else ""
        return Refusal("interval-reaches-zero", f"the interval {ends} includes zero{way}")
    if comparison.below_floor:
        return Refusal(
            "below-noise-floor",
            f"{numerals.signed(comparison.delta, 4)} is below the noise floor of the evaluation, "
            f"{numerals.fraction(comparison.floor_of_delta, 4)}",
        )
    nearest = low if claim.direction == "gain" else -high
    if claim.exceeds and claim.margin is not None and not nearest > claim.margin:
        return Refusal("within-margin", f"{ends} does not lie beyond {claim.margin:g}")
    return None


def _p_value(claim: Claim, comparison: Comparison) -> float:
    about = comparison.settings.target
    if claim.direction == "equivalent":
        margin = comparison.settings.margin
        return max(n.equivalence_p_value(about, margin) for n in comparison.numbers)
    beyond = claim.margin if claim.exceeds and claim.margin is not None else 0.0
    return max(n.p_value(about, claim.direction, beyond) for n in comparison.numbers)


def without_direction(comparison: Comparison) -> object:
    """Return what makes two comparisons the same for a reader: all but the claim's direction."""
    terms = replace(comparison.settings, direction=None)
    return comparison.measure, comparison.arm, comparison.against, terms
