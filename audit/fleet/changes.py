"""Which files a branch changed, asked of git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from audit.errors import UsageError
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
    try:
        commit = os.fsdecode(
            _git("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
        ).strip()
    except UsageError:
        raise UsageError(
            f"--changed-since: git knows no commit {shortened(revision, 80)!r} here; "
            "fetch it first (in CI: fetch-depth: 0)"
        ) from None
    listed = _git("diff", "--name-only", "-z", "--diff-filter=d", f"{commit}...HEAD", "--")
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    return frozenset(os.path.realpath(Path(top) / name) for name in names)


def _git(*arguments: str) -> bytes:
    # core.quotePath and the language of messages are no matter: -z quotes nothing.
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"--changed-since: git cannot be run: {reason}") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        reason = shortened(said[0], 200) if said else f"status {done.returncode}"
        if "no merge base" in reason:
            reason += "; fetch more history (in CI: fetch-depth: 0)"
        raise UsageError(f"--changed-since: {reason}")
    return done.stdout
