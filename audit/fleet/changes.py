"""Which files a branch changed, asked of git."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from audit.errors import AuditError, UsageError
from audit.git import beside_at, git
from audit.outcomes_file import FORMAT, named_files
from audit.reading import Source, read_source, source_of
from audit.results import read_document
from audit.safetext import shortened


@dataclass(frozen=True, slots=True)
class Changes:
    """What the commits of a branch changed.

    Attributes
    ----------
    top : str
        Real path of the work tree.
    commit : str
        The last common commit with the revision that was named.
    files : mapping of str to (str or None)
        Real paths of the files that were added or changed, with the path from the top of the work
        tree at which ``commit`` holds them; None where it does not.
    removed : mapping of str to str
        The same of files that are gone.
    """

    top: str
    commit: str
    files: Mapping[str, str | None]
    removed: Mapping[str, str]

    def before(self, path: str) -> Source | None:
        """Return a file as it was at ``commit``, under its name of today; None where it was not."""
        real = os.path.realpath(path)
        old = self.files.get(real) or self.removed.get(real)
        if old is None:
            return None
        data = _git("cat-file", "blob", f"{self.commit}:{old}")
        return source_of(path, data, beside_at(Path(self.top), self.commit, old))

    def touched(self, path: str) -> bool:
        """Whether the branch changed a file, or a file of outcomes that it names."""
        real = Path(os.path.realpath(path))
        if str(real) in self.files:
            return True
        # Where a file was moved away it is missing too, and a folder may be a link by now.
        before = (*self.files.values(), *self.removed.values())
        left = (Path(self.top, old) for old in before if old is not None)
        changed = (*map(Path, (*self.files, *self.removed)), *left)
        below = {name for name in changed if name.suffix == f".{FORMAT}"}
        below = {name for name in below if name.is_relative_to(real.parent)}
        if not below:
            return False
        try:
            document, _ = read_document(read_source(path))
        except AuditError:
            return False
        named = [real.parent / name for name in named_files(document)]
        return any(one in below or Path(os.path.realpath(one)) in below for one in named)

    def moved_from(self, path: str) -> str | None:
        """Return the path that a file had at ``commit``; None where it lies there still."""
        real = os.path.realpath(path)
        old = self.files.get(real)
        return None if old is None or Path(self.top, old) == Path(real) else old


def changes_since(revision: str) -> Changes:
    """Return the files that the current commit changed since it left a revision.

    What is compared is the last common commit of the two with the current one, as a pull request
    does; changes that are not committed are left out.

    Raises
    ------
    UsageError
        Outside a repository, without git, for an unknown revision, and where the history that is
        here holds no common commit (a shallow clone).
    """
    top = _top()
    commit = _commit(revision)
    listed = _git("diff", "--name-status", "-z", "-M", f"{commit}...HEAD", "--")
    base = _git("merge-base", commit, "HEAD").decode().strip()
    files: dict[str, str | None] = {}
    removed: dict[str, str] = {}
    for status, old, new in _entries(listed):
        real = os.path.realpath(Path(top) / new)
        if status == "D":
            removed[real] = old
        else:
            files[real] = None if status in ("A", "C") else old
    return Changes(top, base, files, removed)


def _entries(listed: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield status, old name and new name of each file that git lists."""
    words = iter(os.fsdecode(word) for word in listed.split(b"\0"))
    for word in words:
        if word:
            old = next(words)
            yield word[0], old, next(words) if word[0] in "RC" else old


def inside(path: str) -> bool:
    """Whether a path lies in the work tree of the current folder."""
    return Path(os.path.realpath(path)).is_relative_to(_top())


def _top() -> str:
    return os.path.realpath(os.fsdecode(_git("rev-parse", "--show-toplevel")).rstrip("\r\n"))


def _commit(revision: str) -> str:
    wanted = ("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
    try:
        return os.fsdecode(_git(*wanted)).strip()
    except UsageError:
        raise UsageError(
            f"--changed-since: git knows no commit {shortened(revision, 80)!r} here; "
            "fetch it first (in CI: fetch-depth: 0)"
        ) from None


def _git(*arguments: str) -> bytes:
    try:
        return git(Path.cwd(), *arguments)
    except UsageError as error:
        reason = shortened(error.message.removeprefix("git: "), 200)
        if "no merge base" in reason:
            reason += "; fetch more history (in CI: fetch-depth: 0)"
        raise UsageError(f"--changed-since: {reason}") from None
