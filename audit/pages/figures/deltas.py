"""Deltas of all rounds and comparisons with their intervals, over the band of the noise floor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit import numerals
from audit.pages.figures import canvas
from audit.pages.figures.figure import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from audit.pages.deltas import Delta
    from audit.pages.variables import Variables

MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    value: float
    low: float | None
    high: float | None
    one_seed: bool
    is_round: bool


def draw(variables: Variables) -> Drawing | str:
    """Draw the figure, or say why there is none."""
    rows = _rows(variables)
    if not rows:
        return "no delta was measured"
    rows = rows[:MOST_ROWS]
    figure, (axes,) = canvas.panels(1.45 + 0.34 * len(rows))
    band = _band(axes, variables)
    axes.axvline(0, color=canvas.INK, linewidth=1)
    for place, row in enumerate(rows):
        _draw_row(axes, row, place)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.margins(x=0.06)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_xlabel(
        f"difference in {canvas.short(variables.metric, 60)}, above 0 the first is higher"
    )
    _legend(figure, axes, rows)
    shown = "; ".join(
        " ".join([*row.label.split(), numerals.estimate(row.value, row.low, row.high)])
        for row in rows
    )
    return Drawing(figure, f"Deltas with their intervals. {shown}.{band}")


def _rows(variables: Variables) -> list[_Row]:
    rounds = [
        _Row(_name(r.id, r.replicates), r.value, r.low, r.high, min(r.seeds, default=0) == 1, True)
        for r in variables.rounds
        if r.value is not None
    ]
    benchmarks = {d.benchmark for d in variables.deltas}
    own = [
        _Row(
            _pair(d, several=len(benchmarks) > 1),
            d.value,
            d.low,
            d.high,
            min(d.seeds) == 1,
            False,
        )
        for d in variables.deltas
        if d.value is not None and not d.against_base and d.metric == variables.deltas[0].metric
    ]
    return rounds + own


def _pair(delta: Delta, *, several: bool) -> str:
    label = canvas.short(delta.arm_name, 20) + " − " + canvas.short(delta.against_name, 20)  # noqa: RUF001
    return f"{label}\n{canvas.short(delta.benchmark or '', 30)}" if several else label


def _name(name: str, replicates: str | None) -> str:
    return canvas.short(f"Round {name}" + (f", repeats {replicates}" if replicates else ""))


def _draw_row(axes: Axes, row: _Row, place: int) -> None:
    colour = canvas.BLUE if row.is_round else canvas.VERMILION
    if row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [place, place], color=colour, solid_capstyle="butt")
        axes.plot([row.low, row.high], [place, place], "|", color=colour, markersize=9)
    axes.plot(
        row.value,
        place,
        "o" if row.is_round else "D",
        color=colour,
        markersize=7,
        markerfacecolor=canvas.PAPER if row.one_seed else colour,
        markeredgewidth=1.6,
    )
    axes.text(
        1.01,
        place,
        numerals.estimate(row.value, row.low, row.high),
        transform=axes.get_yaxis_transform(),
        va="center",
        fontsize=8.5,
    )


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


def _legend(figure: Figure, axes: Axes, rows: list[_Row]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for is_round, colour, marker, words in (
        (True, canvas.BLUE, "o", "round, as printed"),
        (False, canvas.VERMILION, "D", "this file"),
    ):
        if any(row.is_round == is_round for row in rows):
            handles.append(Line2D([], [], color=colour, marker=marker, label=words))
    if any(row.one_seed for row in rows):
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
