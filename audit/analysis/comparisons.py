"""One arm against another on one measure: the numbers, and the word they carry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

from audit.analysis.by_score import on_unit, score_numbers, scores_of
from audit.analysis.by_task import TaskTest
from audit.analysis.checkpoints import last_step_contrast
from audit.analysis.design import Design, design_of_scores, design_of_tasks
from audit.analysis.floors import Floor, NotMeasured
from audit.analysis.measures import Measure, Side, pass_at
from audit.analysis.numbers import Interval, Numbers, Reading
from audit.analysis.pairing import Description, describe
from audit.analysis.parsing import Parsing, parsing
from audit.analysis.refusals import (
    few_tasks,
    ordered,
    refusals_by_answers,
    refusals_by_runs,
    refusals_by_tasks,
)
from audit.analysis.settings import Settings
from audit.analysis.study import Study
from audit.analysis.tables import Aligned, align
from audit.analysis.usual_spread import place_of_spread
from audit.analysis.verdict import (
    LARGEST_SD_RATIO,
    Decision,
    Refusal,
    Verdict,
    size_qualifier,
    weakest,
)
from audit.claims import BASE
from audit.display import Displayed
from audit.facts.evidence import Evidence
from audit.facts.evidence import weakest as least_evidence
from audit.stats.records import BaseDelta, ScoreDelta, SeedDelta

if TYPE_CHECKING:
    from audit.analysis.resampled import Resampled
    from audit.published import Place
    from audit.stats import CollapseRisk

if TYPE_CHECKING:
    from audit.stats import LastContrast, SharedSeeds

# With fewer runs the error rate is not kept everywhere: see benchmarks/calibration.md.
PROVISIONAL_BELOW = 3


@dataclass(frozen=True, repr=False)
class Comparison(Displayed):
    """One arm against another, or against the base, on one measure.

    Attributes
    ----------
    measure : Measure
    arm, against : str
        Their difference is ``arm`` minus ``against``.
    kind : str
        ``per-task``, ``scores`` (one score per run), ``average`` (over benchmarks), ``base``, or
        ``one-seed``.
    settings : Settings
        Level, margin, target and pairing it is judged by.
    control, treatment : Side
        The runs that entered, and those that could not.
    numbers : tuple of Numbers
        The test under each reading of the answers, the plain one first.
    refusals : tuple of Refusal
        Why no verdict is given, the first to be told in front; empty where one is.
    decision : Decision or None
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
    refusals: tuple[Refusal, ...]
    decision: Decision | None
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
    def refusal(self) -> Refusal | None:
        """The first reason why no verdict is given."""
        return self.refusals[0] if self.refusals else None

    @cached_property
    def evidence(self) -> Evidence | None:
        """How well the runs are known to be trainings; None below two runs in an arm."""
        sides = [side for side in (self.treatment, self.control) if side.name != BASE]
        if any(len(side.runs) < 2 for side in sides):
            return None
        return least_evidence(self.study.evidence(side) for side in sides)

    @cached_property
    def standing(self) -> Numbers | None:
        """The numbers the verdict rests on: those of the reading that says least.

        For a claim of a gain or a loss that is the reading with the largest p-value; else that
        of the weakest word, and among equal words the largest p-value of no difference. Where no
        verdict is given it is the plain reading; none where outcomes are missing.
        """
        if any(refusal.reason == "incomplete" for refusal in self.refusals):
            return None  # what is missing may be missing for a reason: no reading is the study's
        if self.decision is None:
            return self.numbers[0] if self.numbers else None
        settings = self.settings
        if settings.direction in ("gain", "loss"):
            about, direction = self.numbers[0].about(settings), settings.direction
            return max(
                self.numbers,
                key=lambda n: (n.p_value(about, direction), n.two_sided_p_value(settings)),
            )
        return max(
            self.numbers,
            key=lambda n: (-n.decision(settings).strength, n.two_sided_p_value(settings)),
        )

    @property
    def reading(self) -> Reading | None:
        """How answers and tasks were counted in the numbers the verdict rests on."""
        return self.standing.reading if self.standing is not None else None

    @cached_property
    def other_words(self) -> tuple[Numbers, ...]:
        """The readings whose word is not that of the verdict."""
        if self.decision is None:
            return ()
        word = self.decision.word, self.decision.detail
        made = ((n, n.decision(self.settings)) for n in self.numbers)
        return tuple(n for n, found in made if (found.word, found.detail) != word)

    @cached_property
    def delta(self) -> float | None:
        """Mean of ``arm`` minus mean of ``against``, in the metric's units."""
        if self.standing is not None:
            return self.standing.delta
        means = [mean_score_of(side) for side in (self.treatment, self.control)]
        if means[0] is None or means[1] is None:
            return None
        return float(means[0] - means[1])

    def interval(self, about: str, level: float | None = None) -> Interval | NotMeasured:
        """Return the interval about ``tasks`` or ``benchmark``, at the declared level if not told.

        Where the verdict is refused it is still returned when two runs per arm allow it.
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
    def at_last_step(self) -> Comparison | None:
        """The same at the last of several claimed steps alone; None for one step."""
        steps = self.measure.checkpoints
        if len(steps) < 2 or self.measure.parts or self.against == BASE:
            return None
        measure = replace(self.measure, checkpoints=(max(steps),))
        return compare(self.study, measure, self.arm, self.against, self.settings)

    @cached_property
    def last_contrast(self) -> LastContrast | None:
        """How far the arms part at the last of several claimed steps; None for one step."""
        return last_step_contrast(self.study, self.measure, self.against, self.arm)

    @cached_property
    def shared_seeds(self) -> SharedSeeds[int] | None:
        """What the runs show that share a seed although pairing was not declared.

        None without a gain or loss, and where pairing was declared.
        """
        standing = self.standing
        if self.paired or self.against == BASE or standing is None or self.decision is None:
            return None
        if self.decision.word == "flat":
            return None
        from audit.stats import shared_seeds

        control, treatment = (
            {
                run.seed: on_unit(run.score, self.measure)
                for run in side.runs
                if run.seed is not None and run.score is not None
            }
            for side in (self.control, self.treatment)
        )
        unpaired = standing.estimate(standing.about(self.settings), self.settings.level)
        return None if unpaired is None else shared_seeds(control, treatment, unpaired=unpaired)

    @cached_property
    def description(self) -> Description:
        """What is shown beside the verdict and decides nothing: pairs, one-seed interval."""
        return describe(
            self.study.results,
            self.control,
            self.treatment,
            measure=self.measure,
            level=self.settings.level,
            aligned=self.aligned,
            refused=bool(self.refusals),
        )

    @cached_property
    def collapse_risk(self) -> CollapseRisk | None:
        """What collapses that were not seen may undo of a gain; None where there is no gain."""
        standing = self.standing
        if standing is None or self.decision is None or self.decision.word != "gain":
            return None
        sign = 1.0 if self.measure.higher_is_better else -1.0
        mean = standing.result.treatment.mean if sign > 0 else 1 - standing.result.treatment.mean
        from audit.stats import collapse_risk

        runs = len(self.treatment.runs)
        return collapse_risk(sign * standing.result.delta, mean, runs=runs, level=0.95)

    @cached_property
    def floor(self) -> Floor | NotMeasured:
        """Noise floor of the evaluation."""
        return self.study.floor(self.measure)

    @cached_property
    def floor_of_delta(self) -> float | None:
        """The floor of a difference of means over these runs."""
        if not isinstance(self.floor, Floor) or not all(self.seeds):
            return None
        floor = self.floor.between(self.seeds[1], self.seeds[0])
        # A run's score is the mean of so many evaluations of it.
        evaluations = max(len(self.measure.checkpoints), 1)
        return None if floor is None else floor / sqrt(evaluations)

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
        if self.kind == "average":
            return NotMeasured("the planner covers one benchmark")
        if self.standing is None:
            return NotMeasured("needs two training runs per arm")
        if min(self.standing.tasks or 2, 2) < 2:
            return NotMeasured("needs two tasks")
        if self.kind == "per-task" and self.aligned is not None:
            tasks = self.aligned.complete().by_cluster()
            if len(tasks.tasks) < 2:
                return NotMeasured("needs two tasks")
            return design_of_tasks(
                tasks,
                level,
                new_tasks=self.settings.target == "tasks",
                answers=self.aligned.independent,
            )
        if not isinstance(self.standing.result, ScoreDelta):
            return NotMeasured("no test was made")
        if self.standing.result.answers is not None and self.standing.result.answers < 2:
            return NotMeasured("needs two answers behind a score")
        scores = [
            [on_unit(score, self.measure) for score in scores_of(side)]
            for side in (self.control, self.treatment)
        ]
        return design_of_scores(*scores, result=self.standing.result, level=level)

    @cached_property
    def published_place(self) -> Place | NotMeasured:
        """Where the sd of these runs' scores lies among published ones; it decides nothing."""
        if self.kind not in ("per-task", "scores"):
            return NotMeasured("published spreads are of two trained arms on one benchmark")
        if not self.measure.share or self.measure.span is None:
            return NotMeasured("published spreads are of shares of right answers")
        scores = [
            [on_unit(score, self.measure) for score in scores_of(side)]
            for side in (self.control, self.treatment)
        ]
        standing = self.standing
        return place_of_spread(
            self.study.results, scores, standing.tasks if standing is not None else None
        )

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
        if self.refusal is not None or self.decision is None:
            refusal = self.refusal or Refusal("not-measured", "nothing was compared")
            return Verdict("refused", refusal.reason, target=target, line=refusal.line)
        qualifiers = tuple(dict.fromkeys(self._qualifiers(self.decision)))
        return Verdict(self.decision.word, self.decision.detail, qualifiers, target)

    def _qualifiers(self, found: Decision) -> Iterable[str]:
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
        if found.no_room:
            yield "no-room"
        if found.detail == "inconclusive" and self.underpowered:
            yield "underpowered"
        if found.word == "flat" and standing.about(self.settings) == "tasks":
            low, high = standing.improvement("benchmark", self.settings.level)
            if low > 0 or high < 0:
                yield "benchmark-only " + ("gain" if low > 0 else "loss")
        gain_over_base = self.kind == "base" and found.word == "gain"
        if gain_over_base or min(self.trained_runs) < PROVISIONAL_BELOW:
            yield "provisional"
        if found.word != "flat":
            if self.below_floor:
                yield "below-eval-floor"
            if self._skewed:
                yield "skewed-scale"
            if self.shared_seeds is not None and self.shared_seeds.warns:
                yield "pairs-do-not-show-it"
        if self.last_contrast is not None and self.last_contrast.differs:
            yield "last-differs"
        if self.kind == "scores" and standing.tasks is None:
            yield "rounded-scores"
        yield from self._losses(found)

    def _losses(self, found: Decision) -> Iterable[str]:
        if self.control.lost or self.treatment.lost:
            yield "seeds-lost"
        readings = [other.reading for other in self.other_words]
        if any(reading.missing != self.numbers[0].missing for reading in readings):
            yield "missing-sensitive"
        if any(reading.errors != "wrong" for reading in readings):
            yield "errors-decide"
        if any(reading.grouping != "tasks" for reading in readings) or (
            readings and self.reading is not None and self.reading.grouping != "tasks"
        ):
            yield "cluster-sensitive"
        if self.parsing is not None:
            yield from self.parsing.qualifiers(found.word, self.settings)

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

    @property
    def without_errors(self) -> Numbers | None:
        """The numbers with errored answers left out instead of wrong; None where none errored."""
        return next((n for n in self.numbers if n.reading.errors == "dropped"), None)

    @cached_property
    def resampled(self) -> Resampled | NotMeasured:
        """Bootstrap intervals and exact p-values, shown beside the verdict and never deciding."""
        if self.aligned is None or self.against == BASE:
            return NotMeasured("needs outcomes per task of two trained arms")
        whole = self.aligned.complete()
        if not whole.tasks:
            return NotMeasured("no task is in every run")
        from audit.analysis.resampled import resample

        return resample(
            whole,
            span=self.measure.span or 1.0,
            paired=self.paired,
            level=self.settings.level,
        )

    @cached_property
    def parsing(self) -> Parsing | None:
        """The difference split into format and content; None where nothing is unparsed."""
        if self.aligned is None or self.against == BASE or self.kind == "one-seed":
            return None
        if self.measure.given_parsed:
            return None
        whole = self.aligned.complete()
        return parsing(whole, self.measure, self.settings, paired=self.paired)

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
    if measure.parts:
        return _by_average(study, measure, arm, against, settings)
    measure = study.at_common_step(measure, arm, against)
    control, treatment, paired = study.sides(arm, against, measure, paired=settings.paired)
    test = TaskTest(measure, settings, against == BASE, paired)
    refusals = [
        *refusals_by_runs(study, control, treatment),
        *refusals_by_answers(control, treatment, measure),
    ]
    found: Aligned | str | None = None
    numbers: tuple[Numbers, ...] = ()
    if control.per_task and treatment.per_task:
        found = align(control.entries(), treatment.entries())
        if isinstance(found, str):
            refusals.append(Refusal("incomplete", f"the tasks cannot be matched: {found}"))
        else:
            refusals += refusals_by_tasks(found)
            if measure.given_parsed:
                numbers, lacking = _among_parsed(found, measure, settings, paired)
                refusals += lacking
            else:
                numbers = test.readings(found)
    elif against != BASE and control.measured and treatment.measured:
        printed = study.printed_scores(measure)
        scored = score_numbers(control, treatment, measure, settings, printed)
        if isinstance(scored, Refusal):
            refusals.append(scored)
        else:
            numbers = (scored,)
            refusals += few_tasks(scored.tasks)
    told = ordered((*refusals, *_identical(numbers, control, treatment)))
    return Comparison(
        measure=measure,
        arm=treatment.name,
        against=control.name,
        kind=_kind(control, treatment, told),
        settings=settings,
        control=control,
        treatment=treatment,
        numbers=numbers,
        refusals=told,
        decision=None if told or not numbers else weakest([n.decision(settings) for n in numbers]),
        aligned=found if isinstance(found, Aligned) else None,
        paired=paired,
        study=study,
    )


def _among_parsed(
    aligned: Aligned, measure: Measure, settings: Settings, paired: bool
) -> tuple[tuple[Numbers, ...], list[Refusal]]:
    """Return the test of right answers among the parsed ones, or why it cannot be made."""
    found = parsing(aligned.complete(), measure, settings, paired=paired)
    if found is None:
        line = "no run records its unparsed answers, so none can be left out"
        return (), [Refusal("not-measured", line)]
    return (found.among_parsed,), []


def _by_average(
    study: Study, measure: Measure, arm: str, against: str, settings: Settings
) -> Comparison:
    from audit.analysis.averages import averaged

    found = averaged(study, measure, arm, against, settings)
    told = ordered(found.refusals)
    decisions = [numbers.decision(settings) for numbers in found.numbers]
    return Comparison(
        measure=measure,
        arm=found.treatment.name,
        against=found.control.name,
        kind="average",
        settings=settings,
        control=found.control,
        treatment=found.treatment,
        numbers=found.numbers,
        refusals=told,
        decision=None if told or not decisions else weakest(decisions),
        aligned=None,
        paired=found.paired,
        study=study,
    )


def _kind(control: Side, treatment: Side, refusals: Sequence[Refusal]) -> str:
    if control.name == BASE:
        return "base"
    if any(refusal.reason == "one-seed" for refusal in refusals):
        return "one-seed"
    return "per-task" if control.per_task and treatment.per_task else "scores"


def _identical(numbers: tuple[Numbers, ...], control: Side, treatment: Side) -> Iterable[Refusal]:
    """Refuse an arm whose runs agree on every task without being all right or all wrong."""
    for number in numbers:
        result = number.result
        if not isinstance(result, SeedDelta | BaseDelta):
            continue
        arms = [(treatment, result.treatment)]
        if isinstance(result, SeedDelta):
            arms.append((control, result.control))
        for side, arm in arms:
            if arm.identical:
                yield Refusal("identical-runs", f"{side.name}: its runs agree on every task")


def mean_score_of(side: Side) -> Fraction | None:
    """Return the exact mean of a side's scores; None where no run has one."""
    scores = scores_of(side)
    return sum(scores, Fraction(0)) / len(scores) if scores else None
