"""Training curves: reward, the share of tokens clipped, the share of groups without advantage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from audit import numerals
from audit.facts.curves import Curve, curves
from audit.pages.figures import canvas
from audit.pages.figures.arm_looks import ArmLook, arm_looks
from audit.pages.figures.figure import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from audit.pages.variables import Variables

# Title of a panel, and the series it shows.
_PANELS: tuple[tuple[str, Callable[[Curve], tuple[float | None, ...]]], ...] = (
    ("mean reward", lambda curve: curve.rewards),
    ("share clipped after the first update", lambda curve: curve.clipped),
    ("share of groups without advantage", lambda curve: curve.zero_groups),
)


# With more runs their lines are a thicket: they turn faint, and the mean of each arm is drawn.
_MOST_RUNS = 8


def draw(variables: Variables) -> Drawing | str:
    """Draw the figure, or say why there is none."""
    found = curves(variables.source)
    if not found:
        return "no rewards were logged by step"
    shown = [
        (title, series)
        for title, series in _PANELS
        if any(value is not None for curve in found for value in series(curve))
    ]
    missing = [title for title, series in _PANELS if (title, series) not in shown]
    figure, panels = canvas.panels(0.9 + 1.55 * len(shown), len(shown), share_x=True)
    arms = list(dict.fromkeys(curve.arm for curve in found))
    looks = arm_looks(variables)
    for axes, (title, series) in zip(panels, shown, strict=True):
        _panel(axes, title, series, found, {arm: looks[arm] for arm in arms})
    panels[-1].set_xlabel("step")
    _whole_steps(panels[-1], found)
    told = "mean of the runs" if len(found) > _MOST_RUNS else "one line per run"
    _legend(figure, [looks[arm] for arm in arms], told)
    without = f" Not logged: {', '.join(missing)}." if missing else ""
    return Drawing(figure, _words(found, arms, shown) + without)


def _panel(
    axes: Axes,
    title: str,
    series: Callable[[Curve], tuple[float | None, ...]],
    found: tuple[Curve, ...],
    looks: dict[str, ArmLook],
) -> None:
    # Arms often log the very same figures; shifted a little, both lines are seen.
    few = max(len(curve.steps) for curve in found) <= 30
    many = len(found) > _MOST_RUNS
    for curve in found:
        look = looks[curve.arm]
        shift = 0.05 * (list(looks).index(curve.arm) - (len(looks) - 1) / 2) if few else 0.0
        pairs = [(s, v) for s, v in zip(curve.steps, series(curve), strict=True) if v is not None]
        axes.plot(
            [step + shift for step, _ in pairs],
            [value for _, value in pairs],
            color=look.colour,
            linestyle="-" if many else look.dash,
            marker=look.marker if few and not many else None,
            markersize=4.5,
            linewidth=0.7 if many else 1.2,
            alpha=0.3 if many else 0.85,
        )
    for arm, look in looks.items() if many else ():
        means = _means([curve for curve in found if curve.arm == arm], series)
        axes.plot(
            list(means),
            list(means.values()),
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker if few else None,
            markersize=4.5,
        )
    axes.set_title(title)
    axes.margins(y=0.12)
    axes.grid(axis="y")


def _means(
    found: list[Curve], series: Callable[[Curve], tuple[float | None, ...]]
) -> dict[int, float]:
    """Return the mean over an arm's runs at each step that any of them logged."""
    by_step: dict[int, list[float]] = {}
    for curve in found:
        for step, value in zip(curve.steps, series(curve), strict=True):
            if value is not None:
                by_step.setdefault(step, []).append(value)
    return {step: sum(by_step[step]) / len(by_step[step]) for step in sorted(by_step)}


def _whole_steps(axes: Axes, found: tuple[Curve, ...]) -> None:
    from matplotlib.ticker import MaxNLocator

    last = max(max(curve.steps) for curve in found)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=min(10, last), integer=True))


def _legend(figure: Figure, looks: list[ArmLook], told: str) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            markersize=4.5,
            label=f"{look.label}, {told}",
        )
        for look in looks
    ]
    canvas.legend(figure, handles, min(2, len(handles)))


def _words(
    found: tuple[Curve, ...],
    arms: list[str],
    shown: list[tuple[str, Callable[[Curve], tuple[float | None, ...]]]],
) -> str:
    parts = []
    for title, series in shown:
        means = []
        for arm in arms:
            values = [v for c in found if c.arm == arm for v in series(c) if v is not None]
            if values:
                means.append(f"{arm} {numerals.fraction(sum(values) / len(values), 3)}")
        parts.append(f"{title}: {', '.join(means)}")
    steps = max(len(curve.steps) for curve in found)
    return (
        f"Training logs of {len(found)} runs over up to {steps} steps; means, {'; '.join(parts)}."
    )
