"""A difference split into what parsing the answers gives and what the parsed answers give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from audit.analysis.measures import Measure
from audit.analysis.numbers import Interval, Numbers, Reading
from audit.analysis.settings import Settings
from audit.analysis.tables import Aligned, Table
from audit.errors import InsufficientData
from audit.stats.pivot import Pivot

if TYPE_CHECKING:
    from audit.stats import FormatSplit


@dataclass(frozen=True, slots=True)
class Parsing:
    """delta = format + content, in the metric's units; see `audit.stats.format_split`.

    Attributes
    ----------
    format, content : Numbers
        What more parsed answers give, and what better parsed answers give.
    parsed : tuple of float
        Share of the answers that was parsed, of treatment and of control.
    given_parsed : tuple of float
        Score among parsed answers, of treatment and of control.
    """

    format: Numbers
    content: Numbers
    parsed: tuple[float, float]
    given_parsed: tuple[float, float]
    split: FormatSplit

    def intervals(self, settings: Settings) -> tuple[Interval, Interval]:
        """Return the intervals of format and of content, about what the claim is about."""
        ends = [part.interval(settings.target, settings.level) for part in self.parts]
        assert ends[0] is not None
        assert ends[1] is not None
        return ends[0], ends[1]

    @property
    def parts(self) -> tuple[Numbers, Numbers]:
        """Format, then content."""
        return self.format, self.content

    def qualifiers(self, word: str, settings: Settings) -> Iterator[str]:
        """Yield what is to be said beside a gain or a loss."""
        if word not in ("gain", "loss"):
            return
        by_format, by_content = (part.decision(settings).word == word for part in self.parts)
        if by_format:
            yield "format" if by_content else "format-only"

    @property
    def among_parsed(self) -> Numbers:
        """The difference of right answers over parsed ones: content over the mean parsed share."""
        share = Fraction(repr(self.split.mean_parsed))
        content = self.split.content
        fixed, raw = (
            Pivot(pivot.delta / share, pivot.variance / share**2, pivot.df)
            for pivot in (content.fixed_pivot, content.raw_pivot)
        )
        arms = (
            replace(arm, mean=mean)
            for arm, mean in zip(
                (content.treatment, content.control), self.given_parsed, strict=True
            )
        )
        scaled = replace(content, delta=float(fixed.delta), fixed_pivot=fixed, raw_pivot=raw)
        scaled = replace(scaled, treatment=next(arms), control=next(arms))
        return replace(self.content, result=scaled.at(content.fixed.level))

    def decides(self, word: str, settings: Settings) -> bool:
        """Whether a gain or loss is format alone, and half of it or more."""
        return "format-only" in self.qualifiers(word, settings) and self.split.mostly_format


def parsing(
    aligned: Aligned, measure: Measure, settings: Settings, *, paired: bool
) -> Parsing | None:
    """Return the split of a comparison; None where no unparsed answer is recorded, or wrongly so.

    Parameters
    ----------
    aligned : Aligned
        Outcomes without missing cells.
    measure : Measure
    settings : Settings
    paired : bool
    """
    control, treatment = aligned.control, aligned.treatment
    if not aligned.tasks or (control.unparsed is None and treatment.unparsed is None):
        return None
    if any(_right_and_unparsed(table) for table in (control, treatment)):
        return None  # the counts contradict each other, which is a finding of its own
    from audit.stats import format_split

    clusters = aligned.clusters or aligned.stems
    try:
        found = format_split(
            control.counts,
            treatment.counts,
            samples=(control.drawn, treatment.drawn),
            parsed=(_parsed(control), _parsed(treatment)),
            paired=paired,
            level=settings.level,
            clusters=clusters,
        )
    except InsufficientData:
        return None

    def numbers(part: str) -> Numbers:
        result = getattr(found, part)
        return Numbers(result, measure, result.tasks, min(_runs(aligned)), Reading())

    return Parsing(
        format=numbers("format"),
        content=numbers("content"),
        parsed=(found.parsed[1], found.parsed[0]),
        given_parsed=(found.given_parsed[1], found.given_parsed[0]),
        split=found,
    )


def _parsed(table: Table) -> list[list[int]]:
    if table.unparsed is None:
        return table.samples
    return [
        [k - lost for k, lost in zip(drawn, unparsed, strict=True)]
        for drawn, unparsed in zip(table.samples, table.unparsed, strict=True)
    ]


def _right_and_unparsed(table: Table) -> bool:
    """Whether a cell has more right answers than parsed ones."""
    return table.unparsed is not None and any(
        right > parsed
        for rows in zip(table.counts, _parsed(table), strict=True)
        for right, parsed in zip(*rows, strict=True)
    )


def _runs(aligned: Aligned) -> tuple[int, int]:
    return len(aligned.control.counts), len(aligned.treatment.counts)
