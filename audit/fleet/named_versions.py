"""What the user names to be compared: files and folders, here or at a git revision."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from audit.errors import InputError, NotResultsError, UsageError
from audit.git import beside_at, git
from audit.paths import is_folder, is_url
from audit.reading import Source, read_source, source_of
from audit.results import Results, from_source
from audit.sources import expand


def versions(word: str) -> dict[str, Results]:
    """Return the results files behind one argument, by their path below it.

    Parameters
    ----------
    word : str
        A file, a folder, or ``REV:PATH`` with the path from here of either at a git revision. A
        file has the empty path; JSON in a folder that is no results file is left out.

    Raises
    ------
    InputError
        When a file is there and cannot be read.
    UsageError
        When there is nothing of that name.
    """
    revision, sign, path = word.partition(":")
    at_revision = sign and not is_url(word) and not os.path.lexists(word)
    sources = _at_revision(word, revision, path) if at_revision else _here(word)
    found = {}
    for below, source in sources:
        try:
            found[below] = from_source(source)
        except NotResultsError:
            if not below:
                raise
    if not found:
        raise UsageError("holds no results file", path=word)
    return found


def _here(word: str) -> Iterator[tuple[str, Source]]:
    if not is_folder(word):
        yield "", read_source(word)
        return
    for target in expand([word]).targets:
        yield Path(target.path).relative_to(word).as_posix(), read_source(target.path)


def _at_revision(word: str, revision: str, path: str) -> Iterator[tuple[str, Source]]:
    here = Path.cwd()
    wanted = ("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
    try:
        commit = git(here, *wanted).decode().strip()
    except UsageError:
        raise InputError("neither a file nor REV:PATH of a revision git knows", path=word) from None
    listed = git(here, "ls-tree", "-r", "-z", "--full-name", "--name-only", commit, "--", path)
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    if not names:
        raise InputError(f"is not there at revision {revision}", path=word)
    prefix = os.fsdecode(git(here, "rev-parse", "--show-prefix")).rstrip("\r\n")
    top = PurePosixPath(os.path.normpath(f"{prefix}{path}"))
    for name in names:
        below = "" if PurePosixPath(name) == top else PurePosixPath(name).relative_to(top)
        if not below or name.lower().endswith(".json"):
            data = git(here, "cat-file", "blob", f"{commit}:{name}")
            beside = beside_at(here, commit, name)
            yield str(below), source_of(f"{revision}:{name}", data, beside)
