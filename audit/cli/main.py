"""The ``audit`` command: parses, dispatches, and turns errors into one line and an exit status."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from audit import __version__
from audit.cli.safe import inert, shortened, visible
from audit.errors import AuditError

# name -> (module with configure(parser) and main(options) -> int, one line of help)
COMMANDS: dict[str, tuple[str, str]] = {
    "verify": ("audit.cli.verify", "check results files: contract, arithmetic, statistics"),
    "gate": ("audit.cli.gate", "decide over files and folders whether their claims stand"),
    "compare": ("audit.cli.compare", "tell whether a re-run of a study replicated"),
    "plan": ("audit.cli.plan", "seeds, tasks and answers that an effect needs"),
    "self-check": ("audit.cli.self_check", "measure the verdicts' own error rates here"),
    "rules": ("audit.cli.rules", "list the catalogue of rules"),
    "explain": ("audit.cli.explain", "print one rule's page"),
    "demo": ("audit.cli.demo", "the whole way on shipped data, in seconds"),
}

EXIT_STATUS = """\
exit status:
  0  ran, and clean
  1  ran, and something is refused or wrong
  2  could not run: usage, an unreadable file, text that does not parse, no file found
  3  a bug in audit itself (a gate then fails closed)
"""


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Return the parser, with only the chosen command's options filled in.

    The other commands are listed by name, so that no command pays for another's imports.
    """
    parser = argparse.ArgumentParser(
        prog="audit",
        description="Judge claims 'training recipe B beats baseline A' from the files the runs "
        "left behind.",
        epilog=EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"audit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == chosen:
            import_module(module).configure(command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Raises
    ------
    SystemExit
        By argparse, with status 2 on wrong usage and 0 after ``--help``.
    """
    return _perform(_options(sys.argv[1:] if arguments is None else arguments))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    chosen = next((word for word in arguments if word in COMMANDS), None)
    return build_parser(chosen).parse_args(arguments)


def _perform(options: argparse.Namespace) -> int:
    try:
        return int(import_module(COMMANDS[options.command][0]).main(options))
    except AuditError as error:
        print(inert(f"audit: {visible(str(error))}"), file=sys.stderr)
        return error.exit_status
    except MemoryError:
        print("audit: not enough memory for this input", file=sys.stderr)
        return 2


def run() -> NoReturn:
    """Run as the console script: safe streams, no traceback unless ``AUDIT_DEBUG`` is set."""
    _settle_streams()
    # What is read lives to the end of the process; walking it for cycles again and again took a
    # third of the time on a 50 MB file, which holds half a million containers.
    gc.freeze()
    gc.set_threshold(1_000_000, 50, 1000)
    try:
        options = _options(sys.argv[1:])
        status = _perform(options)
        sys.stdout.flush()
        sys.stderr.flush()
        # The options still hold what was read. To take a 50 MB file apart again, value by value,
        # and then the modules, would be a twentieth of the time.
        os._exit(status)
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        # The reader (head, less) went away; point stdout elsewhere so that exit stays silent.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except Exception as error:
        if os.environ.get("AUDIT_DEBUG"):
            traceback.print_exc()
        print(
            "audit: internal error, please report it:",
            shortened(f"{type(error).__name__}: {error}", 400),
            "(AUDIT_DEBUG=1 shows where)",
            file=sys.stderr,
        )
        status = 3
    sys.exit(status)


def _settle_streams() -> None:
    """Make output the same bytes everywhere: UTF-8 and plain newlines where it is no terminal."""
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
