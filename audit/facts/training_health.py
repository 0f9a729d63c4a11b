"""Whether a training could learn: gradients, rewards that vary, answers that came to their end.

Trainers log the same figures under different names; a log with every response is read response
by response.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from audit.facts.training_logs import RunLog

# Names under ``updates[].metrics``, as the trainers write them; prefixes are left out.
GRADIENT_NORMS = ("grad_norm", "gradient_norm", "actor/grad_norm", "policy/grad_norm")
REWARD_SPREADS = ("reward_std", "rewards/std", "critic/rewards/std", "critic/score/std")
FLAT_SHARES = ("frac_reward_zero_std",)
CUT_OFF_SHARES = ("completions/clipped_ratio", "response_length/clip_ratio")
LOSSES = ("loss", "actor/pg_loss", "actor/loss", "policy_loss")
_PREFIXES = ("train/", "train_")


@dataclass(frozen=True, slots=True)
class Steps:
    """Logged steps that tell something, and those of them that are wrong with it."""

    logged: int
    wrong: int

    @property
    def all_wrong(self) -> bool:
        """Whether every step that tells it is wrong."""
        return self.logged > 0 and self.wrong == self.logged


@dataclass(frozen=True, slots=True)
class TrainingHealth:
    """What the log of one run says of its training.

    Attributes
    ----------
    without_gradient : Steps
        Steps whose gradient norm is 0 in every update.
    without_spread : Steps
        Steps in which the rewards of no group varied, where the trainer logged only that.
    cut_off : Steps
        Steps of which all responses were cut off.
    """

    without_gradient: Steps
    without_spread: Steps
    cut_off: Steps


def training_health(log: RunLog) -> TrainingHealth:
    """Return what a run's log says of its training."""
    return TrainingHealth(
        without_gradient=_steps(map(_gradient, log.steps), lambda norm: norm == 0),
        without_spread=_steps(map(_flat_share, log.steps), lambda share: share >= 1),
        cut_off=_steps(map(_cut_off, log.steps), lambda share: share >= 1),
    )


def logged(update: Mapping[str, Any], names: Iterable[str]) -> float | None:
    """Return the first figure of an update that a trainer logged under one of several names."""
    metrics = update.get("metrics") or {}
    for name in names:
        for key in (name, *(prefix + name for prefix in _PREFIXES)):
            value = metrics.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
    return None


def loss_of(update: Mapping[str, Any]) -> float | None:
    """Return the loss of an update, or the one logged for its step."""
    own = update.get("loss")
    return logged(update, LOSSES) if own is None else float(own)


def gradient_of(update: Mapping[str, Any]) -> float | None:
    """Return the gradient norm of an update, or the one logged for its step."""
    own = update.get("gradient_l2_norm")
    return logged(update, GRADIENT_NORMS) if own is None else float(own)


def _steps(values: Iterator[float | None], wrong: Any) -> Steps:
    known = [value for value in values if value is not None]
    return Steps(len(known), sum(map(wrong, known)))


def _known(step: Mapping[str, Any], read: Any) -> list[float]:
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
    audits = [a for u in step.get("updates") or () for a in u.get("response_audits") or ()]
    flags = [audit["truncated"] for audit in audits if audit.get("truncated") is not None]
    if flags:
        return sum(map(bool, flags)) / len(flags)
    return min(_known(step, lambda update: logged(update, CUT_OFF_SHARES)), default=None)
