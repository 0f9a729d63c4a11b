"""``--looked``: how often the claims were judged before, without a plan."""

from __future__ import annotations

import argparse

from audit.errors import UsageError


def add_looked(parser: argparse.ArgumentParser) -> None:
    """Add ``--looked``."""
    parser.add_argument(
        "--looked",
        action="append",
        default=[],
        type=int,
        metavar="N",
        help="the claims were judged before with N seeds per arm, without a plan",
    )


def looked_of(options: argparse.Namespace) -> tuple[int, ...]:
    """Return the earlier looks that the command line names.

    Raises
    ------
    UsageError
        When one is not a number of seeds.
    """
    for seeds in options.looked:
        if seeds < 1:
            raise UsageError(f"--looked takes a number of seeds per arm, not {seeds}")
    return tuple(options.looked)
