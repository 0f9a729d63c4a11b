"""A claim, or a comparison that nobody claims anything about, as a row for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from audit.views.claim_view import ClaimView


def claim_row(view: ClaimView) -> dict[str, Any]:
    """Return one row with every text as it is printed."""
    supported = None if not view.claimed else view.supported
    found = view.improvement
    return {
        "title": view.sentence,
        "claim": view.sentence if view.claimed else None,
        "supported": supported,
        "stands": supported,
        "slug": view.slug or None,
        "label": view.label or None,
        "reason": (view.reason or view.verdict) if view.claimed else None,
        "settles": view.settles if view.claimed else None,
        "delta": view.estimate or "-",
        "seeds": view.runs,
        "verdict": view.verdict,
        "word": view.shown_word or None,
        "evidence": view.evidence or None,
        "weakened_by": [asdict(weakening) for weakening in view.weakened_by],
        "next": list(view.next),
        "look": view.look or None,
        "advice": view.advice or None,
        "improvement": None
        if found is None
        else {"value": found.value, "low": found.low, "high": found.high},
    }
