"""Looking at a study while its seeds are trained: a plan declared before the first result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, isfinite, log

from audit.errors import InsufficientData
from audit.stats.boundary import boundary
from audit.stats.quantiles import check_level, normal_tail
from audit.stats.records import Components
from audit.stats.sequential_power import (
    Chances,
    Course,
    SequentialPower,
    chances_of,
    course,
    equivalence_chances,
    power_of,
)

# Neighbouring looks of a paired t with few degrees of freedom are less alike than normal ones,
# and looking at every seed would make 0.0598 of 0.05; this share brings it back.
PAIRED_SHARE = 0.85
# No boundary is computed for more looks than take some tens of milliseconds.
MOST_SEEDS = 200
_FIRST = 4
_NEARLY_ONE = 1 - 1e-9
_SMALLEST = 1e-200


@dataclass(frozen=True, slots=True)
class Look:
    """Which look of a plan a number of finished runs is; see `SequentialPlan.look`.

    Attributes
    ----------
    state : str
        ``"look"``, ``"before-first-look"`` or ``"beyond-plan"``.
    runs : tuple of int
        Finished runs of control and treatment.
    maximum : int
        Most seeds per arm, of the arm that has more.
    seeds : int or None
        Seeds per arm by which it is judged; None unless ``state`` is ``"look"``.
    threshold : float or None
        A two-sided p-value below it decides; None as for ``seeds``.
    equivalence_threshold : float or None
        Both one-sided p-values below it show equivalence; None as for ``seeds``.
    next : int or None
        Seeds per arm of the next look; None where there is none.
    final : bool
        Nothing of the error rate is kept for later: the maximum, or every launched run ended.
    """

    state: str
    runs: tuple[int, int]
    maximum: int
    seeds: int | None
    threshold: float | None
    equivalence_threshold: float | None
    next: int | None
    final: bool

    @property
    def interval_level(self) -> float | None:
        """Level of the interval that excludes 0 exactly where ``threshold`` decides."""
        return None if self.threshold is None else 1 - self.threshold

    @property
    def equivalence_level(self) -> float | None:
        """Level of the interval that lies inside the margins where the arms are equivalent."""
        bound = self.equivalence_threshold
        return None if bound is None else 1 - 2 * bound


@dataclass(frozen=True, slots=True)
class SequentialPlan:
    """Most seeds per arm, declared before the first result; each seed may then be looked at.

    Parameters
    ----------
    maximum : int, or tuple of two
        Most seeds per arm; a tuple gives (control, treatment).
    first : int
        Seeds per arm of the first look, at least 2. A look at 3 has next to no power, and with
        seeds that take two values alone exceeds its share of the error rate.
    looks : sequence of int, optional
        The only looks, ending at the maximum; by default every number of seeds from ``first``.
        The first of them is then ``first``.
    level : float
        One minus the error rate of the whole plan.
    paired : bool
        Pairing of the seeds was declared; the error rate is then multiplied by 0.85.

    Raises
    ------
    ValueError
        Looks do not increase from 2 to the maximum, or the maximum is above 200.

    Notes
    -----
    The error rate spent by the look at S of M seeds is alpha (S / M)^2, whether or not earlier
    looks were taken: the thresholds are those of a study looked at after every planned number of
    seeds. Which looks were taken, and why, therefore needs no record. Looks are correlated as
    sqrt(s / S); p-values of Student's t stand for those of the normal process.

    References
    ----------
    Lan & DeMets 1983 (spending); Kim & DeMets 1987 (powers of the information).
    """

    maximum: int | tuple[int, int]
    first: int = _FIRST
    looks: tuple[int, ...] | None = None
    level: float = 0.95
    paired: bool = False

    def __post_init__(self) -> None:
        check_level(self.level)
        if not isinstance(self.maximum, int):
            object.__setattr__(self, "maximum", tuple(self.maximum))
        most = max(self.maxima)
        if not 2 <= min(self.maxima) <= most <= MOST_SEEDS:
            raise ValueError(f"maximum must lie from 2 to {MOST_SEEDS}, got {self.maximum}")
        if self.looks is None:
            if not 2 <= self.first <= most:
                raise ValueError(f"first must lie from 2 to {most}, got {self.first}")
            return
        object.__setattr__(self, "looks", tuple(self.looks))
        declared = list(self.looks)
        if not declared or declared != sorted(set(declared)) or declared[0] < 2:
            raise ValueError(f"looks must increase from 2 or more, got {self.looks}")
        if declared[-1] != most:
            raise ValueError(f"the last look must be the maximum, {most}, got {declared[-1]}")
        if self.first not in (_FIRST, declared[0]):
            raise ValueError(f"first is {self.first}, and the first of the looks {declared[0]}")
        object.__setattr__(self, "first", declared[0])

    @property
    def maxima(self) -> tuple[int, int]:
        """Most seeds of control and of treatment."""
        return self.maximum if isinstance(self.maximum, tuple) else (self.maximum, self.maximum)

    @property
    def most(self) -> int:
        """Most seeds of the arm that has more."""
        return max(self.maxima)

    @property
    def planned(self) -> tuple[int, ...]:
        """Seeds per arm at every planned look."""
        return self.looks or tuple(range(self.first, self.most + 1))

    @property
    def alpha(self) -> float:
        """Two-sided error rate of the whole plan."""
        return (1 - self.level) * self._share

    @property
    def _share(self) -> float:
        return PAIRED_SHARE if self.paired else 1.0

    def look(
        self,
        control_seeds: int,
        treatment_seeds: int,
        *,
        launched: tuple[int, int] | None = None,
    ) -> Look:
        """Return which look the finished runs are.

        Parameters
        ----------
        control_seeds, treatment_seeds : int
            Runs that finished and are judged.
        launched : tuple of int, optional
            Runs of control and treatment that were started and have ended, finished or failed.
            Where both arms launched their maximum no run can follow, and what is left of the
            error rate is spent here.

        Returns
        -------
        Look

        Notes
        -----
        The arm that is behind decides: seeds = floor(M min(S_A / M_A, S_B / M_B)), and the last
        planned look at or below. Runs that one arm has more count in the estimate alone.
        """
        runs, most = (control_seeds, treatment_seeds), self.most
        if min(runs) < 0:
            raise ValueError(f"numbers of runs must not be negative, got {runs}")
        shares = [Fraction(s, m) for s, m in zip(runs, self.maxima, strict=True)]
        reached = int(most * min(shares))
        if reached > most:
            return Look("beyond-plan", runs, most, None, None, None, None, False)
        ended = launched is not None and all(
            started >= m for started, m in zip(launched, self.maxima, strict=True)
        )
        following = None if ended else next((s for s in self.planned if s > reached), None)
        if reached < self.planned[0]:
            return Look("before-first-look", runs, most, None, None, None, following, ended)
        final = ended or reached == most
        seeds = reached if final else self._passed(reached)
        return Look(
            state="look",
            runs=runs,
            maximum=most,
            seeds=seeds,
            threshold=self.threshold(seeds, final=final),
            equivalence_threshold=self.equivalence_threshold(seeds, final=final),
            next=following,
            final=final,
        )

    def threshold(self, seeds: int, *, final: bool = False) -> float:
        """Return the two-sided p-value below which the look at that many seeds decides.

        Parameters
        ----------
        seeds : int
            Seeds per arm; between two declared looks the last one passed counts.
        final : bool
            Every launched run has ended: what is left of the error rate is spent here.

        Raises
        ------
        InsufficientData
            Before the first look (reason ``"before-first-look"``) or above the maximum
            (``"beyond-plan"``).
        """
        return self._bound(seeds, final, self.alpha, sides=2)

    def equivalence_threshold(self, seeds: int, *, final: bool = False) -> float:
        """Return the one-sided p-value below which both tests of a margin show equivalence.

        The one-sided error rate 1 - level is spent on its own; parameters and exceptions are
        those of `threshold`.
        """
        return self._bound(seeds, final, self.alpha, sides=1)

    def p_plan(self, p_value: float, seeds: int, *, final: bool = False) -> float:
        """Return the smallest error rate at which the plan would decide at this look.

        Parameters
        ----------
        p_value : float
            Two-sided, of this look.
        seeds, final
            As for `threshold`.

        Returns
        -------
        float
            Valid whatever was looked at before, and what Holm's correction takes in place of
            ``p_value``; below 1 - level exactly where ``p_value`` is below the threshold. 1
            where no error rate below 1 would do.
        """
        return self._smallest_rate(p_value, seeds, final, sides=2)

    def equivalence_p_plan(self, p_value: float, seeds: int, *, final: bool = False) -> float:
        """Return the same for equivalence, from the larger of the two one-sided p-values."""
        return self._smallest_rate(p_value, seeds, final, sides=1)

    def futility_bound(self, seeds: int, target_effect: float) -> float | None:
        """Return the difference below which stopping is advised; None at the maximum.

        Parameters
        ----------
        seeds : int
            Seeds per arm.
        target_effect : float
            Effect the study was planned to see, above 0, score units.

        Notes
        -----
        (target / 2) (S / M - 1 / 3). Advice alone: following it or not changes no threshold.
        """
        if not target_effect > 0:
            raise ValueError(f"target_effect must be above 0, got {target_effect}")
        if seeds >= self.most:
            return None
        return target_effect / 2 * (3 * seeds - self.most) / (3 * self.most)

    def stop_advised(self, delta: float, seeds: int, target_effect: float) -> bool:
        """Return whether an effect so small, in the claimed direction, advises to stop."""
        bound = self.futility_bound(seeds, target_effect)
        return bound is not None and delta < bound

    def power(
        self,
        effect: float,
        *,
        components: Components,
        tasks: int,
        samples: int,
        target_effect: float | None = None,
    ) -> SequentialPower:
        """Return the probability that a look shows an effect, and the seeds it takes on average.

        Parameters
        ----------
        effect : float
            True difference in the planned direction, on a scale of [0, 1].
        components : Components
        tasks, samples : int
            Tasks, and answers drawn for each by each run.
        target_effect : float, optional
            The advice to stop, for this target, is followed; see `futility_bound`.

        Returns
        -------
        SequentialPower

        Notes
        -----
        At each look pi, the planner's probability of an interval above 0 at the look's level,
        gives the drift c + Phi^-1(pi) of a normal process; its first crossings are integrated.
        Arms grow together until one has its maximum.
        """
        process = self._course(effect, components, tasks, samples, self.planned)
        advice = None
        if target_effect is not None:
            advice = [self.futility_bound(seeds, target_effect) for seeds in self.planned]
        return power_of(process, advice)

    def chances(
        self,
        delta: float,
        p_value: float,
        seeds: int,
        *,
        effect: float,
        components: Components,
        tasks: int,
        samples: int,
    ) -> Chances:
        """Return what the looks that are left may show, given what this one showed.

        Parameters
        ----------
        delta, p_value : float
            Difference seen in the planned direction, and its two-sided p-value.
        seeds : int
            Seeds per arm of this look.
        effect : float
            True difference assumed from here on.
        components, tasks, samples
            As for `power`.

        Returns
        -------
        Chances
        """
        self._looks(seeds, final=False)
        looks = (seeds, *(s for s in self.planned if s > seeds))
        process = self._course(effect, components, tasks, samples, looks)
        return chances_of(process, delta, p_value)

    def equivalence_chances(
        self,
        margin: float,
        delta: float,
        seeds: int,
        *,
        effect: float = 0.0,
        components: Components,
        tasks: int,
        samples: int,
    ) -> Chances:
        """Return what the looks that are left may show of equivalence within a margin.

        Parameters
        ----------
        margin : float
            Largest difference that counts as none, above 0.
        delta, seeds
            Difference seen at this look, and seeds per arm of it.
        effect : float
            True difference assumed from here on.
        components, tasks, samples
            As for `power`.

        Returns
        -------
        Chances
        """
        self._looks(seeds, final=False)
        left = [s for s in self.planned if s > seeds]
        return equivalence_chances(
            margin,
            effect,
            delta,
            (seeds, *left),
            [1 - self.equivalence_threshold(s) for s in left],
            self._runs((seeds, *left)),
            components=components,
            tasks=tasks,
            samples=samples,
        )

    def _runs(self, looks: Sequence[int]) -> list[tuple[int, int]]:
        """Return the runs of control and treatment at each look."""
        control, treatment = self.maxima
        return [(min(s, control), min(s, treatment)) for s in looks]

    def _course(
        self,
        effect: float,
        components: Components,
        tasks: int,
        samples: int,
        looks: tuple[int, ...],
    ) -> Course:
        return course(
            effect,
            looks,
            [self.threshold(seeds) for seeds in looks],
            self._runs(looks),
            components=components,
            tasks=tasks,
            samples=samples,
        )

    def _passed(self, seeds: int) -> int:
        return max(s for s in self.planned if s <= seeds)

    def _bound(self, seeds: int, final: bool, alpha: float, *, sides: int) -> float:
        looks = self._looks(seeds, final)
        if final:
            return _tails(looks, self.most, alpha, True, sides)[-1]
        return _tails(self.planned, self.most, alpha, False, sides)[len(looks) - 1]

    def _looks(self, seeds: int, final: bool) -> tuple[int, ...]:
        if seeds < self.planned[0]:
            raise InsufficientData(
                f"the first look is at {self.planned[0]} seeds per arm, got {seeds}",
                reason="before-first-look",
            )
        if seeds > self.most:
            raise InsufficientData(
                f"the plan ends at {self.most} seeds per arm, got {seeds}", reason="beyond-plan"
            )
        if final:
            return (*(s for s in self.planned if s < seeds), seeds)
        return tuple(s for s in self.planned if s <= seeds)

    def _smallest_rate(self, p_value: float, seeds: int, final: bool, *, sides: int) -> float:
        if not (isfinite(p_value) and 0 <= p_value <= 1):
            raise ValueError(f"p_value must lie in [0, 1], got {p_value}")
        looks = self._looks(seeds, final)
        most = self.most

        def bound(alpha: float) -> float:
            return _tails(looks, most, alpha, final, sides)[-1]

        if p_value < _SMALLEST:
            return 0.0
        share = self._share
        if p_value >= bound(share * _NEARLY_ONE):
            return 1.0
        return _rate_at(bound, p_value) / share


@lru_cache(maxsize=1024)
def _tails(
    looks: tuple[int, ...], maximum: int, alpha: float, final: bool, sides: int
) -> tuple[float, ...]:
    spent = [alpha * (s / maximum) ** 2 for s in looks]
    if final:
        spent[-1] = alpha
    increments = [now - before for now, before in zip(spent, [0.0, *spent], strict=False)]
    return tuple(sides * normal_tail(c) for c in boundary(looks, increments, sides=sides))


def _rate_at(bound: Callable[[float], float], p_value: float) -> float:
    """Return the error rate whose boundary is that p-value, by secants on logarithms.

    A boundary is never above its error rate, so the root is at least the p-value.
    """
    wanted = log(p_value)
    low, high = log(p_value), log(_NEARLY_ONE)
    x, slope = min(high, low + 1.0), 1.0
    before: tuple[float, float] | None = None
    for _ in range(100):
        miss = log(bound(exp(x))) - wanted
        if miss > 0:
            high = x
        else:
            low = x
        if before is not None and x != before[0]:
            slope = max((miss - before[1]) / (x - before[0]), 1e-3)
        before = (x, miss)
        after = x - miss / slope
        if not low <= after <= high:
            after = (low + high) / 2
        if abs(after - x) < 1e-12:
            return exp(after)
        x = after
    return exp(x)
