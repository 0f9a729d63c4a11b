"""Which files a branch changed, asked of git."""

from __future__ import annotations

import os
from pathlib import Path

from audit.errors import UsageError
from audit.git import git
from audit.safetext import shortened


def changed_since(revision: str) -> frozenset[str]:
    """Return the real paths of the files the current commit changed since it left a revision.

    What is compared is the last common commit of the two with the current one, as a pull request
    does; changes that are not committed are left out, and so are deleted files.

    Raises
    ------
    UsageError
        Outside a repository, without git, for an unknown revision, and where the history that is
        here holds no common commit (a shallow clone).
    """
    top = os.fsdecode(_git("rev-parse", "--show-toplevel")).rstrip("\r\n")
    commit = _commit(revision)
    listed = _git("diff", "--name-only", "-z", "--diff-filter=d", f"{commit}...HEAD", "--")
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    return frozenset(os.path.realpath(Path(top) / name) for name in names)


def left_at(revision: str) -> str:
    """Return the last common commit of a revision with the current one, as `changed_since` does."""
    return _git("merge-base", _commit(revision), "HEAD").decode().strip()


def inside(path: str) -> bool:
    """Whether a path lies in the work tree of the current folder."""
    top = os.path.realpath(os.fsdecode(_git("rev-parse", "--show-toplevel")).rstrip("\r\n"))
    return Path(os.path.realpath(path)).is_relative_to(top)


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
