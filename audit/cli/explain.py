"""``audit explain``: one rule's page."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator

from audit.errors import UsageError
from audit.rules import CATALOGUE, Rule, find_rule

_WIDTH = 88


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the argument of ``audit explain``."""
    parser.add_argument("rule", metavar="RULE", help="its id or its slug, e.g. SCHEMA001")


def main(options: argparse.Namespace) -> int:
    """Print the page; the status is 0, or 2 where there is no such rule."""
    rule = find_rule(options.rule)
    if rule is None:
        raise UsageError(f"no rule is called {options.rule!r}{suggestion(options.rule)}")
    print("\n".join(_page(rule)))
    return 0


def suggestion(name: str) -> str:
    """Return rules whose id or slug is close to a name, as the tail of a sentence."""
    import difflib

    known = {word.lower(): rule for rule in CATALOGUE for word in (rule.id, rule.slug)}
    near = difflib.get_close_matches(name.strip().lower()[:100], known, n=3, cutoff=0.5)
    words = dict.fromkeys(f"{known[word].id} {known[word].slug}" for word in near)
    return f"; did you mean {' or '.join(words)}?" if words else "; `audit rules` lists them"


def _page(rule: Rule) -> Iterator[str]:
    yield f"{rule.id} {rule.slug} ({rule.severity.label})"
    yield ""
    yield _paragraph(rule.statement)
    for heading, body in (("Why", rule.why), ("What to do", rule.fix)):
        if body:
            yield from ("", heading, textwrap.indent(_paragraph(body), "  "))
    for heading, body in (("Speaks on", rule.bad), ("Passes", rule.good)):
        if body:
            yield from ("", heading, textwrap.indent(body, "  "))


def _paragraph(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_on_hyphens=False)
