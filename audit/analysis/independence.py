"""Whether the runs of an arm are replications of each other, or copies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from audit.analysis.measures import MeasuredRun
from audit.analysis.outcomes import TaskOutcomes

# With fewer answers than this two honest runs may agree on every task by chance.
_ENOUGH_ANSWERS = 30
# Up to so many runs each pair of logs that begin and end alike is compared; from there on logs
# are told apart by a key made of all that is in them, which costs more for few runs.
_MANY_RUNS = 64


def distinct_runs(runs: Sequence[MeasuredRun]) -> int:
    """Return the number of training runs, one seed counted once; unlabelled runs each count."""
    seeds = {run.seed for run in runs if run.seed is not None}
    return len(seeds) + sum(run.seed is None for run in runs)


def repeated_seed(runs: Sequence[MeasuredRun]) -> int | None:
    """Return a seed that stands more than once."""
    seen: set[int] = set()
    for run in runs:
        if run.seed is not None and run.seed in seen:
            return run.seed
        if run.seed is not None:
            seen.add(run.seed)
    return None


def copied_runs(runs: Sequence[MeasuredRun]) -> str | None:
    """Return which two runs are one and the same, and by what, or None.

    Equal outcomes count from 30 answers on, and not where every answer is right or every one
    wrong; equal parameters after training always count, and so does a training log that begins
    with the whole of another's: that is a checkpoint of the same run.
    """
    found = min(filter(None, (_first_pair(runs, *kind) for kind in _kinds(runs))), default=None)
    if found is None:
        return None
    (first, second), _, what = found
    return f"runs {runs[first].label} and {runs[second].label} have the same {what}"


_Kind = tuple[
    int, str, Callable[[MeasuredRun], Hashable], Callable[[MeasuredRun, MeasuredRun], bool]
]


def _kinds(runs: Sequence[MeasuredRun]) -> tuple[_Kind, ...]:
    """Return each kind of evidence: rank, name, a key that equal runs share, and the comparison."""
    whole = len(runs) > _MANY_RUNS
    return (
        (0, "parameters after training", _final, lambda one, other: True),
        (1, "training log", lambda run: _log(run, whole), _same_log),
        (2, "outcomes on every task", _tally, _same_outcomes),
    )


def _first_pair(
    runs: Sequence[MeasuredRun],
    rank: int,
    what: str,
    key: Callable[[MeasuredRun], Hashable],
    same: Callable[[MeasuredRun, MeasuredRun], bool],
) -> tuple[tuple[int, int], int, str] | None:
    """Return the places of the first two runs that are the same; only runs of one key may be."""
    places: dict[Hashable, list[int]] = {}
    pairs = []
    for place, run in enumerate(runs):
        shared = key(run)
        if shared is None:
            continue
        earlier = places.setdefault(shared, [])
        twin = next((other for other in earlier if same(runs[other], run)), None)
        if twin is None:
            earlier.append(place)
        else:
            pairs.append((twin, place))
    return (min(pairs), rank, what) if pairs else None


def _final(run: MeasuredRun) -> Hashable:
    if run.run is None:
        return None
    final: str | None = run.run.document.get("final_parameters_sha256")
    return final


def _log(run: MeasuredRun, whole: bool) -> Hashable:
    """Return a key of the training log; None where it holds nothing that tells runs apart."""
    steps = run.run.training if run.run is not None else []
    if not _logged(steps):
        return None
    return _hashable(steps if whole else steps[0])


def _hashable(value: Any) -> Hashable:
    """Return what is equal for equal JSON values, and can be hashed."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(member)) for key, member in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return value  # type: ignore[no-any-return]  # a JSON scalar


def _same_log(one: MeasuredRun, other: MeasuredRun) -> bool:
    if one.run is None or other.run is None:
        return False
    shorter, longer = sorted((one.run.training, other.run.training), key=len)
    return _logged(shorter) and longer[: len(shorter)] == shorter


def _logged(steps: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a log holds what differs between two runs: rewards or losses."""
    return any(step.get("rewards") or step.get("updates") for step in steps)


def _tally(run: MeasuredRun) -> Hashable:
    """Return a key of the outcomes whatever their order; None where runs may agree by chance."""
    found = run.outcomes
    if found is None or not any(found.counts) or found.counts == found.samples:
        return None
    drawn = 1 if found.greedy else min(k for k in found.samples if k)
    if len(found.counts) * (found.independent or drawn) < _ENOUGH_ANSWERS:
        return None
    return tuple(sorted(zip(found.counts, found.samples, strict=True)))


def _same_outcomes(one: MeasuredRun, other: MeasuredRun) -> bool:
    a, b = one.outcomes, other.outcomes
    return a is not None and b is not None and _by_task(a, b) == _by_task(b, a)


def distinct_evaluations(runs: Sequence[MeasuredRun]) -> int:
    """Return the number of evaluations of one model, a copy counted once.

    Equal outcomes show a copy (or one sampling seed used again) where some task is answered both
    right and wrong: then answers are drawn, and drawing again gives others. Deterministic decoding
    gives the same answer to every sample of a task.
    """
    seen: list[TaskOutcomes] = []
    for run in runs:
        own = run.outcomes
        if own is None:
            continue
        drawn = any(0 < c < k for c, k in zip(own.counts, own.samples, strict=True))
        if not (drawn and any(_by_task(own, one) == _by_task(one, own) for one in seen)):
            seen.append(own)
    return len(seen)


def _by_task(own: TaskOutcomes, other: TaskOutcomes) -> object:
    """Return what can be compared: the lists, keyed by task where the orders differ."""
    if own.ids == other.ids or own.ids is None or other.ids is None:
        return own.counts, own.samples
    return dict(zip(own.ids, zip(own.counts, own.samples, strict=True), strict=True))
