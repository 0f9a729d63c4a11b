"""Figures of a study: one module each, drawn from a page's variables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from audit.pages.figures import (
    along_training,
    canvas,
    deltas,
    lottery,
    power,
    seeds,
    training,
    variance,
)
from audit.pages.figures.figure import KINDS, SVG, Drawing, Figure, Figures

if TYPE_CHECKING:
    from audit.pages.variables import Variables

Draw = Callable[["Variables"], Drawing | str]

# In the order of a page: name of the file, title, what draws it or says why it cannot.
FIGURES: tuple[tuple[str, str, Draw], ...] = (
    ("deltas", "Every delta with its interval and the noise floor", deltas.draw),
    ("seeds", "Every training run's score, joined by seed", seeds.draw),
    ("lottery", "What each seed alone would have reported", lottery.draw),
    ("checkpoints", "Every run's score along training, and its mean", along_training.draw),
    ("training", "Training: reward, clip activity, groups without advantage", training.draw),
    ("variance", "Where the uncertainty of the delta comes from", variance.draw),
    ("power", "Power against training seeds", power.draw),
)


def figure_paths() -> tuple[str, ...]:
    """Return the paths, from the page, of all figures there are."""
    return tuple(f"figures/{name}.{kind}" for name, _, _ in FIGURES for kind in KINDS)


def draw(variables: Variables, kind: str = SVG) -> Figures:
    """Draw every figure that the data allows, its file as ``svg`` or ``png``."""
    drawn: list[Figure] = []
    left_out: list[tuple[str, str]] = []
    for name, title, make in FIGURES:
        with canvas.styled():
            made = make(variables)
            if isinstance(made, str):
                left_out.append((title, made))
                continue
            svg = canvas.svg(made.figure, name)
        drawn.append(Figure(name, title, made.alt, svg, partial(_png, make, variables), kind))
    return Figures(tuple(drawn), tuple(left_out))


def _png(make: Draw, variables: Variables) -> bytes:
    with canvas.styled():
        made = make(variables)
        assert isinstance(made, Drawing)
        return canvas.png(made.figure)


__all__ = ["FIGURES", "Drawing", "Figure", "Figures", "draw", "figure_paths"]
