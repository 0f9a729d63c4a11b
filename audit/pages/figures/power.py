"""Power against training seeds per arm, for the effect that matters.

The power for a difference that was seen says nothing beyond its p-value, so it is not drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit import numerals
from audit.analysis.design import POWER, Design
from audit.pages.figures import canvas
from audit.pages.figures.figure import Drawing
from audit.pages.figures.power_curves import PowerCurve, draw_curves

if TYPE_CHECKING:
    from audit.analysis import Comparison
    from audit.pages.variables import Variables

_SEEDS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 26, 32, 40, 50, 64, 80, 100, 128, 160, 200, 256)
_ENOUGH = 0.97


def draw(variables: Variables) -> Drawing | str:
    """Draw the figure, or say why there is none."""
    comparison = next(iter(variables.analysis.comparisons), None)
    if comparison is None:
        return "nothing was compared"
    design = comparison.design
    if not isinstance(design, Design):
        return design.reason
    lines = _lines(comparison, design)
    seeds = _seeds_shown(lines)
    figure, (axes,) = canvas.panels(3.3)
    here = min(design.seeds)
    curves = [
        PowerCurve(label, values[: len(seeds)], colour, dash)
        for label, values, colour, dash in lines
    ]
    draw_curves(axes, seeds, curves, here, f"this study: {here}")
    axes.set_xscale("log")
    ticks = [s for s in (2, 3, 5, 10, 20, 50, 100, 200) if s <= seeds[-1]]
    axes.set_xticks(ticks, [str(s) for s in ticks], minor=False)
    axes.set_xticks([], minor=True)
    tasks = f", {design.tasks} tasks" if design.tasks_known else ""
    axes.set_xlabel(f"training seeds per arm{tasks}")
    axes.figure.legend(loc="outside lower center", ncols=2)
    return Drawing(figure, _words(lines, design, here))


Line = tuple[str, list[float], str, str]


def _lines(comparison: Comparison, design: Design) -> list[Line]:
    span = comparison.measure.span or 1.0
    effect = comparison.settings.target_effect
    as_seen = design.components.with_seed_sd(design.spread.sd)
    lines = []
    for parts, dash, sd in (
        (as_seen, "--", "pooled sd as estimated"),
        (design.planned, "-", "pooled sd at its upper limit"),
    ):
        values = [_power(effect / span, parts, seeds, design) for seeds in _SEEDS]
        label = f"to see {numerals.signed(effect)}, {sd}"
        lines.append((label, values, canvas.INK, dash))
    return lines


def _power(effect: float, parts: object, seeds: int, design: Design) -> float:
    from audit.stats import power

    return power(
        effect,
        components=parts,  # type: ignore[arg-type]  # Components, imported lazily
        seeds=seeds,
        tasks=design.tasks,
        samples=design.samples,
        level=design.level,
    )


def _seeds_shown(lines: list[Line]) -> list[int]:
    """Return the numbers of seeds up to where every line is near 1, at least to 10."""
    for place, seeds in enumerate(_SEEDS):
        if seeds >= 10 and all(values[place] >= _ENOUGH for _, values, _, _ in lines):
            return list(_SEEDS[: place + 1])
    return list(_SEEDS)


def _words(lines: list[Line], design: Design, here: int) -> str:
    place = _SEEDS.index(here) if here in _SEEDS else None
    parts = []
    for label, values, _, _ in lines:
        reached = next((s for s, v in zip(_SEEDS, values, strict=True) if v >= POWER), None)
        now = "" if place is None else f"{numerals.percent(values[place])} at {here} seeds, "
        then = f"80% from {reached} seeds" if reached else f"below 80% up to {_SEEDS[-1]} seeds"
        parts.append(f"{label}: {now}{then}")
    tasks = f" with {design.tasks} tasks" if design.tasks_known else ""
    return f"Power by training seeds per arm{tasks}. " + ". ".join(parts) + "."
