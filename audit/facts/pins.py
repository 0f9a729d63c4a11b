"""What a study is pinned to: revisions, commits and versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit.results import Results

# Names of branches: what they point to changes.
_MOVING = frozenset({"main", "master", "head", "latest", "dev", "trunk"})
CHECKED = 4
"""How many things :func:`unpinned` looks for."""


def pins(results: Results) -> dict[str, str]:
    """Return the revisions a file names, by what they are of: ``model``, ``data``, ``code``."""
    blocks = (
        ("model", "checkpoint", "revision"),
        ("data", "dataset", "source_revision"),
        ("code", "provenance", "code_commit"),
    )
    found = {name: results.block(block).get(key) for name, block, key in blocks}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def versions(results: Results) -> dict[str, str]:
    """Return the package versions a file names: of its verification, else of its runs."""
    found: dict[str, Any] = dict(results.block("verified").get("versions") or {})
    for run in results.runs:
        packages = (run.document.get("environment") or {}).get("packages") or {}
        for name, version in packages.items():
            found.setdefault(name, version)
    return {str(name): str(version) for name, version in found.items()}


def unpinned(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the nearest place where a pin would stand, and what is not pinned."""
    checkpoint, dataset = results.block("checkpoint"), results.block("dataset")
    if not _fixed(checkpoint.get("revision")):
        yield "/checkpoint" if checkpoint else "", "the revision of the checkpoint"
    if not _fixed(dataset.get("source_revision")) and "source_sha256" not in dataset:
        yield "/dataset" if dataset else "", "the revision or hash of the data"
    provenance = results.block("provenance")
    if "code_commit" not in provenance:
        yield "/provenance" if provenance else "", "the commit of the code"
    finished = [run for arm in results.arms for run in arm.finished]
    runs = finished or list(results.runs)  # what none of them finished was made with something too
    bare = [r for r in runs if not (r.document.get("environment") or {}).get("packages")]
    if (bare or not runs) and not results.block("verified").get("versions"):
        yield bare[0].pointer if bare else "", "the versions of the packages"


def _fixed(revision: str | None) -> bool:
    return bool(revision) and str(revision).lower().rpartition("/")[2] not in _MOVING
