"""Whether to adopt a change, in one line: ship, discuss or don't ship, and because of what."""

from __future__ import annotations

from dataclasses import dataclass

from audit.analysis.ship import StudyDecision
from audit.views.claim_view import claim_view

_WORDS = {"ship": "SHIP", "discuss": "DISCUSS", "don't": "DON'T SHIP"}


@dataclass(frozen=True, slots=True)
class DecisionView:
    """What every surface says of a decision.

    Attributes
    ----------
    word : str
        ``SHIP``, ``DISCUSS`` or ``DON'T SHIP``.
    text : str
        What it rests on, or what keeps it from being shipped.
    """

    word: str
    text: str

    @property
    def line(self) -> str:
        """Word and text on one line."""
        return f"{self.word}  {self.text}"


def decision_view(decision: StudyDecision) -> DecisionView:
    """Return a decision in words."""
    word = _WORDS[decision.word]
    if not decision.against:
        gains = [c.claim.text for c in decision.primary if c.supported]
        guarded = [c.claim.text for c in decision.guardrails]
        return DecisionView(word, "; ".join([*gains, *guarded]))
    reasons = []
    for claim in decision.against:
        view = claim_view(claim)
        said = " ".join(part for part in (view.estimate, f"({claim.slug})") if part)
        reasons.append(f"{claim.claim.text}: {said}")
    return DecisionView(word, f"because of {'; '.join(reasons)}")
