"""Deltas of all rounds and comparisons with their intervals, over the band of the noise floor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit import numerals
from audit.pages.figures import canvas, forest
from audit.pages.figures.figure import Drawing
from audit.pages.figures.forest import ForestLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from audit.pages.deltas import Delta
    from audit.pages.variables import Variables

MOST_ROWS = 20
_OWN = "D"


def draw(variables: Variables) -> Drawing | str:
    """Draw the figure, or say why there is none."""
    rows = _rows(variables)
    if not rows:
        return "no delta was measured"
    rows = rows[:MOST_ROWS]
    figure, (axes,) = canvas.panels(1.45 + forest.ROW_INCHES * len(rows))
    band = _band(axes, variables)
    forest.draw_lines(axes, rows)
    axes.set_xlabel(
        f"difference in {canvas.short(variables.metric, 60)}, above 0 the first is higher"
    )
    _legend(figure, axes, rows)
    shown = "; ".join(" ".join([*row.label.split(), row.text]) for row in rows)
    return Drawing(figure, f"Deltas with their intervals. {shown}.{band}")


def _rows(variables: Variables) -> list[ForestLine]:
    rounds = [
        ForestLine(
            label=_name(r.id, r.replicates),
            value=r.value,
            low=r.low,
            high=r.high,
            text=numerals.estimate(r.value, r.low, r.high),
            colour=canvas.FAINT,
            hollow=min(r.seeds, default=0) == 1,
        )
        for r in variables.rounds
        if r.value is not None
    ]
    several = len({d.where for d in variables.deltas}) > 1
    own = [
        ForestLine(
            label=_pair(d, several=several),
            value=d.value,
            low=d.low,
            high=d.high,
            text=numerals.estimate(d.value, d.low, d.high),
            colour=canvas.INK,
            marker=_OWN,
            hollow=min(d.seeds) == 1,
        )
        for d in variables.deltas
        if d.value is not None and not d.against_base and d.metric == variables.deltas[0].metric
    ]
    return rounds + own


def _pair(delta: Delta, *, several: bool) -> str:
    label = canvas.short(delta.arm, 20) + " − " + canvas.short(delta.against, 20)  # noqa: RUF001
    return f"{label}\n{canvas.short(delta.where.removeprefix('on '), 44)}" if several else label


def _name(name: str, replicates: str | None) -> str:
    return canvas.short(f"Round {name}" + (f", repeats {replicates}" if replicates else ""))


def _band(axes: Axes, variables: Variables) -> str:
    """Shade what evaluating alone makes of no difference; return the words for it."""
    noise = variables.noise
    widest = noise.value
    if widest is None:
        return f" No noise band: {noise.reason}."
    axes.axvspan(-widest, widest, color=canvas.FAINT, alpha=0.22, linewidth=0)
    if noise.printed is not None and noise.printed < widest:
        axes.axvspan(-noise.printed, noise.printed, color=canvas.FAINT, alpha=0.3, linewidth=0)
    return f" Noise floor of one evaluation against another: {numerals.fraction(widest, 3)}."


def _legend(figure: Figure, axes: Axes, rows: list[ForestLine]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for colour, marker, words in (
        (canvas.FAINT, "o", "round, as printed"),
        (canvas.INK, _OWN, "this file"),
    ):
        if any(row.marker == marker for row in rows):
            handles.append(Line2D([], [], color=colour, marker=marker, label=words))
    if any(row.hollow for row in rows):
        handles.append(
            Line2D(
                [],
                [],
                color=canvas.FAINT,
                marker="o",
                linestyle="",
                markerfacecolor=canvas.PAPER,
                label="hollow: one training seed",
            )
        )
    if axes.patches:
        names = (
            ["noise floor", "noise floor, as often printed"]
            if len(axes.patches) > 1
            else ["noise floor"]
        )
        handles += [
            Patch(color=canvas.FAINT, alpha=alpha, label=name)
            for name, alpha in zip(names, (0.22, 0.5), strict=False)
        ]
    canvas.legend(figure, handles, min(3, len(handles)))
