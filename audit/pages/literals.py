"""Numbers typed into prose that look like results; on a page, a result is an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jinja2 import TemplateSyntaxError, nodes

from audit.pages.environment import PageEnvironment
from audit.pages.recipe import COMMANDS, NAMES, Recipe

# Left out of the search: code, addresses, arXiv and DOI numbers, versions, dates, names with
# digits, and citations in square brackets.
_PASSED_OVER = re.compile(
    r"(`+).*?\1|\]\([^)]*\)|https?://\S+|\b(?i:arxiv|doi)\s*:?\s*[\d./v]+"
    r"|\b\d+\.\d+\.\d+[\w.]*|\b\d{4}-\d{2}(?:-\d{2})?\b|[A-Za-z_@/][\w@/.-]*\d[\w.]*"
    r"|\\?\[\d{1,3}\\?\]"
)
_RESULT = re.compile(
    r"[+\-\u2212]\d+(?:\.\d+)?%?"  # a signed number
    r"|\d[\d,]*(?:\.\d+)?\s?(?:%|per ?cent\b|(?:percentage )?points?\b|sigma\b|times\b|sd\b)"
    r"|\d*\.\d+"  # any decimal
    r"|\d[\d,]*\s+(?:of|out of|in)\s+\d[\d,]*"  # so many of so many
)
# Strings that hold names, not statements.
_PASSED_KEYS = (*NAMES, COMMANDS, "references")


@dataclass(frozen=True, slots=True)
class Literal:
    """A number typed by hand: the key path of its string, its line if known, the number."""

    key: str
    line: int | None
    number: str

    @property
    def text(self) -> str:
        """The warning without the file's name."""
        return (
            f"{self.key}: {self.number!r} looks like a result typed by hand; "
            "write an expression over the data, or put a setting in `code`"
        )


def literals(recipe: Recipe, environment: PageEnvironment) -> Iterator[Literal]:
    """Yield the literal numbers of a study's prose that look like results."""
    for passage in recipe.passages():
        if passage.key.startswith(_PASSED_KEYS):
            continue
        for offset, number in _in_passage(passage.text, environment):
            line = None if passage.line is None else passage.line + offset
            yield Literal(passage.key, line, number)


def _in_passage(text: str, environment: PageEnvironment) -> Iterator[tuple[int, str]]:
    try:
        tree = environment.parse(text)
    except TemplateSyntaxError:
        return  # reported when the prose is rendered
    # Expressions become blanks, so that code around one is still seen as code.
    written = "".join(
        node.data if isinstance(node, nodes.TemplateData) else "{}"
        for output in tree.find_all(nodes.Output)
        for node in output.nodes
    )
    blanked = _PASSED_OVER.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), written)
    for match in _RESULT.finditer(blanked):
        yield blanked.count("\n", 0, match.start()), match[0].strip()
    for constant in tree.find_all(nodes.Const):
        if isinstance(constant.value, float):
            yield constant.lineno - 1, repr(constant.value)
