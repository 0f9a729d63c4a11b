"""The test of two sides with outcomes per task, made under every reading of the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from audit.analysis.measures import Measure
from audit.analysis.numbers import Numbers, Reading
from audit.analysis.settings import Settings
from audit.analysis.tables import Aligned
from audit.errors import InsufficientData
from audit.stats.records import BaseDelta, SeedDelta

# Errored answers are also counted against the claim where one arm has more than a fiftieth of
# them, or the arms' shares are further apart than a hundredth.
LARGEST_ERRORED_SHARE, LARGEST_ERRORED_GAP = 0.02, 0.01
# Dropping errored answers may leave cells empty; beyond this share of the tasks it says little.
LARGEST_EMPTIED_SHARE = 0.05


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
        groupings = self._groupings(aligned.complete())
        made = [
            self._made(table, replace(reading, grouping=kind), clusters)
            for reading, table in self._countings(aligned)
            for kind, clusters in groupings
        ]
        return tuple(numbers for numbers in made if numbers is not None)

    def _groupings(self, aligned: Aligned) -> list[tuple[str, bool]]:
        """Return the ways of grouping tasks: alone, and by declared clusters or stems of ids."""
        ways = [("tasks", False)]
        if self.base:
            return ways
        if aligned.clusters is not None:
            ways.append(("clusters", True))
        elif aligned.stems is not None:
            ways.append(("stems", True))
        return ways

    def _countings(self, aligned: Aligned) -> Iterator[tuple[Reading, Aligned]]:
        """Yield every way of counting errored and missing answers, without missing cells."""
        missing = "dropped" if aligned.missing else "none"
        whole = aligned.complete()
        yield Reading(missing=missing), whole
        if whole.has_errors:
            dropped = self._dropped(whole)
            if dropped is not None:
                yield Reading(errors="dropped", missing=missing), dropped
            if dropped is None or _errors_may_decide(whole):
                for side in self._favoured():
                    way = f"worst for {side}"
                    yield Reading(errors=way, missing=missing), whole.counting_errors(way)
        if aligned.missing:
            for side in self._favoured():
                yield Reading(missing=f"against {side}"), aligned.filled(side)

    def _dropped(self, whole: Aligned) -> Aligned | None:
        """Return the answers without errored ones; None where that empties too many tasks."""
        kept = whole.counting_errors("dropped").complete()
        emptied = len(whole.tasks) - len(kept.tasks)
        return None if emptied > LARGEST_EMPTIED_SHARE * len(whole.tasks) else kept

    def _favoured(self) -> tuple[str, ...]:
        """Return the sides against which doubt is counted: the one that the claim favours."""
        direction = self.settings.direction
        if direction not in ("gain", "loss", "no loss"):
            return ("treatment", "control")
        upward = (direction != "loss") == self.measure.higher_is_better
        return ("treatment",) if upward else ("control",)

    def _made(self, aligned: Aligned, reading: Reading, clustered: bool) -> Numbers | None:
        """Return the test on tasks without missing cells; None where they are too few."""
        if len(aligned.tasks) < 2:
            return None
        clusters = (aligned.clusters or aligned.stems) if clustered else None
        try:
            result = self._against_base(aligned) if self.base else self._arms(aligned, clusters)
        except InsufficientData:
            return None
        runs = [len(aligned.treatment.counts)]
        if not self.base:
            runs.append(len(aligned.control.counts))
        return Numbers(result, self.measure, len(aligned.tasks), min(runs), reading)

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
        )


def _errors_may_decide(whole: Aligned) -> bool:
    control, treatment = whole.control.errored_share, whole.treatment.errored_share
    return (
        abs(treatment - control) > LARGEST_ERRORED_GAP
        or max(control, treatment) > LARGEST_ERRORED_SHARE
    )
