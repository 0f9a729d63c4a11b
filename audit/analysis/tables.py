"""Runs side by side: the same tasks in the same order, with what is missing named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Any

from audit.analysis.outcomes import TaskOutcomes
from audit.column import smallest

Rows = list[list[int]]


@dataclass(frozen=True, slots=True)
class Table:
    """Right answers and answers drawn of one side, runs x tasks; 0 drawn means missing.

    ``errored`` and ``unparsed`` are answers among those drawn; None where no run records any.
    """

    counts: Rows
    samples: Rows
    errored: Rows | None = None
    unparsed: Rows | None = None

    @property
    def drawn(self) -> Any:
        """The samples as the statistics take them: one number where every cell has the same."""
        first = self.samples[0][0]
        same = all(row.count(first) == len(row) for row in self.samples)
        return first if same else self.samples

    @property
    def smallest(self) -> int:
        """Fewest answers drawn for a cell that has any."""
        return min(min((k for k in set(row) if k), default=0) for row in self.samples)

    @property
    def errored_share(self) -> float:
        """Share of the answers that ended in an error."""
        drawn = sum(map(sum, self.samples))
        return sum(map(sum, self.errored or ())) / drawn if drawn else 0.0

    def columns(self, kept: Sequence[int]) -> Table:
        """Return the table with these tasks only."""
        return Table(*(_columns(rows, kept) for rows in self._lists))  # type: ignore[arg-type]

    @property
    def _lists(self) -> tuple[Rows | None, ...]:
        return self.counts, self.samples, self.errored, self.unparsed

    def filled(self, rate: int) -> Table:
        """Return the table with its missing cells all wrong (0) or all right (1)."""
        k = self.smallest or 1
        counts = [
            [c if n else rate * k for c, n in zip(right, drawn, strict=True)]
            for right, drawn in zip(self.counts, self.samples, strict=True)
        ]
        return replace(self, counts=counts, samples=[[n or k for n in row] for row in self.samples])


def _columns(rows: Rows | None, kept: Sequence[int]) -> Rows | None:
    return None if rows is None else [[row[task] for task in kept] for row in rows]


@dataclass(frozen=True, slots=True)
class Missing:
    """A task that a run was not evaluated on."""

    arm: str
    run: str
    task: str


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two sides on one list of tasks.

    ``clusters`` gives the cluster of each task; ``independent`` the independent answers behind a
    cell where its samples are only a denominator.
    """

    control: Table
    treatment: Table
    tasks: tuple[str, ...]
    missing: tuple[Missing, ...]
    clusters: tuple[str, ...] | None
    independent: int | None

    @property
    def missing_share(self) -> float:
        """Share of the cells of both sides that is missing."""
        cells = (len(self.control.counts) + len(self.treatment.counts)) * len(self.tasks)
        return len(self.missing) / cells

    @property
    def has_errors(self) -> bool:
        """Whether any answer ended in an error."""
        return self.control.errored is not None or self.treatment.errored is not None

    @property
    def stems(self) -> tuple[str, ...] | None:
        """Clusters read from what the ids of tasks share; None where they show none."""
        from audit.stats import stem_clusters

        found = stem_clusters(self.tasks)
        return found.labels if found.kind == "clusters" else None

    def complete(self) -> Aligned:
        """Return the tasks that every run has answers to."""
        rows = (*self.control.samples, *self.treatment.samples)
        if all(not row or smallest(row) > 0 for row in rows):
            return self
        kept = [t for t in range(len(self.tasks)) if all(row[t] for row in rows)]
        clusters = None if self.clusters is None else tuple(self.clusters[t] for t in kept)
        return replace(
            self,
            control=self.control.columns(kept),
            treatment=self.treatment.columns(kept),
            tasks=tuple(self.tasks[t] for t in kept),
            missing=(),
            clusters=clusters,
        )

    def filled(self, favoured: str) -> Aligned:
        """Return all tasks, missing cells scored against ``treatment`` or ``control``."""
        against_treatment = favoured == "treatment"
        return replace(
            self,
            control=self.control.filled(int(against_treatment)),
            treatment=self.treatment.filled(int(not against_treatment)),
            missing=(),
        )

    def by_cluster(self) -> Aligned:
        """Return clusters in the place of tasks, each cell the mean over the cluster's tasks."""
        if self.clusters is None:
            return self
        members: dict[str, list[int]] = {}
        for task, cluster in enumerate(self.clusters):
            members.setdefault(cluster, []).append(task)
        groups = list(members.values())
        return replace(
            self,
            control=_pooled(self.control, groups),
            treatment=_pooled(self.treatment, groups),
            tasks=tuple(members),
            clusters=None,
            independent=self.independent or min(self.control.smallest, self.treatment.smallest),
        )


def align(
    control: Sequence[tuple[str, str, TaskOutcomes]],
    treatment: Sequence[tuple[str, str, TaskOutcomes]],
) -> Aligned | str:
    """Put the runs of two sides on one list of tasks.

    Parameters
    ----------
    control, treatment : sequence of (arm, run, outcomes)

    Returns
    -------
    Aligned, or str
        What keeps the tasks from being matched.
    """
    everyone = [*control, *treatment]
    first = everyone[0][2]
    if all(run.ids == first.ids for _, _, run in everyone):
        if len({len(run.counts) for _, _, run in everyone}) > 1:
            return "runs have different numbers of tasks and no task ids"
        tasks = first.ids or tuple(str(index) for index in range(len(first.counts)))
        tables = [_table([run for _, _, run in side]) for side in (control, treatment)]
    elif any(run.ids is None for _, _, run in everyone):
        return "some runs have task ids and some have none"
    else:
        union: dict[str, None] = {}
        for _, _, run in everyone:
            union.update(dict.fromkeys(run.ids or ()))
        tasks = tuple(union)
        tables = [_spread(side, tasks) for side in (control, treatment)]
    clusters = _clusters([run for _, _, run in everyone], tasks)
    if isinstance(clusters, str):
        return clusters
    independent = [run.independent for _, _, run in everyone if run.independent is not None]
    return Aligned(
        control=tables[0],
        treatment=tables[1],
        tasks=tasks,
        missing=_missing(control, tables[0], tasks) + _missing(treatment, tables[1], tasks),
        clusters=clusters,
        independent=min(independent) if independent else None,
    )


def _table(runs: Sequence[TaskOutcomes]) -> Table:
    """Return runs that have the same tasks in one order."""
    return Table(
        [run.counts for run in runs],
        [run.samples for run in runs],
        _tallies([run.errored for run in runs], runs),
        _tallies([run.unparsed for run in runs], runs),
    )


def _tallies(rows: Sequence[list[int] | None], runs: Sequence[TaskOutcomes]) -> Rows | None:
    """Return tallies of every run, those of a run without any being 0; None where none has any."""
    if not any(row is not None and any(row) for row in rows):
        return None
    return [row or [0] * len(run.counts) for row, run in zip(rows, runs, strict=True)]


def _spread(side: Sequence[tuple[str, str, TaskOutcomes]], tasks: tuple[str, ...]) -> Table:
    return _table([_in_order(run, tasks) for _, _, run in side])


def _in_order(run: TaskOutcomes, tasks: tuple[str, ...]) -> TaskOutcomes:
    """Return a run's outcomes on these tasks, with no answer drawn for those it lacks."""
    places = {task: place for place, task in enumerate(run.ids or ())}
    order = [places.get(task) for task in tasks]

    def picked(values: list[int]) -> list[int]:
        return [0 if place is None else values[place] for place in order]

    return replace(
        run,
        counts=picked(run.counts),
        samples=picked(run.samples),
        errored=None if run.errored is None else picked(run.errored),
        unparsed=None if run.unparsed is None else picked(run.unparsed),
    )


def _missing(
    side: Sequence[tuple[str, str, TaskOutcomes]], table: Table, tasks: tuple[str, ...]
) -> tuple[Missing, ...]:
    return tuple(
        Missing(arm, run, task)
        for (arm, run, _), row in zip(side, table.samples, strict=True)
        if 0 in row
        for task, drawn in zip(tasks, row, strict=True)
        if not drawn
    )


def _clusters(runs: Sequence[TaskOutcomes], tasks: tuple[str, ...]) -> tuple[str, ...] | str | None:
    declared = [run for run in runs if run.clusters is not None]
    if not declared:
        return None
    first = declared[0]
    if all(run.clusters == first.clusters and run.ids == first.ids for run in declared) and (
        first.clusters is not None and len(first.clusters) == len(tasks)
    ):
        return tuple(first.clusters)
    found: dict[str, str] = {}
    for run in declared:
        names = run.ids or tuple(str(index) for index in range(len(run.counts)))
        for task, cluster in zip(names, run.clusters or (), strict=True):
            if found.setdefault(task, cluster) != cluster:
                return f"task {task} is in different clusters in different runs"
    if any(task not in found for task in tasks):
        return "some tasks have a cluster and some have none"
    return tuple(found[task] for task in tasks)


def _pooled(table: Table, groups: Sequence[Sequence[int]]) -> Table:
    """Return cluster means as counts over the least common number of answers."""
    counts, samples = [], []
    for right, drawn in zip(table.counts, table.samples, strict=True):
        row, out_of = [], []
        for group in groups:
            base = lcm(*(drawn[task] for task in group))
            row.append(sum(right[task] * (base // drawn[task]) for task in group))
            out_of.append(base * len(group))
        counts.append(row)
        samples.append(out_of)
    return Table(counts, samples)


def run_means(table: Table) -> list[Fraction]:
    """Return each run's exact mean over the tasks of a table without missing cells."""
    return [
        sum((Fraction(c, k) for c, k in zip(right, drawn, strict=True)), Fraction(0)) / len(right)
        for right, drawn in zip(table.counts, table.samples, strict=True)
    ]
