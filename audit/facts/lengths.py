"""How long an arm's evaluated responses were, and how many were cut off."""

from __future__ import annotations

from audit.facts.measurements import trained
from audit.results import Arm


def tokens_per_response(arm: Arm) -> float | None:
    """Return the mean tokens per response over the runs that count them; None where none does."""
    found = [(m.tokens, m.responses) for m in trained(arm)]
    tokens = sum(t for t, drawn in found if t is not None and drawn)
    responses = sum(drawn for t, drawn in found if t is not None and drawn)
    return tokens / responses if responses else None


def cut_off(arm: Arm) -> tuple[int, int] | None:
    """Return responses cut off and responses drawn over the arm's runs; None where not counted."""
    found = [(m.truncated, m.responses) for m in trained(arm)]
    known = [(cut, drawn) for cut, drawn in found if cut is not None and drawn]
    if not known:
        return None
    return sum(cut for cut, _ in known), sum(drawn for _, drawn in known)
