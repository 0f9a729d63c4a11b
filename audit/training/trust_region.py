"""Trust regions for the probability ratio: how far a token's new probability may move.

A region answers with bounds ``lower <= r <= upper`` on ``r = p_new / p_old``. All of them act
through the two clip widths that TRL reads at every loss (``epsilon_low = 1 - lower``,
``epsilon_high = upper - 1``), so no line of TRL's loss is needed here. Pure torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from audit.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

Divergence = Literal["tv", "chi2", "kl"]
Topology = Literal["mc", "atomic"]

_NEWTON_STEPS = 4  # error in u after 1, 2, 3, 4 steps at most: 2e-2, 5e-5, 1e-9, rounding alone


class TrustRegion(Protocol):
    """What the trainer asks of a region."""

    @property
    def geometry(self) -> str:
        """Name of the divergence, as telemetry records it."""

    @property
    def topology(self) -> str:
        """``mc`` (each sampled token weighs the same) or ``atomic`` (its old probability)."""

    @property
    def per_token(self) -> bool:
        """Whether the bounds depend on each token's old probability."""

    def bounds(self, old_logps: Tensor, correct: Tensor, group_size: int) -> tuple[Tensor, Tensor]:
        """Bounds on the ratio.

        Parameters
        ----------
        old_logps : Tensor, shape (B, T)
            Log-probabilities of the sampled tokens under the sampling policy.
        correct : Tensor, shape (B,)
            How many responses of the sequence's group were right.
        group_size : int
            Responses in a group.

        Returns
        -------
        lower, upper : Tensor, shape (B, 1) or (B, T)
        """


@dataclass(frozen=True, slots=True)
class FixedClip:
    """One pair of bounds for every token: ``1 - epsilon_low`` and ``1 + epsilon_high``.

    PPO's clip (Schulman et al. 2017, arXiv:1707.06347); unequal ceilings are DAPO's clip-higher
    (Yu et al. 2025, arXiv:2503.14476).
    """

    epsilon_low: float = 0.2
    epsilon_high: float = 0.2

    geometry = "tv"
    topology = "mc"
    per_token = False

    def __post_init__(self) -> None:
        _require(
            0 < self.epsilon_low < 1, f"epsilon_low must lie in (0, 1), not {self.epsilon_low}"
        )
        _require(self.epsilon_high > 0, f"epsilon_high must be above 0, not {self.epsilon_high}")

    def bounds(self, old_logps: Tensor, correct: Tensor, group_size: int) -> tuple[Tensor, Tensor]:
        """Constant bounds, shape (B, 1)."""
        column = old_logps.new_ones(old_logps.shape[0], 1)
        return (1 - self.epsilon_low) * column, (1 + self.epsilon_high) * column


@dataclass(frozen=True, slots=True)
class AdaptiveClip:
    """A ceiling that falls as right answers become common in the group.

    ``eps_hi(c) = eps_lo + (eps_hi_max - eps_lo) (k - c) / (k - 1)`` for ``c`` right of ``k``
    (Group Adaptive Clipping Policy Optimization, arXiv:2609.00444, equation 11). The equation is
    for groups that split; ``c`` is clamped to ``[1, k]``, so that an all-wrong group stays at the
    ceiling instead of above it.
    """

    epsilon_low: float = 0.2
    epsilon_high_max: float = 0.28

    geometry = "tv"
    topology = "mc"
    per_token = False

    def __post_init__(self) -> None:
        _require(
            0 < self.epsilon_low < 1, f"epsilon_low must lie in (0, 1), not {self.epsilon_low}"
        )
        _require(
            self.epsilon_high_max >= self.epsilon_low,
            f"epsilon_high_max ({self.epsilon_high_max}) is below epsilon_low ({self.epsilon_low})",
        )

    def epsilon_high(self, correct: Tensor, group_size: int) -> Tensor:
        """Return the upper clip width of each count of right answers, same shape as ``correct``."""
        _require(group_size >= 2, "the adaptive clip needs groups of two or more responses")
        count = correct.clamp(1, group_size)
        slope = (self.epsilon_high_max - self.epsilon_low) / (group_size - 1)
        return self.epsilon_low + slope * (group_size - count)

    def bounds(self, old_logps: Tensor, correct: Tensor, group_size: int) -> tuple[Tensor, Tensor]:
        """Bounds by group, shape (B, 1)."""
        width = self.epsilon_high(correct.to(old_logps.dtype), group_size).unsqueeze(1)
        return (1 - self.epsilon_low) * width.new_ones(width.shape), 1 + width


@dataclass(frozen=True, slots=True)
class DivergenceRegion:
    """Ratios whose weighted divergence stays within a radius: ``{r : w f(r) <= radius}``.

    ``f`` is ``|r - 1|`` (tv), ``(r - 1)^2`` (chi2) or ``r - 1 - log r`` (kl, the pointwise
    Bregman form of KL(old || new), which is two-sided where ``-log r`` alone is not). ``w`` is 1
    with topology ``mc`` and the token's old probability with ``atomic``. The lower bound never
    falls below 0.
    """

    divergence: Divergence
    topology: Topology
    radius: float

    def __post_init__(self) -> None:
        _require(self.divergence in ("tv", "chi2", "kl"), f"unknown divergence {self.divergence!r}")
        _require(self.topology in ("mc", "atomic"), f"unknown topology {self.topology!r}")
        _require(self.radius > 0, f"radius must be above 0, not {self.radius}")

    @property
    def geometry(self) -> str:
        """The divergence's name."""
        return self.divergence

    @property
    def per_token(self) -> bool:
        """Only atomic regions depend on the token."""
        return self.topology == "atomic"

    def bounds(self, old_logps: Tensor, correct: Tensor, group_size: int) -> tuple[Tensor, Tensor]:
        """Bounds by token (atomic), shape (B, T), or constant ones (mc), shape (B, 1)."""
        if self.per_token:
            level = self.radius * (-old_logps).exp()
        else:
            level = self.radius * old_logps.new_ones(old_logps.shape[0], 1)
        if self.divergence == "kl":
            return _kl_roots(level)
        width = level if self.divergence == "tv" else level.sqrt()
        return (1 - width).clamp(min=0), 1 + width


def cap_at_certainty(upper: Tensor, old_logps: Tensor) -> Tensor:
    """``min(upper, 1 / p_old)``: no ratio exceeds it, because no probability exceeds 1.

    The cap never changes a gradient; it makes recorded ceilings attainable ones. Shape (B, T).
    """
    import torch

    return torch.minimum(upper, (-old_logps).exp())


def _kl_roots(level: Tensor) -> tuple[Tensor, Tensor]:
    """Solve ``r - 1 - log r = level`` on both sides of 1, by Newton's method on ``u = log r``.

    ``e^u - 1 - u - level`` is convex and not negative at either start, so that the steps go
    straight to the root without passing it.
    """
    import torch

    target = level.double()
    reach = target + (2 * target).sqrt()
    # The upper root u has e^u = 1 + level + u, and u is at most sqrt(2 level).
    u = torch.stack([-reach, reach.log1p()])
    for _ in range(_NEWTON_STEPS):
        slope = u.expm1()
        u = u - (slope - u - target) / slope
    lower, upper = u.exp().to(level.dtype)
    return lower, upper


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise UsageError(message)
