"""Results of earlier calls: a file that was judged as it is now is not judged again.

What is stored is the result of one file by itself, or beside siblings with their p-values before
Holm's correction. Its key holds all that the result depends on: the file's name and bytes, the
policy, claims and choices, audit's own code and the packages it computes with, and the day where a
waiver can expire. What git says of earlier versions is asked each time, or taken from what it said
at an earlier commit where nothing since has touched the file.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from audit.errors import AuditError, UsageError
from audit.fleet.files import FileResult
from audit.fleet.history import Listing
from audit.fleet.judging import Judge
from audit.fleet.known_history import KnownHistory
from audit.fleet.signed_files import SignedFiles, signing_key
from audit.fleet.stored import plain, restored_file, stored
from audit.installed import code_digest, version_lines
from audit.paths import exists, is_file, is_folder, is_url
from audit.policy import today
from audit.reading import Source, read_source

# Other entries are not read: counted up with what an entry holds.
_FORM = 1


class Cache:
    """Results of earlier calls in a folder of signed files."""

    def __init__(self, files: SignedFiles) -> None:
        self._files = files
        self._history = KnownHistory(files.read, files.write)
        self._last: tuple[Judge, str] | None = None

    def found(self, judge: Judge, path: str) -> FileResult | None:
        """Return the result of a file as it is now; None where it has to be judged."""
        if not _can_be_read_twice(path):
            return None
        self._history.meet(path)
        try:
            source = read_source(path)
            entry = self._entry(judge, path, source)
            return None if entry is None else restored_file(entry, judge.policy_for(source.name))
        except (AuditError, LookupError, TypeError, ValueError):
            return None  # judging it says why

    def _entry(self, judge: Judge, path: str, source: Source) -> Any:
        key = self._key(judge, source.name, source.sha256)
        entry = self._files.read(key)
        if entry is None:
            return None
        if entry["asks_history"] and not is_url(path):
            listing = self._history.listing_of(path, source.data)
            if listing.missing:
                return None
            if listing.earlier:
                entry = self._files.read(_after(key, listing))
                if entry is None:
                    return None
        same = all(_sha256_beside(source, name) == sha256 for name, sha256 in entry["beside"])
        return entry["file"] if same else None

    def keep(self, judge: Judge, path: str, file: FileResult) -> None:
        """Store what came of a file."""
        refused = file.error is not None or file.exit_status > 1 or file.not_searched
        if refused or not _can_be_read_twice(path):
            return
        key, listing = self._key(judge, file.name, file.sha256), file.listing
        value: list[Any] | None = stored(replace(file, listing=None, beside=()))
        if listing is not None:
            self._history.keep(path, listing)
        if listing is not None and listing.earlier:
            self._files.write(_after(key, listing), {"beside": file.beside, "file": value})
            value = None
        entry = {"asks_history": file.may_hide_looks, "beside": file.beside, "file": value}
        self._files.write(key, entry)

    def _key(self, judge: Judge, name: str, sha256: str) -> str:
        """Return the name of an entry: a digest of all that the result depends on."""
        if self._last is None or self._last[0] is not judge:
            self._last = judge, _judge_key(judge)
        return _digest([self._last[1], name, sha256])


def _sha256_beside(source: Source, path: str) -> str | None:
    return None if source.beside is None else hashlib.sha256(source.beside(path)).hexdigest()


def _judge_key(judge: Judge) -> str:
    policies = [judge.policy.waivers, *(o.values.get("waivers") for o in judge.policy.overrides)]
    day = today().isoformat() if any(policies) else ""
    said = replace(judge, policy=replace(judge.policy, file=None))
    return _digest([_FORM, *_installed(), day, plain(said)])


@functools.cache
def _installed() -> tuple[str, ...]:
    return code_digest(), *version_lines()


def _after(key: str, listing: Listing) -> str:
    """Return the name of the entry for a file with these earlier versions."""
    return _digest([key, plain(tuple(listing.earlier.items()))])


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


def _can_be_read_twice(path: str) -> bool:
    """Whether reading a file takes nothing from it, as it does from a pipe."""
    return is_url(path) or is_file(path)


def cache_in(folder: str, searched: Iterable[str]) -> Cache:
    """Return the cache of a folder, which is made where it is missing.

    Parameters
    ----------
    folder : str
    searched : iterable of str
        What the user named to be judged.

    Raises
    ------
    UsageError
        Where the folder lies in a git work tree or in a folder that is searched: a branch could
        bring its own entries along, and entries would be searched for results. For a URL too.
    """
    if is_url(folder):
        raise UsageError("is a URL; --cache takes a folder of this machine", path=folder)
    real = Path(os.path.realpath(folder))
    if exists(real) and not is_folder(real):
        raise UsageError("is a file; --cache takes a folder", path=folder)
    tree = next((one for one in (real, *real.parents) if exists(one / ".git")), None)
    if tree is not None:
        raise UsageError(
            f"lies in the git work tree {tree}, which is what is judged; name a folder outside",
            path=folder,
        )
    for path in searched:
        if is_folder(path) and real.is_relative_to(os.path.realpath(path)):
            raise UsageError(f"lies in {path}, which is searched; name another", path=folder)
    return Cache(SignedFiles(real, signing_key()))
