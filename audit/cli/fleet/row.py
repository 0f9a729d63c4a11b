"""One line of the table of studies, in plain values that can cross to another process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from audit.analysis import Analysis, Interval
from audit.analysis.claiming import ClaimResult
from audit.analysis.comparisons import Comparison
from audit.claims import BASE
from audit.cli.figures import bracketed, signed
from audit.safetext import shortened

HEADING = ("study", "claim", "delta", "seeds", "verdict")
_NAME_LENGTH = 40
_WORDS = ("refused", "loss", "flat", "gain")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference as a share of its metric's scale, above 0 better, with its interval.

    ``about`` says of what the interval is; ``these-runs`` leaves the training variance out.
    """

    delta: float
    low: float | None
    high: float | None
    about: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim and what became of it."""

    text: str
    stands: bool
    reason: str
    settles: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; ``badness`` sorts it, ``word`` is the verdict without its detail."""

    badness: int
    study: str
    path: str
    claim: str = "none"
    delta: str = "-"
    seeds: str = "-"
    verdict: str = "-"
    word: str = ""
    judgement: Judgement | None = None
    estimate: Estimate | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns, made safe to print."""
        shown = (self.study, self.claim, self.delta, self.seeds, self.verdict)
        return tuple(shortened(cell, 120) for cell in shown)


def _worst_first(row: Row) -> tuple[int, str, str]:
    return -row.badness, row.study, row.path


def _by_verdict(row: Row) -> tuple[int, float, str, str]:
    place = _WORDS.index(row.word) if row.word in _WORDS else -1
    return place, _size(row), row.study, row.path


def _by_delta(row: Row) -> tuple[bool, float, str, str]:
    return row.estimate is None, -_size(row), row.study, row.path


def _by_study(row: Row) -> tuple[str, str]:
    return row.study, row.path


def _size(row: Row) -> float:
    return row.estimate.delta if row.estimate is not None else 0.0


ORDERS = {
    "worst": _worst_first,
    "verdict": _by_verdict,
    "delta": _by_delta,
    "study": _by_study,
}


def in_order(rows: Iterable[Row], order: str) -> list[Row]:
    """Return the rows sorted; rows that compare equal stay in the order of their files.

    ``worst`` puts first what fails; ``verdict`` goes from what could not be judged over refused,
    loss and flat to gain; ``delta`` from the largest improvement down; ``study`` by name.
    """
    return sorted(rows, key=ORDERS[order])


def study_name(path: str) -> str:
    """Return what people call a study: the folder of a ``results.json``, else the file's name."""
    parts = PurePath(path.replace("\\", "/"))
    named_by_folder = parts.name == "results.json" and parts.parent.name
    return str(parts.parent.name if named_by_folder else parts.stem or path)


def unjudged_row(path: str, exit_status: int, reason: str) -> Row:
    """Return the line of a file without statistics, which says why it has none."""
    return Row(exit_status * 10 + 5, _short_name(path), path, claim="-", verdict=reason)


def judged_rows(path: str, exit_status: int, analysis: Analysis) -> Iterator[Row]:
    """Yield a line for each claim, or for each comparison of a file that claims nothing."""
    study, bad = _short_name(path), exit_status * 10
    for claim in analysis.claims:
        yield _claim_row(bad, study, path, claim)
    if analysis.claims:
        return
    shown = [c for c in analysis.comparisons if c.against != BASE] or analysis.comparisons
    if not shown:
        yield Row(bad, study, path, verdict="nothing to compare")
    for comparison in shown:
        verdict = comparison.verdict
        yield Row(
            bad,
            study,
            path,
            delta=delta_text(comparison),
            seeds=seeds_text(comparison),
            verdict=verdict.words,
            word=verdict.word,
            estimate=estimate_of(comparison),
        )


def _short_name(path: str) -> str:
    return shortened(study_name(path), _NAME_LENGTH)


def _claim_row(bad: int, study: str, path: str, result: ClaimResult) -> Row:
    comparison = result.comparison
    return Row(
        bad + (0 if result.stands else 5),
        study,
        path,
        claim=_claim_text(result),
        delta="-" if comparison is None else delta_text(comparison),
        seeds="-" if comparison is None else seeds_text(comparison),
        verdict=_verdict_text(result),
        word=result.verdict.word if result.stands else "refused",
        judgement=Judgement(result.claim.text, result.stands, result.reason, result.settles),
        estimate=None if comparison is None else estimate_of(comparison),
    )


def _claim_text(result: ClaimResult) -> str:
    claim, comparison = result.claim, result.comparison
    joint = "to" if claim.direction == "equivalent" else "over"
    own = comparison is not None and comparison.arm == comparison.study.results.method
    arm = "" if own else f"of {claim.arm} "
    return f"{claim.direction} in {claim.metric} {arm}{joint} {claim.against}"


def _verdict_text(result: ClaimResult) -> str:
    verdict = result.verdict
    if result.stands or verdict.refused:
        return verdict.words
    return f"refused: {result.slug}; {verdict.words}"


def delta_text(comparison: Comparison) -> str:
    """Return delta and interval; for one seed the interval over tasks or as printed."""
    if comparison.delta is None:
        return "-"
    shown = comparison.deciding
    interval = bracketed(shown) or bracketed(comparison.description.one_seed)
    return f"{signed(comparison.delta)} {interval}".strip()


def seeds_text(comparison: Comparison) -> str:
    """Return the training runs of both sides, ``3 v 3``."""
    mine, theirs = comparison.seeds
    return f"{mine} v base" if comparison.against == BASE else f"{mine} v {theirs}"


def estimate_of(comparison: Comparison) -> Estimate | None:
    """Return the difference on a scale all studies share; None where the metric has no bounds."""
    span = comparison.measure.span
    if comparison.delta is None or span is None:
        return None
    unit = span if comparison.measure.higher_is_better else -span
    shown = comparison.deciding
    interval = shown if isinstance(shown, Interval) else comparison.description.one_seed
    if interval is None:
        return Estimate(comparison.delta / unit, None, None, "")
    low, high = sorted((interval.low / unit, interval.high / unit))
    return Estimate(comparison.delta / unit, low, high, interval.about)
