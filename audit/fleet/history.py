"""Earlier versions of a results file, as the git history that is here holds them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from audit.errors import UsageError
from audit.git import beside_at, git
from audit.paths import exists

# What is looked at, so that a long history costs no more than this; what is left out is said.
MOST_COMMITS = 5_000
MOST_VERSIONS = 100
MOST_BYTES = 64 * 2**20
# Similarity from which git takes a file for a renamed one; a file doubles where seeds are added.
_RENAMED = "20%"
# The last commit that brought a content, and the file's path there.
_Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """Content that a file had at a commit, named by the commit's abbreviated hash.

    ``beside`` reads what lay beside it there, by the path from its folder.
    """

    commit: str
    data: bytes
    beside: Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class History:
    """The earlier versions of a file.

    Attributes
    ----------
    versions : tuple of EarlierVersion
        Newest first, each content once, the present one left out.
    missing : str
        Why there may be others that were not looked at; empty where these are all.
    """

    versions: tuple[EarlierVersion, ...] = ()
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Which contents a file had on the way to the current commit.

    Attributes
    ----------
    blobs : tuple of (str, str, str)
        Name that git gives to a content, the last commit that brought it, and the file's path
        there; newest first, the present content among them where it was committed.
    present : str
        What git calls the content that the file has now.
    missing : str
        Why there may be others; empty where these are all.
    """

    blobs: tuple[tuple[str, str, str], ...] = ()
    present: str = ""
    missing: str = ""

    @property
    def earlier(self) -> dict[str, _Place]:
        """Those that are not the present content, with commit and path."""
        return {blob: (commit, name) for blob, commit, name in self.blobs if blob != self.present}


def history_of(path: str, present: bytes) -> History:
    """Return the earlier versions of a file on the way to the current commit.

    Renames are followed as git detects them. Nothing is written, and nothing fetched. A file
    outside a repository, or in one without a commit, has no history; nor is there one without git.

    Parameters
    ----------
    path : str
    present : bytes
        What the file holds now.
    """
    return versions_in(listing_of(path, present), path)


def listing_of(path: str, present: bytes) -> Listing:
    """Return which contents a file had on the way to the current commit, without reading them."""
    file = Path(os.path.realpath(path))
    try:
        here = repository_of(file.parent)
        if here is None:
            return Listing()
        blobs, whole = _blobs(file, here)
    except UsageError as error:
        return Listing(missing=error.message)
    missing = ""
    if here.shallow:
        missing = "the history is shallow (in CI: fetch-depth: 0)"
    elif here.oldest is not None and not whole:
        missing = f"only the last {MOST_COMMITS:,} commits were searched"
    return listed(((blob, *place) for blob, place in blobs.items()), present, missing)


def listed(blobs: Iterable[tuple[str, str, str]], present: bytes, missing: str = "") -> Listing:
    """Return a listing beside what the file holds now."""
    known = tuple(blobs)
    return Listing(known, _blob_of(present, len(known[0][0])) if known else "", missing)


def versions_in(listing: Listing, path: str) -> History:
    """Read the earlier versions of a file that a listing names."""
    folder = Path(os.path.realpath(path)).parent
    try:
        wanted, left_out = _affordable(folder, listing.earlier)
        versions = tuple(_read(folder, wanted))
    except UsageError as error:
        return History(missing=error.message)
    reasons = [listing.missing] if listing.missing else []
    if left_out:
        reasons.append(f"{left_out:,} of them are too many or too large, or not in this clone")
    return History(versions, "; ".join(reasons))


@dataclass(frozen=True, slots=True)
class Repository:
    """What is asked once of the repository around many files.

    Attributes
    ----------
    top : Path
        Folder that git was asked from; those of one repository share it.
    shallow : bool
    oldest : str or None
        Commit behind which the history is not searched; None where all of it is.
    """

    top: Path
    shallow: bool
    oldest: str | None


def repository_of(folder: Path) -> Repository | None:
    """Return the repository around a folder; None where there is none, or no commit in it.

    Raises
    ------
    UsageError
        Where git cannot say.
    """
    if moves_repositories():
        return _repository(folder)
    top = _top_above(str(folder))
    return None if top is None else _repository(Path(top))


def moves_repositories() -> bool:
    """Whether a repository need not be the nearest folder upwards that holds one."""
    names = ("GIT_DIR", "GIT_WORK_TREE", "GIT_CEILING_DIRECTORIES")
    return any(name in os.environ for name in names)


def _top_above(folder: str) -> str | None:
    """Return the nearest folder upwards in which git could find a repository; it is not asked."""
    while True:
        bare = exists(f"{folder}/HEAD") and exists(f"{folder}/objects")
        if bare or exists(f"{folder}/.git"):
            return folder
        above = os.path.dirname(folder)  # noqa: PTH120 - of 10,000 files, where Path takes a second
        if above == folder:
            return None
        folder = above


@lru_cache(maxsize=64)
def _repository(folder: Path) -> Repository | None:
    try:
        shallow = git(folder, "rev-parse", "--is-shallow-repository").strip() == b"true"
    except UsageError as error:
        if "not a git repository" in error.message or "cannot be run" in error.message:
            return None
        raise
    try:
        skip = f"--skip={MOST_COMMITS}"
        oldest = git(folder, "rev-list", "--max-count=1", skip, "HEAD").decode().strip()
    except UsageError:
        return None
    return Repository(folder, shallow, oldest or None)


def _blobs(file: Path, here: Repository) -> tuple[dict[str, _Place], bool]:
    """Return the contents a file had, and whether the commit that made it is among those searched.

    A content is named by the hash of its blob.
    """
    reach = "HEAD" if here.oldest is None else f"{here.oldest}..HEAD"
    shown = git(
        file.parent,
        *("--literal-pathspecs", "log", "--follow", f"--find-renames={_RENAMED}", "--raw", "-z"),
        *("--no-abbrev", "--no-show-signature", "--format=%H", reach, "--", file.name),
        fetch=False,
    )
    commit, whole, blobs = "", False, dict[str, _Place]()
    fields = iter(shown.split(b"\0"))
    for field in fields:
        text = field.strip().decode()
        if not text.startswith(":"):
            commit = text or commit
            continue
        _, mode, _, blob, status = text.split()
        for _ in range(2 if status[0] in "RC" else 1):
            name = os.fsdecode(next(fields))  # where it was renamed, the second is its own
        whole = whole or status == "A"
        if mode.startswith("100"):  # a regular file: neither deleted nor a link
            blobs.setdefault(blob, (commit, name))
    return blobs, whole


def _affordable(folder: Path, blobs: dict[str, _Place]) -> tuple[dict[str, _Place], int]:
    """Return the blobs that are read, the newest first, and how many are not."""
    asked = "".join(f"{blob}\n" for blob in blobs)
    if not asked:
        return {}, 0
    sizes = git(folder, "cat-file", "--batch-check", given=asked.encode(), fetch=False)
    wanted: dict[str, _Place] = {}
    budget, left_out = MOST_BYTES, 0
    for line in sizes.decode().splitlines():
        blob, kind, *size = line.split()
        if kind != "blob" or len(wanted) == MOST_VERSIONS or int(size[0]) > budget:
            left_out += 1
            continue
        budget -= int(size[0])
        wanted[blob] = blobs[blob]
    return wanted, left_out


def _blob_of(data: bytes, digits: int) -> str:
    """Return the name git gives to a content, in a repository with names of so many digits."""
    whole = b"blob %d\0%b" % (len(data), data)
    return (hashlib.sha1 if digits == 40 else hashlib.sha256)(whole).hexdigest()


def _read(folder: Path, blobs: dict[str, _Place]) -> Iterator[EarlierVersion]:
    if not blobs:
        return
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    stream = git(folder, "cat-file", "--batch", given=asked, fetch=False)
    place = 0
    for commit, name in blobs.values():
        end = stream.index(b"\n", place)
        size = int(stream[place:end].split()[-1])
        beside = beside_at(folder, commit, name, fetch=False)
        yield EarlierVersion(commit[:7], stream[end + 1 : end + 1 + size], beside)
        place = end + 2 + size
