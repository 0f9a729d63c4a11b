"""Folders of studies, and repositories with a history, for the tests of the gate."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "data" / "results"
# A study with a claim its three seeds carry, and one that rests on a single seed.
CARRIED = DATA / "full.json"
ONE_SEED = DATA / "adaptive-clip-claimed.json"


def study(folder: Path, name: str, source: Path = CARRIED) -> Path:
    """Put a copy of a results file where a study of that name has it."""
    target = folder / name / "results.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())
    return target


def git(folder: Path, *arguments: str) -> str:
    """Run git with an identity and no settings of the user's own."""
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


def repository(folder: Path, files: dict[str, Path]) -> Path:
    """Make a repository with one commit that holds these studies, if any."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name, source in files.items():
        study(folder / "reports", name, source)
    if files:
        commit(folder, "studies")
    return folder


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


def document(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
