"""What a template may use, told from the docstrings of what it is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from audit import numerals
from audit.analysis import Lottery, OneSeedStudy, Tally
from audit.facts.clip_activity import ClipActivity
from audit.pages import markdown
from audit.pages.arms import SeedRow, ShownArm
from audit.pages.check_table import CheckRow
from audit.pages.deltas import Delta
from audit.pages.environment import KEPT_FILTERS, shipped_templates
from audit.pages.recipe import recipe_keys
from audit.pages.rounds import ShownReplication, ShownRound
from audit.pages.variables import Noise, ShownFinding, Variables, Verified
from audit.views.claim_view import ClaimView
from audit.views.headline_view import Headline
from audit.views.run_view import RunView

# Records in the order a reader meets them.
RECORDS: tuple[type, ...] = (
    Headline,
    ShownArm,
    RunView,
    SeedRow,
    Delta,
    Lottery,
    OneSeedStudy,
    Tally,
    ClaimView,
    Noise,
    ShownRound,
    ShownReplication,
    ClipActivity,
    CheckRow,
    ShownFinding,
    Verified,
)
_PROPERTIES = ("prose", "checks", "notices")


def reference() -> str:
    """Return the whole reference as plain text."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield "TEMPLATES"
    for name in shipped_templates():
        yield f"  {name}"
    yield ""
    yield "A template's own folder is searched before the shipped one, so parts can be replaced."
    yield "Undefined names are errors. Text is escaped for Markdown (NAME.md.j2), tables included,"
    yield "for HTML (NAME.html.j2), LaTeX (NAME.tex.j2) or CSV (NAME.csv.j2). A bare float is an"
    yield "error: a filter writes it; a CSV file alone has it unrounded, and nothing for None."
    yield ""
    yield "VARIABLES"
    yield from _attributes(Variables)
    for name in _PROPERTIES:
        yield from _entry(name, inspect.getdoc(getattr(Variables, name)) or "")
    yield from _entry(
        "figures",
        "`drawn`: each with `title`, `alt`, `path` and `inline` (an SVG "
        "element for HTML); `left_out`: pairs of a title and why.",
    )
    yield from _entry(
        "studies",
        "In a fleet template: the variables of each study, and `page`, the way to its page.",
    )
    yield from _entry(
        "arm",
        "In prose: the arms by name, e.g. `arm['grpo-control'].score`; the "
        "untrained model is `arm.base`.",
    )
    yield ""
    for record in RECORDS:
        yield f"{record.__name__.upper()}: {_summary(record)}"
        yield from _attributes(record)
        for name, member in vars(record).items():
            if isinstance(member, property):
                yield from _entry(name, inspect.getdoc(member) or "")
        yield ""
    yield "FILTERS FOR NUMBERS (None is written as a dash)"
    yield from _functions(numerals.FILTERS)
    yield ""
    yield "FILTERS FOR TEXT (in Markdown; in HTML the same names do the same)"
    texts = (markdown.text, markdown.cell, markdown.code, markdown.link, markdown.block)
    yield from _functions(texts)
    yield ""
    yield f"Of Jinja2's own filters: {', '.join(KEPT_FILTERS)}."
    yield ""
    yield "PROSE (recipe.toml)"
    yield "  Its strings may use **bold**, *italics*, `code`, [links](https://...) and expressions."
    for key, schema in recipe_keys().items():
        yield from _entry(key, f"{_kind(schema)}: {schema['description']}")


def _kind(schema: Mapping[str, Any]) -> str:
    """Say what a key of the prose holds."""
    inner = schema.get("items", schema)
    several = "a list of %ss" if inner is not schema else "a %s"
    named = ", ".join(inner.get("properties", ()))
    kind = {"string": "string", "object": "table"}[inner["type"]]
    return several % kind + (f" with {named}" if named else "")


def _summary(record: type) -> str:
    return (inspect.getdoc(record) or "").partition("\n")[0]


def _attributes(record: type) -> Iterator[str]:
    """Yield the Attributes section of a docstring."""
    _, _, section = (inspect.getdoc(record) or "").partition("Attributes\n----------\n")
    for line in section.splitlines():
        yield f"  {line}"


def _functions(functions: tuple[Callable[..., object], ...]) -> Iterator[str]:
    for function in functions:
        names = list(inspect.signature(function).parameters)
        rest = f"({', '.join(names[1:])})" if names[1:] else ""
        summary = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
        yield from _entry(f"{names[0]} | {function.__name__}{rest}", summary)


def _entry(name: str, text: str) -> Iterator[str]:
    yield f"  {name}"
    yield f"      {' '.join(text.split())}"
