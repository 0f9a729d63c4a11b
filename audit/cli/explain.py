"""``audit explain``: what a word of the output means, and what settles it."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator

from audit.cli.examples import add_examples
from audit.cli.rules import listed
from audit.cli.terminal import width_of
from audit.errors import UsageError
from audit.reasons import FAMILIES, REASONS, RETIRED, Reason, find_reason, in_family
from audit.rules import CATALOGUE, Rule, find_rule
from audit.safetext import shortened

_WIDEST = 88

EXAMPLES = (
    "audit explain one-seed",
    "audit explain MECH001",
    "audit explain",
    "audit explain --coverage results.json",
)

_KINDS = {
    "refusal": "a claim is refused for it, and an unclaimed comparison gets no verdict",
    "qualifier": "said beside a verdict",
    "word": "a verdict, the judgement of a claim, a grade of evidence, or what heads a line",
    "retired": "no longer given",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit explain``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument(
        "word",
        nargs="*",
        metavar="WORD",
        help="a reason, a rule's id or slug, e.g. one-seed or SCHEMA001 (all of them)",
    )
    parser.add_argument(
        "--coverage",
        metavar="FILE",
        help="which keys of a results file some check reads, and which none does",
    )
    parser.add_argument("--format", choices=("text", "markdown"), default="text")


def main(options: argparse.Namespace) -> int:
    """Print what was asked for; the status is 0, or 2 where nothing has this name."""
    if options.coverage is not None:
        if options.word:
            raise UsageError("give a word or --coverage FILE, not both")
        lines = _coverage(options.coverage)
    elif not options.word:
        lines = _markdown() if options.format == "markdown" else _listed()
    else:
        lines = _pages(" ".join(options.word))
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _pages(word: str) -> Iterator[str]:
    rule = find_rule(word) or find_rule(word.partition(" ")[0])  # findings print id and slug
    reason = find_reason(rule.slug if rule is not None else word)
    if rule is None and reason is not None:
        rule = find_rule(reason.slug)
    if rule is None and reason is None:
        near = _near(word, {slug: slug for slug in REASONS})
        near = near or "; `audit explain` lists all words"
        raise UsageError(f"nothing is called {shortened(word, 100)!r}{near}")
    if rule is not None:
        yield from _page(rule)
    if reason is not None:
        yield from ("",) if rule is not None else ()
        yield from _reason(reason)


def suggestion(name: str) -> str:
    """Return rules whose id or slug is close to a name, as the tail of a sentence."""
    return _near(name, {}) or "; `audit explain` lists them"


def _near(name: str, known: dict[str, str]) -> str:
    import difflib

    known = known | {w.lower(): f"{r.id} {r.slug}" for r in CATALOGUE for w in (r.id, r.slug)}
    near = difflib.get_close_matches(name.strip().lower()[:100], known, n=3, cutoff=0.5)
    words = dict.fromkeys(known[word] for word in near)
    return f"; did you mean {' or '.join(words)}?" if words else ""


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


def _reason(reason: Reason) -> Iterator[str]:
    yield f"{reason.slug}: {reason.words} ({reason.kind}, about {_about(reason)})"
    yield ""
    yield _paragraph(f"{_KINDS[reason.kind].capitalize()}.")
    yield from ("", "Why", textwrap.indent(_paragraph(reason.why), "  "))
    if reason.settles:
        settles = _paragraph(_sentence(reason.settles))
        yield from ("", "What settles it", textwrap.indent(settles, "  "))


def _about(reason: Reason) -> str:
    return {"runs": "the runs", "looks": "the looks"}.get(reason.family, f"the {reason.family}")


def _listed() -> Iterator[str]:
    width = max(map(len, REASONS))
    for family, question in FAMILIES.items():
        yield f"{family}: {question}"
        for reason in in_family(family):
            yield f"  {reason.slug:<{width}}  {reason.kind:<9}  {reason.words}"
        yield ""
    retired = [r for r in REASONS.values() if r.kind == RETIRED]
    yield f"no longer given: {', '.join(r.slug for r in retired)}"
    yield ""
    yield "checks: Does the file agree with its contract, with itself and with the data?"
    yield from (f"  {line}" for line in listed(CATALOGUE))
    yield ""
    yield "audit explain WORD says more"


def _coverage(path: str) -> Iterator[str]:
    from audit.coverage import coverage
    from audit.results import load

    results = load(path)
    found = coverage(results)
    yield f"{results.name}: {len(found.read)} keys are read by a check; by none:"
    yield from (f"  {pointer}" for pointer in found.unread or ("(every key is read)",))


def _markdown() -> Iterator[str]:
    yield "# Why refused, and what settles it"
    yield ""
    yield "Made from the table of reasons by `audit explain --format markdown`."
    yield ""
    yield (
        "A claim is *supported* or *refused*. A refusal names its reason by one of the slugs "
        "below; the first that applies is printed, and JSON lists the others. A *qualifier* is "
        "printed beside a verdict and says what weakens or details it."
    )
    for family, question in FAMILIES.items():
        yield from ("", f"## {family.capitalize()}", "", question, "")
        yield "| slug | kind | in words | why | what settles it |"
        yield "| --- | --- | --- | --- | --- |"
        yield from map(_row, in_family(family))
    yield from ("", "## No longer given", "")
    yield "| slug | in words | why it is gone | what is asked now |"
    yield "| --- | --- | --- | --- |"
    for reason in REASONS.values():
        if reason.kind == RETIRED:
            yield f"| `{reason.slug}` | {reason.words} | {reason.why} | {reason.settles} |"


def _row(reason: Reason) -> str:
    settles = _sentence(reason.settles) if reason.settles else ""
    return f"| `{reason.slug}` | {reason.kind} | {reason.words} | {reason.why} | {settles} |"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _paragraph(text: str) -> str:
    width = min(_WIDEST, _columns())
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


def _columns() -> int:
    return width_of() if sys.stdout.isatty() else _WIDEST
