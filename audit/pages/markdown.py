"""Text from data written as Markdown (CommonMark and GitHub's tables) that can only be text."""

from __future__ import annotations

import re
from urllib.parse import quote

from audit.safetext import LONGEST, LONGEST_IN_CELL, code_line, harmless, one_line

# A pipe would split a table's cell; an entity is read as text by every parser, "\|" is not.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}
_ESCAPED = re.compile(r"[\\`*_{}\[\]~$]")
_ENTITY = re.compile(r"[&<>|]")
# At the start of a block: heading, list, quote, rule, setext underline.
_OPENING = re.compile(r"^(?:[#=:]|\+(?=\s|$)|-(?=[\s\-]|$)|\d{1,9}(?=[.)](?:\s|$)))")
_MENTION = re.compile(r"(?<!\w)@(?=\w)")
_UNSAFE_IN_CODE = re.compile(r"[`|{}<>&\\$]")
_SPECIAL = re.compile(r"[^\w\s.,:;/()+=%'\"?-]|_")
LONGEST_URL = 2000
_URL = re.compile(r"(?i)https?://[^\s]+")
# What stays as it is in a URL; brackets, pipes, quotes and blanks are percent-encoded.
_URL_SAFE = "/:?#@!$&'+,;=%~-._"


class Markdown(str):
    """Text that is Markdown already and is written as it stands."""

    __slots__ = ()


def text(value: object, limit: int = LONGEST) -> Markdown:
    """Escape a value so that it is text in a paragraph and in a table's cell alike."""
    line = harmless(value, limit)
    opening = _OPENING.match(line)
    escaped = _ENTITY.sub(lambda m: _ENTITIES[m[0]], _ESCAPED.sub(r"\\\g<0>", line))
    if opening:
        end = opening.end()
        # A list number is escaped at its delimiter, the other openings before themselves.
        split = end if opening[0].isdigit() else 0
        escaped = f"{escaped[:split]}\\{escaped[split:]}"
    # An empty comment keeps a code host from notifying whoever a file names.
    return Markdown(_MENTION.sub("@<!-- -->", escaped))


def cell(value: object) -> Markdown:
    """Escape a value for a table's cell, cut to a cell's length; empty text is a dash."""
    return text(value, LONGEST_IN_CELL) or Markdown("–")  # noqa: RUF001 - the absent value


def code(value: object, limit: int = LONGEST_IN_CELL) -> Markdown:
    """Write a value as inline code, in a paragraph or a table's cell.

    Where backticks could not hold it safely, as character references inside ``<code>``.
    """
    line = harmless(value, limit)
    if not line:
        return Markdown("–")  # noqa: RUF001 - the absent value
    if not _UNSAFE_IN_CODE.search(line):
        return Markdown(f"`{line}`")
    return Markdown(f"<code>{_SPECIAL.sub(lambda m: f'&#{ord(m[0])};', line)}</code>")


def link(label: object, url: object) -> Markdown:
    """Write a link; an address that is not http or https, or relative, is left out."""
    address = safe_url(url)
    shown = text(label)
    return Markdown(f"[{shown}]({address})") if address else shown


def safe_url(url: object) -> str:
    """Return an http, https or relative address, percent-encoded; empty for any other."""
    address = one_line(str(url))
    relative = ":" not in address.partition("/")[0] and not address.startswith(("//", "\\"))
    if not address or len(address) > LONGEST_URL or not (relative or _URL.fullmatch(address)):
        return ""
    return quote(address, safe=_URL_SAFE)


def block(lines: object, language: str = "") -> Markdown:
    """Write lines as a fenced code block whose fence is longer than any inside."""
    parts = lines if isinstance(lines, list | tuple) else str(lines).splitlines()
    shown = [code_line(str(line)) for line in parts]
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markdown("\n".join([fence + language, *shown, fence]))


def strong(inner: str) -> Markdown:
    """Write Markdown in bold."""
    return Markdown(f"**{inner}**")


def emphasis(inner: str) -> Markdown:
    """Write Markdown in italics."""
    return Markdown(f"*{inner}*")
