"""A design that is planned for, and what it can see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.stats import Components

SEEDS_SHOWN = (2, 3, 5, 10, 20)
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Plan:
    """What is planned for: variances, the design at hand, the effect and the prices."""

    components: Components
    tasks: int
    samples: int
    effect: float
    level: float
    usd_per_run: float | None
    usd_per_task: float | None
    source: str

    def cost(self, seeds: int, tasks: int) -> float | None:
        """Return the price of both arms: training runs, and tasks evaluated by each run."""
        if self.usd_per_run is None and self.usd_per_task is None:
            return None
        return 2 * seeds * ((self.usd_per_run or 0.0) + tasks * (self.usd_per_task or 0.0))

    def smallest(self, seeds: int, tasks: int) -> float | None:
        """Return the smallest effect seen at 80% power; None where none is."""
        from audit.stats import minimum_detectable_effect

        return minimum_detectable_effect(
            components=self.components,
            seeds=seeds,
            tasks=tasks,
            samples=self.samples,
            target_power=POWER,
            level=self.level,
        )

    def power(self, effect: float, seeds: int) -> float:
        """Return the power for an effect with the tasks and answers at hand."""
        from audit.stats import power

        return power(
            effect,
            components=self.components,
            seeds=seeds,
            tasks=self.tasks,
            samples=self.samples,
            level=self.level,
        )

    def seeds_for(self, tasks: int) -> int | None:
        """Return the seeds per arm that see the effect; None above 1,000."""
        from audit.stats import seeds_needed

        return seeds_needed(
            self.effect,
            components=self.components,
            tasks=tasks,
            samples=self.samples,
            target_power=POWER,
            level=self.level,
        )
