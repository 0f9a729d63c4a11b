"""The delta of each pair of runs at one seed with its interval, and what all runs together say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit import numerals
from audit.pages.figures import canvas
from audit.pages.figures.figure import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from audit.analysis import OneSeedStudy
    from audit.pages.deltas import Delta
    from audit.pages.variables import Variables

MOST_ROWS = 40
# Told apart by marker too: up, down, neither.
_LOOKS = {
    "won": (canvas.GREEN, "^"),
    "lost": (canvas.VERMILION, "v"),
    "flat": (canvas.FAINT, "o"),
}


def draw(variables: Variables) -> Drawing | str:
    """Draw the figure, or say why there is none."""
    delta = next((d for d in variables.deltas if d.lottery and d.lottery.studies), None)
    if delta is None or delta.lottery is None:
        return "needs per-task outcomes of three training runs per arm, and runs at one seed"
    studies = sorted(delta.lottery.studies, key=lambda study: (study.delta, study.seed))
    if len(studies) > MOST_ROWS:
        return f"more than {MOST_ROWS} seeds, too many to draw one by one"
    figure, (axes,) = canvas.panels(1.7 + 0.25 * len(studies))
    axes.axvline(0, color=canvas.INK, linewidth=1)
    for place, study in enumerate(studies):
        _interval(axes, place, (study.low, study.high), study.delta, *_LOOKS[study.word])
    if delta.low is not None and delta.high is not None:
        axes.axvspan(delta.low, delta.high, color=canvas.FAINT, alpha=0.22, linewidth=0)
        ends = (delta.low, delta.high)
        _interval(axes, len(studies), ends, delta.value or 0.0, canvas.INK, "D")
    together = f"all {delta.seeds_text} runs"
    labels = [f"seed {study.seed}" for study in studies]
    axes.set_yticks(range(len(studies) + 1), [*labels, together])
    axes.set_ylim(len(studies) + 0.6, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.06)
    axes.grid(axis="x")
    for place, words in enumerate([*(study.word for study in studies), delta.word]):
        axes.text(
            1.01, place, words, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5
        )
    arms = f"{canvas.short(delta.arm, 24)} − {canvas.short(delta.against, 24)}"  # noqa: RUF001 - a minus sign
    axes.set_xlabel(f"{arms}, difference in {canvas.short(delta.metric, 30)}")
    _legend(axes, {study.word for study in studies})
    return Drawing(figure, _words(studies, delta))


def _interval(
    axes: Axes, place: int, ends: tuple[float, float], value: float, colour: str, marker: str
) -> None:
    axes.plot(ends, [place, place], color=colour, solid_capstyle="butt", zorder=2)
    axes.plot(value, place, marker, color=colour, markersize=7, zorder=3)


def _legend(axes: Axes, words: set[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, marker=marker, label=f"{word}, by one seed")
        for word, (colour, marker) in _LOOKS.items()
        if word in words
    ]
    handles.append(Line2D([], [], color=canvas.INK, marker="D", label="all runs together"))
    axes.figure.legend(handles=handles, loc="outside lower center", ncols=2)


def _words(studies: list[OneSeedStudy], delta: Delta) -> str:
    each = "; ".join(
        f"seed {s.seed} {numerals.estimate(s.delta, s.low, s.high)} {s.word}" for s in studies
    )
    joint = numerals.estimate(delta.value, delta.low, delta.high)
    return f"Pairs of runs at one seed, by delta. {each}. All {delta.seeds_text} runs {joint}."
