"""Seeds per arm that an effect needs, decided by one look, as a plan, or after a look too early.

The one home of the figures behind "to see 0.05": whoever prints seeds asks here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from audit.stats.planning import FEWEST_SEEDS, seeds_needed
from audit.stats.records import Components
from audit.stats.sequential import SequentialPlan
from audit.stats.sequential_power import SequentialPower
from audit.stats.unplanned import after_look

# Longer plans are not searched for: a study that needs so many seeds needs another design first.
MOST_PLANNED = 100
_FEWEST_PLANNED = 5


@dataclass(frozen=True, slots=True)
class Prices:
    """What a study costs, in any one currency.

    Attributes
    ----------
    per_run : float
        One training run.
    per_evaluation : float
        Evaluating one checkpoint of one run, whatever the tasks.
    per_task : float
        Evaluating one checkpoint of one run on one task.
    """

    per_run: float = 0.0
    per_evaluation: float = 0.0
    per_task: float = 0.0

    def of(self, runs: float, tasks: int, checkpoints: int = 1) -> float:
        """Return the price of so many runs, both arms counted together."""
        return runs * (self.per_run + checkpoints * (self.per_evaluation + tasks * self.per_task))


@dataclass(frozen=True, slots=True)
class PlannedDesign:
    """Seeds per arm that see an effect, at one standard deviation between training runs.

    Attributes
    ----------
    effect : float
        What is to be seen, on [0, 1].
    seed_sd : float
        Standard deviation between training runs that was planned with, on [0, 1].
    seeds : int or None
        Seeds per arm decided by one look; None where the most that were tried do not see it.
    plan : SequentialPlan or None
        Shortest plan that sees it; None where none of up to 100 seeds per arm does.
    seen : SequentialPower or None
        Power and length of the plan where the effect is there.
    without : SequentialPower or None
        The same where there is no effect and the advice to stop is followed.
    """

    effect: float
    seed_sd: float
    seeds: int | None
    plan: SequentialPlan | None
    seen: SequentialPower | None
    without: SequentialPower | None


def designs_to_see(
    effect: float,
    seed_sds: Sequence[float],
    *,
    components: Components,
    tasks: int,
    samples: int,
    target_power: float = 0.8,
    level: float = 0.95,
    min_seeds: int = FEWEST_SEEDS,
    first: int = 4,
    limit: int = 1000,
    plan: SequentialPlan | None = None,
) -> tuple[PlannedDesign, ...]:
    """Return the seeds per arm that see an effect, for each standard deviation between runs.

    Parameters
    ----------
    effect : float
        What is to be seen, on [0, 1].
    seed_sds : sequence of float
        Standard deviations between training runs, on [0, 1]: of a file its estimate and its
        upper limit (`SeedSpread.sd`, `SeedSpread.upper`), without a file those usually found.
    components : Components
        The other variances; those between runs are replaced by ``seed_sds``.
    tasks, samples : int
        Tasks, and answers drawn for each by each run.
    target_power, level : float
    min_seeds : int
        Fewest seeds per arm that a claim may rest on; never fewer than 3 are planned.
    first : int
        First look of a plan; ``min_seeds`` where that is more.
    limit : int
        Most seeds per arm that are tried for one look.
    plan : SequentialPlan, optional
        A plan to tell the power of, in place of the shortest one that has ``target_power``.

    Returns
    -------
    tuple of PlannedDesign
        In the order of ``seed_sds``.
    """
    found = []
    for sd in seed_sds:
        at_sd = components.with_seed_sd(sd)
        seeds = seeds_needed(
            effect,
            components=at_sd,
            tasks=tasks,
            samples=samples,
            target_power=target_power,
            level=level,
            least=max(min_seeds, FEWEST_SEEDS),
            limit=limit,
        )
        shown = plan or plan_needed(
            effect,
            components=at_sd,
            tasks=tasks,
            samples=samples,
            target_power=target_power,
            level=level,
            first=max(first, min_seeds),
        )
        seen = without = None
        if shown is not None:
            seen = shown.power(abs(effect), components=at_sd, tasks=tasks, samples=samples)
            without = shown.power(
                0.0, components=at_sd, tasks=tasks, samples=samples, target_effect=abs(effect)
            )
        found.append(PlannedDesign(effect, sd, seeds, shown, seen, without))
    return tuple(found)


def plan_needed(
    effect: float,
    *,
    components: Components,
    tasks: int,
    samples: int,
    target_power: float = 0.8,
    level: float = 0.95,
    first: int = 4,
    limit: int = MOST_PLANNED,
) -> SequentialPlan | None:
    """Return the shortest plan, looked at after every seed, that sees ``effect`` with that power.

    Its maximum is at least 5 and above ``first``; None where ``limit`` seeds per arm do not see
    the effect. Other parameters are those of `power`.

    Notes
    -----
    No test of one level with several looks sees more than one look at its maximum does, so the
    scan begins two below the seeds that one look needs; the two are the room of the formulas.
    """
    one_look = seeds_needed(
        effect,
        components=components,
        tasks=tasks,
        samples=samples,
        target_power=target_power,
        level=level,
        limit=limit,
    )
    if one_look is None:
        return None
    for maximum in range(max(_FEWEST_PLANNED, first + 1, one_look - 2), limit + 1):
        plan = SequentialPlan(maximum, first=first, level=level)
        seen = plan.power(abs(effect), components=components, tasks=tasks, samples=samples)
        if seen.power >= target_power:
            return plan
    return None


def seeds_after_look(
    effect: float,
    looked: int,
    *,
    components: Components,
    tasks: int,
    samples: int,
    target_power: float = 0.8,
    level: float = 0.95,
    limit: int = 1000,
) -> int | None:
    """Return the seeds per arm at which a second, unplanned look sees ``effect``.

    Parameters
    ----------
    looked : int
        Seeds per arm at the first look, which was refused.

    Notes
    -----
    `seeds_needed` at the level of `after_look`; other parameters are those of `seeds_needed`.
    """
    return seeds_needed(
        effect,
        components=components,
        tasks=tasks,
        samples=samples,
        target_power=target_power,
        level=lambda seeds: after_look(looked, seeds, seeds, level=level).interval_level,
        least=max(looked + 1, FEWEST_SEEDS),
        limit=limit,
    )
