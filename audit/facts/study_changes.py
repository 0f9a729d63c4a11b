"""What changed between two files that tell of one study."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from audit.claims import Claim, claims_of
from audit.facts.rounding import number
from audit.facts.siblings import run_keys
from audit.pointer import join
from audit.results import Evaluation, Results, Run

# What says how a study was made and judged, without its outcomes, in a file, an arm, a run and an
# evaluation. Aggregates follow from the runs and are left out.
_OF_FILE = (
    "method",
    "evaluation_protocol",
    "dataset",
    "checkpoint",
    "change",
    "metrics",
    "holdout",
    "runs_are",
    "plan",
    "looked",
    "decision",
)
_OF_ARM = ("role", "protocol")
_OF_RUN = ("status", "identified_by", "protocol", "telemetry")
_OF_EVALUATION = ("condition", "selected_on", "averaged_weights")
_OUTCOMES = ("task_ids", "correct", "samples", "scores", "errored", "truncated", "unparsed")


@dataclass(frozen=True, slots=True, order=True)
class LabelledRun:
    """A run by its arm and its label."""

    arm: str
    label: str


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """A score of one run, a mean over tasks in the metric's unit; None where there is none.

    Both are equal where only single answers changed.
    """

    run: LabelledRun
    metric: str
    benchmark: str | None
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting by its place in the newer file, with both values as JSON; None for none."""

    pointer: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A claim of one name that says something else; ``terms`` are the keys that differ."""

    before: Claim
    after: Claim
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VersionChange:
    """What changed from one version of a study's file to another.

    Attributes
    ----------
    added, lost : tuple of LabelledRun
        Runs that only the newer file has, and runs that only the older one has.
    unlisted : tuple of LabelledRun
        Launched seeds that the newer file neither lists nor holds.
    scores : tuple of ScoreChange
    settings : tuple of SettingChange
    claimed, dropped : tuple of Claim
        Claims that only one of the files makes.
    reworded : tuple of ClaimChange
    """

    added: tuple[LabelledRun, ...] = ()
    lost: tuple[LabelledRun, ...] = ()
    unlisted: tuple[LabelledRun, ...] = ()
    scores: tuple[ScoreChange, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    claimed: tuple[Claim, ...] = ()
    dropped: tuple[Claim, ...] = ()
    reworded: tuple[ClaimChange, ...] = ()

    @property
    def loses(self) -> bool:
        """Whether a run, a launched seed or a claim is gone."""
        return bool(self.lost or self.unlisted or self.dropped)


def of_one_study(old: Results, new: Results) -> bool:
    """Whether two files hold the same training runs, all of them or some.

    They do where they share a run (see `audit.facts.siblings`), or where at least half of the
    runs with one arm and label in both files have the same outcomes.
    """
    if run_keys(old) & run_keys(new):
        return True
    before, after = _runs(old), _runs(new)
    common = before.keys() & after.keys()
    equal = [name for name in common if _outcomes(before[name]) == _outcomes(after[name])]
    return bool(equal) and 2 * len(equal) >= len(common)


def version_change(old: Results, new: Results) -> VersionChange:
    """Return what changed between two versions of a study's file."""
    before, after = _runs(old), _runs(new)
    listed = _launched(new) | set(after)
    common = [name for name in before if name in after]
    claimed, dropped, reworded = _claims(old, new)
    return VersionChange(
        added=tuple(name for name in after if name not in before),
        lost=tuple(name for name in before if name not in after),
        unlisted=tuple(sorted(_launched(old) - listed - set(before))),
        scores=tuple(
            change for name in common for change in _scores(name, before[name], after[name])
        ),
        settings=tuple(_settings(old, new, common, before, after)),
        claimed=claimed,
        dropped=dropped,
        reworded=reworded,
    )


def _runs(results: Results) -> dict[LabelledRun, Run]:
    return {LabelledRun(run.arm, run.label): run for run in results.runs}


def _launched(results: Results) -> set[LabelledRun]:
    listed = results.block("launched_seeds")
    return {
        LabelledRun(results.method if arm == "method" else arm, str(seed))
        for arm, seeds in listed.items()
        for seed in (seeds if isinstance(seeds, list) else ())
    }


def _measured(run: Run) -> dict[tuple[str, str | None, int | None], Evaluation]:
    return {(e.metric, e.benchmark, e.checkpoint_step): e for e in run.evaluations}


def _outcomes(run: Run) -> str:
    """Return a run's outcomes as JSON: those per task, else its scores."""
    parts: list[Any] = [_of(evaluation) for evaluation in run.evaluations] or [run.metrics]
    return json.dumps(parts, sort_keys=True)


def _of(evaluation: Evaluation) -> dict[str, Any]:
    return {key: evaluation.document[key] for key in _OUTCOMES if key in evaluation.document}


def _scores(name: LabelledRun, old: Run, new: Run) -> Iterator[ScoreChange]:
    before, after = _measured(old), _measured(new)
    for key in dict.fromkeys([*before, *after]):
        metric, benchmark, _ = key
        one, other = before.get(key), after.get(key)
        if one is None or other is None or _of(one) != _of(other):
            means = (None if found is None else found.mean for found in (one, other))
            yield ScoreChange(name, metric, benchmark, *means)
    told = {metric for metric, _, _ in (*before, *after)}
    for metric in dict.fromkeys([*old.metrics, *new.metrics]):
        numbers = [number(run.metrics.get(metric)) for run in (old, new)]
        if metric not in told and numbers[0] != numbers[1]:
            yield ScoreChange(name, metric, None, *numbers)


def _settings(
    old: Results,
    new: Results,
    common: list[LabelledRun],
    before: Mapping[LabelledRun, Run],
    after: Mapping[LabelledRun, Run],
) -> Iterator[SettingChange]:
    yield from _blocks("", _OF_FILE, old.usable, new.usable)
    for arm in new.arms:
        known = old.arm(arm.name)
        if known is not None:
            yield from _blocks(arm.pointer, _OF_ARM, known.document, arm.document)
    for name in common:
        one, other = before[name], after[name]
        yield from _blocks(other.pointer, _OF_RUN, one.document, other.document)
        measured = _measured(one)
        for key, evaluation in _measured(other).items():
            if key in measured:
                was = measured[key].document
                yield from _blocks(evaluation.pointer, _OF_EVALUATION, was, evaluation.document)


def _blocks(
    pointer: str, keys: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[SettingChange]:
    for key in keys:
        yield from _leaves(join(pointer, key), old.get(key), new.get(key))


def _leaves(pointer: str, old: Any, new: Any) -> Iterator[SettingChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _leaves(join(pointer, key), old.get(key), new.get(key))
    elif old != new:
        yield SettingChange(pointer, *(None if v is None else json.dumps(v) for v in (old, new)))


def _claims(
    old: Results, new: Results
) -> tuple[tuple[Claim, ...], tuple[Claim, ...], tuple[ClaimChange, ...]]:
    before, after = claims_of(old), claims_of(new)
    said = {_bare(claim) for claim in before}, {_bare(claim) for claim in after}
    dropped = {claim.id: claim for claim in before if _bare(claim) not in said[1]}
    claimed = {claim.id: claim for claim in after if _bare(claim) not in said[0]}
    reworded = tuple(
        ClaimChange(dropped[name], claimed[name], _terms(dropped[name], claimed[name]))
        for name in claimed
        if name in dropped
    )
    same = {change.after.id for change in reworded}
    return (
        tuple(claim for name, claim in claimed.items() if name not in same),
        tuple(claim for name, claim in dropped.items() if name not in same),
        reworded,
    )


def _bare(claim: Claim) -> Claim:
    return replace(claim, id="", pointer=None)


def _terms(one: Claim, other: Claim) -> tuple[str, ...]:
    names = (field.name for field in fields(Claim))
    return tuple(n for n in names if n != "pointer" and getattr(one, n) != getattr(other, n))
