"""``audit completion``: a script that completes commands, options and values in a shell."""

from __future__ import annotations

import argparse
import sys

from audit.cli.examples import add_examples

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = (
    "audit completion bash > ~/.local/share/bash-completion/completions/audit",
    "audit completion zsh > ~/.zfunc/_audit",
    "audit completion fish > ~/.config/fish/completions/audit.fish",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the argument of ``audit completion``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument("shell", choices=SHELLS)


def main(options: argparse.Namespace) -> int:
    """Print the script; it knows every command of this installation."""
    import shtab

    from audit.cli.main import COMMANDS, build_parser

    script = shtab.complete(build_parser(tuple(COMMANDS)), shell=options.shell)
    sys.stdout.write(script.rstrip("\n") + "\n")
    return 0
