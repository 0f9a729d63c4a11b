"""The field, judged: published comparisons of training recipes by the scores of their own runs.

    python benchmarks/field.py             # writes reports/field/README.md and its figures
    python benchmarks/field.py --check     # 1 where they are not what the tables give
    python benchmarks/field.py --counts    # what docs/field.md shows
    python benchmarks/field.py --spreads

All figures come from `scores.csv` and `comparisons.csv` in `reports/field`, which
`benchmarks/field_tables.py` makes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from field_judged import Ends, Judged, judged
from scipy import stats

from audit import numerals
from audit.cli.layout import markdown_table, text_table
from audit.pages.figures import canvas, forest
from audit.pages.figures.forest import ForestLine
from audit.pages.page import Page
from audit.published import KINDS, POST_TRAINING, SIZES, quartiles, read_table, typical_seed_sds

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "reports" / "field" / "README.md"
SOURCES = "reports/field/sources.csv"
TYPES = {
    "recipe": "recipe over recipe",
    "base": "trained over untrained",
    "record": "pretraining record over the best before it",
}
_COLOURS = {"gain": canvas.GREEN, "loss": canvas.VERMILION, "flat": canvas.FAINT}
_ROW_INCHES = 0.44  # two lines of label


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--counts", action="store_true", help="print what stands")
    parser.add_argument("--spreads", action="store_true", help="print the usual training sds")
    options = parser.parse_args()
    if options.counts:
        print("\n".join(counts(judged())))
    elif options.spreads:
        print("\n".join(spreads()))
    elif options.check:
        lines = list(page(judged()).differences(PAGE))
        print(*lines, sep="\n", end="\n" if lines else "")
        return int(bool(lines))
    else:
        page(judged()).write(PAGE)
    return 0


def page(rows: Sequence[Judged]) -> Page:
    """Return the page of all comparisons, with its figures."""
    figures = {
        "moved": [row for row in rows if row.published != "flat"],
        "flat": [row for row in rows if row.published == "flat"],
    }
    drawn = {f"figures/{name}.svg": _forest(found, name) for name, found in figures.items()}
    return Page("README.md", "\n".join(_text(rows)) + "\n", drawn)


def counts(rows: Sequence[Judged]) -> Iterator[str]:
    """Yield what stands, by type and published word, and what the words rest on."""
    yield from text_table(_COUNTED, _counted(rows))
    gains = _chosen(rows, "recipe", "gain")
    known = [row for row in gains if row.gate[0]]
    yield ""
    yield f"gains of a recipe over a recipe: {_share(gains, 'stands')}"
    yield f"where pairs count: {_share(gains, 'stands_paired')}"
    plain = sum(row.stands for row in known)
    passed = sum(not row.gate[1] for row in known)
    yield f"of {len(known)} that the gate can judge: {plain} stand by Welch, {passed} by the gate"
    for row in known:
        if row.stands and row.gate[1]:
            yield f"  the gate alone refuses {row.row['study']}, {row.title}"
    fallen = [row for row in gains if not row.stands]
    sizes = sorted(min(int(row.row[f"{arm}_runs"]) for arm in _ARMS) for row in fallen)
    yield f"seeds per arm of the {len(fallen)} that fall: {_listed(sizes)}"
    for row in fallen:
        if row.row["printed_by"]:
            yield (
                f"  {row.row['study']}, {row.title}: [{row.row['printed_low']}, "
                f"{row.row['printed_high']}] by {row.row['printed_by']}, "
                f"{numerals.interval(row.welch.low, row.welch.high, 3)} by seed"
            )
    yield f"reversed: {sum(row.word(row.welch) == 'loss' for row in gains)}"
    flat = [row for row in rows if row.published == "flat" and row.span]
    widths = quartiles([row.welch.half_width / (row.span or 1) for row in flat])
    yield f"half-width of {len(flat)} flat results, quartiles: {_three(widths)}"
    gated = [row for row in flat if row.gate[0]]
    same = sum(row.gate == ("flat", "equivalent") for row in gated)
    yield f"flat results the gate can judge: {len(gated)}; equivalent within 0.03: {same}"


_ARMS = ("treatment", "control")
_COUNTED = ("compared", "published", "rows", "stand by Welch", "where pairs count")


def _counted(rows: Sequence[Judged]) -> Iterator[tuple[str, ...]]:
    for kind, name in TYPES.items():
        for word in ("gain", "loss", "flat"):
            found = _chosen(rows, kind, word)
            if found:
                stand = sum(row.stands for row in found)
                paired = sum(row.stands_paired for row in found)
                yield name, word, str(len(found)), str(stand), str(paired)


def _chosen(rows: Iterable[Judged], kind: str, word: str) -> list[Judged]:
    return [row for row in rows if row.row["type"] == kind and row.published == word]


def _share(rows: Sequence[Judged], name: str) -> str:
    """Return a count with the exact 95% interval of its share (Clopper & Pearson 1934)."""
    number = sum(bool(getattr(row, name)) for row in rows)
    ends = stats.binomtest(number, len(rows)).proportion_ci(0.95, "exact")
    low, high = numerals.percent(ends.low), numerals.percent(ends.high)
    return f"{number} of {len(rows)} stand, exact 95% interval {low} to {high}"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"{numbers.count(n)} with {n}" for n in sorted(set(numbers)))


def spreads() -> Iterator[str]:
    """Yield the usual training sds by kind and size."""
    heading = ("kind", "tasks", "arms", "sources", "training sd", "medians of the sources")
    found = [
        typical
        for kind in (*KINDS, POST_TRAINING)
        for low, _ in SIZES
        if (typical := typical_seed_sds(low, kind))
    ]
    yield from text_table(
        heading,
        (
            (
                row.kind,
                row.size.removesuffix(" tasks"),
                str(row.arms),
                str(row.sources),
                _three(row.quartiles),
                _three(row.source_quartiles),
            )
            for row in found
        ),
    )


def _three(values: Iterable[float]) -> str:
    return " / ".join(numerals.fraction(value, 3) for value in values)


def _text(rows: Sequence[Judged]) -> Iterator[str]:
    yield "# The field, judged by its own seeds"
    yield ""
    yield (
        f"{len(rows)} comparisons that {len({row.row['source'] for row in rows})} public sources "
        "published, each judged again by the scores of its training runs. "
        "[docs/field.md](../../docs/field.md) says what was counted, how, and what it does not "
        "show."
    )
    yield ""
    yield from markdown_table(_COUNTED, _counted(rows))
    yield ""
    yield "![Published gains and losses with their intervals](figures/moved.svg)"
    yield ""
    yield (
        "*Published gains and losses of one recipe over another: green where the interval shows a "
        "gain, red a loss, grey neither. As shares of the scale.*"
    )
    yield ""
    yield "![Results published as flat, with their intervals](figures/flat.svg)"
    yield ""
    yield "*Published as flat. A wide interval that includes zero is no evidence of no effect.*"
    for kind, name in TYPES.items():
        chosen = [row for row in rows if row.row["type"] == kind]
        yield ""
        yield f"## {name[:1].upper()}{name[1:]}"
        yield ""
        yield from markdown_table(_HEADING, map(_cells, chosen))
    yield ""
    yield "## Sources"
    yield ""
    yield from markdown_table(
        ("source", "repository", "revisions"),
        ((row["source"], row["repository"], row["revisions"]) for row in read_table(SOURCES)),
    )
    yield ""
    yield "Written by `python benchmarks/field.py`; edit the tables, not this page."


_HEADING = (
    *("study", "compared", "on", "runs", "difference, 95% by Welch", "by seed, where all shared"),
    *("published", "by the runs", "by the gate"),
)


def _cells(row: Judged) -> tuple[str, ...]:
    runs = " v ".join(row.row[f"{arm}_runs"] for arm in _ARMS)
    word, slug = row.gate
    return (
        row.row["study"],
        row.title,
        row.row["benchmark"],
        runs,
        _ends_text(row.welch),
        "" if row.paired is None else _ends_text(row.paired),
        row.row["word"],
        row.word(row.welch) + ("" if row.stands else " (falls)"),
        f"{word}: {slug}" if slug else word,
    )


def _ends_text(ends: Ends) -> str:
    """Return a difference with its interval, with as many decimals as its width asks for."""
    digits = next((n for n in (1, 2, 3) if ends.half_width * 10**n >= 10), 4)
    return f"{numerals.signed(ends.delta, digits)} {numerals.interval(ends.low, ends.high, digits)}"


def _forest(rows: Sequence[Judged], name: str) -> bytes:
    """Draw the comparisons of recipes that lie on a scale with ends, the largest on top."""
    chosen = [row for row in rows if row.row["type"] == "recipe" and row.span]
    shown = sorted(chosen, key=lambda row: -row.welch.delta / (row.span or 1))
    with canvas.styled():
        figure, (axes,) = canvas.panels(0.9 + _ROW_INCHES * len(shown))
        forest.draw_lines(axes, list(map(_line, shown)))
        axes.set_xlabel("difference as a share of the scale; hollow: the published word falls")
        return canvas.svg(figure, f"field-{name}")


def _line(row: Judged) -> ForestLine:
    span = row.span or 1
    value, low, high = (end / span for end in (row.welch.delta, row.welch.low, row.welch.high))
    about = f"{row.row['study']}, {row.row['benchmark']}"
    return ForestLine(
        label=f"{canvas.short(row.title, 40)}\n{canvas.short(about, 40)}",
        value=value,
        low=low,
        high=high,
        text=numerals.estimate(value, low, high),
        colour=_COLOURS[row.word(row.welch)],
        hollow=not row.stands,
    )


if __name__ == "__main__":
    raise SystemExit(main())
