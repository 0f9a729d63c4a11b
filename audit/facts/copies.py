"""Which runs of an arm are one training under several labels: the only copy detector.

Findings and refusals both read :func:`same_runs`, so that a report never calls two runs a copy
and counts them as two. Evidence comes in the order of its strength: names and seeds, final
parameters, training logs, then outcomes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.column import total
from audit.facts.likeness import (
    Scales,
    close_beside_other_arms,
    drawn_alike,
    equal_scores_text,
    per_task,
    scales_of,
)
from audit.facts.memo import once
from audit.pointer import join
from audit.results import DEFAULT_METRIC, Evaluation, Results, Run

IDENTICAL = "identical-runs"
NEARLY = "nearly-identical-runs"
STEPS = "one-run-many-steps"
SEED = "duplicate-seed"
EQUAL_SCORES = "equal-scores"

ACCURACY: Scales = {DEFAULT_METRIC: (0.0, 1.0)}

# With fewer draws two honest runs may agree on every task.
_FEWEST_DRAWS = 30
# A log of rewards alone tells two trainings apart from so many rewards on.
_FEWEST_REWARDS = 30
_LOSS_OR_NORM = re.compile(r"(?:loss|grad(?:ient)?(?:_l2)?_norm)$", re.IGNORECASE)


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
        JSON Pointers of it, that of the second run first.
    """

    first: int
    second: int
    reason: str
    text: str
    pointers: tuple[str, ...]


@once
def copies_in(results: Results) -> dict[str, tuple[SamePair, ...]]:
    """Return the pairs of every arm, by the pointer of the arm; places are in ``arm.runs``."""
    arms, scales = results.arms, scales_of(results)
    found: dict[str, tuple[SamePair, ...]] = {}
    for arm in arms:
        # Collected where there is a pair to hold against them: a file may have thousands of arms.
        paired = len(arm.runs) > 1
        others = [run for other in arms if other is not arm for run in other.runs] if paired else []
        found[arm.pointer] = same_runs(arm.runs, others, scales)
    return found


def same_runs(
    runs: Sequence[Run], others: Sequence[Run] = (), scales: Scales = ACCURACY
) -> tuple[SamePair, ...]:
    """Return which runs of one arm are the same training.

    Parameters
    ----------
    runs : sequence of Run
        The runs of one arm.
    others : sequence of Run
        Those of all other arms: how far apart trainings lie that are surely two.
    scales : mapping of str to (float, float)
        The metrics of run summaries that are compared, with the ends of their scales.

    Returns
    -------
    tuple of SamePair
        One pair for each run that joins others, in the order of the runs: their connected
        components are the independent runs. The reason is the first that applies.

    Notes
    -----
    Final parameters and logs that show two runs to be trainings of their own outweigh equal
    scores and answers that are close beside those of other arms; answers that were drawn more
    alike than one model drawn twice outweigh them, whatever the weights.
    """
    if len(runs) < 2:
        return ()  # and no numerical library is loaded
    groups = _Groups(len(runs))
    for kind in (_by_name, _by_seed, _by_parameters, _by_log, _by_run_id):
        for pair in kind(runs):
            groups.join(pair)
    known = [_recorded(run) for run in runs]
    for alike in (drawn_alike(runs), close_beside_other_arms(runs, others, known)):
        for one in alike:
            reason = IDENTICAL if one.equal else NEARLY
            groups.join(_pair(runs, (one.first, one.second), reason, one.text))
    text = None if all(known) else equal_scores_text(runs, scales)
    if text is not None:
        for place in range(1, len(runs)):
            groups.join(_pair(runs, (0, place), EQUAL_SCORES, text))
    return groups.pairs


def independent_runs(
    runs: Sequence[Run], others: Sequence[Run] = (), scales: Scales = ACCURACY
) -> int:
    """Return the number of independent trainings among the runs of one arm."""
    return len(runs) - len(same_runs(runs, others, scales))


@dataclass(frozen=True, slots=True)
class Twin:
    """A run that is also filed under an earlier arm.

    Attributes
    ----------
    second : str
        JSON Pointer of the later run.
    arm, label : str
        Arm and label of the earlier run.
    text : str
        What the two share.
    """

    second: str
    arm: str
    label: str
    text: str


def same_across_arms(results: Results) -> tuple[Twin, ...]:
    """Return the runs that are the same training as one of an arm before theirs."""
    runs = results.runs
    found: dict[int, Twin] = {}
    for kind in (_by_parameters, _by_log, _by_equal_outcomes):
        for pair in kind(runs):
            first, second = runs[pair.first], runs[pair.second]
            if first.arm != second.arm:
                twin = Twin(second.pointer, first.arm, first.label, pair.text)
                found.setdefault(pair.second, twin)
    return tuple(found[place] for place in sorted(found))


def has_evidence(run: Run) -> bool:
    """Whether a run holds anything by which a copy of it would be found."""
    return (
        "final_parameters_sha256" in run.document
        or tells_runs_apart(run.training)
        or bool(per_task(run))
    )


def components(count: int, pairs: Iterable[SamePair]) -> list[int]:
    """Return for each of ``count`` runs the first run that is the same training."""
    groups = _Groups(count)
    for pair in pairs:
        groups.join(pair)
    return [groups.root(place) for place in range(count)]


class _Groups:
    """Runs that are known to be one, as a union-find forest, and the pairs that joined them."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))
        self._pairs: list[SamePair] = []

    @property
    def pairs(self) -> tuple[SamePair, ...]:
        return tuple(sorted(self._pairs, key=lambda pair: (pair.second, pair.first)))

    def joined(self, first: int, second: int) -> bool:
        return self.root(first) == self.root(second)

    def join(self, pair: SamePair) -> None:
        one, other = self.root(pair.first), self.root(pair.second)
        if one != other:
            self._parents[max(one, other)] = min(one, other)
            self._pairs.append(pair)

    def root(self, place: int) -> int:
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


def _by_name(runs: Sequence[Run]) -> Iterable[SamePair]:
    """Pair runs whose names differ in the step alone."""
    if not any(run.run_id for run in runs):
        return
    from audit.run_names import run_of

    named = {place: run_of(run.run_id) for place, run in enumerate(runs) if run.run_id}
    first_of: dict[str, int] = {}
    for place, name in named.items():
        if not name.run or name.step is None:
            continue
        first = first_of.setdefault(name.run, place)
        if named[first].step != name.step:
            text = f"steps {named[first].step} and {name.step} of {name.run}"
            yield _pair(runs, (first, place), STEPS, text, "run_id")


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
        steps = {place: logs[place][depth] for place in places if len(logs[place]) > depth}
        near = _alike(steps, _glance)
        same = [group for some in near for group in _alike(some, _hashable)]
        alike += [(depth + 1, list(group)) for group in sorted(same, key=min)]


def _alike(steps: dict[int, Any], key: Callable[[Any], Hashable]) -> list[dict[int, Any]]:
    """Return the steps that share a key, by place, those with one of their own left out."""
    groups: dict[Hashable, dict[int, Any]] = {}
    for place, step in steps.items():
        groups.setdefault(key(step), {})[place] = step
    return [group for group in groups.values() if len(group) > 1]


def _glance(step: Mapping[str, Any]) -> Hashable:
    """Return what is equal for equal steps and mostly differs for others, quickly."""
    losses = [update.get("loss") for update in step.get("updates") or ()]
    return _hashable([step.get("step"), losses, step.get("rewards")])


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


def _recorded(run: Run) -> bool:
    """Whether a run's own records show that it is no other: its parameters, and its log."""
    return bool(run.document.get("final_parameters_sha256")) and tells_runs_apart(run.training)


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


def _by_equal_outcomes(runs: Sequence[Run]) -> Iterable[SamePair]:
    """Pair runs with the same outcome on every task of every evaluation they have."""
    alike: dict[Hashable, list[int]] = {}
    for place, run in enumerate(runs):
        own = per_task(run)
        if not _telling(own):
            continue
        sums = tuple((key, total(e.counts or e.scores or ())) for key, e in own.items())
        earlier = alike.setdefault(sums, [])
        first = next((one for one in earlier if _all_equal(per_task(runs[one]), own)), None)
        if first is None:
            earlier.append(place)
        else:
            tasks = sum(len(e.samples or e.scores or ()) for e in own.values())
            text = f"the same outcome on all {tasks:,} tasks"
            yield _pair(runs, (first, place), IDENTICAL, text)


def _telling(own: Mapping[Any, Evaluation]) -> bool:
    """Whether so many answers were drawn that two trainings would not give the same."""
    drawn = sum(map(_draws, own.values()))
    return drawn >= _FEWEST_DRAWS and any(0 < (e.mean or 0) < 1 for e in own.values())


def _draws(evaluation: Evaluation) -> int:
    """Count the answers that chance had a part in; greedy decoding repeats one answer per task."""
    samples = evaluation.samples
    if samples is None:
        return len(evaluation.scores or [])
    return len(samples) if evaluation.greedy else int(total(samples))


def _all_equal(ours: Mapping[Any, Evaluation], theirs: Mapping[Any, Evaluation]) -> bool:
    return ours.keys() == theirs.keys() and all(
        _by_task(ours[key]) == _by_task(theirs[key]) for key in ours
    )


def _by_task(evaluation: Evaluation) -> object:
    """Return what is equal for equal outcomes, in whatever order the tasks come."""
    lists = evaluation.counts, evaluation.samples, evaluation.scores
    ids = evaluation.task_ids
    if ids is None:
        return lists
    known = [values for values in lists if values is not None and len(values) == len(ids)]
    return dict(zip(ids, zip(*known, strict=True), strict=True))
