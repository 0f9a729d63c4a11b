"""Tables in text and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def text_table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, columns as wide as their longest entry."""
    lines = [list(heading), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    for line in lines:
        yield "  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip()


def markdown_table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; the entries must be escaped already."""
    yield f"| {' | '.join(heading)} |"
    yield "|" + " --- |" * len(heading)
    for row in rows:
        yield f"| {' | '.join(row)} |"
