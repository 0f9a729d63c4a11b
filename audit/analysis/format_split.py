"""A difference split into what parsing the answers gives and what the parsed answers give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from audit.analysis.measures import Measure
from audit.analysis.numbers import Interval
from audit.analysis.settings import Settings
from audit.analysis.tables import Aligned


@dataclass(frozen=True, slots=True)
class FormatSplit:
    """delta = format + content, in the metric's units; see `audit.stats.format_content`.

    Attributes
    ----------
    format, content : float
        What more parsed answers give, and what better parsed answers give.
    format_interval, content_interval : Interval
        At the declared level, about the declared target.
    parsed : tuple of float
        Share of the answers that was parsed, of treatment and of control.
    given_parsed : tuple of float
        Score among parsed answers, of treatment and of control.
    higher_is_better : bool
    """

    format: float
    content: float
    format_interval: Interval
    content_interval: Interval
    parsed: tuple[float, float]
    given_parsed: tuple[float, float]
    higher_is_better: bool

    def carries(self, word: str) -> tuple[bool, bool]:
        """Return whether format's and content's intervals exclude 0 in the direction of a word."""
        upward = (word == "gain") == self.higher_is_better
        return tuple(  # type: ignore[return-value]
            (one.low > 0) if upward else (one.high < 0)
            for one in (self.format_interval, self.content_interval)
        )

    def qualifiers(self, word: str) -> Iterator[str]:
        """Yield what is to be said beside a gain or a loss."""
        if word not in ("gain", "loss"):
            return
        by_format, by_content = self.carries(word)
        if by_format:
            yield "format" if by_content else "format-only"

    def decides(self, word: str) -> bool:
        """Whether a gain or loss is format alone, and half of it or more."""
        by_format, by_content = self.carries(word)
        half = (self.format + self.content) / 2
        large = self.format >= half if half > 0 else self.format <= half
        return by_format and not by_content and large


def split_by_format(aligned: Aligned, measure: Measure, settings: Settings) -> FormatSplit | None:
    """Return the split of a comparison; None where every answer was parsed, or none was.

    Parameters
    ----------
    aligned : Aligned
        Outcomes without missing cells.
    measure : Measure
    settings : Settings
    """
    control, treatment = aligned.control, aligned.treatment
    if control.unparsed is None and treatment.unparsed is None:
        return None
    raise NotImplementedError
