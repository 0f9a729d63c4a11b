"""A study that is planned: what it must see, what is known of its noise, and the designs for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from audit.analysis.checkpoints import pooled
from audit.analysis.design import POWER, SPREAD_LIMIT, Design

if TYPE_CHECKING:
    from audit.analysis.comparisons import Comparison
    from audit.published import Typical
    from audit.stats import CheckpointDesign, Components, PlannedDesign, Prices, SequentialPlan


GIVEN, ESTIMATE, UPPER, TYPICAL = "given", "estimate", "upper limit", "typical"
SEEDS_SHOWN = (3, 5, 8, 12, 20)
# Usual variances of answers and tasks where nothing is known of them.
TASKS, SAMPLES = 120, 4
SEED_TASK_SD, ANSWER_VARIANCE, TASK_EFFECT_SD = 0.065, 0.145, 0.085


@dataclass(frozen=True, slots=True)
class SeedSd:
    """A standard deviation between training runs, on [0, 1], and where it is from."""

    value: float
    label: str


@dataclass(frozen=True)
class PlanBasis:
    """What a plan is made from.

    Attributes
    ----------
    name : str
        ``given``, or the results file.
    what : str
        Beside a file the comparison: ``dapo over grpo, accuracy on math500``.
    components : Components
        On [0, 1].
    sds : tuple of SeedSd
        Estimate and upper limit, pooled over both arms; empty where the file has none.
    tasks, samples : int
    span : float
        Width of the metric's scale.
    tasks_known : bool
        False where one score per run is all that is known.
    arms : tuple of str
        Names of treatment and control; empty without a file.
    effect : float or None
        The effect that matters, in the metric's units.
    reason : str
        Why there is no sd, where there is none.
    comparison : Comparison or None
    """

    name: str
    what: str
    components: Components
    sds: tuple[SeedSd, ...] = ()
    tasks: int = TASKS
    samples: int = SAMPLES
    span: float = 1.0
    tasks_known: bool = True
    arms: tuple[str, ...] = ()
    effect: float | None = None
    reason: str = ""
    comparison: Comparison | None = field(default=None, repr=False, compare=False)

    def by_checkpoints(
        self, effect: float, *, level: float, least: int, numbers: Sequence[int] | None = None
    ) -> tuple[CheckpointDesign, ...]:
        """Return seeds by the number of checkpoints averaged; empty where the file has one."""
        from audit.stats import checkpoint_designs
        from audit.stats.checkpoint_rows import SHOWN

        found = self.comparison
        if found is None:
            return ()
        tables = pooled(found.study, found.measure, found.against, found.arm)
        if tables is None:
            return ()
        return checkpoint_designs(
            effect,
            *tables,
            numbers=numbers or SHOWN,
            new_tasks=found.settings.target == "tasks",
            level=level,
            least=least,
            upper=SPREAD_LIMIT,
        )


def source_of(seed_sd: float | None = None) -> PlanBasis:
    """Return what a plan without a file is made from: usual variances."""
    from audit.stats import Components

    sds = () if seed_sd is None else (SeedSd(seed_sd, GIVEN),)
    return PlanBasis(GIVEN, "", usual_components(Components), sds)


def usual_components(components: type[Components]) -> Components:
    """Return the variances that are used where nothing is known."""
    return components(0.0, 0.0, SEED_TASK_SD, ANSWER_VARIANCE, TASK_EFFECT_SD)


def source_of_comparison(comparison: Comparison, name: str, what: str) -> PlanBasis:
    """Return what a plan made from one comparison of a file rests on.

    Where the comparison has no training sd its tasks and answers are kept, and the reason is
    told.
    """
    from audit.stats import Components

    design, measure = comparison.design, comparison.measure
    arms = (comparison.arm, comparison.against)
    effect = comparison.settings.target_effect
    span = measure.span or 1.0
    if isinstance(design, Design):
        spread = design.spread
        return PlanBasis(
            name,
            what,
            design.components.with_seed_sd(spread.sd),
            (SeedSd(spread.sd, ESTIMATE), SeedSd(spread.upper(SPREAD_LIMIT), UPPER)),
            design.tasks,
            design.samples,
            span,
            design.tasks_known,
            arms,
            effect,
            comparison=comparison,
        )
    refusal = comparison.refusal
    reason = refusal.line if refusal is not None else design.reason
    tasks, samples = _size(comparison)
    return PlanBasis(
        name,
        what,
        usual_components(Components),
        tasks=tasks,
        samples=samples,
        span=span,
        arms=arms,
        effect=effect,
        reason=reason,
    )


def _size(comparison: Comparison) -> tuple[int, int]:
    """Return tasks and answers per task of a comparison, as far as they are known."""
    aligned = comparison.aligned
    if aligned is not None and len(aligned.tasks) > 1:
        tables = (aligned.control, aligned.treatment)
        return len(aligned.tasks), min((t.smallest for t in tables), default=0) or 1
    examples = [
        run.examples for side in (comparison.control, comparison.treatment) for run in side.runs
    ]
    known = [number for number in examples if number is not None and number > 1]
    return (min(known), 1) if known else (TASKS, SAMPLES)


@dataclass(frozen=True)
class Plan:
    """A study that is planned; everything is on [0, 1], ``span`` gives the metric's units.

    Attributes
    ----------
    source : PlanBasis
    components : Components
        Variances but those between runs.
    sds : tuple of SeedSd
        Standard deviations between runs to plan for, the smallest first unless given.
    declared : SeedSd
        The one whose plan is declared: as given, at its upper limit, or the usual median.
    tasks, samples : int
    effect : float
        What is to be seen.
    level : float
    min_seeds : int
        Fewest training runs per arm that are planned.
    first : int
        First look.
    prices : Prices or None
    fixed : SequentialPlan or None
        A plan of the user's own, in place of the shortest one that sees the effect.
    checkpoints : int
        Checkpoints averaged.
    usual : tuple of Typical
        What is usual for each kind of training, where ``sds`` has rows of the first.
    """

    source: PlanBasis
    components: Components
    sds: tuple[SeedSd, ...]
    declared: SeedSd
    tasks: int
    samples: int
    effect: float
    level: float
    min_seeds: int
    first: int
    prices: Prices | None = None
    fixed: SequentialPlan | None = None
    checkpoints: int = 1
    usual: tuple[Typical, ...] = ()

    @property
    def span(self) -> float:
        """Width of the metric's scale."""
        return self.source.span

    @cached_property
    def designs(self) -> tuple[PlannedDesign, ...]:
        """By one look and by a plan, for each of ``sds``."""
        from audit.stats import designs_to_see

        return designs_to_see(
            self.effect,
            [sd.value for sd in self.sds],
            components=self.components,
            tasks=self.tasks,
            samples=self.samples,
            target_power=POWER,
            level=self.level,
            min_seeds=self.min_seeds,
            first=self.first,
            plan=self.fixed,
        )

    @property
    def declared_design(self) -> PlannedDesign:
        """The design whose plan is declared."""
        return self.designs[self.sds.index(self.declared)]

    @cached_property
    def rows(self) -> tuple[CheckpointDesign, ...]:
        """Seeds by the number of checkpoints averaged; empty where the file has one."""
        return self.source.by_checkpoints(self.effect, level=self.level, least=self.min_seeds)

    @property
    def seeds_shown(self) -> tuple[int, ...]:
        """Numbers of seeds in the table of what each sees."""
        return tuple(sorted({max(n, self.min_seeds) for n in SEEDS_SHOWN}))

    def cost(self, runs: float, tasks: int | None = None) -> float | None:
        """Return the price of so many runs, both arms together; None without prices."""
        if self.prices is None:
            return None
        return self.prices.of(runs, tasks or self.tasks, self.checkpoints)

    def smallest(self, seeds: int, tasks: int | None = None) -> float | None:
        """Return the smallest effect seen at 80% power at the declared sd; None where none is."""
        from audit.stats import minimum_detectable_effect

        return minimum_detectable_effect(seeds=seeds, **self._terms(tasks))

    def power(self, effect: float, seeds: int) -> float:
        """Return the power for an effect at the declared sd."""
        from audit.stats import power

        terms = self._terms(None)
        del terms["target_power"]
        return power(effect, seeds=seeds, **terms)

    def seeds_for(self, tasks: int) -> int | None:
        """Return the seeds per arm that see the effect at the declared sd; None above 1,000."""
        from audit.stats import seeds_needed

        return seeds_needed(self.effect, least=self.min_seeds, **self._terms(tasks))

    def tasks_for(self, seeds: int) -> int | None:
        """Return the tasks at which so many seeds see the effect; None where none do."""
        from audit.stats import tasks_needed

        terms = self._terms(None)
        del terms["tasks"]
        return tasks_needed(self.effect, seeds=seeds, **terms)

    def samples_for(self, seeds: int) -> int | None:
        """Return the answers per task at which so many seeds see it; None where none do."""
        from audit.stats import samples_needed

        terms = self._terms(None)
        del terms["samples"]
        return samples_needed(self.effect, seeds=seeds, **terms)

    def _terms(self, tasks: int | None) -> dict[str, Any]:
        return {
            "components": self.components.with_seed_sd(self.declared.value),
            "tasks": tasks or self.tasks,
            "samples": self.samples,
            "target_power": POWER,
            "level": self.level,
        }
