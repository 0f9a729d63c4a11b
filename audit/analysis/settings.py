"""What a comparison is judged by: level, margin, target and pairing."""

from __future__ import annotations

from dataclasses import dataclass

from audit.claims import Claim
from audit.policy import BUILT_IN, Policy

# Tails below 1e-9 are not told apart, so no level beyond is.
HIGHEST_LEVEL = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Settings:
    """The declared terms of one comparison.

    Attributes
    ----------
    level : float
        Confidence level of the deciding interval.
    margin : float
        Smallest difference of interest, on the metric's scale.
    target_effect : float
        Effect whose power is asked for: the claim's, else its margin, else the policy's margin.
    target : str
        ``tasks`` or ``benchmark``.
    paired : bool
        Whether pairing of the seeds was declared.
    direction : str or None
        What is claimed; missing tasks are scored against it.
    narrow_level : float or None
        Level of the interval that shows equivalence, where a plan sets it.
    """

    level: float
    margin: float
    target_effect: float
    target: str
    paired: bool = False
    direction: str | None = None
    narrow_level: float | None = None

    @property
    def equivalence_level(self) -> float:
        """Level of the interval that shows equivalence: both one-sided errors spent."""
        if self.narrow_level is not None:
            return self.narrow_level
        narrow = round(2 * self.level - 1, 12)
        return narrow if 0 < narrow < 1 else self.level


def settings_for(policy: Policy, claim: Claim | None = None, span: float | None = None) -> Settings:
    """Return the policy's terms, with what a claim declares in their place.

    A claim may ask for more than the policy, never for less: a higher level, and new tasks where
    the policy asks for the benchmark alone. Without a policy of its own a study may say what its
    claims are about. ``span`` is the width of the metric's scale, of which a margin in percent is
    a part.
    """
    if claim is None:
        return Settings(
            min(policy.level, HIGHEST_LEVEL), policy.margin, policy.margin, policy.target
        )
    declared = claim.margin
    if declared is not None and claim.percent:
        declared = declared / 100 * (span or 1.0)
    target = claim.target or policy.target
    if policy.source != BUILT_IN and policy.target == "tasks":
        target = "tasks"
    return Settings(
        level=min(max(policy.level, claim.level or 0.0), HIGHEST_LEVEL),
        margin=declared or policy.margin,
        target_effect=claim.target_effect or declared or policy.margin,
        target=target,
        paired=claim.pairing == "seeds",
        direction=claim.direction,
    )
