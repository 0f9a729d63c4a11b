"""Each training run's score by arm; runs at one seed are joined by a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit import numerals
from audit.pages.arms import ShownArm
from audit.pages.figures import canvas
from audit.pages.figures.arm_looks import ArmLook, arm_looks
from audit.pages.figures.figure import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from audit.pages.variables import Variables
    from audit.views.run_view import RunView

# Beyond these, lines and labels are a thicket.
_MOST_LABELS = 24
_HEIGHT_INCHES = 3.4
_LABEL_INCHES = 0.17


def draw(variables: Variables) -> Drawing | str:
    """Draw the figure, or say why there is none."""
    shown = [arm for arm in variables.arms if _scored(arm)]
    trained = [arm for arm in shown if not arm.is_base]
    if not trained:
        return "no run has a score"
    if max(len(arm.runs) for arm in trained) < 2:
        return "each arm has one training run, so there is no spread to show"
    labels = _by_score(trained[-1])
    height = max(_HEIGHT_INCHES, 1.0 + _LABEL_INCHES * len(labels))
    figure, (axes,) = canvas.panels(height)
    looks = arm_looks(variables)
    seeds = sorted({seed for arm in trained for seed in arm.by_seed})
    for number, seed in enumerate(seeds):
        _join(axes, shown, seed, _offset(number, len(seeds)))
    for place, arm in enumerate(shown):
        _points(axes, arm, place, seeds, looks[arm.name])
    axes.set_xticks(range(len(shown)), [_name(arm, looks[arm.name]) for arm in shown])
    axes.set_xlim(-0.4, len(shown) - 0.2)
    axes.margins(y=0.1)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y")
    axes.set_ylabel(canvas.short(variables.metric, 40))
    _labels(axes, labels, len(shown) - 1, seeds, height)
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


def _name(arm: ShownArm, look: ArmLook) -> str:
    """Return what stands below an arm: its label and its mean."""
    return f"{canvas.short(look.label, 22)}\nmean {numerals.fraction(arm.score, 3)}"


def _points(axes: Axes, arm: ShownArm, place: int, seeds: list[int], look: ArmLook) -> None:
    known = _scored(arm)
    for number, (run, score) in enumerate(known):
        joined = not arm.is_base and run.seed in seeds
        order = (seeds.index(run.seed or 0), len(seeds)) if joined else (number, len(known))
        x = place + _offset(*order)
        axes.plot(x, score, look.marker, color=look.colour, markersize=7, zorder=3)
    if arm.score is not None:
        ends = [place - 0.22, place + 0.22]
        axes.plot(ends, [arm.score] * 2, color=look.colour, linewidth=1.6, zorder=2)


def _by_score(arm: ShownArm) -> dict[float, list[int]]:
    """Return the seeds of an arm by their score, lowest first; none where there are too many."""
    found: dict[float, list[int]] = {}
    for seed, score in sorted(arm.by_seed.items()):
        found.setdefault(score, []).append(seed)
    return dict(sorted(found.items())) if len(found) <= _MOST_LABELS else {}


def _labels(
    axes: Axes, labels: dict[float, list[int]], place: int, seeds: list[int], height: float
) -> None:
    """Name the seeds beside the last arm, a thin line from each point to its label."""
    low, high = axes.get_ylim()
    gap = (high - low) * _LABEL_INCHES / (height - 0.9)
    for (score, named), level in zip(labels.items(), spread_out(list(labels), gap), strict=True):
        for seed in named:
            x = place + _offset(seeds.index(seed), len(seeds))
            axes.plot(
                [x, place + 0.27], [score, level], color=canvas.FAINT, linewidth=0.6, zorder=1.5
            )
        word = "seed" if len(named) == 1 else "seeds"
        names = canvas.short(f"{word} {', '.join(map(str, named))}", 20)
        axes.text(place + 0.29, level, names, va="center", fontsize=8)


def spread_out(wanted: list[float], gap: float) -> list[float]:
    """Return places at least ``gap`` apart, in the order given, nearest to those wanted.

    Parameters
    ----------
    wanted : list of float
        Rising.
    gap : float
        Least distance of neighbours.

    Notes
    -----
    Least squares under an order, by pooling adjacent violators: with ``gap`` times its place taken
    from each, the places must only rise.
    """
    pools: list[tuple[float, int]] = []  # mean and size
    for number, value in enumerate(wanted):
        mean, size = value - gap * number, 1
        while pools and pools[-1][0] > mean:
            before, members = pools.pop()
            mean = (mean * size + before * members) / (size + members)
            size += members
        pools.append((mean, size))
    level = [mean for mean, size in pools for _ in range(size)]
    return [value + gap * number for number, value in enumerate(level)]


def _words(arm: ShownArm) -> str:
    runs = ", ".join(f"{run.run} {numerals.fraction(score, 3)}" for run, score in _scored(arm))
    return f"{arm.label}: {runs}; mean {numerals.fraction(arm.score, 3)}."
