"""A forest plot of the rows: each difference with its interval, as SVG, the same bytes each time.

Matplotlib draws it without pyplot. Names stand in it as text that is never read as mathematics.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from audit.cli.fleet.row import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More lines than this no one reads in a picture; the table holds the rest.
MOST = 100
_COLOURS = {"gain": "#1a7f37", "loss": "#b35900", "flat": "#57606a", "refused": "#8250df"}
_ROW_INCHES = 0.27


def plotted(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that have a difference on a bounded scale, at most ``MOST``."""
    return [row for row in rows if row.estimate is not None][:MOST]


def forest_svg(rows: Sequence[Row]) -> str:
    """Return an ``<svg>`` element, first row on top; empty without a row that can be drawn.

    A refused difference is drawn hollow, an interval that leaves the training out dashed.
    """
    shown = plotted(rows)
    return _element(_drawn(shown)) if shown else ""


def _drawn(rows: Sequence[Row]) -> str:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # A fixed salt for ids, text kept as text, and our own fonts: the same bytes everywhere.
    with (
        mpl.rc_context(
            {"svg.hashsalt": "audit", "svg.fonttype": "none", "font.family": "DejaVu Sans"}
        ),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # a glyph DejaVu lacks is the reader's font's to draw
        figure = Figure(figsize=(9, 1.1 + _ROW_INCHES * len(rows)), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for place, row in enumerate(rows):
            _line(axes, place, row)
        _finish(axes, rows)
        target = io.BytesIO()
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return target.getvalue().decode()


def _line(axes: Axes, place: int, row: Row) -> None:
    estimate = row.estimate
    if estimate is None:
        return
    colour = _COLOURS.get(row.word, "#57606a")
    if estimate.low is not None and estimate.high is not None:
        style = "--" if estimate.about == "these-runs" else "-"
        ends = (estimate.low, estimate.high)
        axes.plot(ends, (place, place), color=colour, linestyle=style, linewidth=1.4)
    fill = "white" if row.word == "refused" else colour
    axes.plot((estimate.delta,), (place,), "o", color=colour, markerfacecolor=fill, markersize=5)


def _finish(axes: Axes, rows: Sequence[Row]) -> None:
    axes.axvline(0, color="0.5", linewidth=0.8)
    labels = [f"{row.study}  {row.seeds}" for row in rows]
    axes.set_yticks(range(len(rows)), labels, parse_math=False, fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("improvement as a share of the metric's scale (right of 0 is better)")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _element(svg: str) -> str:
    """Return the picture without the XML declaration and document type, to stand in a page."""
    return svg[svg.index("<svg") :].strip()
