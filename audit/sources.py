"""From what the user names to files: single files, folders, glob patterns, standard input."""

from __future__ import annotations

import codecs
import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from audit import stores
from audit.errors import InputError
from audit.paths import exists, is_file, is_url

# Git's own folder, which no commit holds, is not worth a word.
_NEVER = ".git"
_NOT_SEARCHED = {".venv", "venv", "node_modules", ".tox"}
# Python puts these beside code, and nothing else into them.
_COMPILED, _COMPILED_SUFFIX = "__pycache__", ".pyc"
# What a results file may have been written as by mistake.
_LIKE_RESULTS = (".jsonl", ".json.gz", ".json5", ".ndjson")
# A file of another name is one of results where its beginning names their first keys.
_RESULTS_KEYS = re.compile(rb'\s*\{.*"(?:schema_version|seed_results)"\s*:', re.DOTALL)
_BEGINNING = 4096
_HIDDEN = "a hidden folder"


@dataclass(frozen=True, slots=True)
class Target:
    """One file to read; ``named`` tells whether the user named it or a folder held it."""

    path: str
    named: bool


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A file or folder below a named folder that is not read, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Search:
    """The files behind what the user named, and what a folder held beside them."""

    targets: tuple[Target, ...]
    passed_over: tuple[PassedOver, ...] = ()


def expand(paths: Iterable[str]) -> Search:
    """Return the files behind what the user named, each once, in a stable order.

    A folder gives every ``*.json`` below it, sorted by path; hidden folders, virtual environments
    and linked folders are passed over, and said. A pattern gives what it matches; ``-`` is
    standard input. A URL names a file, a folder or a pattern in a store; there no file is opened
    to see whether it is one of results under another name.

    Raises
    ------
    InputError
        When a path does not exist, a pattern matches nothing or a folder holds no JSON file.
    """
    targets: dict[str, Target] = {}
    passed: dict[str, PassedOver] = {}
    for path in paths:
        for found in _found(path):
            if isinstance(found, PassedOver):
                passed.setdefault(found.path, found)
                continue
            known = targets.get(found.path)
            if known is None or (found.named and not known.named):
                targets[found.path] = found
    return Search(tuple(targets.values()), tuple(passed.values()))


def _found(path: str) -> Iterator[Target | PassedOver]:
    if path == "-":
        yield Target(path, named=True)
    elif is_url(path):
        yield from _found_in_store(path)
    elif os.path.isdir(path):  # noqa: PTH112 - takes names that Path refuses, like "\0"
        below = list(_below(Path(path)))
        if not any(isinstance(one, Target) for one in below):
            raise InputError(f"no JSON file in this folder{_beside(below)}", path=path)
        yield from below
    elif os.path.lexists(path) or not glob.has_magic(path):
        yield Target(path, named=True)
    else:
        matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
        if not matches:
            raise InputError("no file matches this pattern", path=path)
        for match in matches:
            yield from _found(match)


def _found_in_store(url: str) -> Iterator[Target | PassedOver]:
    kind = stores.kind_of(url)
    if kind == "directory":
        below = list(_below_in_store(url.rstrip("/")))
        if not any(isinstance(one, Target) for one in below):
            raise InputError(f"no JSON file in this folder{_beside(below)}", path=url)
        yield from below
    elif kind is not None or not stores.is_pattern(url):
        yield Target(url, named=True)
    else:
        matches = stores.matches_of(url)
        if not matches:
            raise InputError("no file matches this pattern", path=url)
        for match in matches:
            yield from _found_in_store(match)


def _below_in_store(url: str) -> Iterator[Target | PassedOver]:
    """Yield the JSON files below a folder of a store in the order in which a local one gives them.

    There is one listing, of everything: a store knows no folders to be left out.
    """
    for path in sorted(stores.files_below(url), key=_folder_by_folder):
        *folders, name = path.split("/")
        left_out = next(
            (place for place, one in enumerate(folders, 1) if _why_left_out(one) is not None), None
        )
        if left_out is not None:
            folder, why = "/".join(folders[:left_out]), _why_left_out(folders[left_out - 1])
            compiled = folders[left_out - 1] == _COMPILED and name.endswith(_COMPILED_SUFFIX)
            if why and not compiled:
                yield PassedOver(f"{url}/{folder}", why)
        elif name.lower().endswith(".json"):
            yield Target(f"{url}/{path}", named=False)
        elif _named_like_results(name):
            yield PassedOver(f"{url}/{path}", "its name does not end in .json")


def _folder_by_folder(path: str) -> list[tuple[bool, str]]:
    """Return what sorts paths as a walk meets them: a folder's files before its folders."""
    *folders, name = path.split("/")
    return [*((True, folder) for folder in folders), (False, name)]


def _beside(below: Iterable[Target | PassedOver]) -> str:
    passed = [one for one in below if isinstance(one, PassedOver)]
    return f"; passed over: {passed[0].path} ({passed[0].why})" if passed else ""


def _below(folder: Path) -> Iterator[Target | PassedOver]:
    """Yield the JSON files below a folder, and what is left aside, folder by folder."""
    for parent, folders, files in os.walk(folder):
        searched = []
        for name in sorted(folders):
            why = _why_not_searched(Path(parent) / name)
            if why is None:
                searched.append(name)
            elif why:
                yield PassedOver(str(Path(parent) / name), why)
        folders[:] = searched
        for name in sorted(files):
            path = str(Path(parent) / name)
            if name.lower().endswith(".json"):
                if not is_file(path) and exists(path):
                    yield PassedOver(path, "a pipe or a device, which is not opened")
                else:
                    yield Target(path, named=False)
            elif _may_hold_results(path):
                yield PassedOver(path, "its name does not end in .json")


def _may_hold_results(path: str) -> bool:
    """Whether a file that is not called JSON may still be somebody's results file."""
    if _named_like_results(os.path.basename(path)):  # noqa: PTH119 - takes names that Path refuses
        return True
    if not is_file(path):  # a pipe is not opened
        return False
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            beginning = file.read(_BEGINNING)
    except OSError:
        return False
    return _RESULTS_KEYS.match(beginning.removeprefix(codecs.BOM_UTF8)) is not None


def _named_like_results(name: str) -> bool:
    return name.lower() == "results" or name.lower().endswith(_LIKE_RESULTS)


def _why_not_searched(folder: Path) -> str | None:
    """Return why a folder is not searched, empty where that is not worth a word, None if it is."""
    if folder.name == _COMPILED and _only_compiled(folder):
        return ""
    why = _why_left_out(folder.name)
    if folder.is_symlink() and (why is None or why == _HIDDEN):
        return "a linked folder; name it to have it read"
    return why


def _why_left_out(name: str) -> str | None:
    """Return the same of a folder by its name alone."""
    if name == _NEVER:
        return ""
    if name in _NOT_SEARCHED or name == _COMPILED:
        return "no folder of results"
    return _HIDDEN if name.startswith(".") else None


def _only_compiled(folder: Path) -> bool:
    try:
        return all(path.suffix == _COMPILED_SUFFIX for path in folder.iterdir())
    except OSError:
        return True
