"""What the importer tests share: bring files over as the command does, and read back the runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from audit.importers import fitting, importer
from audit.importers.draft import Options
from audit.importers.foreign import read_foreign
from audit.importers.study import Layout, Placed, assemble
from audit.schema import schema_faults

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "foreign"


def bring(
    files: list[tuple[str | None, Path]] | Path,
    *,
    format: str = "auto",
    layout: Layout | None = None,
    **options: Any,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Import files, hold the document to the schema, and return it with the notes."""
    listed = [(None, files)] if isinstance(files, Path) else files
    placed = []
    for arm, path in listed:
        file = read_foreign(str(path))
        found = fitting(file.content, file.name) if format == "auto" else importer(format)
        assert found is not None, path
        placed.append(Placed(file, arm, found.name))
    document, notes = assemble(placed, Options(**options), layout or Layout())
    assert schema_faults(document) == []
    return document, notes


def runs(document: dict[str, Any], arm: str | None = None) -> list[dict[str, Any]]:
    """Return the runs of an arm, the top one when none is named."""
    block = document if arm in (None, document["method"]) else document["controls"][arm]
    found: list[dict[str, Any]] = block["seed_results"]
    return found


def scores(document: dict[str, Any], arm: str | None = None, metric: str = "accuracy") -> list[Any]:
    """Return what the runs of an arm record of a metric."""
    return [run["method_metrics"][metric] for run in runs(document, arm)]
