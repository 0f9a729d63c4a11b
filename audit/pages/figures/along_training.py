"""Each run's score at the steps it was evaluated at, with its mean over the steps of the claim."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from audit import numerals
from audit.analysis.checkpoints import sides_by_step, steps_of
from audit.pages.figures import canvas
from audit.pages.figures.arm_looks import arm_looks
from audit.pages.figures.figure import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from audit.analysis.measures import Measure, Side
    from audit.pages.arms import ShownArm
    from audit.pages.variables import Variables

# With more arms the panels fill a page of their own.
_MOST_ARMS = 5


def draw(variables: Variables) -> Drawing | str:
    """Draw the figure, or say why there is none."""
    study, compared = variables.analysis.study, variables.analysis.comparisons
    trained = [arm for arm in variables.arms if not arm.is_base][:_MOST_ARMS]
    if not compared or not trained:
        return "no arms were compared by their runs"
    measure = compared[0].measure
    steps = steps_of(study, measure, *(arm.name for arm in trained))
    if len(steps) < 2 or measure.parts:
        return "no two steps at which every finished run was evaluated"
    window = [step for step in sorted(measure.checkpoints) if step in steps]
    beyond = steps[-1] + (steps[-1] - steps[0]) / (len(steps) - 1)
    figure, panels = canvas.panels(0.7 + 1.75 * len(trained), len(trained), share_x=True)
    words = []
    looks = arm_looks(variables)
    for axes, arm in zip(panels, trained, strict=True):
        axes.sharey(panels[0])
        look = looks[arm.name]
        _curves(axes, sides_by_step(study, measure, arm.name, steps), look.colour)
        axes.set_title(canvas.short(arm.label))
        axes.grid(axis="y")
        if len(window) > 1:
            side = study.side(arm.name, replace(measure, checkpoints=tuple(window)))
            axes.axvspan(window[0], window[-1], color=canvas.FAINT, alpha=0.12, linewidth=0)
            _means(axes, side, beyond, look.marker, look.colour)
            words.append(_words(arm, side))
    panels[-1].set_xlabel("step")
    ticks = {float(step): str(step) for step in steps}
    if words:
        ticks[beyond] = f"mean of {len(window)}"
    panels[-1].set_xticks(list(ticks), list(ticks.values()))
    return Drawing(figure, _told(measure, steps, window, words))


def _curves(axes: Axes, columns: list[tuple[int, Side]], colour: str) -> None:
    """Draw one line per run through its scores at the steps."""
    by_run: dict[str, list[tuple[int, float]]] = {}
    for step, side in columns:
        for place, run in enumerate(side.runs):
            if run.score is not None:
                points = by_run.setdefault(f"{run.label} {place}", [])
                points.append((step, float(run.score)))
    for points in by_run.values():
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, color=colour, marker="o", markersize=3, linewidth=0.8, alpha=0.45)


def _means(axes: Axes, side: Side, place: float, marker: str, colour: str) -> None:
    """Draw each run's mean over the steps of the claim, beside the steps."""
    scores = [float(run.score) for run in side.runs if run.score is not None]
    axes.plot([place] * len(scores), scores, marker, color=colour, markersize=6, alpha=0.7)


def _words(arm: ShownArm, side: Side) -> str:
    runs = ", ".join(
        f"{run.label} {numerals.fraction(float(run.score), 3)}"
        for run in side.runs
        if run.score is not None
    )
    return f"{arm.label}: {runs}."


def _told(measure: Measure, steps: tuple[int, ...], window: list[int], words: list[str]) -> str:
    shown = f"{measure.name} of every run at steps {', '.join(map(str, steps))}."
    if not words:
        return shown
    head = f"Means over steps {', '.join(map(str, window))}:"
    return " ".join([shown, head, *words])
