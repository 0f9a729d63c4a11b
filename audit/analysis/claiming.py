"""Whether each claim stands on its verdict, and if not why and what would settle it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from audit import numerals
from audit.analysis.comparisons import Comparison, compare
from audit.analysis.conditions import refusals_by_conditions
from audit.analysis.looks import ONE_LOOK, ClaimLook, look_at, not_recorded, settings_at
from audit.analysis.measures import Measure, find_measures, measures
from audit.analysis.parsing import Parsing
from audit.analysis.refusals import ordered
from audit.analysis.remedy_text import next_acts
from audit.analysis.settings import settings_for
from audit.analysis.study import Study
from audit.analysis.verdict import Refusal, Verdict, Weakening
from audit.analysis.weakening import shared_seeds_line, weakenings
from audit.analysis.what_settles import RefusedClaim, Settling, settling, towards
from audit.claims import BASE, OVER_BENCHMARKS, Claim, fitted
from audit.display import Displayed
from audit.facts.look_alikes import look_alikes
from audit.results import Results

_SUPPORTED = "supported"


@dataclass(frozen=True, repr=False)
class ClaimResult(Displayed):
    """A claim and what became of it.

    Attributes
    ----------
    claim : Claim
        With its words fitted to the names of the file.
    refusals : tuple of Refusal
        Everything that refuses it, the first to be told in front; empty where it is supported.
    verdict : Verdict
        The word about the comparison the claim names.
    comparison : Comparison or None
        None where the file lacks the arm or the metric.
    p_value : float
        Of the claim alone; 1 where it is refused.
    holm_p_value : float
        Adjusted for all declared claims.
    family_p_value : float
        What enters Holm's correction: ``p_value`` with the correction for several looks.
    min_seeds : int
        Training runs per arm that the policy asks for.
    look : ClaimLook or None
        Which look at the study it was judged at; None where nothing was compared.
    rivals : int
        Claims of its family that are not supported, this one included: Holm's correction may
        still hold it to that part of the error rate.
    """

    claim: Claim
    refusals: tuple[Refusal, ...]
    verdict: Verdict
    comparison: Comparison | None
    p_value: float
    holm_p_value: float
    min_seeds: int
    family_p_value: float = 1.0
    look: ClaimLook | None = None
    rivals: int = 1

    @property
    def delta(self) -> float | None:
        """The difference of the arms' means, in the metric's units; None without a comparison."""
        return None if self.comparison is None else self.comparison.delta

    @property
    def evidence(self) -> str | None:
        """Grade of the evidence that the runs are trainings; None below two runs per arm."""
        found = None if self.comparison is None else self.comparison.evidence
        return None if found is None else found.grade

    @cached_property
    def weakened_by(self) -> tuple[Weakening, ...]:
        """What a reader must know beside a supported claim; empty where it is refused."""
        if self.refusals or self.comparison is None:
            return ()
        return tuple(weakenings(self.claim, self.comparison, self.look))

    @property
    def supported(self) -> bool:
        """Whether the data support the claim."""
        return not self.refusals

    @property
    def stands(self) -> bool:
        """The same, by its older name."""
        return self.supported

    @property
    def slug(self) -> str:
        """``supported``, or the first reason why it is refused."""
        return self.refusals[0].reason if self.refusals else _SUPPORTED

    @property
    def reason(self) -> str:
        """The same in one line; the verdict where it is supported."""
        return self.refusals[0].line if self.refusals else self.verdict.text

    @property
    def towards(self) -> int:
        """Sign of a difference, treatment minus control, in the claimed direction."""
        return 1 if self.comparison is None else towards(self.claim, self.comparison)

    @property
    def beyond(self) -> float:
        """Difference in the claimed direction that the claim's interval must lie beyond."""
        margin = 0.0 if self.comparison is None else self.comparison.settings.margin
        if self.claim.guardrail:
            return -margin
        return margin if self.claim.exceeds else 0.0

    @cached_property
    def held(self) -> tuple[float | None, float | None]:
        """P-value of the claim at its look, before Holm's correction, and what it must be below.

        Of a difference it is two-sided, of equivalence the larger of the two one-sided ones.
        """
        found, look = self.comparison, self.look
        if found is None or found.standing is None or found.decision is None:
            return None, None
        settings, standing = found.settings, found.standing
        threshold = None if look is None else look.threshold
        if self.claim.direction != "equivalent":
            return standing.two_sided_p_value(settings, self.towards * self.beyond), threshold
        p_value = standing.equivalence_p_value(standing.about(settings), settings.margin)
        if look is None or threshold is None:
            return p_value, None
        return p_value, look.equivalence_threshold or 1 - look.level

    @property
    def _refused(self) -> RefusedClaim:
        return RefusedClaim(
            self.claim, self.slug, self.comparison, self.look, self.min_seeds, self.rivals
        )

    @cached_property
    def settling(self) -> Settling | None:
        """What would settle the claim, in figures; None where it is supported."""
        return None if self.supported else settling(self._refused)

    def acts(self, file: str | None = None) -> tuple[str, ...]:
        """Return what to do next, commands with that name of the results file."""
        if self.settling is None:
            return ()
        return tuple(next_acts(self._refused, self.settling, file))

    @cached_property
    def next(self) -> tuple[str, ...]:
        """What to do next, one act or command each; empty where the claim is supported."""
        return self.acts()

    @property
    def settles(self) -> str:
        """The same on one line."""
        return "; ".join(self.next)


# Each claim costs some milliseconds; a file with more is refused, not waited for.
MOST_CLAIMS = 200
_TOO_MANY = Refusal("too-many-claims", f"only the first {MOST_CLAIMS} claims of a file are judged")


@dataclass(frozen=True, slots=True)
class _Draft:
    claim: Claim
    comparison: Comparison | None
    refusals: tuple[Refusal, ...]
    p_value: float
    look: ClaimLook | None = None
    alpha: float = 0.05

    @property
    def adjusted(self) -> float:
        """The p-value that enters Holm's correction: a look's own correction is in it."""
        if self.look is None or self.refusals:
            return self.p_value
        return self.look.adjusted(
            self.p_value, equivalence=self.claim.direction in ("equivalent", "no loss")
        )

    @property
    def hypothesis(self) -> object:
        """What makes two claims the same one."""
        found = self.comparison
        if found is None:
            return replace(self.claim, id="", pointer=None)
        # A declared margin is part of a gain only where the claim is to lie beyond it.
        margin = found.settings.margin if self.claim.exceeds else None
        terms = replace(found.settings, target_effect=0.0, margin=_judged_margin(self.claim, found))
        return found.measure, found.arm, found.against, terms, margin


def _judged_margin(claim: Claim, comparison: Comparison) -> float:
    return comparison.settings.margin if claim.direction in ("equivalent", "no loss") else 0.0


def judge(
    study: Study, claims: Sequence[Claim], siblings: Sequence[float] = ()
) -> tuple[ClaimResult, ...]:
    """Judge several claims together: Holm's correction runs over all of them.

    A claim that is refused stays in the family with p = 1. ``siblings`` are the p-values of the
    claims that other files of the study make.
    """
    min_seeds = study.min_seeds
    drafts = [_draft(study, claim, min_seeds) for claim in claims[:MOST_CLAIMS]]
    drafts += [_Draft(claim, None, (_TOO_MANY,), 1.0) for claim in claims[MOST_CLAIMS:]]
    if not drafts:
        return ()
    adjusted = _adjusted(drafts, siblings)
    found = [
        _result(draft, p_value, min_seeds) for draft, p_value in zip(drafts, adjusted, strict=True)
    ]
    rivals = _rivals(drafts, found, siblings)
    return tuple(
        result if result.supported or result.claim.guardrail else replace(result, rivals=rivals)
        for result in found
    )


def _rivals(
    drafts: Sequence[_Draft], found: Sequence[ClaimResult], siblings: Sequence[float]
) -> int:
    """Count the claims of the family that are not supported, one made twice once."""
    refused = {
        draft.hypothesis
        for draft, result in zip(drafts, found, strict=True)
        if not result.supported and not draft.claim.guardrail
    }
    alpha = min(draft.alpha for draft in drafts)
    return max(len(refused) + sum(p >= alpha for p in siblings), 1)


def _adjusted(drafts: Sequence[_Draft], siblings: Sequence[float]) -> list[float]:
    """Return each draft's p-value after Holm's correction; a claim made twice is one of them.

    Guardrails stand outside: what is shipped needs all of them, so each keeps its own error rate.
    """
    family = iter(_holm([d for d in drafts if not d.claim.guardrail], siblings))
    return [draft.adjusted if draft.claim.guardrail else next(family) for draft in drafts]


def _holm(drafts: Sequence[_Draft], siblings: Sequence[float]) -> list[float]:
    places: dict[object, int] = {}
    order = [places.setdefault(draft.hypothesis, len(places)) for draft in drafts]
    p_values = [0.0] * len(places) + list(siblings)
    for place, draft in zip(order, drafts, strict=True):
        p_values[place] = draft.adjusted
    if len(p_values) > 1:
        from audit.stats import holm

        p_values = list(holm(p_values).adjusted)
    return [p_values[place] for place in order]


def _result(draft: _Draft, holm_p_value: float, min_seeds: int) -> ClaimResult:
    refusals, comparison = draft.refusals, draft.comparison
    if not refusals and comparison is not None and not holm_p_value < draft.alpha:
        refusals = (_after_holm(draft.adjusted, holm_p_value, draft.alpha),)
    verdict = comparison.verdict if comparison is not None else _no_verdict(refusals)
    return ClaimResult(
        claim=draft.claim,
        refusals=refusals,
        verdict=verdict,
        comparison=comparison,
        p_value=draft.p_value,
        holm_p_value=holm_p_value,
        min_seeds=min_seeds,
        family_p_value=draft.adjusted,
        look=draft.look,
    )


def _after_holm(p_value: float, holm_p_value: float, alpha: float) -> Refusal:
    return Refusal(
        "not-after-holm",
        f"{numerals.p_equals(holm_p_value)} after Holm's correction over the claims, not below "
        f"{alpha:.3g} ({numerals.p_equals(p_value)} as the only claim)",
    )


def _no_verdict(refusals: Sequence[Refusal]) -> Verdict:
    known = refusals[0] if refusals else Refusal("not-measured", "nothing to compare")
    return Verdict("refused", known.reason, line=known.line)


def _draft(study: Study, claim: Claim, min_seeds: int) -> _Draft:
    claim = fitted(claim, study.results)
    found = _subject(study, claim)
    if isinstance(found, Refusal):
        return _Draft(claim, None, (found,), 1.0)
    measure, arm, against = found
    settings = settings_for(study.policy, claim, measure.span)
    measure = study.at_common_step(measure, arm, against)
    control, treatment, _ = study.sides(arm, against, measure, paired=settings.paired)
    look = look_at(study, claim, control, treatment, settings.level)
    early: list[Refusal] = []
    if isinstance(look, Refusal):
        early.append(look)
        look = ClaimLook(ONE_LOOK, None, settings.level)
    elif look.threshold is None:
        early.append(_before_first_look(look))
    unrecorded = not_recorded(study, claim, look)
    if unrecorded is not None:
        early.append(unrecorded)
    settings_here = settings_at(look, settings)
    if look.target_effect is not None and claim.target_effect is None:
        settings_here = replace(settings_here, target_effect=look.target_effect)
    comparison = compare(study, measure, arm, against, settings_here)
    refusals = ordered((*comparison.refusals, *early, *_refusals(claim, comparison, min_seeds)))
    p_value = 1.0 if refusals else _p_value(claim, comparison)
    return _Draft(claim, comparison, refusals, p_value, look, 1 - settings.level)


def _before_first_look(look: ClaimLook) -> Refusal:
    return Refusal(
        "before-first-look",
        f"the plan looks first at {look.first} runs per arm, and these are fewer",
    )


def _subject(study: Study, claim: Claim) -> tuple[Measure, str, str] | Refusal:
    results = study.results
    if claim.unknown_keys:
        return _unknown_keys(claim.unknown_keys)
    if not claim.direction:
        return Refusal("no-direction", "the claim states no direction")
    if BASE in (claim.arm, claim.against) and results.arm(BASE) is not None:
        return Refusal(
            "reserved-name", "an arm is named base, which is the word for the untrained checkpoint"
        )
    alike = look_alikes(results)
    if alike:
        return Refusal("look-alike-names", f"arms that look the same: {alike[0].text}")
    arm = _arm_name(results, claim.arm)
    against = claim.against if claim.against == BASE else _arm_name(results, claim.against)
    if arm is None or against is None:
        return _unknown_arm(results, claim.arm if arm is None else claim.against)
    if arm == against:
        return Refusal("unknown-arm", f"{arm} is compared with itself")
    found = find_measures(results, claim.metric, claim.benchmark)
    if not found:
        return _not_measured(results, claim)
    if claim.average is not None:
        measure = _average(results, claim, found)
        return measure if isinstance(measure, Refusal) else (measure, arm, against)
    if len(found) > 1:
        seen = ", ".join(" ".join(filter(None, (m.benchmark, m.split))) or "unnamed" for m in found)
        return Refusal("ambiguous-benchmark", f"{claim.metric} was measured on several: {seen}")
    return replace(found[0], checkpoints=claim.checkpoints), arm, against


def _unknown_keys(keys: Sequence[str]) -> Refusal:
    """Refuse a claim that says more than is read: it would be judged as another claim."""
    from audit.schema import keys_of

    known = sorted(keys_of("claim"))
    named = ", ".join(f"{key}{meant(key, known)}" for key in keys)
    return Refusal("unknown-claim-key", f"the claim has a key that is not known: {named}")


def _average(results: Results, claim: Claim, found: Sequence[Measure]) -> Measure | Refusal:
    """Return the measure of an average, over the benchmarks a claim names or over all."""
    if claim.against == BASE:
        return Refusal(
            "not-measured", "an average is judged between trained arms, not against base"
        )
    known = {measure.benchmark: measure for measure in found if measure.benchmark}
    parts = []
    for name in claim.benchmarks or known:
        if name not in known:
            names = [benchmark for benchmark in known if benchmark]
            return Refusal(
                "unknown-name",
                f"{claim.metric} was not measured on {name!r}{meant(str(name), names)}; "
                f"the file has {', '.join(names) or 'none by name'}",
            )
        parts.append(replace(known[name], checkpoints=claim.checkpoints))
    if len(parts) < 2:
        return Refusal("not-measured", "an average needs two benchmarks or more")
    from audit.analysis.averages import averaged_measure

    return averaged_measure(parts, claim.average or OVER_BENCHMARKS)


def _arm_name(results: Results, name: str) -> str | None:
    """Return the arm that a claim means: by its name, as the top arm, or as the only control."""
    arm = results.arm(name)
    if arm is not None:
        return arm.name
    controls = [arm for arm in results.controls if arm.is_control] or list(results.controls)
    return controls[0].name if name == "control" and len(controls) == 1 else None


def _unknown_arm(results: Results, name: str) -> Refusal:
    if name == "control" and len(results.controls) > 1:
        listed = ", ".join(arm.name for arm in results.controls)
        return Refusal("unknown-arm", f"control could be any of several arms: {listed}")
    known = [arm.name for arm in results.arms]
    return Refusal(
        "unknown-arm", f"no arm {name!r}{meant(name, known)}; the file has {', '.join(known)}"
    )


def _not_measured(results: Results, claim: Claim) -> Refusal:
    known = measures(results)
    metrics = list(dict.fromkeys(m.name for m in known))
    benchmarks = list(dict.fromkeys(m.benchmark for m in known if m.benchmark))
    named = find_measures(results, claim.metric, None)
    if named and claim.benchmark is not None:
        listed = ", ".join(benchmarks) or "none by name"
        return Refusal(
            "unknown-name",
            f"no benchmark {claim.benchmark!r}{meant(claim.benchmark, benchmarks)}; "
            f"the file has {listed}",
        )
    return Refusal(
        "unknown-name",
        f"no run has {claim.metric}{meant(claim.metric, metrics)}; "
        f"the file has {', '.join(metrics) or 'no metric'}",
    )


def meant(name: str, known: Iterable[str]) -> str:
    """Return the nearest known name as a question; empty where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name.casefold(), {k.casefold(): k for k in known}, 1)
    original = next((k for k in known if near and k.casefold() == near[0]), None)
    return f" (did you mean {original}?)" if original else ""


def _refusals(claim: Claim, comparison: Comparison, min_seeds: int) -> Iterator[Refusal]:
    """Yield why the comparison does not support the claim, before Holm's correction."""
    fewest = min(comparison.trained_runs)
    if fewest < min_seeds:
        yield Refusal("too-few-seeds", f"{fewest} training runs per arm, {min_seeds} are needed")
    yield from refusals_by_conditions(
        comparison.study.results, claim, comparison.control, comparison.treatment
    )
    if comparison.refusals or not comparison.numbers:
        return
    if comparison.kind == "scores" and comparison.settings.target == "tasks":
        yield Refusal(
            "no-per-task-outcomes",
            "the claim is about new tasks, and the file has one score per run",
        )
    if claim.direction == "equivalent":
        yield from _not_equivalent(comparison)
    elif claim.guardrail:
        yield from _loss_not_excluded(comparison)
    else:
        yield from _not_different(claim, comparison)


def _not_equivalent(comparison: Comparison) -> Iterator[Refusal]:
    settings, span = comparison.settings, comparison.measure.span
    margin = settings.margin
    decisions = [numbers.decision(settings) for numbers in comparison.numbers]
    if span is not None and margin >= span / 2:
        yield Refusal("no-room", f"a margin of {margin:g} is half of the scale or more")
    elif not all(numbers.has_room(margin) for numbers in comparison.numbers):
        yield Refusal(
            "no-room",
            f"a difference of {margin:g} would leave the scale of {comparison.metric}: "
            "nothing could have been lost or gained",
        )
    elif not all(one.equivalent for one in decisions):
        few = next((one for one in decisions if one.too_few_tasks), None)
        why = f"; {3 / margin:.0f} tasks are needed" if few and span == 1 else ""
        ends = _widest(comparison, settings.equivalence_level)
        yield Refusal(
            "not-equivalent",
            f"the {100 * settings.equivalence_level:.4g}% interval {ends} is not inside "
            f"{margin:g}{why}",
        )


def _widest(comparison: Comparison, level: float) -> str:
    standing = comparison.standing
    assert standing is not None  # a comparison that is not refused has numbers
    return _bracketed(*standing.improvement(standing.about(comparison.settings), level))


def _bracketed(low: float, high: float) -> str:
    return numerals.interval(low, high, 3)


def _loss_not_excluded(comparison: Comparison) -> Iterator[Refusal]:
    settings = comparison.settings
    about = comparison.numbers[0].about(settings)
    lowest = min(n.improvement(about, settings.level)[0] for n in comparison.numbers)
    if not lowest > -settings.margin:
        yield Refusal(
            "loss-not-excluded",
            f"a loss of {settings.margin:g} lies inside {_widest(comparison, settings.level)}",
        )


def _not_different(claim: Claim, comparison: Comparison) -> Iterator[Refusal]:
    verdict, standing = comparison.verdict, comparison.standing
    assert standing is not None  # a comparison that is not refused has numbers
    settings = comparison.settings
    low, high = standing.improvement(standing.about(settings), settings.level)
    ends = _bracketed(low, high)
    wrong_way = (low + high < 0) == (claim.direction == "gain") and low + high != 0
    if verdict.word not in ("flat", claim.direction):
        yield Refusal(
            "wrong-way",
            f"the difference points the other way, {ends}",
        )
        return
    if verdict.word == "flat":
        if _errors_decide(claim, comparison):
            yield Refusal("errors-decide", _readings_line(comparison))
        way = ", and the difference points the other way" if wrong_way else ""
        yield Refusal("interval-reaches-zero", f"the interval {ends} includes zero{way}")
        return
    if comparison.parsing is not None and comparison.parsing.decides(verdict.word, settings):
        yield from _format_only(comparison, comparison.parsing)
    over_base = comparison.kind == "base" and claim.direction == "gain"
    if over_base and comparison.study.policy.base != "allow":
        yield Refusal(
            "base-only", "a gain over the untrained model alone; compare with a trained control"
        )
    if comparison.below_floor:
        yield Refusal(
            "below-noise-floor",
            f"{numerals.signed(comparison.delta, 4)} is below the noise floor of the evaluation, "
            f"{numerals.fraction(comparison.floor_of_delta, 4)}",
        )
    yield from _pairs_disagree(comparison)
    nearest = low if claim.direction == "gain" else -high
    if claim.exceeds and not nearest > settings.margin:
        yield Refusal("within-margin", f"{ends} does not lie beyond {settings.margin:g}")


def _pairs_disagree(comparison: Comparison) -> Iterator[Refusal]:
    """Refuse what the runs that share a seed do not show, where the policy asks for it."""
    shared = comparison.shared_seeds
    if comparison.study.policy.pairs != "agree" or shared is None or shared.agrees is not False:
        return
    yield Refusal("pairs-disagree", shared_seeds_line(comparison, shared))


def _errors_decide(claim: Claim, comparison: Comparison) -> bool:
    """Whether counting errored answers one way alone would carry the claim."""
    alone = [
        n
        for n in comparison.numbers
        if n.reading.errors in ("wrong", "dropped") and n.reading.grouping == "tasks"
    ]
    others = [n for n in comparison.numbers if n.reading.errors != "wrong"]
    return bool(others) and any(
        n.decision(comparison.settings).word == claim.direction for n in alone
    )


def _readings_line(comparison: Comparison) -> str:
    """Return the interval under each way of counting errored answers."""
    settings = comparison.settings
    shown = [
        f"{n.reading.errors} {numerals.signed(n.delta)} "
        f"{_bracketed(*n.improvement(n.about(settings), settings.level))}"
        for n in comparison.numbers
        if n.reading.grouping == "tasks"
    ]
    return f"how errored answers are counted decides: {'; '.join(shown)}"


def _format_only(comparison: Comparison, found: Parsing) -> Iterator[Refusal]:
    if comparison.study.policy.format_only == "allow":
        return
    mine, theirs = (numerals.fraction(share, 3) for share in found.parsed)
    yield Refusal(
        "format-only",
        f"{numerals.signed(found.format.delta)} of the difference comes from parsing ({mine} of "
        f"the answers parsed against {theirs}), {numerals.signed(found.content.delta)} from the "
        "answers",
    )


def _p_value(claim: Claim, comparison: Comparison) -> float:
    """Return the largest p-value of the claim over all readings of the answers."""
    settings = comparison.settings
    about, margin = settings.target, settings.margin
    if claim.direction == "equivalent":
        return max(n.equivalence_p_value(about, margin) for n in comparison.numbers)
    if claim.guardrail:
        return max(n.non_inferiority_p_value(about, margin) for n in comparison.numbers)
    beyond = margin if claim.exceeds else 0.0
    return max(n.p_value(about, claim.direction, beyond) for n in comparison.numbers)


def without_direction(comparison: Comparison) -> object:
    """Return what makes two comparisons the same for a reader: all but the claim's direction."""
    terms = replace(comparison.settings, direction=None)
    return comparison.measure, comparison.arm, comparison.against, terms
