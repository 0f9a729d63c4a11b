"""The ``audit`` command: parses, dispatches, and turns errors into one line and an exit status."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
import traceback
from collections.abc import Container, Iterable, Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

from audit.cli.versions import VersionAction
from audit.cli.word_order import paths_last
from audit.errors import AuditError, UsageError
from audit.safetext import inert, shortened, visible


class Command(NamedTuple):
    """One command: its module with ``configure(parser)`` and ``main(options) -> int``.

    ``group`` is the heading it is listed under; a command without one is an older spelling that
    works and is not listed.
    """

    module: str
    summary: str
    group: str = ""


COMMANDS: dict[str, Command] = {
    "gate": Command("audit.cli.gate", "are the claims supported? made for CI", "Judge"),
    "verify": Command("audit.cli.verify", "one study in full: every check, every number", "Judge"),
    "compare": Command(
        "audit.cli.compare", "two files: what changed, and did it replicate?", "Judge"
    ),
    "plan": Command("audit.cli.plan", "seeds, tasks and answers that an effect needs", "Design"),
    "next": Command(
        "audit.cli.next", "stop, or train on? what the next seeds can settle", "Design"
    ),
    "train": Command("audit.cli.train", "arms x seeds with TRL, evaluated per task", "Design"),
    "import": Command(
        "audit.cli.import_", "run folders, trackers, evaluation logs, tables", "Bring in"
    ),
    "render": Command("audit.cli.render", "the study's page, Markdown or HTML", "Show"),
    "export": Command("audit.cli.export", "attestation, model card, Every Eval Ever", "Show"),
    "explain": Command(
        "audit.cli.explain", "any word of the output, and what settles it", "Maintain"
    ),
    "demo": Command("audit.cli.demo", "the whole way on shipped data, in seconds", "Maintain"),
    "self-check": Command(
        "audit.cli.self_check", "this installation's own error rates, measured", "Maintain"
    ),
    "completion": Command("audit.cli.completion", "for bash, zsh, fish", "Maintain"),
    "rules": Command("audit.cli.rules", "list the catalogue of rules"),
    "templates": Command("audit.cli.templates", "what a template of a page may use"),
}
_HEAD = """\
Judge claims like "recipe B beats baseline A" from the files the runs left.
usage: audit COMMAND [OPTIONS] [PATH ...]
"""
_TAIL = """\
start:    audit import RUNS/ -o results.json, then audit gate results.json
more:     audit help COMMAND, audit --version
exit:     0 all right   1 refused or wrong   2 could not run   3 bug in audit
"""


class _Parser(argparse.ArgumentParser):
    """The parser of ``audit`` itself: its help is the list of commands by what they are for."""

    def format_help(self) -> str:
        """Return one screen."""
        lines, last = [_HEAD], ""
        width = max(len(name) for name in COMMANDS) + 2
        for name, command in COMMANDS.items():
            if command.group:
                group = "" if command.group == last else command.group
                lines.append(f"{group:<12}{name:<{width}}{command.summary}")
                last = command.group
        return "\n".join([*lines, "", _TAIL])


class _CommandParser(argparse.ArgumentParser):
    """The parser of one command: what is wrong with a command line is one line."""

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse what is no choice, with the nearest one that is."""
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            hint = _meant(str(value), known) or f"; it is one of {', '.join(known)}"
            raise argparse.ArgumentError(action, f"not {str(value)!r}{hint}")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end with status 2."""
        said = visible(f"audit: {self.prog.removeprefix('audit ')}: {message}")
        self.exit(2, inert(f"{said}; {self.prog} --help\n"))


# Commands that read, print and end: they hold no process, lock or file that an exit must close.
_READ_AND_END = frozenset({"verify", "next"})


def build_parser(chosen: Container[str]) -> argparse.ArgumentParser:
    """Return the parser, with only the chosen commands' options filled in.

    The other commands are listed by name, so that no command pays for another's imports.
    """
    return _parsers(chosen)[0]


def _parsers(
    chosen: Container[str],
) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser, and that of each command by its name."""
    parser = _Parser(prog="audit")
    parser.add_argument(
        "--version",
        action=VersionAction,
        nargs=0,
        help="print audit's version and those it computes with, and exit",
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=_CommandParser
    )
    for name, entry in COMMANDS.items():
        about = entry.summary[0].upper() + entry.summary[1:] + "."
        layout = argparse.RawDescriptionHelpFormatter
        if entry.group:
            command = commands.add_parser(
                name, help=entry.summary, description=about, formatter_class=layout
            )
        else:  # without help it is in no list
            command = commands.add_parser(name, description=about, formatter_class=layout)
        if name in chosen:
            import_module(entry.module).configure(command)
    return parser, dict(commands.choices)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Raises
    ------
    SystemExit
        By argparse, with status 2 on wrong usage and 0 after ``--help``.
    """
    try:
        options = _options(sys.argv[1:] if arguments is None else arguments)
    except UsageError as error:
        return _told(error)
    return _perform(options)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what a command line means; options may stand before or after paths."""
    words = list(arguments)
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    place = next((i for i, word in enumerate(words) if word in COMMANDS), None)
    if place is None:
        first = next((word for word in words if not word.startswith("-")), None)
        if first is not None:
            hint = _meant(first, COMMANDS)
            raise UsageError(f"no command {first!r}{hint}; audit --help lists them")
        if not words:
            raise UsageError("which command? audit --help lists them")
        return build_parser(()).parse_args(words)
    name = words[place]
    parser, commands = _parsers((name,))
    rest = paths_last(commands[name], words[place + 1 :])
    options, unknown = parser.parse_known_args([*words[: place + 1], *rest])
    if unknown:
        known = commands[name]._option_string_actions
        given = unknown[0].partition("=")[0]
        what = "option" if given.startswith("-") else "further argument"
        raise UsageError(f"audit {name} has no {what} {given!r}{_meant(given, known)}")
    return options


def _meant(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def _perform(options: argparse.Namespace) -> int:
    try:
        return int(import_module(COMMANDS[options.command][0]).main(options))
    except AuditError as error:
        return _told(error)
    except MemoryError:
        print("audit: not enough memory for this input", file=sys.stderr)
        return 2


def _told(error: AuditError) -> int:
    """Print an error, a line for each fault, and return the status it ends with."""
    for line in error.lines:
        print(inert(f"audit: {visible(line)}"), file=sys.stderr)
    return error.exit_status


def run() -> NoReturn:
    """Run as the console script: safe streams, no traceback unless ``AUDIT_DEBUG`` is set."""
    _settle_streams()
    gc.disable()  # modules make few cycles, and walking them as they are loaded takes a while
    try:
        try:
            options = _options(sys.argv[1:])
        except UsageError as error:
            sys.exit(_told(error))
        gc.enable()
        gc.freeze()
        # A file makes thousands of containers and few cycles: 700 of them are no reason to look.
        gc.set_threshold(200_000)
        if options.command in _READ_AND_END:
            # What is read lives to the end of the process; walking it for cycles again and again
            # took a third of the time on a 50 MB file, which holds half a million containers.
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
