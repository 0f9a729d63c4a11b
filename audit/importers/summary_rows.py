"""Records of a file that sum it up: no answers, but figures to compare the answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.importers.columns import TASK_NAMES
from audit.importers.foreign import ForeignTable
from audit.importers.metric_names import is_accuracy, plain
from audit.importers.numbers import half_last_digit, integer, number

_ANSWERS = frozenset({"total_count", "num_examples", "total", "n", "num_samples", "n_total"})
_RIGHT = frozenset({"correct_count", "num_correct", "n_correct", "correct"})
_IDS = frozenset({*TASK_NAMES, "i"})


@dataclass(frozen=True, slots=True)
class Summary:
    """What a source prints of a set of answers.

    Attributes
    ----------
    share : float or None
        Share of right answers, a fraction.
    right, answers : int or None
        Right answers, and all answers.
    """

    share: float | None
    right: int | None
    answers: int | None

    def contradiction(self, right: float, drawn: int) -> str | None:
        """Return a sentence where the answers do not add up to what is printed.

        Parameters
        ----------
        right : float
            Right answers among the rows.
        drawn : int
            Answers among the rows, those that ended in an error included.
        """
        share = right / drawn
        grain = 0.0 if self.share is None else half_last_digit([self.share]) + 1e-9
        if self.share is not None and abs(self.share - share) > grain:
            return f"it prints {self.share:g}, its {drawn} answers give {share:.6g}"
        if self.answers is not None and self.answers != drawn:
            return f"it prints {self.answers} answers, and has {drawn}"
        if self.right is not None and self.right != right:
            return f"it prints {self.right} right answers, and has {right:g}"
        return None


def summary_of(record: Mapping[str, Any]) -> Summary | None:
    """Return what a record prints of answers, None where it prints no share and no counts."""
    share = next((number(v) for key, v in record.items() if _is_share(key, v)), None)
    counts = [
        next((integer(v) for k, v in record.items() if plain(k) in names and integer(v)), None)
        for names in (_RIGHT, _ANSWERS)
    ]
    if share is not None and not 0 <= share <= 1:
        share = share / 100 if share <= 100 else None
    if share is None and None in counts:
        return None
    return Summary(share, *counts)


def _is_share(key: str, value: Any) -> bool:
    found = number(value)
    if found is None or isinstance(value, bool):
        return False
    return is_accuracy(key) and (plain(key) not in _RIGHT or found < 1)


def without_summaries(table: ForeignTable) -> tuple[ForeignTable, list[Summary]]:
    """Return a table without the records that sum it up, and what those print.

    A summary is a record of another shape: it has none of the columns that name tasks, and all
    other records have one. At most two records are taken for such, and never the most.
    """
    ids = [column for column in table.columns if plain(column.rsplit("/", 1)[-1]) in _IDS]
    other = [row for row in table.rows if not any(column in row for column in ids)]
    if not ids or not other or len(other) > 2 or len(other) * 2 > len(table.rows):
        return table, []
    rows = tuple(row for row in table.rows if any(column in row for column in ids))
    columns = tuple(dict.fromkeys(key for row in rows for key in row))
    found = [summary for summary in map(summary_of, other) if summary is not None]
    return ForeignTable(columns, rows), found
