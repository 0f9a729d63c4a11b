"""What a study's design can see: its seed spread, power, smallest effect, seeds for an effect.

Costs tens of milliseconds, so a comparison makes one only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from audit.analysis.tables import Aligned

if TYPE_CHECKING:
    from audit.stats import Components, ScoreDelta, SeedSpread

POWER = 0.8
# The seed spread is taken at this one-sided upper limit: few seeds often look alike by luck.
SPREAD_LIMIT = 0.8


@dataclass(frozen=True)
class Design:
    """The numbers a planner needs of one comparison, on a scale of [0, 1].

    Attributes
    ----------
    spread : SeedSpread
        Standard deviation between runs net of evaluation noise, pooled over both arms.
    spreads : tuple of SeedSpread
        The same of control and of treatment alone.
    components : Components
        Variances as estimated.
    seeds : tuple of int
        Runs of control and treatment.
    tasks, samples : int
    level : float
    tasks_known : bool
        False where one score per run is all that is known, and not how many answers are behind it:
        ``tasks`` then stands for nothing.
    """

    spread: SeedSpread
    spreads: tuple[SeedSpread, SeedSpread]
    components: Components
    seeds: tuple[int, int]
    tasks: int
    samples: int
    level: float
    tasks_known: bool = True

    @cached_property
    def spread_limits(self) -> tuple[float, float]:
        """Upper limit of each arm's seed spread, by which its power is judged."""
        control, treatment = self.spreads
        return control.upper(SPREAD_LIMIT), treatment.upper(SPREAD_LIMIT)

    @cached_property
    def cautious(self) -> Components:
        """The components with each arm's seed spread at its upper limit."""
        control, treatment = self.spread_limits
        return replace(self.components, seed_sd_control=control, seed_sd_treatment=treatment)

    @cached_property
    def planned(self) -> Components:
        """The components for planning: both arms' spread at the upper limit of the pooled one."""
        return self.components.with_seed_sd(self.spread.upper(SPREAD_LIMIT))

    def power(self, effect: float) -> float:
        """Return the power for an effect, the seed spread at its upper limit."""
        from audit.stats import power

        return power(
            effect,
            components=self.cautious,
            seeds=self.seeds,
            tasks=self.tasks,
            samples=self.samples,
            level=self.level,
        )

    @cached_property
    def smallest_effect(self) -> float | None:
        """Smallest effect seen at 80% power, the seed spread at its upper limit; None for none."""
        return self._smallest(self.cautious)

    @cached_property
    def smallest_effect_at_estimate(self) -> float | None:
        """The same with the seed spread as estimated, pooled."""
        return self._smallest(self.components.with_seed_sd(self.spread.sd))

    def _smallest(self, components: Components) -> float | None:
        from audit.stats import minimum_detectable_effect

        return minimum_detectable_effect(
            components=components,
            seeds=self.seeds,
            tasks=self.tasks,
            samples=self.samples,
            target_power=POWER,
            level=self.level,
        )


def design_of_tasks(
    aligned: Aligned, level: float, *, new_tasks: bool, answers: int | None = None
) -> Design:
    """Return the design of a comparison with outcomes per task, none missing.

    Without ``new_tasks`` the question is about these tasks only, and what differs between tasks
    is no noise. ``answers`` are those behind a cell that counts no right answers out of so many
    drawn, as of graded scores and pass@k: more of them are not known to help.
    """
    from audit.stats import pooled_seed_spread, seed_spread, variance_split

    control, treatment = aligned.control, aligned.treatment
    drawn = (control.drawn, treatment.drawn)
    components = variance_split(control.counts, treatment.counts, samples=drawn, answers=answers)
    return Design(
        spread=pooled_seed_spread([control.counts, treatment.counts], samples=drawn, level=level),
        spreads=(
            seed_spread(control.counts, samples=drawn[0], level=level),
            seed_spread(treatment.counts, samples=drawn[1], level=level),
        ),
        components=components if new_tasks else replace(components, task_effect_sd=0.0),
        seeds=(len(control.counts), len(treatment.counts)),
        tasks=len(aligned.tasks),
        samples=answers or min(control.smallest, treatment.smallest),
        level=level,
    )


def design_of_scores(
    control: Sequence[Fraction],
    treatment: Sequence[Fraction],
    *,
    result: ScoreDelta,
    level: float,
) -> Design:
    """Return the design of a comparison with one score per run, each answer counted as a task.

    The evaluation's share is p(1 - p) over the answers behind a score, which is its upper bound.
    Where their number is unknown that share stays in the spread between seeds, and the plan
    speaks of seeds alone.
    """
    from audit.stats import Components, pooled_score_spread, score_spread

    known = result.answers is not None
    control_noise, treatment_noise = (
        arm.floor if known else 0.0 for arm in (result.control, result.treatment)
    )
    noise = (control_noise + treatment_noise) / 2
    spread = pooled_score_spread([control, treatment], noise_variance=noise, level=level)
    return Design(
        spread=spread,
        spreads=(
            score_spread(control, noise_variance=control_noise, level=level),
            score_spread(treatment, noise_variance=treatment_noise, level=level),
        ),
        components=Components(
            seed_sd_control=spread.sd,
            seed_sd_treatment=spread.sd,
            seed_task_sd=0.0,
            sampling_variance=noise * (result.answers or 0),
            task_effect_sd=0.0,
        ),
        seeds=(result.control.seeds, result.treatment.seeds),
        tasks=result.answers or 2,
        samples=1,
        level=level,
        tasks_known=known,
    )
