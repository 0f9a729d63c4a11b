"""The training of each run step by step: reward, clipped tokens, groups without advantage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.facts.groups import groups_by_step
from audit.facts.training_logs import RunLog
from audit.results import Results


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


def curves(results: Results) -> tuple[Curve, ...]:
    """Return the training log of every run that has rewards by step."""
    return tuple(
        _curve(arm.name, RunLog(run))
        for arm in results.arms
        for run in arm.runs
        if run.training and all(_reward(step) is not None for step in run.training)
    )


def reward_values(results: Results) -> set[float]:
    """Return the distinct rewards of all logged responses."""
    return {
        float(reward)
        for run in results.runs
        for step in run.training
        for reward in step.get("rewards") or ()
        if reward is not None
    }


def _curve(arm: str, log: RunLog) -> Curve:
    return Curve(
        arm=arm,
        run=log.run.label,
        steps=tuple(step.get("step") or n for n, step in enumerate(log.steps, 1)),
        rewards=tuple(_reward(step) or 0.0 for step in log.steps),
        clipped=tuple(_clipped(step) for step in log.steps),
        zero_groups=tuple(groups_by_step(log)),
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
