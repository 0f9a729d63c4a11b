"""Rewards and advantages of training rollouts, gathered to groups step by step."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import nan
from typing import Any

from audit.importers.numbers import number

# As many responses of one run come over; then one step in 2, 4, 8 and so on.
MOST_RESPONSES = 50_000
_LOGGED_REWARD = re.compile(r"^(?:train/)?rewards/(?P<name>.+)/mean$")


@dataclass(slots=True)
class _Response:
    prompt: Hashable
    parts: tuple[float | None, ...]
    advantage: float | None


@dataclass(slots=True)
class RolloutLog:
    """What one run's rollouts hold.

    Attributes
    ----------
    parts : tuple of str
        Names of the rewards that add up to that of a response; one where the source has the sum.
    steps : dict
        Step to its responses, in the order of the source.
    """

    parts: tuple[str, ...] = ("reward",)
    steps: dict[int, list[_Response]] = field(default_factory=dict)

    def add(self, step: int, prompt: Hashable, parts: Sequence[Any], advantage: Any) -> None:
        """Add a response; responses to one prompt that follow each other are a group."""
        read = tuple(number(value) for value in parts)
        self.steps.setdefault(step, []).append(_Response(prompt, read, number(advantage)))

    def blocks(
        self, config: Mapping[str, Any], logged: Sequence[str], where: str, notes: list[str]
    ) -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
        """Return ``telemetry`` and, by step, ``rewards`` and ``advantages``.

        Parameters
        ----------
        config : mapping
            Flat settings of the run.
        logged : sequence of str
            Names of the figures that the run's log has.
        where : str
            The run, for notes.
        notes : list of str
            Takes what was left out.

        Returns
        -------
        telemetry : dict
            Empty where no group can be told.
        steps : dict
        """
        weights, clear = self._weights(config, logged)
        groups = {s: list(self._groups(rows, weights)) for s, rows in self.steps.items() if s > 0}
        whole = {s: [g for g in found if g is not None] for s, found in groups.items()}
        lost = sum(len(found) for found in groups.values()) - sum(map(len, whole.values()))
        sizes = {len(group) for found in whole.values() for group in found}
        if len(sizes) != 1 or sizes == {1}:
            if sizes:
                notes.append(f"{where}: rollouts come in groups of unequal size and are left out")
            return {}, {}
        if lost:
            notes.append(f"{where}: {lost} groups of rollouts lack a reward and are left out")
        size = sizes.pop()
        kept = _thinned({s: found for s, found in whole.items() if found}, size)
        if len(kept) < sum(map(bool, whole.values())):
            notes.append(f"{where}: of the steps with rollouts {len(kept)} are kept")
        telemetry: dict[str, Any] = {
            "level": "sparse",
            "responses_per_group": size,
            "advantage": advantage_of(config) if clear else {"estimator": "unknown"},
            "zero_groups": "kept",
        }
        if len(counts := {len(found) for found in kept.values()}) == 1:
            telemetry["groups_per_step"] = counts.pop()
        return telemetry, {
            step: {
                "rewards": [reward for group in found for reward, _ in group],
                "advantages": [advantage for group in found for _, advantage in group],
            }
            for step, found in kept.items()
        }

    def _weights(
        self, config: Mapping[str, Any], logged: Sequence[str]
    ) -> tuple[tuple[float, ...], bool]:
        """Return the weight of each part, 0 for what is no reward, and whether that is known."""
        named = {m["name"] for name in logged if (m := _LOGGED_REWARD.match(name))}
        used = [part in named or not named & {*self.parts} for part in self.parts]
        said = config.get("reward_weights")
        given = [number(w) for w in said] if isinstance(said, list) else []
        if len(given) == sum(used) and None not in given:
            each = iter(given)
            return tuple(float(next(each) or 0.0) if use else 0.0 for use in used), True
        clear = sum(used) == 1 or (bool(named & {*self.parts}) and not given)
        return tuple(map(float, used)), clear

    def _groups(
        self, rows: Sequence[_Response], weights: Sequence[float]
    ) -> Sequence[list[tuple[float, float]] | None]:
        """Return the groups of one step; None for one that lacks a reward or an advantage."""
        runs = [list(members) for _, members in groupby(rows, key=lambda row: row.prompt)]
        size = min(map(len, runs))
        found: list[list[tuple[float, float]] | None] = []
        for members in runs:
            # Two groups of one prompt may follow each other.
            step = size if len(members) % size == 0 else len(members)
            for at in range(0, len(members), step):
                group = [
                    (_total(row.parts, weights), nan if row.advantage is None else row.advantage)
                    for row in members[at : at + step]
                ]
                told = all(value == value for pair in group for value in pair)
                found.append(group if told else None)
        return found


def _total(parts: Sequence[float | None], weights: Sequence[float]) -> float:
    """Return the weighted sum of the rewards that are there; NaN where none is."""
    there = [(p, w) for p, w in zip(parts, weights, strict=True) if p is not None and w]
    return sum(part * weight for part, weight in there) if there else nan


def _thinned(steps: dict[int, Any], size: int) -> dict[int, Any]:
    """Return one step in 2, 4, 8 and so on where there are very many responses, and the last."""
    order, every = sorted(steps), 1
    responses = size * sum(map(len, steps.values()))
    while responses > every * MOST_RESPONSES:
        every *= 2
    return {step: steps[step] for step in dict.fromkeys([*order[::every], *order[-1:]])}


def advantage_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how advantages are computed, as the settings of a trainer say it.

    Known are TRL's ``scale_rewards``, verl's ``algorithm.adv_estimator`` and open-instruct's
    ``advantage_normalization_type``. Where a KL term is taken off the reward, which no log of
    rewards shows, nothing is declared.
    """
    verl = config.get("algorithm.adv_estimator")
    if isinstance(verl, str):
        if config.get("algorithm.use_kl_in_reward") is True:
            return {"estimator": "unknown"}
        if verl == "grpo" and config.get("algorithm.norm_adv_by_std_in_grpo", True) is False:
            return {"estimator": "dr_grpo", "scale": "none"}
        return _SAID.get(verl, {"estimator": "unknown"})
    for key in ("scale_rewards", "advantage_normalization_type"):
        if key in config:
            return _SAID.get(f"{key} {config[key]}".lower(), {"estimator": "unknown"})
    return {"estimator": "unknown"}


_DR_GRPO = {"estimator": "dr_grpo", "scale": "none"}
_TRL_GRPO = {"estimator": "grpo", "ddof": 1, "epsilon": 1e-4}
_SAID: dict[str, dict[str, Any]] = {
    "grpo": {"estimator": "grpo", "ddof": 1, "epsilon": 1e-6},
    "rloo": {"estimator": "rloo"},
    "reinforce_plus_plus": {"estimator": "reinforce_plus_plus"},
    "reinforce_plus_plus_baseline": {"estimator": "reinforce_plus_plus_baseline"},
    "scale_rewards group": _TRL_GRPO,
    "scale_rewards true": _TRL_GRPO,
    "scale_rewards batch": {"estimator": "grpo_batch"},
    "scale_rewards none": _DR_GRPO,
    "scale_rewards false": _DR_GRPO,
    "advantage_normalization_type standard": {"estimator": "grpo", "ddof": 0, "epsilon": 1e-8},
    "advantage_normalization_type centered": _DR_GRPO,
}
