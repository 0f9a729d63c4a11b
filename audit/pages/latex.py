"""Text from data written as LaTeX that can only be text: no command, comment, cell or formula."""

from __future__ import annotations

import re

from audit.pages.markdown import safe_url
from audit.safetext import LONGEST, LONGEST_IN_CELL, code_line, harmless

_COMMANDS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    # After the end of a row a bracket would be the length of a gap.
    "[": "{[}",
    "]": "{]}",
    "–": "--",  # noqa: RUF001 - the absent value
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "…": r"\dots{}",
} | {char: f"\\{char}" for char in "{}$&#_%"}
_TABLE = str.maketrans(_COMMANDS)
# Pairs that fonts join to another sign.
_LIGATURE = re.compile(r"-(?=-)|[`'!?](?=[`'])")
_MINUS = re.compile(r"(?<!\w)-(?=\d)")


class Latex(str):
    """Text that is LaTeX already and is written as it stands."""

    __slots__ = ()


def text(value: object, limit: int = LONGEST) -> Latex:
    """Escape a value as text."""
    apart = _LIGATURE.sub(lambda match: match[0] + "\0", harmless(value, limit))
    return Latex(apart.translate(_TABLE).replace("\0", "{}"))


def cell(value: object) -> Latex:
    """Escape a value for a table's cell, cut to a cell's length; empty text is a dash."""
    return text(value, LONGEST_IN_CELL) or Latex("--")


def number(written: str) -> Latex:
    """Write a number that is text already, with the minus sign of formulas."""
    return Latex(_MINUS.sub("\0", written).translate(_TABLE).replace("\0", "$-$"))


def code(value: object, limit: int = LONGEST_IN_CELL) -> Latex:
    """Write a value as inline code."""
    return Latex(rf"\texttt{{{text(value, limit)}}}")


def link(label: object, url: object) -> Latex:
    """Write a label with its address behind it; one that is not http or https is left out."""
    address = safe_url(url)
    return Latex(f"{text(label)} ({code(address)})") if address else text(label)


def block(lines: object, language: str = "") -> Latex:
    """Write lines as code, one below the other; ``language`` is for the Markdown form alone."""
    del language
    parts = lines if isinstance(lines, list | tuple) else str(lines).splitlines()
    return Latex("\\\\\n".join(code(code_line(str(line)), LONGEST) for line in parts))


def strong(inner: str) -> Latex:
    """Write LaTeX in bold."""
    return Latex(rf"\textbf{{{inner}}}")


def emphasis(inner: str) -> Latex:
    """Write LaTeX in italics."""
    return Latex(rf"\emph{{{inner}}}")
