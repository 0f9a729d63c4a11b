"""Text from data written as HTML; what is not marked safe is escaped by the template engine."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from audit.pages.markdown import safe_url
from audit.safetext import LONGEST, LONGEST_IN_CELL, code_line, harmless


def text(value: object, limit: int = LONGEST) -> Markup:
    """Escape a value as text."""
    return escape(harmless(value, limit))


def cell(value: object) -> Markup:
    """Escape a value for a table's cell, cut to a cell's length; empty text is a dash."""
    return text(value, LONGEST_IN_CELL) or Markup("–")  # noqa: RUF001 - the absent value


def code(value: object, limit: int = LONGEST_IN_CELL) -> Markup:
    """Write a value as inline code."""
    # A long path may break after a slash, not inside a name.
    shown = re.sub(r"(?<=[\w*])/", "/<wbr>", escape(harmless(value, limit)))
    return Markup(f"<code>{shown}</code>")


def link(label: object, url: object) -> Markup:
    """Write a link; an address that is not http or https, or relative, is left out."""
    address = safe_url(url)
    if not address:
        return text(label)
    return Markup('<a href="{}" rel="noopener noreferrer">{}</a>').format(address, text(label))


def block(lines: object, language: str = "") -> Markup:
    """Write lines as a block of code; ``language`` is for the Markdown form alone."""
    del language
    parts = lines if isinstance(lines, list | tuple) else str(lines).splitlines()
    shown = [code_line(str(line)) for line in parts]
    return Markup("<pre><code>{}</code></pre>").format("\n".join(shown))


def strong(inner: str) -> Markup:
    """Write HTML in bold."""
    return Markup("<strong>{}</strong>").format(inner)


def emphasis(inner: str) -> Markup:
    """Write HTML in italics."""
    return Markup("<em>{}</em>").format(inner)
