"""The files below what the user names: breadth first, bounded, no link followed out."""

from __future__ import annotations

import os
import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

from audit.errors import InputError
from audit.importers.readers.found import Found
from audit.outcomes_file import FOLDER

MOST_ENTRIES = 200_000
DEEPEST = 12

_PASSED_OVER = frozenset({".git", "__pycache__", "node_modules", "venv"})
_OPENED_HIDDEN = frozenset({".hydra", ".eval_results"})
# Tracker folders hold uploads of all kinds under these names.
_UPLOADS = frozenset({"media", "artifacts"})
_TRACKERS = frozenset({"wandb", "mlruns"})
_WEIGHTS = re.compile(
    r"\.(?:safetensors|bin|pt|pth|ckpt|gguf|distcp|npy|npz)$|^optimizer|^rng_state", re.I
)
# Samples that a trainer pickled: refused by name where nothing else is there to read.
_PICKLED_SAMPLES = re.compile(r"(?:rollout|eval|samples?|completions?)[^/]*\.(?:pt|pkl)$", re.I)


@dataclass(slots=True)
class Walked:
    """What lies below the given paths.

    Attributes
    ----------
    files : list of Found
        In the order of their paths.
    weights : Counter
        Files of weights by folder: they are not opened.
    pickled : list of str
        Files by whose name samples were pickled.
    passed : list of str
        Links and folders that were not entered, with the reason.
    excluded : list of str
        Files that ``--exclude`` leaves out.
    root : str
        What the user gave, for headings.
    """

    root: str
    files: list[Found] = field(default_factory=list)
    weights: Counter[str] = field(default_factory=Counter)
    pickled: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)


def walk(paths: Sequence[str], exclude: Iterable[str] = ()) -> Walked:
    """Return the files below folders, and files named one by one.

    Raises
    ------
    InputError
        When a path is not there, or more than 200,000 entries lie below.
    """
    walked = Walked(", ".join(paths))
    top = _common(paths)
    patterns = tuple(exclude)
    seen: set[str] = set()
    left = MOST_ENTRIES
    for given in paths:
        if not os.path.lexists(given):
            raise InputError("no such file or folder", path=given)
        place = os.path.relpath(os.path.abspath(given), top)  # noqa: PTH100 - links stay links
        place = "" if place == "." else place.replace(os.sep, "/")
        if os.path.isdir(given):  # noqa: PTH112 - takes any name
            left = _below(walked, given.rstrip("/") or "/", place, patterns, left, seen)
        else:
            name = place or os.path.basename(given)  # noqa: PTH119
            _add(walked, given, name, os.path.getsize(given), patterns, seen)  # noqa: PTH202
    for pattern in patterns:
        if not any(_fits(name, pattern) for name in walked.excluded):
            walked.passed.append(f"--exclude {pattern} fits no file")
    walked.files.sort(key=lambda found: found.relative)
    return walked


def _common(paths: Sequence[str]) -> str:
    """Return the folder that places are told below: the given one, or what several share."""
    whole = [os.path.abspath(path) for path in paths]  # noqa: PTH100 - links stay links
    tops = [path if os.path.isdir(path) else os.path.dirname(path) for path in whole]  # noqa: PTH112, PTH120
    return os.path.commonpath(tops)


def _below(
    walked: Walked,
    given: str,
    place: str,
    exclude: Sequence[str],
    left: int,
    seen: set[str],
) -> int:
    """Add the files below one folder; returns how many more entries may be looked at."""
    waiting = deque([(given, place, 0)])
    while waiting:
        folder, relative, depth = waiting.popleft()
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError as error:
            walked.passed.append(f"{folder}: {error.strerror}")
            continue
        left -= len(entries)
        if left < 0:
            raise InputError(
                f"more than {MOST_ENTRIES:,} files; name the folders of the runs", path=given
            )
        tracked = not _TRACKERS.isdisjoint(relative.split("/"))
        for entry in entries:
            below = f"{relative}/{entry.name}" if relative else entry.name
            if entry.is_symlink():
                walked.passed.append(f"{below} (a link)")
            elif entry.is_dir():
                if entry.name in _PASSED_OVER or (tracked and entry.name in _UPLOADS):
                    continue
                if entry.name.startswith(".") and entry.name not in _OPENED_HIDDEN:
                    continue
                if _beside_results(entry.path):
                    continue
                if depth + 1 >= DEEPEST:
                    walked.passed.append(f"{below}/ (deeper than {DEEPEST} folders)")
                    continue
                waiting.append((entry.path, below, depth + 1))
            elif entry.is_file():
                _add(walked, entry.path, below, entry.stat().st_size, exclude, seen)
    return left


def _beside_results(folder: str) -> bool:
    """Whether a folder holds what a results file names, which is read with that file alone."""
    return folder.endswith(FOLDER) and os.path.isfile(folder.removesuffix(FOLDER) + ".json")  # noqa: PTH113


def _add(
    walked: Walked,
    name: str,
    relative: str,
    size: int,
    exclude: Sequence[str],
    seen: set[str],
) -> None:
    if relative in seen:
        return
    seen.add(relative)
    base = relative.rpartition("/")[2]
    folder = relative.rpartition("/")[0]
    if any(_fits(relative, pattern) for pattern in exclude):
        walked.excluded.append(relative)
    elif _PICKLED_SAMPLES.search(base):
        walked.pickled.append(relative)
    elif _WEIGHTS.search(base):
        walked.weights[folder] += 1
    else:
        walked.files.append(Found(name, relative, name, size))


def _fits(relative: str, pattern: str) -> bool:
    """Whether a pattern names a file, or a folder that it lies in."""
    folder, _, base = relative.rpartition("/")
    return fnmatch(relative, pattern) or fnmatch(base, pattern) or _in_folder(folder, pattern)


def _in_folder(folder: str, pattern: str) -> bool:
    """Whether a pattern names a folder that a file lies in."""
    parts = folder.split("/")
    plain = pattern.rstrip("/")
    return any(fnmatch("/".join(parts[:end]), plain) for end in range(1, len(parts) + 1))
