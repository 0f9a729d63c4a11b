"""Each arm's scores as other tools take them, with what may be said beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from audit import __version__
from audit.analysis.comparisons import Comparison, mean_score_of
from audit.analysis.measures import Measure, MeasuredRun, Side, measures, summary_benchmarks
from audit.claims import BASE, Claim
from audit.errors import ImportRefused, UsageError, did_you_mean
from audit.exports.attestation import verdicts_of
from audit.numerals import counted
from audit.report import Report
from audit.results import Arm
from audit.views.claim_view import ClaimView


@dataclass(frozen=True, slots=True)
class ArmScore:
    """One arm on one measure.

    Attributes
    ----------
    arm : str
    measure : Measure
    metric : str
        Its name without that of the benchmark.
    benchmark : str or None
        Its name, with the split where the file has several; None where it has none.
    side : Side
        The finished runs with their scores.
    views : tuple of ClaimView
        The claims that the arm takes part in on this measure, or its comparisons where the file
        claims nothing.
    """

    arm: str
    measure: Measure
    metric: str
    benchmark: str | None
    side: Side
    views: tuple[ClaimView, ...]

    @property
    def runs(self) -> tuple[MeasuredRun, ...]:
        """The runs that have a score."""
        return tuple(run for run in self.side.runs if run.score is not None)

    @property
    def mean(self) -> float:
        """Mean score of the runs, in the metric's units."""
        mean = mean_score_of(self.side)
        assert mean is not None  # `arm_scores` yields none without
        return float(mean)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the mean is of, then every verdict with its figures, then what judged."""
        runs = counted(len(self.runs), "training run")
        verdicts = map(remark, self.views)
        return (f"mean of {runs}", *verdicts, f"judged by audit {__version__}")


def remark(view: ClaimView) -> str:
    """Return a verdict with its figures and all that weakens it, on one line.

    A claim that is refused begins with that word, so that its figures are never read as a gain.
    """
    head = view.result if not view.refused else f"{view.result} ({view.label or view.slug})"
    verdict = "" if view.claimed else view.verdict
    figures = ", ".join(part for part in (view.figures, view.runs) if part)
    weak = ", ".join(weakening.slug for weakening in view.weakened_by)
    parts = (figures, verdict, f"weakened by {weak}" if weak else "")
    return f"{head}: {view.sentence}: {'; '.join(part for part in parts if part)}"


def arm_scores(report: Report) -> Iterator[ArmScore]:
    """Yield every arm's score on every measure that it has one on, arms in the file's order.

    Parameters
    ----------
    report : Report
        One with an analysis.
    """
    results, analysis = report.case.results, report.analysis
    assert analysis is not None
    known = measures(results)
    about = list(_about(report))
    for arm in results.arms:
        for measure in known:
            side = analysis.study.side(arm.name, measure)
            if mean_score_of(side) is None:
                continue
            benchmark = measure.benchmark
            printed = summary_benchmarks(results, measure.metric)
            if benchmark is None and len(printed) == 1:
                (benchmark,) = printed
            metric = measure.name.removeprefix(f"{benchmark}/")
            rivals = [m for m in known if (m.name, m.benchmark) == (measure.name, benchmark)]
            if len(rivals) > 1 and measure.split:
                benchmark = f"{benchmark or 'unknown'} ({measure.split})"
            views = tuple(view for view, one in about if one.concerns(arm, measure))
            yield ArmScore(arm.name, measure, metric, benchmark, side, views)


@dataclass(frozen=True, slots=True)
class _About:
    """What a verdict is about: a comparison, or a claim that was refused before one was made."""

    comparison: Comparison | None
    claim: Claim | None = None

    def concerns(self, arm: Arm, measure: Measure) -> bool:
        """Whether it is about an arm on a measure."""
        if self.comparison is not None:
            found = self.comparison.measure
            same = any(_same(part, measure) for part in (found, *found.parts))
            return same and arm.name in (self.comparison.arm, self.comparison.against)
        assert self.claim is not None  # one of both is there
        named = self.claim.benchmark in (None, measure.benchmark)
        # Which arms it means is not known: it stands beside all of its metric.
        return named and self.claim.metric in (measure.metric, measure.name)


def _same(one: Measure, other: Measure) -> bool:
    def key(measure: Measure) -> tuple[object, ...]:
        m = measure
        return m.metric, m.benchmark, m.split, m.averaged_weights

    return key(one) == key(other)


def _about(report: Report) -> Iterator[tuple[ClaimView, _About]]:
    """Yield the verdicts of a report with what each is about."""
    analysis = report.analysis
    assert analysis is not None
    views = verdicts_of(report)
    if analysis.claims:
        for view, result in zip(views, analysis.claims, strict=True):
            yield view, _About(result.comparison, result.claim)
        return
    trained = [c for c in analysis.comparisons if c.against != BASE]
    for view, comparison in zip(views, trained or analysis.comparisons, strict=True):
        yield view, _About(comparison)


def one_arm(report: Report, name: str | None, *, even_refused: bool) -> list[ArmScore]:
    """Return the scores of one arm, where its mean may be published.

    Parameters
    ----------
    report : Report
        One with an analysis.
    name : str or None
        The arm; the top one where none is named.
    even_refused : bool
        Allow an arm that a refused claim is about.

    Raises
    ------
    UsageError
        When there is no such arm.
    ImportRefused
        When the arm has no score, when a run that was launched has none, so that the mean of the
        others is no figure of the recipe, or when a claim about it is refused.
    """
    results = report.case.results
    arm = results.arm(name or "method")
    if arm is None:
        names = [one.name for one in results.arms]
        hint = did_you_mean(str(name), names)
        raise UsageError(f"no arm {name!r}{hint}; the file has {', '.join(names)}")
    scores = [score for score in arm_scores(report) if score.arm == arm.name]
    for score in scores:
        launched = len(arm.runs) + len(score.side.unlisted)
        if len(score.runs) < launched:
            raise ImportRefused(
                f"{launched - len(score.runs)} of {launched} runs of {arm.name} did not finish or "
                f"have no {score.metric}: the mean of the others is no figure of the recipe",
                path=results.name,
            )
    if not scores:
        raise ImportRefused(f"no finished run of {arm.name} has a score", path=results.name)
    refused = next((v for score in scores for v in score.views if v.refused), None)
    if refused is not None and not even_refused:
        raise ImportRefused(
            f"{remark(refused)}; --even-refused writes the scores with that beside them",
            path=results.name,
        )
    return scores
