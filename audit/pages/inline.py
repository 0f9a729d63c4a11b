"""The inline markup that prose may use: bold, italics, code and links; all else is text.

Prose is parsed once and written as Markdown or HTML. Values that an expression brings in are
shielded before they are parsed, so that no character of theirs can be markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from audit.safetext import LONGEST_IN_CELL, harmless

# Shielded characters are moved to a private-use plane that `safetext.one_line` lets nobody use.
_SHIELD = 0x100000
_SHIELDED = re.compile(f"[{chr(_SHIELD + 0x21)}-{chr(_SHIELD + 0x7E)}]")
_PUNCTUATION = re.compile(r"[\\`*_\[\]()<>]")

_LINK = re.compile(r"\[((?:\\.|[^\\\[\]]){1,300})\]\(([^()\s]{1,2000})\)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_TICKS = re.compile("`+")
# Longer text than anyone writes in a paragraph is not searched for markup.
LONGEST_PARAGRAPH = 6000


def shield(value: str) -> str:
    """Return text whose punctuation cannot be markup; `parse` gives it back as it was."""
    return _PUNCTUATION.sub(lambda m: chr(_SHIELD + ord(m[0])), value)


def _bare(value: str) -> str:
    return _SHIELDED.sub(lambda m: chr(ord(m[0]) - _SHIELD), value)


@dataclass(frozen=True, slots=True)
class Inline:
    """A run of prose: ``kind`` is text, code, link, strong or emphasis."""

    kind: str
    text: str = ""
    url: str = ""
    inner: tuple[Inline, ...] = ()


@dataclass(frozen=True, slots=True)
class Prose:
    """One paragraph of prose, ready to be written; printing it gives its bare words."""

    pieces: tuple[Inline, ...]

    def __str__(self) -> str:
        return "".join(_words(piece) for piece in self.pieces)

    def __bool__(self) -> bool:
        return bool(str(self).strip())

    def written(self, dialect: ModuleType) -> str:
        """Write the paragraph with the functions of `markdown` or `html`."""
        return "".join(_written(self.pieces, dialect))


def parse(prose: str) -> Prose:
    """Split one paragraph into text and markup; markup that is not closed is text."""
    folded = re.sub(r"\s+", " ", prose).strip()
    if len(folded) > LONGEST_PARAGRAPH:
        return Prose((Inline("text", _bare(folded)),))
    return Prose(tuple(_pieces(folded)))


def verbatim(text: str) -> Prose:
    """Take a command, which has no markup, as it stands."""
    return Prose((Inline("text", _bare(text)),))


def named(text: str) -> Prose:
    """Take a title or name, which has no markup and is cut to a title's length."""
    return Prose((Inline("text", harmless(_bare(text), LONGEST_IN_CELL)),))


def _pieces(prose: str) -> Iterator[Inline]:
    plain: list[str] = []
    position = 0
    while position < len(prose):
        found = _marked(prose, position)
        if found is None:
            plain.append(prose[position])
            position += 1
            continue
        end, piece = found
        if piece.kind == "text":
            plain.append(piece.text)
        else:
            if plain:
                yield Inline("text", _bare("".join(plain)))
            plain = []
            yield piece
        position = end
    if plain:
        yield Inline("text", _bare("".join(plain)))


def _marked(prose: str, start: int) -> tuple[int, Inline] | None:
    """Return the markup that opens at a place, with its end; None where none does."""
    char = prose[start]
    if char == "\\":
        match = _ESCAPED.match(prose, start)
        return None if match is None else (match.end(), Inline("text", match[1]))
    if char == "`":
        return _code(prose, start)
    if char == "*":
        return _stressed(prose, start)
    match = _LINK.match(prose, start) if char == "[" else None
    if match is None:
        return None
    label = _ESCAPED.sub(r"\1", match[1])
    return match.end(), Inline("link", _bare(label), _bare(match[2]))


def _code(prose: str, start: int) -> tuple[int, Inline]:
    """Return a code span, or the run of backticks as text where none of its length closes it."""
    ticks = _TICKS.match(prose, start)
    assert ticks is not None
    for closing in _TICKS.finditer(prose, ticks.end()):
        if closing[0] == ticks[0]:
            inner = prose[ticks.end() : closing.start()]
            return closing.end(), Inline("code", _bare(inner).strip())
    return ticks.end(), Inline("text", ticks[0])


def _stressed(prose: str, start: int) -> tuple[int, Inline] | None:
    """Return bold or italics: asterisks that touch the words they enclose on both sides."""
    mark = "**" if prose.startswith("**", start) else "*"
    inside = start + len(mark)
    end = prose.find(mark, inside + 1)
    inner = prose[inside:end]
    if end < 0 or inner[0].isspace() or inner[-1].isspace() or inner[-1] in "*\\":
        # A pair of asterisks that opens nothing is text as a whole.
        return (inside, Inline("text", mark)) if mark == "**" else None
    inner_pieces = tuple(_pieces(inner)) if "*" not in inner else (Inline("text", _bare(inner)),)
    kind = "strong" if mark == "**" else "emphasis"
    return end + len(mark), Inline(kind, inner=inner_pieces)


def _words(piece: Inline) -> str:
    return piece.text or "".join(_words(inner) for inner in piece.inner)


def _written(pieces: tuple[Inline, ...], dialect: ModuleType) -> Iterator[str]:
    for index, piece in enumerate(pieces):
        if piece.kind == "text":
            yield _spaced(piece.text, dialect, first=index == 0)
        elif piece.kind == "code":
            yield str(dialect.code(piece.text))
        elif piece.kind == "link":
            yield str(dialect.link(piece.text, piece.url))
        else:
            mark = dialect.strong if piece.kind == "strong" else dialect.emphasis
            inner = type(dialect.text(""))("".join(_written(piece.inner, dialect)))
            yield str(mark(inner))


def _spaced(text: str, dialect: ModuleType, *, first: bool) -> str:
    """Write text with the blanks at its ends, which part it from the markup beside it."""
    before = " " if text[:1] == " " and not first else ""
    after = " " if text[-1:] == " " and text.strip() else ""
    return f"{before}{dialect.text(text, LONGEST_PARAGRAPH)}{after}"
