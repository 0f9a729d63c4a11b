"""The inline markup that prose may use: bold, italics, code and links; all else is text.

Prose is parsed once and written as Markdown or HTML. Values that an expression brings in are
shielded before they are parsed, so that no character of theirs can be markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

# Shielded characters are moved to a private-use plane that `plain.one_line` lets nobody use.
_SHIELD = 0x100000
_SHIELDED = re.compile(f"[{chr(_SHIELD + 0x21)}-{chr(_SHIELD + 0x7E)}]")
_PUNCTUATION = re.compile(r"[\\`*_\[\]()<>]")

_TOKEN = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?P<strong>(?=\S)(?:\\.|`[^`]*`|[^\\`*]|\*(?!\*))+?(?<=\S))\*\*"
    r"|(?<![\w*])\*(?P<emphasis>(?=[^\s*])(?:\\.|`[^`]*`|[^\\`*])+?(?<=\S))\*(?![\w*])"
    r"|\[(?P<label>(?:\\.|[^\\\[\]])+)\]\((?P<url>[^()\s]+)\)",
    re.DOTALL,
)
# Longer text than anyone writes in a paragraph is not searched for markup.
LONGEST_PARAGRAPH = 6000


def shield(value: str) -> str:
    """Return text whose punctuation cannot be markup; `parse` gives it back as it was."""
    return _PUNCTUATION.sub(lambda m: chr(_SHIELD + ord(m[0])), value)


def _bare(value: str) -> str:
    return _SHIELDED.sub(lambda m: chr(ord(m[0]) - _SHIELD), value)


class Dialect(Protocol):
    """The functions of `markdown` and of `html` that write prose."""

    text: Callable[..., str]
    code: Callable[..., str]
    link: Callable[..., str]
    strong: Callable[..., str]
    emphasis: Callable[..., str]


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of prose: ``kind`` is text, code, link, strong or emphasis."""

    kind: str
    text: str = ""
    url: str = ""
    inner: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Prose:
    """One paragraph of prose, ready to be written; printing it gives its bare words."""

    pieces: tuple[Piece, ...]

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
        return Prose((Piece("text", _bare(folded)),))
    return Prose(tuple(_pieces(folded)))


def verbatim(text: str) -> Prose:
    """Take a command or other text that has no markup, as it stands."""
    return Prose((Piece("text", _bare(text)),))


def _pieces(prose: str) -> Iterator[Piece]:
    plain: list[str] = []
    position = 0
    for match in _TOKEN.finditer(prose):
        plain.append(prose[position : match.start()])
        position = match.end()
        if match["escaped"]:
            plain.append(match["escaped"])
            continue
        if any(plain):
            yield Piece("text", _bare("".join(plain)))
        plain = []
        yield _marked(match)
    plain.append(prose[position:])
    if any(plain):
        yield Piece("text", _bare("".join(plain)))


def _marked(match: re.Match[str]) -> Piece:
    if match["code"] is not None:
        return Piece("code", _bare(match["code"]).strip())
    if match["label"] is not None:
        return Piece("link", _bare(_unescaped(match["label"])), _bare(match["url"]))
    kind = "strong" if match["strong"] is not None else "emphasis"
    return Piece(kind, inner=tuple(_pieces(match[kind])))


def _unescaped(text: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


def _words(piece: Piece) -> str:
    return piece.text or "".join(_words(inner) for inner in piece.inner)


def _written(pieces: tuple[Piece, ...], dialect: ModuleType) -> Iterator[str]:
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
