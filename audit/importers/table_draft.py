"""Tables read to the end, put together to one draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from audit.importers.draft import Draft, DraftRun
from audit.importers.metric_names import reading_of
from audit.importers.notes import Notes


class TableReader(Protocol):
    """One table; ``metrics`` is complete once ``runs`` has been read."""

    metrics: set[str]

    def runs(self) -> Iterator[DraftRun]:
        """Yield the runs of the table."""


def table_draft(readers: Sequence[TableReader], notes: Notes) -> Draft:
    """Return the runs of all tables, with what the names of their metrics say."""
    runs = [run for reader in readers for run in reader.runs()]
    metrics = sorted({metric for reader in readers for metric in reader.metrics})
    described = {metric: reading_of(metric) for metric in metrics}
    return Draft(
        tool=None,
        version=None,
        runs=tuple(runs),
        metrics={metric: known for metric, known in described.items() if known},
        notes=notes.lines,
    )
