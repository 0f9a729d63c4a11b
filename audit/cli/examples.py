"""Examples at the end of a command's help; tests hold that each of them parses."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def add_examples(parser: argparse.ArgumentParser, examples: Sequence[str]) -> None:
    """Show command lines below the options."""
    parser.epilog = "\n".join(("examples:", *(f"  {example}" for example in examples)))
