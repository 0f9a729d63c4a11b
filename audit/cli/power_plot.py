"""Power curves of a plan as SVG or PNG, the same bytes on every run."""

from __future__ import annotations

import io
from pathlib import PurePath

from audit.analysis.plan import POWER, SEEDS_SHOWN, Plan
from audit.errors import UsageError
from audit.writing import write_whole

_POINTS = 61


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
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    widest = min(1.0, 4 * plan.effect)
    effects = [widest * step / (_POINTS - 1) for step in range(_POINTS)]
    # A fixed salt for ids and text kept as text: the same file everywhere.
    with mpl.rc_context({"svg.hashsalt": "audit", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for seeds in SEEDS_SHOWN:
            powers = [plan.power(effect, seeds) for effect in effects]
            axes.plot(effects, powers, label=f"{seeds} seeds")
        axes.axhline(POWER, color="0.6", linewidth=0.8)
        axes.axvline(plan.effect, color="0.6", linewidth=0.8)
        axes.set(
            xlabel="true difference",
            ylabel="probability of a verdict",
            ylim=(0, 1),
            xlim=(0, widest),
            title=f"{plan.tasks} tasks, {plan.samples} answers per task, "
            f"training sd {plan.components.seed_sd_treatment:.3f}",
        )
        axes.legend(title="per arm", loc="lower right")
        target = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(target, format=kind, metadata=metadata, dpi=120)
    return target.getvalue()
