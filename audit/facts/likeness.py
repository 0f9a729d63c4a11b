"""Runs of one arm whose outcomes agree too closely for two trainings.

Every benchmark, metric, split and checkpoint is compared apart, on the tasks that two runs share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from audit.errors import InsufficientData
from audit.facts.rounding import decimals, number
from audit.results import DEFAULT_METRIC, MOST_ANSWERS, Evaluation, Results, Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatMatrix = NDArray[np.float64]
    IntMatrix = NDArray[np.int64]

# So many runs are compared at once; more are taken in the order of their scores, since a close
# copy has nearly the score of its original.
_AT_ONCE, _OVERLAP = 64, 16

Scales = Mapping[str, tuple[float, float]]
"""Lower and upper end of each metric by which summaries of runs are compared."""


class Likeness(NamedTuple):
    """Two runs, by their places, and how much they agree."""

    first: int
    second: int
    equal: bool
    text: str


class EvaluationKey(NamedTuple):
    """What two evaluations must share to be compared."""

    benchmark: str | None
    metric: str
    split: str | None
    step: int | None


@dataclass(frozen=True, slots=True)
class _Answers:
    """The evaluations of one key as one row each, over the tasks of all of them.

    ``runs`` are the places of the runs in the sequence that was given. Without counts, ``right``
    and ``drawn`` are None.
    """

    key: EvaluationKey
    runs: list[int]
    evaluations: list[Evaluation]
    rates: FloatMatrix
    right: IntMatrix | None
    drawn: IntMatrix | None

    @property
    def where(self) -> str:
        return f" on {self.key.benchmark}" if self.key.benchmark else ""

    @property
    def greedy(self) -> bool:
        return any(evaluation.greedy for evaluation in self.evaluations)


def scales_of(results: Results) -> dict[str, tuple[float, float]]:
    """Return the metrics of a file with the two ends of their scale; accuracy is 0 to 1."""
    scales = {DEFAULT_METRIC: (0.0, 1.0)}
    for name, described in results.block("metrics").items():
        scale = described.get("scale") if isinstance(described, dict) else None
        low, high = scale or (0.0, 1.0)
        if low is not None and high is not None and low < high:
            scales[name] = (float(low), float(high))
    return scales


def per_task(run: Run) -> dict[EvaluationKey, Evaluation]:
    """Return a run's evaluations with per-task outcomes that can be compared, by what they are."""
    found: dict[EvaluationKey, Evaluation] = {}
    for evaluation in run.evaluations:
        if evaluation.consistent:
            split, step = (evaluation.document.get(key) for key in ("split", "checkpoint_step"))
            key = EvaluationKey(evaluation.benchmark, evaluation.metric, split, step)
            found.setdefault(key, evaluation)
    return found


def drawn_alike(runs: Sequence[Run]) -> Iterator[Likeness]:
    """Yield the pairs whose drawn answers agree more than one model drawn twice would.

    An exact conditional test on counts of right answers, :func:`audit.stats.pair_agreements`.
    """
    for answers in _by_key(runs):
        if answers.right is None or answers.drawn is None or answers.greedy:
            continue
        if len(answers.runs) < 2 or int(answers.drawn.max()) < 2:
            continue
        from audit.stats import pair_agreements

        for pair in pair_agreements(answers.right, samples=answers.drawn):
            if pair.agreement.copied:
                yield _likeness(answers, pair.first, pair.second)


def close_beside_other_arms(
    runs: Sequence[Run], others: Sequence[Run], known: Sequence[bool]
) -> Iterator[Likeness]:
    """Yield the pairs that lie too close beside runs of other arms.

    For one answer per task, greedy decoding and scores, :func:`audit.stats.distance_ratios`.
    Two runs that are ``known`` by their records to be trainings of their own are passed over.
    """
    for answers in _by_key([*runs, *others]):
        own = [row for row, place in enumerate(answers.runs) if place < len(runs)]
        far = [row for row, place in enumerate(answers.runs) if place >= len(runs)][:_AT_ONCE]
        if len(own) < 2 or not far or all(known[answers.runs[row]] for row in own):
            continue
        from audit.stats import distance_ratios

        decoding, samples = _decoding(answers)
        for rows in _windows(answers, own):
            near = answers.rates[rows]
            try:
                ratios = distance_ratios(
                    near, answers.rates[far], decoding=decoding, samples=samples
                )
            except InsufficientData:
                continue
            for ratio in ratios:
                one, other = rows[ratio.first], rows[ratio.second]
                if ratio.copied and not (known[answers.runs[one]] and known[answers.runs[other]]):
                    yield _likeness(answers, one, other)


def equal_scores_text(runs: Sequence[Run], scales: Scales) -> str | None:
    """Say how all runs of an arm agree in a score that trainings would not share, or None.

    The chance without any training variance, :func:`audit.stats.equal_scores`.
    """
    if len(runs) < 3:
        return None
    for answers in _by_key(runs):
        text = _equal_totals(answers, len(runs))
        if text is not None:
            return text
    measured = {evaluation.metric for run in runs for evaluation in run.evaluations}
    for metric, (low, high) in scales.items():
        recorded = {number(run.metrics.get(metric)) for run in runs}
        common = recorded.pop()
        if metric in measured or recorded or common is None:
            continue
        span = Fraction(repr(high)) - Fraction(repr(low))
        score = (Fraction(repr(common)) - Fraction(repr(low))) / span
        unit = Fraction(1, 10 ** decimals(common)) / span
        counted = [int(run.metrics.get("examples") or 0) for run in runs]
        if _too_equal([score] * len(runs), min(counted) or None, unit):
            return f"{metric} {common:g} in all {len(runs)} runs"
    return None


def _equal_totals(answers: _Answers, runs: int) -> str | None:
    if answers.right is None or answers.drawn is None or len(answers.runs) < runs:
        return None
    drawn, right = answers.drawn.sum(axis=1).tolist(), answers.right.sum(axis=1).tolist()
    scores = [Fraction(c, k) for c, k in zip(right, drawn, strict=True) if k]
    tasks = int((answers.drawn > 0).sum(axis=1).min())
    if len(scores) < runs or not _too_equal(scores, tasks if answers.greedy else min(drawn), 0):
        return None
    return f"{right[0]:,} right answers of {drawn[0]:,}{answers.where} in all {runs} runs"


def _too_equal(scores: Sequence[Fraction], answers: int | None, unit: Fraction | int) -> bool:
    from audit.stats import equal_scores

    return len(set(scores)) == 1 and equal_scores(scores, answers=answers, unit=unit).refused


def _by_key(runs: Sequence[Run]) -> Iterator[_Answers]:
    groups: dict[tuple[EvaluationKey, bool, bool], list[tuple[int, Evaluation]]] = {}
    for place, run in enumerate(runs):
        for key, evaluation in per_task(run).items():
            counted = evaluation.counts is not None and evaluation.samples is not None
            kind = key, evaluation.task_ids is not None, counted
            groups.setdefault(kind, []).append((place, evaluation))
    for (key, _, counted), members in groups.items():
        if len(members) > 1:
            yield _answers(key, members, counted=counted)


def _answers(
    key: EvaluationKey, members: list[tuple[int, Evaluation]], *, counted: bool
) -> _Answers:
    import numpy as np

    evaluations = [evaluation for _, evaluation in members]
    runs = [place for place, _ in members]
    columns = _columns(evaluations)
    if not counted:
        rates = _rows([e.scores or () for e in evaluations], columns, np.nan)
        return _Answers(key, runs, evaluations, rates, None, None)
    right = _rows([e.counts or () for e in evaluations], columns, 0)
    drawn = _rows([e.samples or () for e in evaluations], columns, 0)
    rates = np.full(right.shape, np.nan)
    np.divide(right, drawn, out=rates, where=drawn > 0)
    return _Answers(key, runs, evaluations, rates, right, drawn)


def _rows(
    lists: Sequence[Sequence[float]], columns: list[NDArray[np.int64]] | None, nothing: float
) -> NDArray[Any]:
    """Return lists as the rows of one table, ``nothing`` where a row has no such task."""
    import numpy as np

    if columns is None:
        return np.array(lists, type(nothing))
    shape = len(lists), 1 + max(int(places.max()) for places in columns)
    table = np.full(shape, nothing)
    for row, (values, places) in enumerate(zip(lists, columns, strict=True)):
        table[row, places] = values
    return table


def _columns(evaluations: Sequence[Evaluation]) -> list[NDArray[np.int64]] | None:
    """Return for each evaluation the column of each of its tasks; None where all have the same."""
    import numpy as np

    named = [_tasks(evaluation) for evaluation in evaluations]
    if all(tasks == named[0] for tasks in named):  # most files name the same tasks in one order
        return None
    places: dict[object, int] = {}
    return [np.array([places.setdefault(task, len(places)) for task in tasks]) for tasks in named]


def _tasks(evaluation: Evaluation) -> Sequence[object]:
    if evaluation.task_ids is not None:
        return evaluation.task_ids
    return range(len(evaluation.samples or evaluation.scores or ()))


def _decoding(answers: _Answers) -> tuple[str, int]:
    """Return how the answers were decoded and how many were drawn for a task."""
    if answers.right is None or answers.drawn is None:
        return "scores", 1
    if answers.greedy:
        return "greedy", 1
    samples = int(answers.drawn.min(where=answers.drawn > 0, initial=MOST_ANSWERS))
    mixed = bool(((answers.right > 0) & (answers.right < answers.drawn)).any())
    declared = all(evaluation.sampled for evaluation in answers.evaluations)
    return ("sampled" if declared or (samples > 1 and mixed) else "undeclared"), samples


def _windows(answers: _Answers, own: list[int]) -> Iterator[list[int]]:
    """Yield the rows to compare at once: all, or neighbours in the order of their scores."""
    import numpy as np

    if len(own) <= _AT_ONCE:
        yield own
        return
    means = np.nanmean(answers.rates[own], axis=1)
    ordered = [own[place] for place in np.argsort(means, kind="stable").tolist()]
    for start in range(0, len(ordered) - _OVERLAP, _AT_ONCE - _OVERLAP):
        yield ordered[start : start + _AT_ONCE]


def _likeness(answers: _Answers, one: int, other: int) -> Likeness:
    first, second = sorted((one, other), key=lambda row: answers.runs[row])
    equal, text = _difference(answers, first, second)
    return Likeness(answers.runs[first], answers.runs[second], equal, text)


def _difference(answers: _Answers, first: int, second: int) -> tuple[bool, str]:
    """Return whether two rows are equal, and how much of them differs."""
    import numpy as np

    a, b = answers.rates[first], answers.rates[second]
    both = ~(np.isnan(a) | np.isnan(b))
    whole, apart, what = int(both.sum()), int((a[both] != b[both]).sum()), "tasks"
    if not apart:
        return True, f"the same outcome on all {whole:,} tasks{answers.where}"
    if answers.right is not None and answers.drawn is not None:
        drawn = answers.drawn[first][both]
        if (drawn == answers.drawn[second][both]).all():
            right = answers.right[first] - answers.right[second]
            whole, apart, what = int(drawn.sum()), int(np.abs(right)[both].sum()), "answers"
    verb = "differs" if apart == 1 else "differ"
    return False, f"{apart:,} of {whole:,} {what}{answers.where} {verb}"
