"""Each training run's score by arm; runs at one seed are joined by a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit import numerals
from audit.pages.arms import ShownArm
from audit.pages.figures import canvas
from audit.pages.figures.figure import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from audit.pages.variables import Variables
    from audit.views.run_view import RunView

# Beyond these, lines and labels are a thicket.
_MOST_LABELS = 12
_HEIGHT_INCHES = 3.4


def draw(variables: Variables) -> Drawing | str:
    """Draw the figure, or say why there is none."""
    shown = [arm for arm in variables.arms if _scored(arm)]
    trained = [arm for arm in shown if not arm.is_base]
    if not trained:
        return "no run has a score"
    if max(len(arm.runs) for arm in trained) < 2:
        return "each arm has one training run, so there is no spread to show"
    figure, (axes,) = canvas.panels(_HEIGHT_INCHES)
    seeds = sorted({seed for arm in trained for seed in arm.by_seed})
    for number, seed in enumerate(seeds):
        _join(axes, shown, seed, _offset(number, len(seeds)))
    for place, arm in enumerate(shown):
        _points(axes, arm, place, seeds)
    axes.set_xticks(range(len(shown)), [canvas.short(arm.label, 26) for arm in shown])
    axes.set_xlim(-0.62, len(shown) - 0.38)
    axes.margins(y=0.14)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y")
    axes.set_ylabel(canvas.short(variables.metric, 40))
    _labels(axes, trained[-1], len(shown) - 1)
    return Drawing(figure, "Scores of every run. " + " ".join(_words(arm) for arm in shown))


def _scored(arm: ShownArm) -> list[tuple[RunView, float]]:
    return [(run, run.score) for run in arm.runs if run.score is not None]


def _offset(number: int, total: int) -> float:
    """Return a sideways shift that keeps runs of equal score apart."""
    return 0.0 if total < 2 else 0.24 * (number / (total - 1) - 0.5)


def _join(axes: Axes, shown: list[ShownArm], seed: int, offset: float) -> None:
    places = [n for n, arm in enumerate(shown) if not arm.is_base and seed in arm.by_seed]
    scores = [shown[place].by_seed[seed] for place in places]
    xs = [place + offset for place in places]
    axes.plot(xs, scores, color=canvas.FAINT, linewidth=1.2, zorder=1)


def _points(axes: Axes, arm: ShownArm, place: int, seeds: list[int]) -> None:
    colour = canvas.FAINT if arm.is_base else canvas.ARM_COLOURS[(place - 1) % 5]
    marker = "o" if arm.is_base else canvas.ARM_MARKERS[(place - 1) % 5]
    known = _scored(arm)
    for number, (run, score) in enumerate(known):
        joined = not arm.is_base and run.seed in seeds
        order = (seeds.index(run.seed or 0), len(seeds)) if joined else (number, len(known))
        axes.plot(place + _offset(*order), score, marker, color=colour, markersize=7, zorder=3)
    if arm.score is not None:
        axes.plot([place - 0.2, place + 0.2], [arm.score] * 2, color=colour, linewidth=1, zorder=2)
        axes.annotate(
            f"mean\n{numerals.fraction(arm.score, 3)}",
            (place - 0.22, arm.score),
            va="center",
            ha="right",
            fontsize=8,
        )


def _labels(axes: Axes, arm: ShownArm, place: int) -> None:
    """Name the seeds beside the last arm, one label for runs of one score, none overlapping."""
    by_score: dict[float, list[str]] = {}
    for seed, score in sorted(arm.by_seed.items()):
        by_score.setdefault(score, []).append(str(seed))
    low, high = axes.get_ylim()
    gap = (high - low) * 0.16 / _HEIGHT_INCHES
    last = low - gap
    for score, seeds in sorted(by_score.items())[:_MOST_LABELS]:
        last = max(score, last + gap)
        word = "seed" if len(seeds) == 1 else "seeds"
        names = canvas.short(f"{word} {', '.join(seeds)}", 18)
        axes.text(place + 0.2, last, names, va="center", fontsize=8)


def _words(arm: ShownArm) -> str:
    runs = ", ".join(f"{run.run} {numerals.fraction(score, 3)}" for run, score in _scored(arm))
    return f"{arm.label}: {runs}; mean {numerals.fraction(arm.score, 3)}."
