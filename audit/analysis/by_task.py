"""The test of two sides with outcomes per task."""

from __future__ import annotations

from dataclasses import dataclass

from audit.analysis.measures import Measure
from audit.analysis.numbers import Numbers
from audit.analysis.settings import Settings
from audit.analysis.tables import Aligned
from audit.errors import InsufficientData
from audit.stats.records import BaseDelta, SeedDelta


@dataclass(frozen=True, slots=True)
class TaskTest:
    """The test for outcomes per task, and how it is to be made."""

    measure: Measure
    settings: Settings
    base: bool
    paired: bool

    def ways(self, aligned: Aligned) -> tuple[Numbers, ...]:
        """Return the test on the shared tasks, and with missing cells scored against the claim."""
        tested = [self.made(aligned.complete(), "dropped")]
        if aligned.missing:
            tested += [
                self.made(aligned.filled(side), f"against {side}")
                for side in _favoured(self.settings.direction, self.measure.higher_is_better)
            ]
        return tuple(numbers for numbers in tested if numbers is not None)

    def made(self, aligned: Aligned, missing: str) -> Numbers | None:
        """Return the test on tasks without missing cells; None where they are too few."""
        table = aligned.by_cluster()
        if len(table.tasks) < 2:
            return None
        try:
            result = self._against_base(table) if self.base else self._of_arms(table)
        except InsufficientData:
            return None
        runs = [len(table.treatment.counts)]
        if not self.base:
            runs.append(len(table.control.counts))
        return Numbers(result, self.measure, len(table.tasks), min(runs), missing)

    def _against_base(self, table: Aligned) -> BaseDelta:
        from audit.stats import base_delta

        return base_delta(
            table.control.counts,
            table.treatment.counts,
            samples=table.treatment.drawn,
            base_samples=table.control.drawn,
            level=self.settings.level,
        )

    def _of_arms(self, table: Aligned) -> SeedDelta:
        from audit.stats import seed_delta

        return seed_delta(
            table.control.counts,
            table.treatment.counts,
            samples=(table.control.drawn, table.treatment.drawn),
            paired=self.paired,
            level=self.settings.level,
            floor_samples=table.independent,
        )


def _favoured(direction: str | None, higher_is_better: bool) -> tuple[str, ...]:
    """Return the sides a claim favours, in terms of the metric's value."""
    if direction not in ("gain", "loss"):
        return ("treatment", "control")
    return ("treatment",) if (direction == "gain") == higher_is_better else ("control",)
