"""What git said of files at an earlier commit, where that still holds.

To ask git for the history of one file means to walk over all commits. What it said at a commit
holds at a later one for every file that no commit in between touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audit.errors import UsageError
from audit.fleet.history import (
    Listing,
    listed,
    listing_of,
    moves_repositories,
    repository_of,
)
from audit.git import git

Read = Callable[[str], Any]
Write = Callable[[str, Any], None]


class KnownHistory:
    """Listings of earlier versions, kept over calls.

    Parameters
    ----------
    read, write : callable
        Give and take what is kept, by a name.
    """

    def __init__(self, read: Read, write: Write) -> None:
        self._read, self._write = read, write
        # By the top of a repository, its commit when it was first met: before a file is judged.
        self._heads: dict[Path, str | None] = {}
        self._touched: dict[tuple[Path, str], frozenset[str] | None] = {}

    def meet(self, path: str) -> tuple[Path, str, str] | None:
        """Return top and commit of the repository around a file, and the file's path below.

        None where nothing can be kept of it: outside a repository, or where only a part of the
        history is here or is searched.
        """
        if moves_repositories():
            return None
        file = Path(os.path.realpath(path))
        try:
            here = repository_of(file.parent)
            if here is None or here.shallow or here.oldest is not None:
                return None
            if here.top not in self._heads:
                self._heads[here.top] = git(here.top, "rev-parse", "HEAD").decode().strip()
        except UsageError:
            return None
        head = self._heads[here.top]
        return None if head is None else (here.top, head, file.relative_to(here.top).as_posix())

    def listing_of(self, path: str, present: bytes) -> Listing:
        """Return what git says of a file, asked again where something may have changed."""
        place = self.meet(path)
        known = None if place is None else self._read(_name(place[0], place[2]))
        if place is not None and known is not None:
            top, head, below = place
            touched = self._touched_since(top, known["head"], head)
            if touched is not None and below not in touched:
                return listed(((blob, at, name) for blob, at, name in known["blobs"]), present)
        listing = listing_of(path, present)
        self.keep(path, listing)
        return listing

    def keep(self, path: str, listing: Listing) -> None:
        """Keep what git said of a file."""
        place = self.meet(path)
        if place is not None and not listing.missing:
            known = {"head": place[1], "blobs": listing.blobs}
            self._write(_name(place[0], place[2]), known)

    def _touched_since(self, top: Path, old: str, head: str) -> frozenset[str] | None:
        """Return the files that any commit since touched; None where these are not all there."""
        if old == head:
            return frozenset()
        if (top, old) not in self._touched:
            self._touched[top, old] = _touched(top, old, head)
        return self._touched[top, old]


def _name(top: Path, below: str) -> str:
    return f"history\0{top}\0{below}"


def _touched(top: Path, old: str, head: str) -> frozenset[str] | None:
    try:
        git(top, "merge-base", "--is-ancestor", old, head, fetch=False)
        # A merge is held against each of its parents, so that nothing it brings is missed.
        shown = git(
            top,
            *("log", "-m", "--no-renames", "--name-only", "-z", "--format=", "--no-relative"),
            *("--no-show-signature", f"{old}..{head}", "--"),
            fetch=False,
        )
    except UsageError:
        return None
    return frozenset(os.fsdecode(name).strip("\n") for name in shown.split(b"\0"))
