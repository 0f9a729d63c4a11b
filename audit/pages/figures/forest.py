"""The one forest plot: differences with their intervals, one below the other.

The page's figure of a study and the gate's page of many studies draw their lines with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.pages.figures import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW_INCHES = 0.34


@dataclass(frozen=True, slots=True)
class ForestLine:
    """One line of the plot.

    Attributes
    ----------
    label : str
    value : float
    low, high : float or None
        Ends of the interval; None where there is none.
    text : str
        The figures in words, at the right.
    colour, marker : str
    hollow : bool
        The difference carries no word.
    dashed : bool
        The interval leaves the training variance out.
    """

    label: str
    value: float
    low: float | None
    high: float | None
    text: str
    colour: str
    marker: str = "o"
    hollow: bool = False
    dashed: bool = False


def draw_lines(axes: Axes, lines: Sequence[ForestLine]) -> None:
    """Draw the lines, the first on top, and a rule at zero."""
    axes.axvline(0, color=canvas.INK, linewidth=1)
    for place, line in enumerate(lines):
        _draw_line(axes, line, place)
    axes.set_yticks(range(len(lines)), [line.label for line in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.margins(x=0.06)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")


def _draw_line(axes: Axes, line: ForestLine, place: int) -> None:
    colour = line.colour
    if line.low is not None and line.high is not None:
        ends, level = [line.low, line.high], [place, place]
        style = "--" if line.dashed else "-"
        axes.plot(ends, level, color=colour, linestyle=style, solid_capstyle="butt")
        axes.plot(ends, level, "|", color=colour, markersize=9)
    axes.plot(
        line.value,
        place,
        line.marker,
        color=colour,
        markersize=7,
        markerfacecolor=canvas.PAPER if line.hollow else colour,
        markeredgewidth=1.6,
    )
    axes.text(
        1.01,
        place,
        line.text,
        transform=axes.get_yaxis_transform(),
        va="center",
        fontsize=8.5,
    )
