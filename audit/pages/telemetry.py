"""What the training logs show: reward, clip activity and groups without advantage, by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.results import Results, Run
from audit.rules.activity import activity_of
from audit.rules.telemetry import read_logs


@dataclass(frozen=True, slots=True)
class ClipActivity:
    """How often the clip of one arm acted.

    Attributes
    ----------
    arm : str
    unit : str
        What is counted: ``updates``, or ``response audits`` where the runs do not count for
        themselves.
    fired : int
        Those with a clipped token.
    could : int
        Those after the first update of a step. In the first the ratio is 1 and no clip acts.
    total : int
        All of them.
    """

    arm: str
    unit: str
    fired: int
    could: int
    total: int


@dataclass(frozen=True, slots=True)
class Curve:
    """The training log of one run.

    Attributes
    ----------
    arm, run : str
    steps : tuple of int
    rewards : tuple of float
        Mean reward of each step's responses.
    clipped : tuple of float or None
        Share of each step's tokens that were clipped, in the updates after the first; None where
        no such update was logged.
    zero_groups : tuple of float or None
        Share of each step's attempted groups without advantage; None where it is not known.
    """

    arm: str
    run: str
    steps: tuple[int, ...]
    rewards: tuple[float, ...]
    clipped: tuple[float | None, ...]
    zero_groups: tuple[float | None, ...]


def clip_activity(results: Results) -> tuple[ClipActivity, ...]:
    """Count, arm by arm, where the clip could act and where it did; arms without a log not."""
    found = [(log.arm.name, activity_of(log)) for log in read_logs(results)]
    return tuple(
        ClipActivity(arm, a.unit, a.fired, a.later, a.total) for arm, a in found if a.total
    )


def curves(results: Results) -> tuple[Curve, ...]:
    """Return the training log of every run that has rewards by step."""
    return tuple(
        _curve(arm.name, run)
        for arm in results.arms
        for run in arm.runs
        if run.training and all(_reward(step) is not None for step in run.training)
    )


def zero_share(runs: Iterable[Run]) -> tuple[int, int] | None:
    """Return (groups without advantage, groups attempted) over runs; None if not recorded."""
    zero = attempted = 0
    for run in runs:
        without = run.sampling.get("zero_advantage_groups_retained")
        if without is None:
            without = run.sampling.get("zero_advantage_groups")
        groups = run.sampling.get("tasks_attempted")
        if without is None or not groups:
            return None
        zero, attempted = zero + without, attempted + groups
    return (zero, attempted) if attempted else None


def reward_values(results: Results) -> set[float]:
    """Return the distinct rewards of all logged responses."""
    return {
        float(reward)
        for run in results.runs
        for step in run.training
        for reward in step.get("rewards") or ()
        if reward is not None
    }


def _curve(arm: str, run: Run) -> Curve:
    training = run.training
    return Curve(
        arm=arm,
        run=run.label,
        steps=tuple(step.get("step") or n for n, step in enumerate(training, 1)),
        rewards=tuple(_reward(step) or 0.0 for step in training),
        clipped=tuple(_clipped(step) for step in training),
        zero_groups=tuple(_zero_groups(run)),
    )


def _audits(step: Mapping[str, Any]) -> Iterable[tuple[int, Mapping[str, Any]]]:
    for number, update in enumerate(step.get("updates") or (), 1):
        for audit in update.get("response_audits") or ():
            yield update.get("inner_update") or number, audit


def _reward(step: Mapping[str, Any]) -> float | None:
    """Return a step's mean reward: of its responses, else as the trainer logged it."""
    rewards = step.get("rewards")
    if rewards:
        return float(sum(rewards) / len(rewards))
    logged = [(update.get("metrics") or {}).get("reward") for update in step.get("updates") or ()]
    return next((value for value in logged if isinstance(value, int | float)), None)


def _clipped(step: Mapping[str, Any]) -> float | None:
    shares = [
        (update.get("metrics") or {}).get("audit/clip_fraction")
        for number, update in enumerate(step.get("updates") or (), 1)
        if (update.get("inner_update") or number) > 1
    ]
    whole = [float(share) for share in shares if isinstance(share, int | float)]
    if whole and len(whole) == len(shares):  # of all tokens; audits may be of some responses
        return sum(whole) / len(whole)
    late = [audit.get("clip_fraction") for inner, audit in _audits(step) if inner > 1]
    known = [value for value in late if value is not None]
    return sum(known) / len(known) if known else None


def _zero_groups(run: Run) -> Iterable[float | None]:
    """Yield each step's share of attempted groups that gave no advantage.

    Where such groups are rejected, ``training_row`` counts the rows read, so the gap between two
    steps is the number rejected before the later one.
    """
    group = (run.telemetry.get("responses_per_group")) or None
    drawn = run.telemetry.get("groups_per_step") or None
    before = -1
    for step in run.training:
        row, rewards = step.get("training_row"), step.get("rewards") or ()
        counted = step.get("zero_advantage_groups")
        if row is not None:
            attempted = row - before
            before = row
            yield (attempted - 1) / attempted if attempted > 0 else None
        elif drawn and counted is not None and counted <= drawn:
            yield counted / drawn
        elif group and rewards and len(rewards) % group == 0:
            groups = [rewards[i : i + group] for i in range(0, len(rewards), group)]
            yield sum(len(set(g)) == 1 for g in groups) / len(groups)
        else:
            yield None
