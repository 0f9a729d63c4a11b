"""Pull requests in a small repository, and the comment that the gate makes on each."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from made_fleet import commit, git, repository

from audit.cli.main import main
from audit.simulation import Cell, simulate

SAMPLES = Path(__file__).resolve().parent / "data" / "comments"
POLICY = 'min_seeds = 4\nrequire = ["claims"]\n'
CLAIM = {"id": "main", "direction": "gain", "arm": "recipe", "against": "control"}


def study(reports: Path, name: str, seeds: int, delta: float, kept: int | None = None) -> Path:
    """Write a simulated study of so many seeds per arm; ``kept`` takes only the first of them."""
    cell = Cell("arms", 120, (seeds, seeds), (0.02, 0.02), delta=delta)
    document: dict[str, Any] = simulate(cell, cell.generator()).document()
    for arm in (document, document["controls"]["control"]):
        arm["seed_results"] = arm["seed_results"][:kept]
    document["claims"] = [CLAIM]
    path = reports / name / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def passes(work: Path) -> None:
    """A study more, and two seeds per arm more in another."""
    study(work / "reports", "clip", 5, 0.2)
    study(work / "reports", "length", 6, 0.15)


def refused(work: Path) -> None:
    """A claim that rests on one training run per arm."""
    study(work / "reports", "prompt", 1, 0.3)


def loosened(work: Path) -> None:
    """A policy that asks for fewer seeds, with a study that needs it."""
    (work / "audit.toml").write_text(POLICY.replace("4", "3"), encoding="utf-8")
    study(work / "reports", "clip", 3, 0.2)


def removed(work: Path) -> None:
    """A study that is gone, and a run that is gone from another."""
    shutil.rmtree(work / "reports" / "warmup")
    path = work / "reports" / "length" / "results.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["seed_results"].pop()
    path.write_text(json.dumps(document), encoding="utf-8")


@dataclass(frozen=True)
class PullRequest:
    """What a branch does, and the exit status of the gate."""

    change: Callable[[Path], None]
    status: int


PULL_REQUESTS = {
    "pass": PullRequest(passes, 0),
    "refused": PullRequest(refused, 1),
    "policy-loosened": PullRequest(loosened, 1),
    "file-removed": PullRequest(removed, 1),
}


def commented(name: str, folder: Path) -> tuple[int, str]:
    """Make the repository and the branch; return the status and the text of the comment.

    The options are those that ``action.yml`` gives.
    """
    work = repository(folder / "repository", {})
    (work / "audit.toml").write_text(POLICY, encoding="utf-8")
    study(work / "reports", "length", 6, 0.15, kept=4)
    study(work / "reports", "warmup", 4, 0.0)
    commit(work, "two studies and a policy")
    git(work, "switch", "-q", "-c", "topic")
    PULL_REQUESTS[name].change(work)
    commit(work, name)
    words = ["gate", "--changed-since=main", "--policy-from=main", "--format=markdown", "reports"]
    out, before = io.StringIO(), Path.cwd()
    os.chdir(work)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            status = main(words)
    finally:
        os.chdir(before)
    return status, out.getvalue()


def sample(name: str) -> Path:
    """Return where the comment on a pull request is kept."""
    return SAMPLES / f"{name}.md"
