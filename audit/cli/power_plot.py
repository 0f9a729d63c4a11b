"""Power curves of a plan as SVG or PNG, the same bytes on every run."""

from __future__ import annotations

from pathlib import PurePath

from audit import numerals
from audit.analysis.plan import Plan
from audit.errors import UsageError
from audit.writing import write_whole

_POINTS = 61
_HEIGHT_INCHES = 3.6


def write_plot(plan: Plan, path: str) -> None:
    """Draw power against the true difference, one curve for each number of seeds.

    Raises
    ------
    UsageError
        When the name ends in neither ``.svg`` nor ``.png``, or cannot be written.
    """
    kind = PurePath(path).suffix.lower().lstrip(".")
    if kind not in ("svg", "png"):
        raise UsageError(f"--plot writes .svg or .png, not {path!r}")
    write_whole(path, _drawn(plan, kind))


def _drawn(plan: Plan, kind: str) -> bytes:
    from audit.pages.figures import canvas
    from audit.pages.figures.power_curves import PowerCurve, draw_curves

    widest = min(1.0, 4 * plan.effect)
    effects = [widest * step / (_POINTS - 1) for step in range(_POINTS)]
    looks = zip(canvas.ARM_COLOURS, canvas.ARM_DASHES, strict=True)
    curves = [
        PowerCurve(f"{seeds} seeds", [plan.power(effect, seeds) for effect in effects], *look)
        for seeds, look in zip(plan.seeds_shown, looks, strict=False)
    ]
    span = plan.span
    sd = numerals.fraction(plan.declared.value * span, 3)
    answers = numerals.counted(plan.samples, "answer")
    with canvas.styled():
        figure, (axes,) = canvas.panels(_HEIGHT_INCHES)
        places = [effect * span for effect in effects]
        here = plan.effect * span
        draw_curves(axes, places, curves, here, numerals.signed(here))
        axes.set_xlim(0, widest * span)
        axes.set_xlabel("true difference")
        axes.set_title(f"{plan.tasks} tasks, {answers} per task, training sd {sd}")
        figure.legend(title="per arm", loc="outside right center")
        return canvas.svg(figure, "power") if kind == "svg" else canvas.png(figure)
