"""The one power plot: curves of power over seeds or over effects, with the line at 80%."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.analysis.design import POWER
from audit.pages.figures import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """One curve: its label, its power at each place of the axis, its colour and dash."""

    label: str
    power: Sequence[float]
    colour: str
    dash: Any = "-"


def draw_curves(
    axes: Axes, places: Sequence[float], curves: Sequence[PowerCurve], here: float, name: str
) -> None:
    """Draw the curves, the rule at 80%, and a mark with its name where one stands now."""
    for curve in curves:
        axes.plot(places, curve.power, color=curve.colour, linestyle=curve.dash, label=curve.label)
    axes.axhline(POWER, color=canvas.INK, linewidth=0.8, linestyle=":")
    axes.annotate("80%", (places[-1], POWER), xytext=(2, 3), textcoords="offset points", fontsize=8)
    axes.axvline(here, color=canvas.FAINT, linewidth=1)
    axes.annotate(name, (here, 1.0), xytext=(4, 4), textcoords="offset points", fontsize=8)
    axes.set_ylim(0, 1.06)
    axes.grid(axis="y")
    axes.set_ylabel("power")
