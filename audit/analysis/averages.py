"""The mean over several benchmarks that the same runs were evaluated on, as one comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from audit.analysis.measures import Measure, MeasuredRun, Side
from audit.analysis.numbers import Numbers, Reading
from audit.analysis.refusals import (
    refusals_by_answers,
    refusals_by_runs,
    refusals_by_tasks,
)
from audit.analysis.settings import Settings
from audit.analysis.study import Study
from audit.analysis.tables import Aligned, align, run_means
from audit.analysis.verdict import Refusal
from audit.claims import OVER_TASKS
from audit.errors import InsufficientData


@dataclass(frozen=True, slots=True)
class Averaged:
    """What comparing two arms by an average found.

    ``control`` and ``treatment`` hold the runs' averages; ``numbers`` is empty where a benchmark
    refuses.
    """

    control: Side
    treatment: Side
    paired: bool
    numbers: tuple[Numbers, ...]
    refusals: tuple[Refusal, ...]


def averaged_measure(parts: Sequence[Measure], over: str) -> Measure:
    """Return the measure that averages others, which share metric and scale."""
    names = ", ".join(part.benchmark or "unnamed" for part in parts)
    which = "all tasks of" if over == OVER_TASKS else "the mean of"
    return replace(parts[0], benchmark=f"{which} {names}", parts=tuple(parts), average=over)


def averaged(
    study: Study, measure: Measure, arm: str, against: str, settings: Settings
) -> Averaged:
    """Compare two trained arms by the mean over the parts of a measure."""
    refusals: list[Refusal] = []
    tables: list[Aligned] = []
    sides: tuple[Side, Side] | None = None
    paired = False
    for part in measure.parts:
        control, treatment, paired = study.sides(arm, against, part, paired=settings.paired)
        found = [
            *refusals_by_runs(study, control, treatment),
            *refusals_by_answers(control, treatment, part),
        ]
        aligned = None
        if control.per_task and treatment.per_task:
            aligned = align(control.entries(), treatment.entries())
        if isinstance(aligned, Aligned):
            found += refusals_by_tasks(aligned)
            tables.append(aligned.complete())
        elif isinstance(aligned, str):
            found.append(Refusal("incomplete", f"the tasks cannot be matched: {aligned}"))
        else:
            found.append(Refusal("no-per-task-outcomes", "an average needs per-task outcomes"))
        refusals += [_on(part, refusal) for refusal in found]
        if sides is not None and not _same_runs(sides, (control, treatment)):
            line = "the runs were not all evaluated on every benchmark of the average"
            refusals.append(Refusal("incomplete", line))
        sides = sides or (control, treatment)
    assert sides is not None  # an average has parts
    if refusals or len(tables) < len(measure.parts):
        return Averaged(*sides, paired, (), tuple(refusals))
    numbers = tuple(_readings(tables, measure, settings, paired))
    return Averaged(*_with_scores(sides, tables, measure), paired, numbers, ())


def _on(part: Measure, refusal: Refusal) -> Refusal:
    return Refusal(refusal.reason, f"{refusal.line} (on {part.benchmark or 'unnamed'})")


def _same_runs(one: tuple[Side, Side], other: tuple[Side, Side]) -> bool:
    return all(
        [run.label for run in a.runs] == [run.label for run in b.runs]
        for a, b in zip(one, other, strict=True)
    )


def _readings(
    tables: Sequence[Aligned], measure: Measure, settings: Settings, paired: bool
) -> Iterator[Numbers]:
    from audit.stats import BenchmarkCounts, average_delta

    labels = [table.clusters or table.stems for table in tables]
    kind = "clusters" if any(table.clusters for table in tables) else "stems"
    alone: list[tuple[str, ...] | None] = [None] * len(tables)
    groupings = [("tasks", alone)]
    if any(label is not None for label in labels):
        groupings.append((kind, labels))
    for grouping, groups in groupings:
        benchmarks = [
            BenchmarkCounts(
                control=table.control.counts,
                treatment=table.treatment.counts,
                samples=(table.control.drawn, table.treatment.drawn),
                clusters=clusters,
                floor_samples=table.independent,
            )
            for table, clusters in zip(tables, groups, strict=True)
        ]
        try:
            result = average_delta(
                benchmarks,
                weights="micro" if measure.average == OVER_TASKS else "macro",
                paired=paired,
                level=settings.level,
            )
        except InsufficientData:
            continue
        runs = min(result.control.seeds, result.treatment.seeds)
        yield Numbers(result, measure, sum(result.tasks), runs, Reading(grouping=grouping))


def _with_scores(
    sides: tuple[Side, Side], tables: Sequence[Aligned], measure: Measure
) -> tuple[Side, Side]:
    """Return the sides with each run's average in the place of its outcomes on one benchmark."""
    sizes = [len(table.tasks) for table in tables]
    total = sum(sizes)
    weights = [
        Fraction(size, total) if measure.average == OVER_TASKS else Fraction(1, len(sizes))
        for size in sizes
    ]
    low, span = Fraction(repr(measure.low or 0.0)), Fraction(repr(measure.span or 1.0))
    made = []
    for side, pick in zip(sides, ("control", "treatment"), strict=True):
        means = [run_means(getattr(table, pick)) for table in tables]
        averages = [
            sum((w * mean for w, mean in zip(weights, column, strict=True)), Fraction(0))
            for column in zip(*means, strict=True)
        ]
        runs = tuple(
            _scored(run, measure, low + span * mean)
            for run, mean in zip(side.runs, averages, strict=True)
        )
        made.append(replace(side, runs=runs))
    return made[0], made[1]


def _scored(run: MeasuredRun, measure: Measure, score: Fraction) -> MeasuredRun:
    return MeasuredRun(
        run.label, run.seed, run.run, measure, recorded=float(score), evaluation=run.evaluation
    )
