"""``audit rules``: the catalogue as text, JSON or the Markdown page ``docs/rules.md``."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence

from audit.cli.examples import add_examples
from audit.errors import UsageError
from audit.rules import CATALOGUE, Rule

EXAMPLES = (
    "audit rules",
    "audit rules --family SEED",
    "audit rules --format markdown",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit rules``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument("--family", help="only this family, e.g. SCHEMA")


def main(options: argparse.Namespace) -> int:
    """Print the catalogue; the status is 0, or 2 where no rule is of the family."""
    rules = CATALOGUE
    if options.family is not None:
        rules = tuple(rule for rule in rules if rule.family == options.family.upper())
        if not rules:
            families = ", ".join(dict.fromkeys(rule.family for rule in CATALOGUE))
            raise UsageError(f"no family {options.family!r}; there are {families}")
    sys.stdout.write(_FORMATS[options.format](rules))
    return 0


def _text(rules: Sequence[Rule]) -> str:
    return "\n".join(listed(rules)) + "\n"


def listed(rules: Sequence[Rule]) -> Iterator[str]:
    """Yield the lines of a table of rules: id, slug, severity and summary."""
    slug = max(len(rule.slug) for rule in rules)
    number = max(len(rule.id) for rule in rules)
    for rule in rules:
        start = f"{rule.id:<{number}}  {rule.slug:<{slug}}  {rule.severity.label:<7}  "
        room = max(100 - len(start), 30)
        first, *others = textwrap.wrap(rule.summary, room, break_on_hyphens=False)
        yield start + first
        yield from (" " * len(start) + line for line in others)


def _json(rules: Sequence[Rule]) -> str:
    from audit.cli.formats.json_text import json_text

    return json_text(
        [
            {
                "id": rule.id,
                "slug": rule.slug,
                "family": rule.family,
                "severity": rule.severity.label,
                "summary": rule.summary,
                "statement": rule.statement,
                "why": rule.why,
                "fix": rule.fix,
                "bad": rule.bad,
                "good": rule.good,
            }
            for rule in rules
        ]
    )


def _markdown(rules: Sequence[Rule]) -> str:
    return "\n".join(_page(rules)) + "\n"


def _page(rules: Sequence[Rule]) -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "Made from the docstrings of the rules by `audit rules --format markdown`."
    yield ""
    yield "| rule | slug | severity | reported when |"
    yield "| --- | --- | --- | --- |"
    for rule in rules:
        link = f"[{rule.id}](#{rule.id.lower()}-{rule.slug})"
        yield f"| {link} | `{rule.slug}` | {rule.severity.label} | {_inline(rule.summary)} |"
    for rule in rules:
        yield from ("", f"## {rule.id} {rule.slug}", "")
        yield from (f"Severity: {rule.severity.label}.", "", _inline(rule.statement))
        for heading, body in (("Why", rule.why), ("What to do", rule.fix)):
            if body:
                yield from ("", f"**{heading}.** {_inline(body)}")
        for heading, body in (("Speaks on", rule.bad), ("Passes", rule.good)):
            if body:
                yield from ("", f"{heading}:", "", textwrap.indent(body, "    "))


def _inline(text: str) -> str:
    """Return prose of our own with the characters written out that would start markup."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


_FORMATS = {"text": _text, "json": _json, "markdown": _markdown}
