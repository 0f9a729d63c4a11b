"""Whether a training could learn: gradients, rewards that vary, answers that came to their end.

Trainers log the same figures under different names; a log with every response is read response
by response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from audit.facts.training_logs import RunLog

# Names under ``updates[].metrics``, as the trainers write them; prefixes are left out.
GRADIENT_NORMS = ("grad_norm", "gradient_norm", "actor/grad_norm", "policy/grad_norm")
REWARD_SPREADS = ("reward_std", "rewards/std", "critic/rewards/std", "critic/score/std")
FLAT_SHARES = ("frac_reward_zero_std",)
CUT_OFF_SHARES = ("completions/clipped_ratio", "response_length/clip_ratio")
_PREFIXES = ("train/", "train_")


def steps_without_gradient(log: RunLog) -> int | None:
    """Return the logged steps if the gradient norm is 0 in every one; 0 where one has a gradient.

    None where the log has no gradient norms; likewise in the two functions below.
    """
    return _if_all(map(_gradient, log.steps), lambda norm: norm == 0)


def steps_without_spread(log: RunLog) -> int | None:
    """Return the logged steps if in none of them the rewards of any group varied, else 0.

    None also where the log has the reward of every response, which is counted by group.
    """
    return _if_all(map(_flat_share, log.steps), lambda share: share >= 1)


def steps_cut_off(log: RunLog) -> int | None:
    """Return the logged steps if all responses of all of them were cut off, else 0."""
    return _if_all(map(_cut_off, log.steps), lambda share: share >= 1)


def logged(update: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    """Return the first figure of an update that a trainer logged under one of several names."""
    metrics = update.get("metrics")
    if not metrics:
        return None
    for key in _spelled(names):
        value = metrics.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


@cache
def _spelled(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return each name as it stands and with each prefix."""
    return tuple(prefix + name for name in names for prefix in ("", *_PREFIXES))


def gradient_of(update: Mapping[str, Any]) -> float | None:
    """Return the gradient norm of an update, or the one logged for its step."""
    own = update.get("gradient_l2_norm")
    return logged(update, GRADIENT_NORMS) if own is None else float(own)


def _if_all(values: Iterable[float | None], wrong: Callable[[float], bool]) -> int | None:
    """Return how many values there are if all are wrong, 0 at the first that is not."""
    known = 0
    for value in values:
        if value is not None:
            if not wrong(value):
                return 0
            known += 1
    return known or None


def _known(
    step: Mapping[str, Any], read: Callable[[Mapping[str, Any]], float | None]
) -> list[float]:
    found = (read(update) for update in step.get("updates") or ())
    return [value for value in found if value is not None]


def _gradient(step: Mapping[str, Any]) -> float | None:
    return max(_known(step, gradient_of), default=None)


def _flat_share(step: Mapping[str, Any]) -> float | None:
    """Return the share of groups without spread; only of logs without rewards by response."""
    if step.get("rewards"):
        return None
    shares = _known(step, lambda update: logged(update, FLAT_SHARES))
    if shares:
        return min(shares)
    spreads = _known(step, lambda update: logged(update, REWARD_SPREADS))
    return float(max(spreads) == 0) if spreads else None


def _cut_off(step: Mapping[str, Any]) -> float | None:
    """Return 1 where all responses of a step were cut off, less where some were not."""
    told = False
    for update in step.get("updates") or ():
        audits = update.get("response_audits") or ()
        if audits and audits[0].get("truncated") is not None:
            if not all(audit.get("truncated") for audit in audits):
                return 0.0
            told = True
    if told:
        return 1.0
    return min(_known(step, lambda update: logged(update, CUT_OFF_SHARES)), default=None)
