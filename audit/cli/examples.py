"""Examples at the end of a command's help; tests hold that each of them parses."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

EXIT_STATUS = """\
exit status:
  0  ran, and clean
  1  ran, and something is refused or wrong
  2  could not run: usage, an unreadable file, text that does not parse, no file found
  3  a bug in audit itself (a gate then fails closed)
"""


def add_examples(parser: argparse.ArgumentParser, examples: Sequence[str]) -> None:
    """Show command lines below the options, and what the exit status means."""
    shown = "\n".join(f"  {example}" for example in examples)
    parser.epilog = f"examples:\n{shown}\n\n{EXIT_STATUS}"
