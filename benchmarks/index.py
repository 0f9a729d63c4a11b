"""The index of the benchmarks: each with its command, its goal, and what its committed table says.

    python benchmarks/index.py           # writes benchmarks/README.md
    python benchmarks/index.py --check   # exit status 1 where it is not what the tables give

A result is read from a cell of the committed table and held against the goal here, so that the
index can say nothing that no table says.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from index_entries import ENTRIES, Entry, Figure

FOLDER = Path(__file__).resolve().parent
README = FOLDER / "README.md"
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Result:
    """What a table says of a figure, in its own cells, and whether the numbers keep the goal."""

    text: str
    kept: bool | None


class MissingCellError(LookupError):
    """A table has no such row or column, or several."""


def tables(text: str) -> Iterator[list[dict[str, str]]]:
    """Yield the tables of a Markdown page, each row by the names of the columns."""
    lines = [line.strip() for line in text.splitlines()]
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        if end - start > 2:
            heading = cells(lines[start])
            yield [dict(zip(heading, cells(line), strict=False)) for line in lines[start + 2 : end]]
        start = max(end, start + 1)


def cells(line: str) -> list[str]:
    """Return the cells of a table's row."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def result(figure: Figure, text: str) -> Result:
    """Find a figure's cells and hold a number of each against the goal.

    Raises
    ------
    MissingCellError
        When there is no such cell, or several for a figure of one row, or one without a number.
    """
    found = [
        row[figure.column]
        for table in tables(_section(text, figure.section))
        for row in table
        if row.get(figure.column) and " | ".join(row.values()).startswith(figure.row)
    ]
    if not found or (len(found) > 1 and not figure.every):
        raise MissingCellError(f"{len(found)} cells in {figure.column!r} of a row {figure.row!r}")
    shown = found[0]
    if figure.most is None and figure.least is None and not figure.every:
        return Result(shown, None)
    numbers = [_number(cell, figure.number) for cell in found]
    if figure.every:
        least, most = (found[numbers.index(end(numbers))] for end in (min, max))
        shown = f"{least} to {most}, {len(found)} rows"
    if figure.most is None and figure.least is None:
        return Result(shown, None)
    too_much = figure.most is not None and max(numbers) > figure.most
    too_little = figure.least is not None and min(numbers) < figure.least
    return Result(shown, not (too_much or too_little))


def _section(text: str, heading: str) -> str:
    """Return what stands under a heading, up to the next one; all of the page for none."""
    if not heading:
        return text
    _, found, below = text.partition(f"\n## {heading}\n")
    if not found:
        raise MissingCellError(f"no heading {heading!r}")
    return below.partition("\n## ")[0]


def _number(cell: str, place: int) -> float:
    numbers = _NUMBER.findall(cell)
    if len(numbers) <= place:
        raise MissingCellError(f"{len(numbers)} numbers in {cell!r}")
    return float(numbers[place].replace(",", ""))


def goal(figure: Figure) -> str:
    """Return a goal in words."""
    parts = [
        f"{word} {number:,g}"
        for word, number in (("at least", figure.least), ("at most", figure.most))
        if number is not None
    ]
    return " and ".join(parts)


def page(entries: Sequence[Entry] = ENTRIES, folder: Path = FOLDER) -> str:
    """Return the text of the index."""
    lines = [
        "# Benchmarks and studies",
        "",
        "What is claimed of speed, memory, error rates and equality, each with the command that",
        "shows it. Results are cells of the committed tables; `python benchmarks/index.py` reads",
        "them and writes this page. Speed is measured in whole processes that take turns, and not",
        "at all on a machine with other work (`benchmarks/measuring.py`).",
        "",
    ]
    for entry in entries:
        lines += [f"## {entry.title}", "", entry.what, "", f"    {entry.command}", ""]
        if entry.table is None:
            continue
        where = f"[{entry.table}]({entry.table})"
        if not entry.figures:
            lines += [f"Table: {where}.", ""]
            continue
        text = (folder / entry.table).read_text(encoding="utf-8")
        lines += [f"| {where} | goal | result | |", "| --- | --- | --- | --- |"]
        for figure in entry.figures:
            found = result(figure, text)
            kept = {None: "", True: "kept", False: "**missed**"}[found.kept]
            lines.append(f"| {figure.name} | {goal(figure)} | {found.text} | {kept} |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, say what differs")
    options = parser.parse_args()
    text = page()
    if options.check:
        if README.read_text(encoding="utf-8") == text:
            return 0
        print("benchmarks/README.md is not what the tables give: python benchmarks/index.py")
        return 1
    README.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
