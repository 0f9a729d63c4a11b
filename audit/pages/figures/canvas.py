"""How a figure looks and how it becomes bytes that are the same on every machine.

Matplotlib's object interface only: no pyplot, no global state, no user settings. Colours are from
Okabe and Ito's palette, told apart with every common colour vision, and by marker and dash too.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from audit.safetext import harmless

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Two colours that occur nowhere else, so that a page can replace them for its dark form.
INK, PAPER = "#1b1f24", "#fdfefe"
FAINT = "#8b949e"
BLUE, VERMILION, GREEN, PURPLE, ORANGE = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"
SKY = "#56b4e9"
# Of arms, and of nothing else: green and vermilion are for what won and lost.
ARM_COLOURS = (BLUE, ORANGE, PURPLE, SKY, INK)
ARM_MARKERS = ("o", "s", "^", "D", "v")
ARM_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))

# At 400 pixels of a phone a text of 10 points still has 9 pixels.
WIDTH_INCHES = 6.2
# Settings of windows and servers, which no figure here uses.
_OF_WINDOWS = ("backend", "interactive", "toolbar", "tk.", "webagg.", "date.epoch")
_FONTS = "'DejaVu Sans', Verdana, Arial, sans-serif"
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small, searchable, sharp at any size
    "font.family": ["DejaVu Sans"],  # shipped with matplotlib, so widths agree everywhere
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.unicode_minus": False,
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": PAPER,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "grid.color": FAINT,
    "grid.alpha": 0.25,
    "lines.linewidth": 1.6,
    "path.simplify": False,
}
_HASHED_ID = re.compile(r'\bid="(\w*[0-9a-f]{10})"')
_REFERENCE = re.compile(r'(?<=["#])\w*[0-9a-f]{10}(?=[")])')


@contextmanager
def styled() -> Iterator[None]:
    """Draw with this module's settings, whatever the user's own are."""
    import matplotlib

    defaults: dict[Any, Any] = dict(matplotlib.rcParamsDefault)
    plain = {k: v for k, v in defaults.items() if not k.startswith(_OF_WINDOWS)}
    with matplotlib.rc_context(plain | _STYLE), warnings.catch_warnings():
        # Text stays text, so the reader's own fonts show what this one lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def panels(
    height: float, rows: int = 1, *, share_x: bool = False, width: float = WIDTH_INCHES
) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels below each other; ``height`` and ``width`` in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=share_x, squeeze=False)
    return figure, list(axes[:, 0])


def svg(figure: Figure, name: str) -> bytes:
    """Return a figure as SVG whose bytes depend on nothing but the figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        Begins the ids inside, so that figures can stand in one document.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context({"svg.hashsalt": name}):
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata=nothing)
    text = buffer.getvalue().decode("utf-8").replace("\r\n", "\n")
    text = re.sub(r"<!-- Created with .*?-->\n?", "", text, flags=re.DOTALL)
    # `drawing.same_drawing` asks by whom a committed figure was drawn.
    text = text.replace("<svg", f"<!-- matplotlib {matplotlib.__version__} -->\n<svg", 1)
    text = _numbered(text, name)
    text = re.sub(r"'DejaVu Sans'(?:, [^;\"]*)?", _FONTS, text)
    return re.sub(r"[ \t]+\n", "\n", text).encode("utf-8")


def _numbered(text: str, name: str) -> str:
    """Replace ids that hash unrounded coordinates, whose last digit the processor decides."""
    hashed = dict.fromkeys(_HASHED_ID.findall(text))
    places = {one: f"{name}-{number}" for number, one in enumerate(hashed, 1)}
    return _REFERENCE.sub(lambda match: places.get(match[0], match[0]), text)


def png(figure: Figure) -> bytes:
    """Return a figure as PNG at 144 dots an inch."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    buffer = io.BytesIO()
    figure.set_dpi(144)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def legend(figure: Figure, handles: list[Any], columns: int) -> None:
    """Put a legend below all panels."""
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def short(label: str, limit: int = 34) -> str:
    """Return a label of visible text no longer than fits beside a figure."""
    label = harmless(label, 4 * limit)
    return label if len(label) <= limit else label[: limit - 1].rstrip() + "…"
