"""The test of two sides with outcomes per task, made under every reading of the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from audit.analysis.measures import Measure
from audit.analysis.numbers import Numbers, Reading
from audit.analysis.settings import Settings
from audit.analysis.tables import Aligned
from audit.errors import InsufficientData
from audit.stats.records import BaseDelta, SeedDelta

_ERRORS = {
    "wrong": "wrong",
    "dropped": "dropped",
    "worst-for-gain": "worst for treatment",
    "worst-for-loss": "worst for control",
}


@dataclass(frozen=True, slots=True)
class TaskTest:
    """The test for outcomes per task, and how it is to be made."""

    measure: Measure
    settings: Settings
    base: bool
    paired: bool

    def readings(self, aligned: Aligned) -> tuple[Numbers, ...]:
        """Return the test under each way of counting errors, missing cells and clusters.

        The first is the plain one: shared tasks, errored answers wrong, tasks independent.
        """
        return tuple(self._readings(aligned))

    def _readings(self, aligned: Aligned) -> Iterator[Numbers]:
        missing = "dropped" if aligned.missing else "none"
        whole = aligned.complete()
        yield from self._plain(whole, missing)
        if whole.has_errors and not self.base:
            yield from self._errored(whole, missing)
        if aligned.missing:
            for side in self._favoured():
                yield from self._plain(aligned.filled(side), f"against {side}")

    def _plain(self, whole: Aligned, missing: str) -> Iterator[Numbers]:
        """Yield the test with errored answers wrong, tasks alone and then in clusters."""
        if len(whole.tasks) < 2:
            return
        for grouping, labels in self._groupings(whole):
            try:
                result = self._against_base(whole) if self.base else self._arms(whole, labels)
            except InsufficientData:
                continue
            yield self._numbers(result, Reading(grouping=grouping, missing=missing))

    def _errored(self, whole: Aligned, missing: str) -> Iterator[Numbers]:
        """Yield the test with errored answers dropped, and counted against the claim."""
        from audit.stats import errored_delta

        grouping, labels = self._groupings(whole)[-1]
        errored = tuple(
            [[0] * len(whole.tasks)] * len(side.counts) if side.errored is None else side.errored
            for side in (whole.control, whole.treatment)
        )
        try:
            found = errored_delta(
                whole.control.counts,
                whole.treatment.counts,
                samples=(whole.control.drawn, whole.treatment.drawn),
                errored=errored,
                claim=self._doubted(),
                paired=self.paired,
                level=self.settings.level,
                clusters=labels,
            )
        except InsufficientData:
            return
        for way in found.readings:
            if way.errored != "wrong":
                kind = grouping if way.clustered else "tasks"
                yield self._numbers(way.result, Reading(_ERRORS[way.errored], kind, missing))

    def _groupings(self, whole: Aligned) -> list[tuple[str, Sequence[str] | None]]:
        """Return the ways of grouping tasks: alone, and by declared clusters or stems of ids."""
        ways: list[tuple[str, Sequence[str] | None]] = [("tasks", None)]
        if self.base:
            return ways
        if whole.clusters is not None:
            ways.append(("clusters", whole.clusters))
        elif whole.stems is not None:
            ways.append(("stems", whole.stems))
        return ways

    def _doubted(self) -> str:
        """Return the claim against which errored answers count, in terms of the value."""
        favoured = self._favoured()
        if len(favoured) > 1:
            return "equivalence"
        return "gain" if favoured == ("treatment",) else "loss"

    def _favoured(self) -> tuple[str, ...]:
        """Return the sides against which doubt is counted: the one that the claim favours."""
        direction = self.settings.direction
        if direction not in ("gain", "loss", "no loss"):
            return ("treatment", "control")
        upward = (direction != "loss") == self.measure.higher_is_better
        return ("treatment",) if upward else ("control",)

    def _numbers(self, result: SeedDelta | BaseDelta, reading: Reading) -> Numbers:
        runs = [result.treatment.seeds]
        tasks = result.tasks
        if isinstance(result, SeedDelta):
            runs.append(result.control.seeds)
            if result.effective_clusters is not None:
                tasks = int(result.effective_clusters)
        return Numbers(result, self.measure, tasks, min(runs), reading)

    def _against_base(self, table: Aligned) -> BaseDelta:
        from audit.stats import base_delta

        return base_delta(
            table.control.counts,
            table.treatment.counts,
            samples=table.treatment.drawn,
            base_samples=table.control.drawn,
            level=self.settings.level,
        )

    def _arms(self, table: Aligned, clusters: Sequence[str] | None) -> SeedDelta:
        from audit.stats import seed_delta

        return seed_delta(
            table.control.counts,
            table.treatment.counts,
            samples=(table.control.drawn, table.treatment.drawn),
            paired=self.paired,
            level=self.settings.level,
            floor_samples=table.independent,
            clusters=clusters,
        )
