"""A figure as a page uses it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from audit.pages.figures.canvas import INK, PAPER
from audit.safetext import harmless

if TYPE_CHECKING:
    from matplotlib import figure as drawn


SVG, PNG = "svg", "png"
KINDS = (SVG, PNG)


@dataclass(frozen=True)
class Figure:
    """One figure of a page.

    Attributes
    ----------
    name : str
        Stem of its file.
    title : str
    alt : str
        What it shows, in words.
    svg : bytes
    kind : str
        Of its file beside the page: ``svg`` or ``png``.
    """

    name: str
    title: str
    alt: str
    svg: bytes
    _png: Callable[[], bytes] = field(repr=False, compare=False)
    kind: str = SVG

    @property
    def path(self) -> str:
        """Where its file lies, from the page: ``figures/deltas.svg``."""
        return f"figures/{self.name}.{self.kind}"

    @property
    def data(self) -> bytes:
        """What its file holds."""
        return self.svg if self.kind == SVG else self.png()

    @property
    def inline(self) -> Markup:
        """The figure as an SVG element for an HTML page, drawn in the page's own ink."""
        text = self.svg.decode("utf-8")
        text = text[text.index("<svg") :]
        text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
        text = re.sub(r'\bid="', f'id="{self.name}-', text)
        text = re.sub(r"url\(#", f"url(#{self.name}-", text)
        text = re.sub(r'href="#', f'href="#{self.name}-', text)
        text = text.replace(INK, "currentColor").replace(PAPER, "none")
        label = f'<svg role="img" aria-label="{escape(harmless(self.alt, 2000))}" '
        return Markup(text.replace("<svg ", label, 1).rstrip())

    def png(self) -> bytes:
        """Return the figure as PNG."""
        return self._png()


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one study.

    Attributes
    ----------
    drawn : tuple of Figure
    left_out : tuple of (str, str)
        Title of each figure that could not be drawn, and why.
    """

    drawn: tuple[Figure, ...]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a figure's module gives back: matplotlib's figure and its alternative text."""

    figure: drawn.Figure
    alt: str
