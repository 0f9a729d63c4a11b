"""Which runs of an arm are one training under several labels: the only copy detector.

Findings and refusals both read :func:`same_runs`, so that a report never calls two runs a copy
and counts them as two. Evidence comes in the order of its strength: names and seeds, final
parameters, training logs, then outcomes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from audit.facts.likeness import copied_answers
from audit.pointer import join
from audit.results import Evaluation, Results, Run

IDENTICAL = "identical-runs"
NEARLY = "nearly-identical-runs"
STEPS = "one-run-many-steps"
SEED = "duplicate-seed"
EQUAL_SCORES = "equal-scores"

# With fewer draws two honest runs may agree on every task.
_FEWEST_DRAWS = 30
# A log of rewards alone tells two trainings apart from so many rewards on.
_FEWEST_REWARDS = 30
_LOSS_OR_NORM = re.compile(r"(?:loss|grad(?:ient)?(?:_l2)?_norm)$", re.IGNORECASE)
# Up to so many runs every pair of outcomes is compared; beyond, each run with its neighbours.
_EVERY_PAIR = 64
_NEAREST = 16


@dataclass(frozen=True, slots=True)
class SamePair:
    """Two runs that are one training.

    Attributes
    ----------
    first, second : int
        Places in the sequence of runs that was given; ``first < second``.
    reason : str
        ``one-run-many-steps``, ``duplicate-seed``, ``identical-runs``,
        ``nearly-identical-runs`` or ``equal-scores``.
    text : str
        What the two share, with its numbers: ``the same final parameters``.
    pointers : tuple of str
        Where it stands in the file: that of the second run first.
    """

    first: int
    second: int
    reason: str
    text: str
    pointers: tuple[str, ...]


def copies_in(results: Results) -> dict[str, tuple[SamePair, ...]]:
    """Return the pairs of every arm, by the pointer of the arm; places are in ``arm.runs``."""
    arms = results.arms
    return {
        arm.pointer: same_runs(arm.runs, [r for o in arms if o is not arm for r in o.runs])
        for arm in arms
    }


def same_runs(runs: Sequence[Run], others: Sequence[Run] = ()) -> tuple[SamePair, ...]:
    """Return which runs of one arm are the same training.

    Parameters
    ----------
    runs : sequence of Run
        The runs of one arm.
    others : sequence of Run
        Those of all other arms: how far apart trainings lie that are surely two.

    Returns
    -------
    tuple of SamePair
        One pair for each run that joins others, in the order of the runs: their connected
        components are the independent runs. The reason is the first that applies.
    """
    groups = _Groups(len(runs))
    for kind in (_by_seed, _by_parameters, _by_log, _by_run_id):
        for pair in kind(runs):
            groups.join(pair)
    for first, second in _neighbours(runs):
        if not groups.joined(first, second):
            twin = _by_outcomes(runs, first, second)
            if twin is not None:
                groups.join(twin)
    return groups.pairs


def independent_runs(runs: Sequence[Run], others: Sequence[Run] = ()) -> int:
    """Return the number of independent trainings among the runs of one arm."""
    return len(runs) - len(same_runs(runs, others))


class _Groups:
    """Runs that are known to be one, as a union-find forest, and the pairs that joined them."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))
        self._pairs: list[SamePair] = []

    @property
    def pairs(self) -> tuple[SamePair, ...]:
        return tuple(sorted(self._pairs, key=lambda pair: (pair.second, pair.first)))

    def joined(self, first: int, second: int) -> bool:
        return self._root(first) == self._root(second)

    def join(self, pair: SamePair) -> None:
        one, other = self._root(pair.first), self._root(pair.second)
        if one != other:
            self._parents[max(one, other)] = min(one, other)
            self._pairs.append(pair)

    def _root(self, place: int) -> int:
        while self._parents[place] != place:
            self._parents[place] = self._parents[self._parents[place]]
            place = self._parents[place]
        return place


def _shared(
    runs: Sequence[Run], key: Callable[[Run], Hashable | None]
) -> Iterable[tuple[int, int]]:
    """Yield (first, second) for every run whose key an earlier run has; None is no key."""
    earliest: dict[Hashable, int] = {}
    for place, run in enumerate(runs):
        own = key(run)
        if own is not None and earliest.setdefault(own, place) != place:
            yield earliest[own], place


def _pair(
    runs: Sequence[Run], places: tuple[int, int], reason: str, text: str, *below: str
) -> SamePair:
    first, second = places
    pointers = tuple(join(runs[place].pointer, *below) for place in (second, first))
    return SamePair(first, second, reason, text, pointers)


def _by_seed(runs: Sequence[Run]) -> Iterable[SamePair]:
    for places in _shared(runs, lambda run: run.seed):
        yield _pair(runs, places, SEED, f"seed {runs[places[0]].seed}", "seed")


def _by_parameters(runs: Sequence[Run]) -> Iterable[SamePair]:
    name = "final_parameters_sha256"
    for places in _shared(runs, lambda run: run.document.get(name)):
        yield _pair(runs, places, IDENTICAL, "the same final parameters", name)


def _by_run_id(runs: Sequence[Run]) -> Iterable[SamePair]:
    for places in _shared(runs, lambda run: run.run_id):
        text = f"the same run_id {runs[places[0]].run_id}"
        yield _pair(runs, places, IDENTICAL, text, "run_id")


def _by_log(runs: Sequence[Run]) -> Iterable[SamePair]:
    """Pair runs whose logs begin alike to the end of one: a copy, or an earlier checkpoint.

    Logs are told apart step by step, so that only what is shared is read.
    """
    logs = {place: run.training for place, run in enumerate(runs) if run.training}
    alike = [(0, list(logs))]
    while alike:
        depth, places = alike.pop()
        ended = [place for place in places if len(logs[place]) == depth]
        if ended and tells_runs_apart(logs[ended[0]]):
            yield from (_of_logs(runs, ended[0], place) for place in places if place != ended[0])
            continue
        next_step: dict[Hashable, list[int]] = {}
        for place in places:
            if len(logs[place]) > depth:
                next_step.setdefault(_hashable(logs[place][depth]), []).append(place)
        alike += [(depth + 1, group) for group in next_step.values() if len(group) > 1]


def _of_logs(runs: Sequence[Run], one: int, other: int) -> SamePair:
    places = min(one, other), max(one, other)
    first, second = (len(runs[place].training) for place in places)
    if first == second:
        text = f"the same training log of {first:,} steps"
        return _pair(runs, places, IDENTICAL, text, "training")
    text = f"one training log, after {first:,} and after {second:,} steps"
    return _pair(runs, places, STEPS, text, "training")


def _hashable(value: Any) -> Hashable:
    """Return what is equal for equal JSON values, and can be hashed."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(member)) for key, member in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return value  # type: ignore[no-any-return]  # a JSON scalar


def tells_runs_apart(log: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a training log holds figures that two trainings would not share by chance.

    That is a loss or a gradient norm other than 0, also one that a tracker logged under a name of
    its own, or many rewards that are not all the same.
    """
    rewards: list[float] = []
    for step in log:
        if any(_tells(update) for update in step.get("updates") or ()):
            return True
        if len(rewards) < _FEWEST_REWARDS or len(set(rewards)) < 2:
            rewards += step.get("rewards") or ()
    return len(rewards) >= _FEWEST_REWARDS and len(set(rewards)) > 1


def _tells(update: Mapping[str, Any]) -> bool:
    if update.get("gradient_l2_norm") or update.get("loss"):
        return True
    metrics = update.get("metrics") or {}
    return any(value and _LOSS_OR_NORM.search(name) for name, value in metrics.items())


def _neighbours(runs: Sequence[Run]) -> Iterable[tuple[int, int]]:
    """Yield the pairs whose outcomes are compared: all, or those nearest in total score."""
    if len(runs) <= _EVERY_PAIR:
        yield from combinations(range(len(runs)), 2)
        return
    totals = [sum(e.mean or 0.0 for e in run.evaluations if e.per_task) for run in runs]
    ranked = sorted(range(len(runs)), key=lambda place: totals[place])
    yield from sorted(
        (min(place, other), max(place, other))
        for at, place in enumerate(ranked)
        for other in ranked[at + 1 : at + 1 + _NEAREST]
    )


def _by_outcomes(runs: Sequence[Run], first: int, second: int) -> SamePair | None:
    """Compare every benchmark, metric and checkpoint that two runs both have."""
    ours, theirs = _per_task(runs[first]), _per_task(runs[second])
    shared = [(ours[key], theirs[key]) for key in ours if key in theirs]
    if not shared:
        return None
    if len(shared) == len(ours) == len(theirs) and all(_equal(a, b) for a, b in shared):
        tasks = sum(len(a.samples or a.scores or ()) for a, _ in shared)
        if sum(_draws(a) for a, _ in shared) >= _FEWEST_DRAWS and any(
            0 < (a.mean or 0) < 1 for a, _ in shared
        ):
            text = f"the same outcome on all {tasks:,} tasks"
            return _pair(runs, (first, second), IDENTICAL, text)
    for one, other in shared:
        if copied_answers(one, other):
            text = "answers that differ by less than drawing them again does"
            return _pair(runs, (first, second), NEARLY, text)
    return None


_Key = tuple[str | None, str, str | None, int | None]


def _per_task(run: Run) -> dict[_Key, Evaluation]:
    found: dict[_Key, Evaluation] = {}
    for evaluation in run.evaluations:
        if evaluation.per_task:
            document = evaluation.document
            step = document.get("checkpoint_step")
            key = evaluation.benchmark, evaluation.metric, document.get("split"), step
            found.setdefault(key, evaluation)
    return found


def _equal(one: Evaluation, other: Evaluation) -> bool:
    """Whether two evaluations have the same outcome on every task, in whatever order."""
    return _by_task(one) == _by_task(other)


def _by_task(evaluation: Evaluation) -> object:
    lists = evaluation.counts, evaluation.samples, evaluation.scores
    ids = evaluation.task_ids
    if ids is None:
        return lists
    known = [values for values in lists if values is not None and len(values) == len(ids)]
    return dict(zip(ids, zip(*known, strict=True), strict=True))


def _draws(evaluation: Evaluation) -> int:
    """Count the answers that chance had a part in; greedy decoding repeats one answer a task."""
    samples = evaluation.samples
    if samples is None:
        return len(evaluation.scores or [])
    return len(samples) if evaluation.greedy else sum(samples)
