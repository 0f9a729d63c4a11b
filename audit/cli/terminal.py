"""What the terminal is like: how wide, and whether it shows colours."""

from __future__ import annotations

import os
import shutil
import sys

AUTO = "auto"
WHEN = (AUTO, "always", "never")
PIPED_WIDTH = 80
NARROWEST, WIDEST = 40, 200


def width_of(*, terminal: bool | None = None) -> int:
    """Return the columns of the terminal that stdout is; 80 where it is a file or a pipe.

    Parameters
    ----------
    terminal : bool, optional
        Whether the text goes to a terminal; asked of stdout when left out.
    """
    if terminal is None:
        terminal = sys.stdout.isatty()
    if not terminal:
        return PIPED_WIDTH  # the same text in every log, whatever COLUMNS says
    columns = shutil.get_terminal_size((PIPED_WIDTH, 24)).columns
    return min(max(columns, NARROWEST), WIDEST)


def shows_colour(when: str = AUTO, *, terminal: bool) -> bool:
    """Return whether text is coloured.

    ``NO_COLOR`` and then ``FORCE_COLOR`` decide where ``--color`` does not (no-color.org,
    force-color.org); else colours are for terminals that can show them.
    """
    if when != AUTO:
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"
