"""Where a command writes: whole, never over what it reads, and not over what it did not make."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from audit.errors import UsageError
from audit.paths import is_file

# In every page that `audit render` makes.
_RENDERED = re.compile(rb"Rendered by .{0,20}audit render")
# What the other commands write as Markdown or HTML, at its beginning.
_REPORT = re.compile(rb"\A(?:## audit(?: gate)?: |To see [+-])|<title>audit gate: ")
# A file that people wrote or measured: a page, data, settings or code, whatever it is about.
_OWN_NAME = re.compile(
    r"\.(?:md|markdown|rst|html?|[ct]sv|jsonl|ndjson|parquet|toml|ya?ml|py|ipynb)\Z|\Areadme",
    re.IGNORECASE,
)
_RESULTS = re.compile(rb'"schema_version"\s*:')
_HEAD_BYTES = 1 << 16


def add_output(parser: argparse.ArgumentParser, what: str = "write there, not to stdout") -> None:
    """Add ``-o`` and ``--force``."""
    parser.add_argument("--output", "-o", metavar="FILE", help=what)
    parser.add_argument(
        "--force", action="store_true", help="replace a file that this command did not write"
    )


def publish(text: str, output: str | None) -> None:
    """Write the text to a file whole, or to stdout.

    Raises
    ------
    UsageError
        When the file cannot be written.
    """
    if output is None:
        sys.stdout.write(text)
        return
    from audit.writing import write_whole

    write_whole(output, text.encode("utf-8", "backslashreplace"))


def guard(output: str | None, inputs: Iterable[str | None], *, force: bool = False) -> None:
    """Refuse to write over an input, a results file, data, or a page that audit did not write.

    Parameters
    ----------
    output : str or None
        What is to be written; None for stdout.
    inputs : iterable of str or None
        What the command reads. An input is never replaced; links and other names of the same
        file are found.
    force : bool
        Allow another results file, or a page written by hand, to be replaced.

    Raises
    ------
    UsageError
        Before anything is written.
    """
    if output is None or not os.path.lexists(output):
        return
    if any(name is not None and _same(name, output) for name in inputs):
        raise UsageError("is an input of this command and is kept; name another file", path=output)
    if force:
        return
    if _RESULTS.search(_head(output)):
        raise UsageError("is a results file; --force replaces it", path=output)
    if _OWN_NAME.search(Path(output).name) and is_file(output):
        content = _content(output)
        if content.strip() and not (_RENDERED.search(content) or _REPORT.search(content)):
            raise UsageError("was not written by audit; --force replaces it", path=output)


def guard_page(output: str | None, inputs: Iterable[str | None], *, force: bool = False) -> None:
    """Refuse to write a page over an input, or over a page written by hand.

    Raises
    ------
    UsageError
        Before anything is written.
    """
    guard(output, inputs, force=force)
    if output is None or force or not is_file(output):
        return
    content = _content(output)
    if content.strip() and not _RENDERED.search(content):
        raise UsageError("was not written by audit render; --force replaces it", path=output)


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 - takes names that Path refuses
    except (OSError, ValueError):
        return False


def _head(path: str) -> bytes:
    if not is_file(path):  # /dev/stdout, a pipe
        return b""
    try:
        with Path(path).open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
