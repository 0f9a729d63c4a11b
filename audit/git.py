"""Git, asked for what it knows of a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from audit.errors import UsageError


def git(folder: Path, *arguments: str) -> bytes:
    """Run git in a folder and return what it prints.

    Raises
    ------
    UsageError
        Without git, or where git ends with an error; it carries git's own first line.
    """
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True)
    except OSError as error:
        raise UsageError(f"git cannot be run: {error.strerror or error}") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        raise UsageError(f"git: {said[0][:200] if said else f'status {done.returncode}'}")
    return done.stdout
