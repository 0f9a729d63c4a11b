"""From what the user names to files: single files, folders, glob patterns, standard input."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from audit.errors import InputError

# Folders that hold no results of the user's own.
_PASSED_OVER = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox"}


@dataclass(frozen=True, slots=True)
class Target:
    """One file to read; ``named`` tells whether the user named it or a folder held it."""

    path: str
    named: bool


def expand(paths: Iterable[str]) -> tuple[Target, ...]:
    """Return the files behind what the user named, each once, in a stable order.

    A folder gives every ``*.json`` below it (hidden folders and virtual environments passed over),
    sorted by path; a pattern gives what it matches; ``-`` is standard input.

    Raises
    ------
    InputError
        When a path does not exist, a pattern matches nothing or a folder holds no JSON file.
    """
    targets: dict[str, Target] = {}
    for path in paths:
        for target in _targets(path):
            known = targets.get(target.path)
            if known is None or (target.named and not known.named):
                targets[target.path] = target
    return tuple(targets.values())


def _targets(path: str) -> Iterator[Target]:
    if path == "-":
        yield Target(path, named=True)
    elif os.path.isdir(path):  # noqa: PTH112 - takes names that Path refuses, like "\0"
        files = [str(found) for found in _json_below(Path(path))]
        if not files:
            raise InputError("no JSON file in this folder", path=path)
        yield from (Target(found, named=False) for found in files)
    elif os.path.lexists(path) or not glob.has_magic(path):
        yield Target(path, named=True)
    else:
        matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
        if not matches:
            raise InputError("no file matches this pattern", path=path)
        for match in matches:
            yield from _targets(match)


def _json_below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name not in _PASSED_OVER and not name.startswith(".")
        )
        yield from (Path(parent) / name for name in sorted(files) if name.endswith(".json"))
