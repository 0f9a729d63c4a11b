"""Git, asked for what it knows of a folder."""

from __future__ import annotations

import os
from pathlib import Path

from audit.errors import UsageError


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
