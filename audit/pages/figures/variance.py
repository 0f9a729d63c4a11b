"""What the uncertainty of a delta is made of: training seeds, tasks, answers drawn."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from audit import numerals
from audit.analysis.design import Design
from audit.pages.figures import canvas
from audit.pages.figures.figure import Drawing

if TYPE_CHECKING:
    from audit.pages.variables import Variables


@dataclass(frozen=True, slots=True)
class _Part:
    """Standard deviation that one source gives the delta; limits where they are known."""

    label: str
    sd: float
    low: float | None = None
    high: float | None = None


def draw(variables: Variables) -> Drawing | str:
    """Draw the figure, or say why there is none."""
    comparison = next(iter(variables.analysis.comparisons), None)
    if comparison is None:
        return "nothing was compared"
    if not isinstance(comparison.design, Design):
        return comparison.design.reason
    span = comparison.measure.span or 1.0
    parts = _parts(comparison.design, span, per_task=comparison.kind == "per-task")
    figure, (axes,) = canvas.panels(0.95 + 0.48 * len(parts))
    for place, part in enumerate(parts):
        axes.barh(place, part.sd, height=0.55, color=canvas.FAINT)
        if part.low is not None and part.high is not None:
            axes.plot([part.low, part.high], [place, place], color=canvas.INK, linewidth=1.2)
            axes.plot([part.low, part.high], [place] * 2, "|", color=canvas.INK, markersize=8)
        right = max(part.sd, part.high or 0.0)
        axes.annotate(
            _figures(part),
            (right, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    axes.set_yticks(range(len(parts)), [part.label for part in parts])
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.set_xlim(0, 1.45 * max(max(p.sd, p.high or 0.0) for p in parts) or 1.0)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_xlabel("standard deviation that it gives the delta")
    words = "; ".join(f"{part.label} {_figures(part)}" for part in parts)
    note = "" if comparison.kind == "per-task" else " Tasks: unknown, one score per run."
    return Drawing(figure, f"Standard deviation of the delta by source: {words}.{note}")


def _figures(part: _Part) -> str:
    if part.low is None:
        return numerals.fraction(part.sd, 3)
    return f"{numerals.fraction(part.sd, 3)} {numerals.interval(part.low, part.high, 3)}"


def _parts(design: Design, span: float, *, per_task: bool) -> list[_Part]:
    """Split the variance of the delta; standard deviations in the metric's units."""
    control, treatment = design.seeds
    share = 1 / control + 1 / treatment
    parts = design.components
    pooled = design.spread
    scale = sqrt(share) * span
    seeds = _Part("training seeds", pooled.sd * scale, pooled.low * scale, pooled.high * scale)
    drawn = sqrt(share * parts.sampling_variance / (design.tasks * design.samples)) * span
    if not per_task:
        return [seeds, _Part("answers drawn (at most)", drawn)] if design.tasks_known else [seeds]
    return [
        seeds,
        _Part("tasks", parts.task_effect_sd / sqrt(design.tasks) * span),
        _Part("seeds × tasks", parts.seed_task_sd * sqrt(share / design.tasks) * span),  # noqa: RUF001
        _Part("answers drawn", drawn),
    ]
