"""Which metrics on which benchmarks a results file holds, and each run's figures of one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from audit.analysis.outcomes import TaskOutcomes, summed, task_outcomes
from audit.claims import BASE
from audit.facts.memo import once
from audit.facts.rounding import number
from audit.results import DEFAULT_METRIC, Arm, Evaluation, Results, Run

_PASS_AT = re.compile(r"pass@([1-9][0-9]*)")
# What the name of a metric ends with where only parsed answers count.
GIVEN_PARSED = "-given-parsed"
# What the name of a metric ends with where models with averaged weights were evaluated.
OF_AVERAGED_WEIGHTS = " of averaged weights"
# Metrics that are shares of right answers by what people mean by them; others say so by `kind`.
_SHARES = re.compile(
    r"(?:[a-z0-9]+[-_ ])*(?:acc|accuracy|exact[-_ ]?match|em|success[-_ ]rate|solve[-_ ]rate"
    r"|win[-_ ]rate|(?:pass|maj)[@_^][0-9]+|resolved|correct)(?:[,_-].*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric on a benchmark.

    ``attempts`` is the k of pass@k where that is computed from counts, else None; ``low``,
    ``high`` and ``higher_is_better`` say how to read the metric's values, ``share`` whether they
    are shares of right answers. ``checkpoints`` are the
    training steps whose evaluations are pooled, the last one where there are none;
    ``averaged_weights`` is how the weights of the evaluated model were averaged, as JSON text:
    such a model is another one than any checkpoint. ``parts`` are the measures that this one
    averages, ``average`` says what weighs the same in it: ``benchmarks`` or ``tasks``.
    ``given_parsed`` asks for right answers among the parsed ones.
    """

    metric: str
    benchmark: str | None = None
    split: str | None = None
    attempts: int | None = None
    low: float | None = 0.0
    high: float | None = 1.0
    higher_is_better: bool = True
    share: bool = True
    checkpoints: tuple[int, ...] = ()
    averaged_weights: str | None = None
    parts: tuple[Measure, ...] = ()
    average: str | None = None
    given_parsed: bool = False

    @property
    def name(self) -> str:
        """What people call it: ``accuracy``, or ``pass@4`` where computed."""
        name = self.metric if self.attempts is None else f"pass@{self.attempts}"
        if self.given_parsed:
            name += GIVEN_PARSED
        return name if self.averaged_weights is None else name + OF_AVERAGED_WEIGHTS

    @property
    def span(self) -> float | None:
        """Width of the metric's scale; None where it has no bounds."""
        if self.low is None or self.high is None or self.high <= self.low:
            return None
        return self.high - self.low

    def fits(self, evaluation: Evaluation) -> bool:
        """Whether an evaluation is of this metric, benchmark and split."""
        return (
            evaluation.metric == self.metric
            and evaluation.benchmark == self.benchmark
            and evaluation.document.get("split") == self.split
            and _averaged_weights(evaluation) == self.averaged_weights
        )


@once
def measures(results: Results) -> tuple[Measure, ...]:
    """Return what the runs of a file were measured by, accuracy first, then by name."""
    evaluated = [e for run in results.runs for e in run.evaluations if e.per_task]
    found: dict[_Key, None] = dict.fromkeys(
        (e.metric, e.benchmark, e.document.get("split"), _averaged_weights(e)) for e in evaluated
    )
    per_task = {metric for metric, *_ in found}
    declared = {DEFAULT_METRIC, *results.block("metrics")}
    for metric in declared - per_task:
        if any(number(run.metrics.get(metric)) is not None for run in results.runs):
            found[(metric, None, None, None)] = None
    ordered = sorted(found, key=lambda k: (k[0] != DEFAULT_METRIC, *(part or "" for part in k)))
    return tuple(_measure(results, *key) for key in ordered)


def find_measures(results: Results, metric: str, benchmark: str | None) -> tuple[Measure, ...]:
    """Return the measures a claim's words may mean; ``pass@k`` is found in counts of answers.

    Models with averaged weights are meant where the metric's name says so, or where no others
    were evaluated.
    """
    if metric.endswith(OF_AVERAGED_WEIGHTS):
        plain = metric.removesuffix(OF_AVERAGED_WEIGHTS)
        return tuple(m for m in _named(results, plain, benchmark) if m.averaged_weights is not None)
    named = _named(results, metric, benchmark)
    return tuple(m for m in named if m.averaged_weights is None) or named


def _named(results: Results, metric: str, benchmark: str | None) -> tuple[Measure, ...]:
    known = measures(results)
    if metric.endswith(GIVEN_PARSED):
        whole = _named(results, metric.removesuffix(GIVEN_PARSED), benchmark)
        return tuple(replace(measure, given_parsed=True) for measure in whole)
    named = [m for m in known if m.metric == metric]
    attempts = _PASS_AT.fullmatch(metric)
    if attempts and not _has_outcomes(results, metric):
        # Counts of answers say more than a pass@k that is printed beside them.
        counted = [m for m in known if m.metric in (DEFAULT_METRIC, "pass@1")]
        named = [
            pass_at(m, int(attempts[1])) for m in counted if _has_outcomes(results, m.metric)
        ] or named
    if benchmark is not None:
        summarized = summary_benchmarks(results, metric) == {benchmark}
        named = [
            m for m in named if (m.benchmark or (benchmark if summarized else None)) == benchmark
        ]
    return tuple(named)


def summary_benchmarks(results: Results, metric: str) -> set[str | None]:
    """Return the benchmarks that runs name for a metric of which they have one score alone."""
    return {
        e.benchmark
        for run in results.runs
        for e in run.evaluations
        if e.metric == metric and not e.per_task
    }


def is_share(metric: str) -> bool:
    """Whether a metric is by its name a share of right answers, such as an accuracy."""
    return _SHARES.fullmatch(metric.rpartition("/")[2]) is not None


def _has_outcomes(results: Results, metric: str) -> bool:
    """Whether any run has counts of answers of a metric."""
    return any(
        e.metric == metric and e.counts is not None for run in results.runs for e in run.evaluations
    )


def common_step(measure: Measure, arms: Iterable[Arm]) -> int | None:
    """Return the last training step that every finished run of some arms was evaluated at.

    None where no run was evaluated at several steps, or none is common: then each run's last
    evaluation counts.
    """
    return max(common_steps(measure, arms), default=None)


def common_steps(measure: Measure, arms: Iterable[Arm]) -> tuple[int, ...]:
    """Return the training steps that every finished run of some arms was evaluated at.

    Increasing; empty where no run was evaluated at several steps, or none is common.
    """
    steps = [
        {e.checkpoint_step for e in run.evaluations if e.per_task and measure.fits(e)}
        for arm in arms
        for run in arm.finished
    ]
    steps = [seen for seen in steps if seen]
    if not any(len(seen) > 1 for seen in steps) or any(None in seen for seen in steps):
        return ()
    return tuple(sorted(set[int].intersection(*steps)))  # type: ignore[arg-type]


def pass_at(measure: Measure, attempts: int) -> Measure:
    """Return the measure pass@k of the answers that another measure counts."""
    return measure if attempts == 1 else replace(measure, attempts=attempts)


_Key = tuple[str, str | None, str | None, str | None]


def _averaged_weights(evaluation: Evaluation) -> str | None:
    averaged = evaluation.document.get("averaged_weights")
    return None if averaged is None else json.dumps(averaged, sort_keys=True)


def _measure(
    results: Results,
    metric: str,
    benchmark: str | None,
    split: str | None,
    averaged_weights: str | None,
) -> Measure:
    described = results.block("metrics").get(metric)
    low: float | None = 0.0
    high: float | None = 1.0
    higher = True
    kind = described.get("kind") if isinstance(described, dict) else None
    if isinstance(described, dict) and metric != DEFAULT_METRIC:
        low, high = described.get("scale") or (0.0, 1.0)
        higher = described.get("higher_is_better", True)
    return Measure(
        metric,
        benchmark,
        split,
        None,
        low,
        high,
        higher,
        share=kind == "share" or (kind is None and is_share(metric)),
        averaged_weights=averaged_weights,
    )


@dataclass(frozen=True)
class MeasuredRun:
    """One finished run, or one evaluation of the base, as one measure saw it.

    ``outcomes`` are per task, from ``evaluation``; without them ``recorded`` is the one score the
    file has, and ``examples`` the answers that were scored for it.
    """

    label: str
    seed: int | None
    run: Run | None
    measure: Measure
    outcomes: TaskOutcomes | None = None
    recorded: float | None = None
    examples: int | None = None
    tokens: int | None = None
    fault: str | None = None
    fault_reason: str = "incomplete"
    evaluation: Evaluation | None = None

    @property
    def answers(self) -> int | None:
        """Number of answers behind the score: tasks times answers per task; None where unknown."""
        return self.examples if self.outcomes is None else sum(self.outcomes.samples)

    @property
    def values(self) -> list[float]:
        """Its values of single tasks in the metric's units; empty without outcomes per task."""
        if self.outcomes is None:
            return []
        low, span = self.measure.low or 0.0, self.measure.span or 1.0
        cells = zip(self.outcomes.counts, self.outcomes.samples, strict=True)
        return [low + span * right / drawn for right, drawn in cells if drawn]

    @cached_property
    def score(self) -> Fraction | None:
        """The run's exact mean score in the metric's units, from the outcomes where it has any."""
        if self.outcomes is None:
            return None if self.recorded is None else Fraction(repr(self.recorded))
        if self.measure.span is None or (self.measure.span == 1 and self.measure.low == 0):
            return self.outcomes.mean
        low = Fraction(repr(self.measure.low))
        return low + self.outcomes.mean * Fraction(repr(self.measure.span))


@dataclass(frozen=True, slots=True)
class Side:
    """The runs of one arm that a measure covers, and those it does not.

    ``runs`` are sorted by seed, unlabelled ones last; ``lost`` did not finish; ``unmeasured``
    finished and have no figure; ``unlisted`` were launched and are not in the file; ``set_aside``
    have no partner where pairing was declared.
    """

    name: str
    runs: tuple[MeasuredRun, ...]
    lost: tuple[Run, ...] = ()
    unmeasured: tuple[Run, ...] = ()
    unlisted: tuple[int, ...] = ()
    set_aside: tuple[MeasuredRun, ...] = ()

    @property
    def per_task(self) -> bool:
        """Whether every run has outcomes per task."""
        return bool(self.runs) and all(run.outcomes is not None for run in self.runs)

    @property
    def measured(self) -> bool:
        """Whether there are runs, and each has a figure."""
        return bool(self.runs) and all(run.fault is None for run in self.runs)

    def at_seeds(self, seeds: set[int | None]) -> Side:
        """Return the side with the runs at these seeds only, the others set aside."""
        kept = tuple(run for run in self.runs if run.seed in seeds)
        return replace(
            self, runs=kept, set_aside=tuple(run for run in self.runs if run not in kept)
        )

    def entries(self) -> list[tuple[str, str, TaskOutcomes]]:
        """Return (arm, run, outcomes) of every run that has outcomes per task."""
        return [
            (self.name, run.label, run.outcomes) for run in self.runs if run.outcomes is not None
        ]


def arm_side(results: Results, arm: Arm, measure: Measure) -> Side:
    """Return one arm's runs as a measure saw them."""
    measured, unmeasured = [], []
    for run in arm.finished:
        seen = _measured(run, measure)
        if seen is None:
            unmeasured.append(run)
        else:
            measured.append(seen)
    return Side(
        name=arm.name,
        runs=tuple(sorted(measured, key=_order)),
        lost=tuple(run for run in arm.runs if not run.finished),
        unmeasured=tuple(unmeasured),
        unlisted=_unlisted(results, arm),
    )


def base_side(results: Results, measure: Measure) -> Side:
    """Return the evaluations of the untrained model; the runs' own where no others are listed.

    Every run of the top arm may have evaluated the base once more; those blocks hold one score.
    """
    entries = results.items("base_evaluations")
    if entries:
        runs = [_base_entry(entry, index, measure) for index, entry in enumerate(entries)]
    else:
        top = results.arms[0].runs if results.arms else ()
        runs = [_base_block(run.baseline, run.label, measure) for run in top if run.baseline]
    return Side(BASE, tuple(run for run in runs if run is not None))


def _measured(run: Run, measure: Measure) -> MeasuredRun | None:
    same_metric = [e for e in run.evaluations if e.metric == measure.metric and e.per_task]
    fitting = [e for e in same_metric if measure.fits(e)]
    if measure.checkpoints and fitting:
        return _pooled(run, measure, fitting)
    evaluation = _final(fitting)
    outcomes, fault = _outcomes(evaluation, measure)
    if evaluation is not None and _rivals(evaluation, fitting):
        outcomes, fault = None, "the same checkpoint was evaluated twice, with other outcomes"
    recorded = None
    if not same_metric and measure.attempts is None:
        recorded = number(run.metrics.get(measure.metric))
    if outcomes is None and recorded is None and fault is None:
        return None
    return MeasuredRun(
        label=run.label,
        seed=run.seed,
        run=run,
        measure=measure,
        outcomes=outcomes,
        recorded=recorded,
        examples=run.metrics.get("examples"),
        fault=None if recorded is not None else fault,
        evaluation=evaluation,
    )


def _pooled(run: Run, measure: Measure, fitting: Sequence[Evaluation]) -> MeasuredRun:
    """Return a run as the sum of its answers over the declared checkpoints.

    The run stays the unit: a cell is the right answers of all checkpoints out of all that were
    drawn at them, so that every checkpoint weighs the same.
    """
    first = MeasuredRun(run.label, run.seed, run, measure)
    chosen = []
    for step in measure.checkpoints:
        here = [e for e in fitting if e.checkpoint_step == step]
        if not here:
            return replace(
                first, fault=f"no evaluation at step {step}", fault_reason="other-checkpoints"
            )
        if _rivals(here[0], here):
            return replace(first, fault=f"step {step} was evaluated twice, with other outcomes")
        chosen.append(here[0])
    found = [task_outcomes(e, measure.low, measure.high, measure.attempts) for e in chosen]
    fault = next((one for one in found if isinstance(one, str)), None)
    outcomes = [one for one in found if isinstance(one, TaskOutcomes)]
    if fault is not None or not outcomes:
        return replace(first, fault=fault or "no outcomes per task")
    if any((o.ids, o.samples) != (outcomes[0].ids, outcomes[0].samples) for o in outcomes):
        return replace(
            first,
            fault="its checkpoints have other tasks or other numbers of answers",
            fault_reason="uneven-checkpoints",
        )
    return replace(first, outcomes=summed(outcomes), evaluation=chosen[-1])


def _outcomes(
    evaluation: Evaluation | None, measure: Measure
) -> tuple[TaskOutcomes | None, str | None]:
    if evaluation is None:
        return None, None
    found = task_outcomes(evaluation, measure.low, measure.high, measure.attempts)
    return (None, found) if isinstance(found, str) else (found, None)


def _final(evaluations: list[Evaluation]) -> Evaluation | None:
    """Choose the end of training among checkpoints: one without a step, else the last step."""
    if not evaluations:
        return None
    for evaluation in evaluations:
        if evaluation.checkpoint_step is None:
            return evaluation
    return max(evaluations, key=lambda e: e.document["checkpoint_step"])


def _rivals(final: Evaluation, fitting: list[Evaluation]) -> bool:
    """Whether another evaluation of the same checkpoint says something else."""
    step = final.checkpoint_step
    keys = ("task_ids", "correct", "samples", "scores")
    return any(
        e is not final
        and e.checkpoint_step == step
        and any(e.document.get(key) != final.document.get(key) for key in keys)
        for e in fitting
    )


def _base_entry(entry: Mapping[str, Any], index: int, measure: Measure) -> MeasuredRun | None:
    label = str(entry.get("run", index))
    for evaluation in _entry_evaluations(entry):
        if measure.fits(evaluation):
            outcomes, _ = _outcomes(evaluation, measure)
            return None if outcomes is None else _base_run(label, entry, measure, outcomes, None)
    if measure.attempts is not None or any(
        e.metric == measure.metric for e in _entry_evaluations(entry)
    ):
        return None
    return _base_block(entry, label, measure)


def _entry_evaluations(entry: Mapping[str, Any]) -> Iterator[Evaluation]:
    blocks: Iterable[Any] = [entry.get("evaluation"), *(entry.get("evaluations") or ())]
    found = (Evaluation("", block) for block in blocks if block)
    yield from (evaluation for evaluation in found if evaluation.per_task)


def _base_block(block: Mapping[str, Any], label: str, measure: Measure) -> MeasuredRun | None:
    recorded = number(block.get(measure.metric))
    if recorded is None or measure.attempts is not None:
        return None
    return _base_run(label, block, measure, None, recorded)


def _base_run(
    label: str,
    block: Mapping[str, Any],
    measure: Measure,
    outcomes: TaskOutcomes | None,
    recorded: float | None,
) -> MeasuredRun:
    return MeasuredRun(
        label=label,
        seed=None,
        run=None,
        measure=measure,
        outcomes=outcomes,
        recorded=recorded,
        examples=block.get("examples"),
        tokens=block.get("generated_tokens"),
    )


def _order(run: MeasuredRun) -> tuple[bool, int, str, int]:
    name = run.run.run_id if run.run is not None else None
    return (run.seed is None, run.seed or 0, name or "", run.run.index if run.run else 0)


def _unlisted(results: Results, arm: Arm) -> tuple[int, ...]:
    launched = results.block("launched_seeds")
    names = [arm.name, "method"] if arm is results.arms[0] else [arm.name]
    seeds = next((launched[name] for name in names if name in launched), None)
    if not isinstance(seeds, list):
        return ()
    listed = {run.seed for run in arm.runs}
    return tuple(sorted({s for s in seeds if isinstance(s, int) and s not in listed}))
