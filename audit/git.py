"""Git, asked for what it knows of a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath

from audit.errors import InputError, UsageError


def git(folder: Path, *arguments: str, given: bytes = b"", fetch: bool = True) -> bytes:
    """Run git in a folder and return what it prints; no lock is taken.

    Parameters
    ----------
    folder : Path
    *arguments : str
    given : bytes
        What git reads from its standard input.
    fetch : bool
        Whether a clone that holds only a part may fetch what it lacks.

    Raises
    ------
    UsageError
        Without git, or where git ends with an error; it carries git's own first line.
    """
    import subprocess

    settings = {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    if not fetch:
        settings["GIT_NO_LAZY_FETCH"] = "1"
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            input=given,
            capture_output=True,
            env=os.environ | settings,
        )
    except OSError as error:
        raise UsageError(f"git cannot be run: {error.strerror or error}") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        raise UsageError(f"git: {said[0][:200] if said else f'status {done.returncode}'}")
    return done.stdout


def beside_at(
    folder: Path, commit: str, name: str, *, fetch: bool = True
) -> Callable[[str], bytes]:
    """Return what reads a file by its path from the folder of another, as a commit holds both.

    Parameters
    ----------
    folder : Path
        In the repository.
    commit : str
    name : str
        Path of the other file, from the top of the work tree.
    fetch : bool
        As of `git`.
    """
    return partial(_read_beside, folder, commit, PurePosixPath(name).parent, fetch)


def _read_beside(folder: Path, commit: str, above: PurePosixPath, fetch: bool, path: str) -> bytes:
    blob = f"{commit}:{(above / path).as_posix()}"
    try:
        return git(folder, "cat-file", "blob", blob, fetch=fetch)
    except UsageError:
        raise InputError(f"is not there at commit {commit[:12]}") from None
