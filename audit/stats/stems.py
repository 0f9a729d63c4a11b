"""Clusters of tasks that their ids speak of: items and their variants."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import commonprefix

_LAST_TOKEN = re.compile(r"[-_/:.#|@\s]+[^-_/:.#|@\s]+[-_/:.#|@\s]*$")
_FEWEST_STEMS, _LARGEST_CLUSTER = 8, 20
# Every ASCII character that separates tokens.
_MARKS = "-_/:.#|@ \t\n\r\f\v\x1c\x1d\x1e\x1f"
_MANY, _SHORT = 1000, 1000


@dataclass(frozen=True, slots=True)
class Stems:
    """What the stems of task ids are; see `stem_clusters`.

    Attributes
    ----------
    kind : str
        ``"clusters"``; ``"topics"``, groups too large for variants of one item; or ``"none"``.
    labels : tuple of str
        Stem of each task, its id where it has none.
    groups : int
        Distinct labels.
    largest : int
        Tasks of the largest group.
    """

    kind: str
    labels: tuple[str, ...]
    groups: int
    largest: int


def stem_of(task_id: str) -> str | None:
    """Return all of a task's id before its last token, or None where it has one token.

    Tokens are separated by runs of ``- _ / : . # | @`` and blanks.
    """
    # Ids are short; the last token of a long one is looked for in its end alone.
    cut = _LAST_TOKEN.search(task_id, max(len(task_id) - _SHORT, 0))
    return task_id[: cut.start()] or None if cut else None


def _part_alike(task_ids: Sequence[str]) -> bool:
    """Whether it is plain that all ids have one stem, or none: ``task-1``, ``task-2`` and so on.

    It is where all separators lie in what the ids begin with alike: a million are told at once.
    """
    if len(task_ids) < _MANY:
        return False
    first, last = min(task_ids), max(task_ids)
    alike = commonprefix([first, last])  # noqa: RUF071 - of texts, which are no paths
    whole = "".join(task_ids)
    if not whole.isascii() or first == alike or len(max(task_ids, key=len)) > _SHORT:
        return False
    return all(whole.count(mark) == alike.count(mark) * len(task_ids) for mark in _MARKS)


def stem_clusters(task_ids: Sequence[str]) -> Stems:
    """Return whether the ids of tasks name clusters.

    Parameters
    ----------
    task_ids : sequence of str, shape (tasks,)

    Returns
    -------
    Stems
        Clusters, where there are at least 8 stems, half of the tasks share theirs with another,
        and none holds more than 20 tasks. Larger groups are topics: strata of the benchmark, to
        be mentioned and not read as clusters. One common stem is the benchmark's name.
    """
    if _part_alike(task_ids):
        stem = stem_of(task_ids[0])
        labels = tuple(task_ids) if stem is None else (stem,) * len(task_ids)
    else:
        labels = tuple(stem_of(task) or task for task in task_ids)
    sizes = Counter(labels)
    largest = max(sizes.values(), default=0)
    shared = sum(n for n in sizes.values() if n > 1)
    kind = "none"
    if len(sizes) > 1 and 2 * shared >= len(labels):
        if largest > _LARGEST_CLUSTER:
            kind = "topics"
        elif len(sizes) >= _FEWEST_STEMS:
            kind = "clusters"
    return Stems(kind, labels, len(sizes), largest)
