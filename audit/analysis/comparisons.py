"""One arm against another on one measure: the numbers, and the word they carry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from audit.analysis.by_score import on_unit, score_numbers, scores_of
from audit.analysis.by_task import TaskTest
from audit.analysis.design import Design, design_of_scores, design_of_tasks
from audit.analysis.floors import Floor, NotMeasured
from audit.analysis.measures import Measure, Side, pass_at
from audit.analysis.numbers import Interval, Numbers
from audit.analysis.pairing import Description, describe
from audit.analysis.refusals import few_tasks, refusal_by_runs, refusal_by_tasks
from audit.analysis.settings import Settings
from audit.analysis.study import Study
from audit.analysis.tables import Aligned, align
from audit.analysis.verdict import (
    LARGEST_SD_RATIO,
    Outcome,
    Refusal,
    Verdict,
    size_qualifier,
    weakest,
)
from audit.claims import BASE
from audit.stats.records import BaseDelta, ScoreDelta, SeedDelta

FEWEST_PAIRS = 3
# With fewer runs the error rate is not kept everywhere: see benchmarks/calibration.md.
PROVISIONAL_BELOW = 3
PROVISIONAL_BELOW_BASE = 5


@dataclass(frozen=True)
class Comparison:
    """One arm against another, or against the base, on one measure.

    Attributes
    ----------
    measure : Measure
    arm, against : str
        Their difference is ``arm`` minus ``against``.
    kind : str
        ``per-task``, ``scores`` (one score a run), ``base``, or ``one-seed``.
    settings : Settings
        Level, margin, target and pairing it is judged by.
    control, treatment : Side
        The runs that entered, and those that could not.
    numbers : tuple of Numbers
        The test on the tasks all runs share, then with missing ones scored against the claim.
    refusal : Refusal or None
    outcome : Outcome or None
        The weakest word of ``numbers``; None when refused.
    aligned : Aligned or None
        Outcomes per task, missing cells included.
    paired : bool
        Pairing was declared and three seeds or more are shared; only those runs enter then.
    """

    measure: Measure
    arm: str
    against: str
    kind: str
    settings: Settings
    control: Side
    treatment: Side
    numbers: tuple[Numbers, ...]
    refusal: Refusal | None
    outcome: Outcome | None
    aligned: Aligned | None
    paired: bool
    study: Study = field(repr=False, compare=False)

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.measure.name

    @property
    def benchmark(self) -> str | None:
        """Name of the benchmark, if recorded."""
        return self.measure.benchmark

    @property
    def seeds(self) -> tuple[int, int]:
        """Training runs of ``arm`` and of ``against`` (for the base its evaluations)."""
        return len(self.treatment.runs), len(self.control.runs)

    @property
    def standing(self) -> Numbers | None:
        """The numbers the verdict rests on: those with the weakest word."""
        if not self.numbers or self.outcome is None:
            return self.numbers[0] if self.numbers else None
        word = self.outcome.word
        return next(
            (n for n in self.numbers if n.outcome(self.settings).word == word), self.numbers[0]
        )

    @cached_property
    def delta(self) -> float | None:
        """Mean of ``arm`` minus mean of ``against``, in the metric's units."""
        if self.standing is not None:
            return self.standing.delta
        means = [_mean_score(side) for side in (self.treatment, self.control)]
        if means[0] is None or means[1] is None:
            return None
        return float(means[0] - means[1])

    def interval(self, about: str, level: float | None = None) -> Interval | NotMeasured:
        """Return the interval about ``tasks`` or ``benchmark``, at the declared level if not told.

        Where the verdict is refused it is still returned where two runs per arm allow it.
        """
        if self.standing is None:
            reason = "needs two training runs per arm" if self.kind == "one-seed" else "refused"
            return NotMeasured(self.refusal.line if self.refusal else reason)
        found = self.standing.interval(about, level or self.settings.level)
        return found or NotMeasured("needs outcomes per task of every run")

    @cached_property
    def deciding(self) -> Interval | NotMeasured:
        """The interval the verdict is about."""
        about = "benchmark" if self.kind == "scores" else self.settings.target
        return self.interval(about)

    @cached_property
    def description(self) -> Description:
        """What is shown beside the verdict and decides nothing: pairs, one-seed interval."""
        return describe(self.study, self)

    @cached_property
    def floor(self) -> Floor | NotMeasured:
        """Noise floor of the evaluation."""
        return self.study.floor(self.measure)

    @cached_property
    def floor_of_delta(self) -> float | None:
        """The floor of a difference of means over these runs."""
        if not isinstance(self.floor, Floor) or not all(self.seeds):
            return None
        return self.floor.between(self.seeds[1], self.seeds[0])

    @property
    def below_floor(self) -> bool:
        """Whether the difference is smaller than the noise of evaluating alone."""
        return (
            self.delta is not None
            and self.floor_of_delta is not None
            and abs(self.delta) < self.floor_of_delta
        )

    @cached_property
    def design(self) -> Design | NotMeasured:
        """What this design can see; its figures are on [0, 1], see ``Measure.span``."""
        level = self.settings.level
        if self.kind == "base":
            return NotMeasured("the planner covers two trained arms")
        if self.standing is None:
            return NotMeasured("needs two training runs per arm")
        if min(self.standing.tasks or 2, 2) < 2:
            return NotMeasured("needs two tasks")
        if self.kind == "per-task" and self.aligned is not None:
            tasks = self.aligned.complete().by_cluster()
            if len(tasks.tasks) < 2:
                return NotMeasured("needs two tasks")
            return design_of_tasks(tasks, level, new_tasks=self.settings.target == "tasks")
        if not isinstance(self.standing.result, ScoreDelta):
            return NotMeasured("no test was made")
        if self.standing.result.denominator < 2:
            return NotMeasured("needs two answers behind a score")
        scores = [
            [on_unit(score, self.measure) for score in scores_of(side)]
            for side in (self.control, self.treatment)
        ]
        return design_of_scores(*scores, result=self.standing.result, level=level)

    @cached_property
    def underpowered(self) -> bool | None:
        """Whether an effect of the declared size would be missed more often than one in five."""
        if isinstance(self.design, NotMeasured):
            return None
        return self.design.power(self.settings.target_effect / (self.measure.span or 1.0)) < 0.8

    @cached_property
    def verdict(self) -> Verdict:
        """The word, with every qualifier."""
        target = "benchmark" if self.kind == "scores" else self.settings.target
        if self.refusal is not None or self.outcome is None:
            refusal = self.refusal or Refusal("not-measured", "nothing was compared")
            return Verdict("refused", refusal.reason, target=target, line=refusal.line)
        return Verdict(
            self.outcome.word, self.outcome.detail, tuple(self._qualifiers(self.outcome)), target
        )

    def _qualifiers(self, found: Outcome) -> Iterable[str]:
        standing = self.standing
        if standing is None:
            return
        if found.word != "flat":
            about = standing.about(self.settings)
            ends = standing.improvement(about, self.settings.level)
            size = size_qualifier(found.word, ends, self.settings.margin)
            yield from [size] if size else []
        if found.too_few_tasks:
            yield "too-few-tasks-for-equivalence"
        if found.detail == "inconclusive" and self.underpowered:
            yield "underpowered"
        if found.word == "flat" and standing.about(self.settings) == "tasks":
            low, high = standing.improvement("benchmark", self.settings.level)
            if low > 0 or high < 0:
                yield "benchmark-only " + ("gain" if low > 0 else "loss")
        few = PROVISIONAL_BELOW_BASE if self.kind == "base" else PROVISIONAL_BELOW
        if min(self.trained_runs) < few:
            yield "provisional"
        if found.word != "flat":
            if self.below_floor:
                yield "below-eval-floor"
            if self._skewed:
                yield "skewed-scale"
        yield from self._losses()

    def _losses(self) -> Iterable[str]:
        if self.control.lost or self.treatment.lost:
            yield "seeds-lost"
        words = {n.outcome(self.settings).word for n in self.numbers}
        details = {n.outcome(self.settings).detail for n in self.numbers}
        if len(words) > 1 or len(details) > 1:
            yield "missing-sensitive"

    @property
    def trained_runs(self) -> tuple[int, ...]:
        """Number of training runs of each trained side."""
        sides = (self.treatment, self.control)
        return tuple(len(side.runs) for side in sides if side.name != BASE)

    @property
    def _skewed(self) -> bool:
        """Mean near an end of the scale and run spreads more than three times apart."""
        result = self.standing.result if self.standing else None
        if result is None or isinstance(result, BaseDelta):
            return False
        control = result.control
        pair = sorted((control.v, result.treatment.v))
        edge = any(not 0.1 <= arm.mean <= 0.9 for arm in (control, result.treatment))
        return edge and pair[1] > LARGEST_SD_RATIO**2 * pair[0]

    @cached_property
    def without_errors(self) -> Numbers | None:
        """The numbers with errored answers left out instead of wrong; None where none errored."""
        sides = (self.control, self.treatment)
        errored = any(any(o.errored or ()) for side in sides for _, _, o in side.entries())
        if not errored or not all(side.per_task for side in sides):
            return None
        entries = [
            [(arm, run, found.without_errors()) for arm, run, found in side.entries()]
            for side in sides
        ]
        aligned = align(*entries)
        if isinstance(aligned, str):
            return None
        test = TaskTest(self.measure, self.settings, self.kind == "base", self.paired)
        return test.made(aligned.complete(), "none")

    @cached_property
    def pass_at_k(self) -> Comparison | None:
        """The same comparison by pass@k, k the fewest answers drawn; None below two answers."""
        aligned = self.aligned
        if aligned is None or self.measure.attempts is not None or aligned.independent is not None:
            return None
        attempts = min(aligned.control.smallest, aligned.treatment.smallest)
        if attempts < 2:
            return None
        measure = pass_at(self.measure, attempts)
        return compare(self.study, measure, self.arm, self.against, self.settings)


def compare(
    study: Study, measure: Measure, arm: str, against: str, settings: Settings
) -> Comparison:
    """Compare two arms of a file, or an arm with the base, on one measure.

    Parameters
    ----------
    study : Study
    measure : Measure
    arm, against : str
        Names of arms; ``against`` may be ``base``.
    settings : Settings
    """
    control, treatment = study.side(against, measure), study.side(arm, measure)
    paired = False
    if settings.paired and against != BASE:
        control, treatment, paired = _paired_sides(control, treatment)
    test = TaskTest(measure, settings, against == BASE, paired)
    refusal = refusal_by_runs(control, treatment, study.policy)
    found: Aligned | str | None = None
    numbers: tuple[Numbers, ...] = ()
    if control.per_task and treatment.per_task:
        found = align(control.entries(), treatment.entries())
        if isinstance(found, str):
            refusal = refusal or Refusal("incomplete", f"the tasks cannot be matched: {found}")
        else:
            refusal = refusal or refusal_by_tasks(found)
            numbers = test.ways(found)
    elif against != BASE and control.runs and treatment.runs:
        scored = score_numbers(control, treatment, measure, settings)
        if isinstance(scored, Refusal):
            refusal = refusal or scored
        else:
            numbers = (scored,)
            refusal = refusal or few_tasks(scored.tasks)
    refusal = refusal or _identical(numbers, control, treatment)
    outcome = None
    if refusal is None and numbers:
        outcome = weakest([n.outcome(settings) for n in numbers])
    return Comparison(
        measure=measure,
        arm=treatment.name,
        against=control.name,
        kind=_kind(control, treatment, refusal),
        settings=settings,
        control=control,
        treatment=treatment,
        numbers=numbers,
        refusal=refusal,
        outcome=outcome,
        aligned=found if isinstance(found, Aligned) else None,
        paired=paired,
        study=study,
    )


def _kind(control: Side, treatment: Side, refusal: Refusal | None) -> str:
    if control.name == BASE:
        return "base"
    if refusal is not None and refusal.reason == "one-seed":
        return "one-seed"
    return "per-task" if control.per_task and treatment.per_task else "scores"


def _paired_sides(control: Side, treatment: Side) -> tuple[Side, Side, bool]:
    """Keep the runs whose seed both arms have, where there are three such pairs."""
    shared = {r.seed for r in control.runs} & {r.seed for r in treatment.runs} - {None}
    if len(shared) < FEWEST_PAIRS:
        return control, treatment, False
    return control.at_seeds(shared), treatment.at_seeds(shared), True


def _identical(numbers: tuple[Numbers, ...], control: Side, treatment: Side) -> Refusal | None:
    """Refuse an arm whose runs agree on every task without being all right or all wrong."""
    for number in numbers:
        result = number.result
        if isinstance(result, ScoreDelta):
            continue
        arms = [(treatment, result.treatment)]
        if isinstance(result, SeedDelta):
            arms.append((control, result.control))
        for side, arm in arms:
            if arm.identical:
                return Refusal("identical-runs", f"{side.name}: its runs agree on every task")
    return None


def _mean_score(side: Side) -> Fraction | None:
    scores = scores_of(side)
    return sum(scores, Fraction(0)) / len(scores) if scores else None
