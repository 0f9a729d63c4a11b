"""The documentation's command blocks: read, run in a copy of the samples, and written anew.

A block fenced as ``console`` holds lines that start with ``$ `` (``> `` goes on with the line
before) and below each what it prints, stdout and stderr in one. A line of three dots stands for any
number of lines. ``<!-- not run: REASON -->`` above a block says that it is only parsed. A status of
2 or more must be followed by ``$ echo $?``.

Run as a script with Markdown files, it writes into every block what its commands print now, the
lines cut that were elided::

    python tests/documented.py docs/index.md
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from audit.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
# What a user starts from without: settings of the CI.
_NOT_A_USERS = ("AUDIT_", "GITHUB_")
SAMPLES = ("reports", "templates", "schemas", "tests/data", "docs", "benchmarks")
ELISION = "..."
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\s*$")
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->")


@dataclass(slots=True)
class Command:
    """One command as documented: its text and the lines shown below it."""

    line: int
    text: str
    shown: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Block:
    """One fenced block: the line of its fence, its language, its lines, why it is not run."""

    line: int
    language: str
    lines: list[str]
    not_run: str | None

    def commands(self) -> list[Command]:
        found: list[Command] = []
        for number, line in enumerate(self.lines, start=self.line + 1):
            if line.startswith("$ "):
                found.append(Command(number, line[2:]))
            elif (line + " ").startswith("> ") and found and not found[-1].shown:
                found[-1].text += "\n" + line[2:]
            else:
                assert found, f"line {number}: output before any command"
                found[-1].shown.append(line)
        for command in found:
            while command.shown and not command.shown[-1].strip():
                command.shown.pop()
        return found


def blocks(text: str) -> Iterator[Block]:
    """Yield every fenced block of a page."""
    opened: Block | None = None
    before = ""
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if opened is not None and fence and not fence["language"]:
            yield opened
            opened = None
        elif opened is not None:
            opened.lines.append(line)
        elif fence:
            mark = _NOT_RUN.search(before)
            opened = Block(number, fence["language"], [], mark[1] if mark else None)
        if line.strip():
            before = line
    assert opened is None, "a block is never closed"


def audit_calls(line: str) -> list[list[str]]:
    """Return the arguments of every ``audit`` in a line of shell, redirections left out."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>&;")
    lexer.whitespace_split = True
    words = list(lexer)
    calls: list[list[str]] = []
    for place, word in enumerate(words):
        starts = word == "audit" and (place == 0 or words[place - 1] in ("|", "&&", ";"))
        if starts or word in ("|", "&&", ";", ">"):
            calls.append([])
        elif calls:
            calls[-1].append(word)
    return [call for call in calls if call and call[0] in COMMANDS]


def agrees(shown: list[str], printed: list[str]) -> bool:
    """Whether printed lines are those shown, a line of dots standing for any number."""
    if not shown:
        return not printed
    head, *rest = shown
    if head.strip() == ELISION:
        return any(agrees(rest, printed[skip:]) for skip in range(len(printed) + 1))
    return bool(printed) and head.rstrip() == printed[0].rstrip() and agrees(rest, printed[1:])


class Workplace:
    """A copy of the samples with ``audit`` and ``python`` on the path, as in a checkout."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.status = 0
        self.work.mkdir()
        for name in SAMPLES:
            if (ROOT / name).exists():
                shutil.copytree(ROOT / name, self.work / name)
        (self.work / "pyproject.toml").write_text("", "utf-8")  # the end of a search for a policy
        tools = folder / "tools"
        tools.mkdir()
        import audit

        (home,) = audit.__path__
        for name, words in (("audit", "-m audit "), ("python", "")):
            script = tools / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n', "utf-8")
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_A_USERS)}
        self.environment = kept | {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(Path(home).parent),
            "HOME": str(folder),
            "NO_COLOR": "1",
            "COLUMNS": "80",
            "SOURCE_DATE_EPOCH": "1800000000",
        }

    def run(self, command: str) -> list[str]:
        """Run a command and return the lines it printed; ``$?`` is the status before it."""
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", f"(exit {self.status})\n{command}"],
            cwd=self.work,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self.status = done.returncode
        return done.stdout.decode("utf-8", "replace").splitlines()


def renewed(text: str, place: Workplace) -> str:
    """Return the page with what its commands print now; blocks that still agree stay."""
    lines = text.splitlines()
    changed: list[tuple[Command, list[str]]] = []
    for block in blocks(text):
        if block.language == "console" and block.not_run is None:
            for command in block.commands():
                printed = place.run(command.text)
                if not agrees(command.shown, printed):
                    changed.append((command, printed))
    for command, printed in reversed(changed):
        start = command.line + command.text.count("\n")
        lines[start : start + len(command.shown)] = printed
    return "\n".join(lines) + "\n"


def refresh(page: Path) -> None:
    """Write into a page's blocks what their commands print now."""
    with tempfile.TemporaryDirectory() as folder:
        page.write_text(renewed(page.read_text("utf-8"), Workplace(Path(folder))), "utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
