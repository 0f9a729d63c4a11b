"""The ``audit`` command: parses, dispatches, and turns errors into one line and an exit status."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
import traceback
from collections.abc import Container, Sequence
from importlib import import_module
from typing import NoReturn

from audit.cli.examples import EXIT_STATUS
from audit.cli.versions import VersionAction
from audit.cli.word_order import paths_last
from audit.errors import AuditError
from audit.safetext import inert, shortened, visible

# name -> (module with configure(parser) and main(options) -> int, one line of help)
COMMANDS: dict[str, tuple[str, str]] = {
    "verify": ("audit.cli.verify", "check results files: contract, arithmetic, statistics"),
    "gate": ("audit.cli.gate", "decide over files and folders whether their claims stand"),
    "compare": ("audit.cli.compare", "tell whether a re-run of a study replicated"),
    "plan": ("audit.cli.plan", "seeds, tasks and answers that an effect needs"),
    "import": ("audit.cli.import_", "another tool's output to a results file"),
    "train": ("audit.cli.train", "arms x seeds with TRL, evaluated per task"),
    "self-check": ("audit.cli.self_check", "measure the verdicts' own error rates here"),
    "rules": ("audit.cli.rules", "list the catalogue of rules"),
    "explain": ("audit.cli.explain", "print one rule's page"),
    "render": ("audit.cli.render", "a page from a results file, or is a committed page fresh"),
    "templates": ("audit.cli.templates", "what a template of a page may use"),
    "completion": ("audit.cli.completion", "a script that completes commands in a shell"),
    "demo": ("audit.cli.demo", "the whole way on shipped data, in seconds"),
}


# Commands that read, print and end: they hold no process, lock or file that an exit must close.
_READ_AND_END = frozenset({"verify"})


def build_parser(chosen: Container[str]) -> argparse.ArgumentParser:
    """Return the parser, with only the chosen commands' options filled in.

    The other commands are listed by name, so that no command pays for another's imports.
    """
    return _parsers(chosen)[0]


def _parsers(
    chosen: Container[str],
) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser, and that of each command by its name."""
    parser = argparse.ArgumentParser(
        prog="audit",
        description="Judge claims 'training recipe B beats baseline A' from the files the runs "
        "left behind.",
        epilog=EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version",
        action=VersionAction,
        nargs=0,
        help="print audit's version and those it computes with, and exit",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in chosen:
            import_module(module).configure(command)
    return parser, dict(commands.choices)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Raises
    ------
    SystemExit
        By argparse, with status 2 on wrong usage and 0 after ``--help``.
    """
    return _perform(_options(sys.argv[1:] if arguments is None else arguments))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    place = next((i for i, word in enumerate(arguments) if word in COMMANDS), None)
    if place is None:
        return build_parser(()).parse_args(arguments)
    parser, commands = _parsers((arguments[place],))
    words = paths_last(commands[arguments[place]], arguments[place + 1 :])
    return parser.parse_args([*arguments[: place + 1], *words])


def _perform(options: argparse.Namespace) -> int:
    try:
        return int(import_module(COMMANDS[options.command][0]).main(options))
    except AuditError as error:
        for line in error.lines:
            print(inert(f"audit: {visible(line)}"), file=sys.stderr)
        return error.exit_status
    except MemoryError:
        print("audit: not enough memory for this input", file=sys.stderr)
        return 2


def run() -> NoReturn:
    """Run as the console script: safe streams, no traceback unless ``AUDIT_DEBUG`` is set."""
    _settle_streams()
    try:
        options = _options(sys.argv[1:])
        if options.command in _READ_AND_END:
            # What is read lives to the end of the process; walking it for cycles again and again
            # took a third of the time on a 50 MB file, which holds half a million containers.
            gc.freeze()
            gc.set_threshold(1_000_000, 50, 1000)
            # No verdict calls BLAS; its idle threads cost a tenth of a second of processor time.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        status = _perform(options)
        sys.stdout.flush()
        sys.stderr.flush()
        if options.command in _READ_AND_END:
            # To take a 50 MB file apart again, value by value, would be a twentieth of the time.
            os._exit(status)
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        # The reader (head, less) went away; point stdout elsewhere so that exit stays silent.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except OSError as error:
        status = _unwritable(error)
    except Exception as error:
        status = _internal(error)
    sys.exit(status)


def _unwritable(error: OSError) -> int:
    """Say that stdout takes no more, e.g. on a full disk; other system errors are our bugs."""
    if error.filename is not None:
        return _internal(error)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    print(f"audit: stdout cannot be written: {error.strerror or error}", file=sys.stderr)
    return 2


def _internal(error: Exception) -> int:
    if os.environ.get("AUDIT_DEBUG"):
        traceback.print_exception(error)
    print(
        "audit: internal error, please report it:",
        shortened(f"{type(error).__name__}: {error}", 400),
        "(AUDIT_DEBUG=1 shows where)",
        file=sys.stderr,
    )
    return 3


def _settle_streams() -> None:
    """Make output the same bytes everywhere: UTF-8 and plain newlines where it is no terminal.

    A stream that the caller closed is replaced: the exit status still says what came of it.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123  # lives to the end
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
