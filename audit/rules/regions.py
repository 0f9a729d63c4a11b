"""The trust region a run was trained in, as far as its protocol tells it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from audit.facts.training_logs import RunLog

FIXED_CLIP = 0.2
"""Radius of GRPO's clip where the protocol has ``geometry`` null and no epsilon."""


@dataclass(frozen=True, slots=True)
class Region:
    """Bounds of the ratio for a token of old probability p.

    With topology ``mc`` they are ``1 - low`` and ``1 + high`` for all tokens. With ``atomic``
    the divergence is weighed by p: the half-width is ``high / p`` (tv) or ``high / sqrt(p)``
    (chi2), where ``low == high`` is the half-width at p = 1. Lower bounds end at 0, upper ones
    at 1 / p. ``least_high`` is below ``high`` where the ceiling follows the group.
    """

    geometry: str
    topology: str
    low: float
    high: float
    least_high: float

    @property
    def atomic(self) -> bool:
        """Whether the bounds depend on the token's old probability."""
        return self.topology == "atomic"

    def log_probability(self, departure: float) -> float:
        """Return the least -log p at which the ratio may lie so far from 1, in an atomic region."""
        power = 2 if self.geometry == "chi2" else 1
        return max(0.0, power * (math.log(departure) - math.log(self.high)))


def region_of(log: RunLog) -> Region | None:
    """Return the region of a run; None where the protocol does not fix it."""
    protocol = log.run.protocol
    low = _positive(protocol.get("epsilon_low")) or _positive(protocol.get("epsilon"))
    adaptive = _positive(protocol.get("epsilon_high_max"))
    high = adaptive or _positive(protocol.get("epsilon_high"))
    geometry, topology = protocol.get("geometry"), protocol.get("topology")
    radius = _positive(protocol.get("delta"))
    if low is not None:
        return Region("tv", "mc", low, high or low, low if adaptive else high or low)
    if radius is not None:
        width = {"chi2": math.sqrt(radius), "tv": radius}.get(geometry or "")
        known = width is not None and topology in ("mc", "atomic")
        return (
            Region(str(geometry), str(topology), width, width, width) if known and width else None
        )
    if "geometry" in protocol and geometry is None and topology is None:
        return Region("tv", "mc", FIXED_CLIP, FIXED_CLIP, FIXED_CLIP)
    return None


def _positive(value: Any) -> float | None:
    """Return a protocol entry that is a positive number; the schema leaves most of them open."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and value > 0 else None
