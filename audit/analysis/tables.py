"""Runs side by side: the same tasks in the same order, with what is missing named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Any

from audit.analysis.outcomes import TaskOutcomes

Rows = list[list[int]]


@dataclass(frozen=True, slots=True)
class Table:
    """Right answers and answers drawn of one side, runs x tasks; 0 drawn means missing."""

    counts: Rows
    samples: Rows

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

    def columns(self, kept: Sequence[int]) -> Table:
        """Return the table with these tasks only."""
        return Table(
            [[row[task] for task in kept] for row in self.counts],
            [[row[task] for task in kept] for row in self.samples],
        )

    def filled(self, rate: int) -> Table:
        """Return the table with its missing cells all wrong (0) or all right (1)."""
        k = self.smallest or 1
        counts = [
            [c if n else rate * k for c, n in zip(right, drawn, strict=True)]
            for right, drawn in zip(self.counts, self.samples, strict=True)
        ]
        return Table(counts, [[n or k for n in row] for row in self.samples])


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

    def complete(self) -> Aligned:
        """Return the tasks that every run was evaluated on."""
        if not self.missing:
            return self
        rows = (*self.control.samples, *self.treatment.samples)
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

    def cluster_imbalance(self) -> float:
        """Return the size of the largest cluster over the mean size; 1 without clusters."""
        if self.clusters is None:
            return 1.0
        sizes = [self.clusters.count(cluster) for cluster in set(self.clusters)]
        return max(sizes) * len(sizes) / sum(sizes)


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
        tables = [
            Table([run.counts for _, _, run in side], [run.samples for _, _, run in side])
            for side in (control, treatment)
        ]
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


def _spread(side: Sequence[tuple[str, str, TaskOutcomes]], tasks: tuple[str, ...]) -> Table:
    counts, samples = [], []
    for _, _, run in side:
        cells = dict(zip(run.ids or (), zip(run.counts, run.samples, strict=True), strict=True))
        row = [cells.get(task, (0, 0)) for task in tasks]
        counts.append([right for right, _ in row])
        samples.append([drawn for _, drawn in row])
    return Table(counts, samples)


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
