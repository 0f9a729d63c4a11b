"""``audit templates``: the shipped templates, and what a template and prose may use."""

from __future__ import annotations

import argparse
import sys

from audit.cli.examples import add_examples
from audit.errors import UsageError, did_you_mean

EXAMPLES = (
    "audit templates",
    "audit templates --show recipe.md.j2",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit templates``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument(
        "--show", metavar="NAME", help="print a shipped template, to start one's own from"
    )


def main(options: argparse.Namespace) -> int:
    """Print the reference, or one template."""
    if options.show is None:
        from audit.pages.reference import reference

        sys.stdout.write(reference())
        return 0
    from audit.resources import resource

    try:
        if ".." in options.show.split("/"):
            raise FileNotFoundError
        text = resource(f"templates/{options.show}").read_text(encoding="utf-8")
    except (OSError, ValueError):
        from audit.pages.environment import shipped_templates

        hint = did_you_mean(options.show, shipped_templates())
        raise UsageError(f"no shipped template {options.show!r}{hint}") from None
    sys.stdout.write(text)
    return 0
