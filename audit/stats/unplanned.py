"""A second look at a study without a plan: seeds were added after the first was refused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from audit.stats.boundary import boundary
from audit.stats.quantiles import check_level, normal_tail
from audit.stats.records import Components
from audit.stats.sequential_power import Chances, chances_of, course, equivalence_chances

# What a second, unplanned look adds to the error rate of the first, as a share of it: the slack
# of the rule at few seeds pays for more of it.
_EXTRA = 0.15
_EXTRA_AFTER_MANY = 0.1
_FEW_SEEDS = 5


@dataclass(frozen=True, slots=True)
class UnplannedLook:
    """A second look without a plan; see `after_look`.

    Attributes
    ----------
    looked : int
        Seeds per arm at the first look.
    seeds : int
        Seeds per arm now, of the arm that has more.
    threshold : float
        A two-sided p-value below it decides.
    equivalence_threshold : float
        Both one-sided p-values below it show equivalence.
    total_error : float
        Error rate of both looks together.
    """

    looked: int
    seeds: int
    threshold: float
    equivalence_threshold: float
    total_error: float

    @property
    def interval_level(self) -> float:
        """Level of the interval that excludes 0 exactly where ``threshold`` decides."""
        return 1 - self.threshold


def after_look(
    looked: int, control_seeds: int, treatment_seeds: int, *, level: float = 0.95
) -> UnplannedLook:
    """Return what a second look asks for where the first was judged at ``level`` and refused.

    Parameters
    ----------
    looked : int
        Seeds per arm at the first look, at least 2.
    control_seeds, treatment_seeds : int
        Runs judged now; at least one arm has more than ``looked``.
    level : float
        Confidence level of the first look.

    Returns
    -------
    UnplannedLook

    Raises
    ------
    ValueError
        No arm has more runs than at the first look.

    Notes
    -----
    The error rate is spent by the first look, so the total is declared larger: by 0.15 of it
    where that look was at 5 seeds or fewer, else by 0.1 (0.0575 and 0.055 at level 0.95). The
    threshold p* = 2 Phi(-c) has P(|Z_1| < z, |Z_2| >= c) = the addition, with the correlation
    sqrt(looked / seeds). The arm with more runs sets it: a lower correlation is stricter.
    Equivalence spends its one-sided error rate in the same way.
    """
    alpha = 1 - check_level(level)
    seeds = max(control_seeds, treatment_seeds)
    if not 2 <= looked < seeds:
        raise ValueError(f"a later look needs more than {looked} seeds per arm, got {seeds}")
    extra = alpha * (_EXTRA if looked <= _FEW_SEEDS else _EXTRA_AFTER_MANY)
    return UnplannedLook(
        looked=looked,
        seeds=seeds,
        threshold=_second(looked, seeds, alpha, extra, 2),
        equivalence_threshold=_second(looked, seeds, alpha, extra, 1),
        total_error=alpha + extra,
    )


def later_look_chances(
    delta: float,
    p_value: float,
    runs: tuple[tuple[int, int], tuple[int, int]],
    *,
    looked: int,
    effect: float,
    margin: float | None = None,
    level: float = 0.95,
    components: Components,
    tasks: int,
    samples: int,
) -> Chances:
    """Return the chance that one later look, without a plan, shows what is claimed.

    Parameters
    ----------
    delta, p_value : float
        Difference seen in the claimed direction, and its two-sided p-value.
    runs : pair of (int, int)
        Runs of control and treatment now, and at the later look.
    looked : int
        Seeds per arm of the look that was refused.
    effect : float
        True difference assumed from here on.
    margin : float, optional
        Equivalence within it is claimed; ``p_value`` is then not used.
    level : float
        Confidence level of the first look.
    components, tasks, samples
        As for `SequentialPlan.power`.
    """
    found = after_look(looked, *runs[1], level=level)
    seeds = (min(runs[0]), min(runs[1]))
    if margin is not None:
        return equivalence_chances(
            margin,
            effect,
            delta,
            seeds,
            [1 - found.equivalence_threshold],
            runs,
            components=components,
            tasks=tasks,
            samples=samples,
        )
    process = course(
        effect,
        seeds,
        (1 - level, found.threshold),
        runs,
        components=components,
        tasks=tasks,
        samples=samples,
    )
    return chances_of(process, delta, p_value)


@lru_cache(maxsize=1024)
def _second(looked: int, seeds: int, alpha: float, extra: float, sides: int) -> float:
    return sides * normal_tail(boundary((looked, seeds), (alpha, extra), sides=sides)[1])
