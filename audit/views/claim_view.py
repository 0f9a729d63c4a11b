"""One claim, or one comparison nobody claims anything about, as one block of plain text.

It holds strings only, so that it can cross to another process and every surface prints the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from audit import numerals
from audit.analysis import Analysis
from audit.analysis.advice import advice_word
from audit.analysis.claiming import ClaimResult
from audit.analysis.comparisons import Comparison
from audit.analysis.looks import ONE_LOOK, ClaimLook
from audit.analysis.verdict import Weakening
from audit.analysis.what_settles import next_threshold
from audit.claims import BASE, Claim
from audit.finding import Finding, Severity
from audit.reasons import REASONS
from audit.views.comparison_view import ComparisonView, interval_text, verdict_words
from audit.views.finding_view import Group, grouped

SUPPORTED, REFUSED, UNCLAIMED = "supported", "refused", "not claimed"
# Beside these the verdict's own second word says more than the slug: "inconclusive".
_BY_INTERVAL = frozenset({"interval-reaches-zero", "not-equivalent"})


@dataclass(frozen=True, slots=True)
class Improvement:
    """A difference as a share of its metric's scale, above 0 better, with its interval.

    ``about`` says of what the interval is; ``these-runs`` leaves the training variance out.
    """

    value: float
    low: float | None
    high: float | None
    about: str


@dataclass(frozen=True, slots=True)
class ClaimView:
    """What every surface says of one claim or unclaimed comparison.

    Attributes
    ----------
    result : str
        ``supported``, ``refused``, or ``not claimed``.
    sentence : str
        ``gain in accuracy of dapo over grpo on math500``; for a comparison what was compared.
    typed, direction : str
        The claim as one types it, and what it says; for a comparison the sentence and nothing.
    label : str
        Why it is refused, in one word that ``audit explain`` knows; empty where supported.
    slug : str
        ``stands``, or the reason's slug.
    estimate, size, runs : str
        ``+0.061 [0.030, 0.092]``; ``0.412 to 0.473; 5 v 5 runs (B), 500 tasks x 4``;
        ``5 v 5 (B)``.
    figures, detail : str
        ``accuracy +0.061, 95% interval [0.030, 0.092]``; the verdict's second word.
    judged_by : str
        Level, target, degrees of freedom and p; empty without a verdict.
    verdict, word : str
        The verdict in words, and the one word of it: gain, loss, flat or refused.
    reason : str
        Why it is refused or has no verdict, in one line with names and numbers.
    aside : str
        What little training noise would undo a difference of single runs; mostly empty.
    evidence : str
        Grade of the evidence that the runs are trainings; empty below two runs per arm.
    weakened_by : tuple of Weakening
        What a reader must know beside it.
    look : str
        At which look of a plan it was judged; empty without one.
    next : tuple of str
        What to do next, one act or command each.
    advice : str
        ``train-on``, ``supported``, ``futile`` or ``at-maximum``; empty where more runs are not
        what is missing, and for a comparison.
    improvement : Improvement or None
        The difference on a scale all studies share; None where the metric has no bounds.
    id : str
        Name of the claim; empty for a comparison.
    p_value : float or None
        After Holm's correction over all claims of the file; None for a comparison.
    """

    result: str
    sentence: str
    typed: str
    label: str
    slug: str
    estimate: str
    size: str
    runs: str
    judged_by: str
    verdict: str
    word: str
    reason: str
    aside: str = ""
    evidence: str = ""
    weakened_by: tuple[Weakening, ...] = ()
    look: str = ""
    next: tuple[str, ...] = ()
    advice: str = ""
    improvement: Improvement | None = None
    id: str = ""
    p_value: float | None = None
    figures: str = ""
    detail: str = ""
    direction: str = ""

    @property
    def claimed(self) -> bool:
        """Whether somebody claims it."""
        return self.result != UNCLAIMED

    @property
    def refused(self) -> bool:
        """Whether it is a claim that the data do not support."""
        return self.result == REFUSED

    @property
    def supported(self) -> bool:
        """Whether it is a claim that the data support."""
        return self.result == SUPPORTED

    @property
    def shown_word(self) -> str:
        """The verdict in one word; a refused claim is ``refused`` whatever its verdict."""
        return REFUSED if self.refused else self.word

    @property
    def text(self) -> str:
        """Another name of ``sentence``."""
        return self.sentence

    @property
    def stands(self) -> bool:
        """Another name of ``supported``."""
        return self.supported

    @property
    def settles(self) -> str:
        """What to do next, on one line; empty where there is nothing to do."""
        return "; ".join(self.next)

    @property
    def why(self) -> str:
        """Why it is refused or has no verdict, with what goes beside it, on one line."""
        return "; ".join(part for part in (self.reason, self.aside) if part)

    @property
    def line(self) -> str:
        """The figures with what is said of them, on one line of a table.

        Beside a refusal its slug, beside support what weakens it, beside neither the verdict.
        """
        return "   ".join(part for part in (self.estimate, self.remark) if part)

    @property
    def remark(self) -> str:
        """What a table says beside the figures."""
        if self.refused:
            return self.label
        if not self.claimed:
            return self.verdict
        weak = ", ".join(weakening.slug for weakening in self.weakened_by)
        return f"weakened: {weak}" if weak else self.verdict


def claim_view(result: ClaimResult) -> ClaimView:
    """Return what every surface says of a claim."""
    found = result.comparison
    view = None if found is None else ComparisonView(found)
    named = _named(result.claim, found)
    return ClaimView(
        result=SUPPORTED if result.supported else REFUSED,
        sentence=named.text,
        typed=named.typed_text,
        label="" if result.supported else _label(result),
        slug=result.slug,
        estimate=view.estimate if view else "",
        size=view.size if view else "",
        runs=view.graded_runs if view else "-",
        judged_by=_judged_by(view, result.look) if view else "",
        verdict=view.verdict if view else verdict_words(result.verdict),
        word=result.verdict.word,
        reason="" if result.supported else result.reason,
        aside=view.tipping if view else "",
        evidence=view.grade if view else "",
        weakened_by=result.weakened_by,
        look=_look(result, view),
        next=result.next,
        advice=advice_word(result) or "",
        improvement=_improvement(view) if view else None,
        id=result.claim.id,
        p_value=result.holm_p_value,
        figures=_figures(view) if view else "",
        detail=result.verdict.detail or "",
        direction=result.claim.direction,
    )


def unclaimed_view(comparison: Comparison) -> ClaimView:
    """Return what every surface says of a comparison that nobody claims anything about."""
    view = ComparisonView(comparison)
    refused = comparison.verdict.refused
    return ClaimView(
        result=UNCLAIMED,
        sentence=view.title,
        typed=view.title,
        label=(comparison.verdict.detail or "") if refused else "",
        slug=(comparison.verdict.detail or "") if refused else "",
        estimate=view.estimate,
        size=view.size,
        runs=view.graded_runs,
        judged_by=view.judged_by,
        verdict=view.verdict,
        word=comparison.verdict.word,
        reason=view.reason,
        aside=view.tipping,
        evidence=view.grade,
        improvement=_improvement(view),
        figures=_figures(view),
        detail=comparison.verdict.detail or "",
    )


def views_of(analysis: Analysis, found: Iterable[Finding] = ()) -> Iterator[ClaimView]:
    """Yield the claims of a file; where it claims nothing, its comparisons.

    The warnings among what was ``found`` stand beside each supported claim whose arms they touch.
    """
    groups = [
        group
        for group in grouped(found)
        if group.severity is Severity.WARNING and group.first.waiver is None
    ]
    for result in analysis.claims:
        view = claim_view(result)
        weak = () if result.comparison is None or view.refused else _touching(result, groups)
        told = {weakening.slug for weakening in view.weakened_by}
        more = tuple(one for one in weak if one.slug not in told)
        yield replace(view, weakened_by=view.weakened_by + more)
    if not analysis.claims:
        trained = [c for c in analysis.comparisons if c.against != BASE]
        yield from map(unclaimed_view, trained or analysis.comparisons)


def _touching(result: ClaimResult, groups: Iterable[Group]) -> Iterator[Weakening]:
    """Yield the warnings about the arms of a claim, or about the whole file."""
    comparison = result.comparison
    assert comparison is not None  # a claim that is supported compares something
    named = {comparison.arm, comparison.against}
    elsewhere = ["/claims", *([] if BASE in named else ["/base_evaluations"])]
    for arm in comparison.study.results.arms:
        if arm.name not in named:
            elsewhere += [arm.pointer] if arm.pointer else ["/seed_results", "/method"]
    for group in groups:
        touching = [f for f in group.findings if not _below(f.pointer, elsewhere)]
        if touching:
            yield Weakening(group.first.slug, touching[0].message)


def _below(pointer: str, places: Iterable[str]) -> bool:
    return any(pointer == place or pointer.startswith(f"{place}/") for place in places)


def _named(claim: Claim, comparison: Comparison | None) -> Claim:
    """Return a claim with the names of what was compared in place of method, control and none."""
    if comparison is None:
        return claim
    benchmark = claim.benchmark or comparison.benchmark
    if claim.margin is None and claim.direction in ("equivalent", "no loss"):
        claim = replace(claim, margin=comparison.settings.margin)  # the policy's
    return replace(claim, arm=comparison.arm, against=comparison.against, benchmark=benchmark)


def _figures(view: ComparisonView) -> str:
    return f"{view.comparison.metric} {view.figures}" if view.figures else ""


def _improvement(view: ComparisonView) -> Improvement | None:
    comparison, shown = view.comparison, view.shown
    span = comparison.measure.span
    if comparison.delta is None or span is None:
        return None
    unit = span if comparison.measure.higher_is_better else -span
    if shown is None:
        return Improvement(comparison.delta / unit, None, None, "")
    low, high = sorted((shown.low / unit, shown.high / unit))
    return Improvement(comparison.delta / unit, low, high, shown.about)


def _label(result: ClaimResult) -> str:
    detail = result.verdict.detail
    if result.slug in _BY_INTERVAL and detail in REASONS:
        return detail or result.slug
    return result.slug


def _judged_by(view: ComparisonView, look: ClaimLook | None) -> str:
    text = view.judged_by
    one_look = look is not None and look.kind == ONE_LOOK and look.threshold is not None
    return f"{text}; one look" if text and one_look else text


def _look(result: ClaimResult, view: ComparisonView | None) -> str:
    """Say at which look a claim was judged: ``look 6 of 4..12: p = 0.073, needs 0.0077``."""
    look = result.look
    if look is None or look.kind == ONE_LOOK or view is None:
        return ""
    planned = f" of {look.first}..{look.maximum}" if look.maximum is not None else ""
    if look.threshold is None:
        return f"before the first look{planned}"
    text = f"look {look.seeds}{planned}: "
    p_value, needs = result.held
    if p_value is not None:
        text += f"{numerals.p_equals(p_value)}, "
    text += f"needs {numerals.p_value(look.threshold if needs is None else needs)}"
    plain = interval_text(view.comparison.interval(view.comparison.settings.target, 0.95))
    text += f"; 95% interval {plain}" if plain else ""
    following = None if result.supported else next_threshold(result.claim, look)
    if following is not None:
        text += f"; look {look.next} needs {numerals.p_value(following)}"
    return text
