"""One decision from what a change is adopted for and what must not get worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from audit.analysis.claiming import ClaimResult
from audit.analysis.study import Study
from audit.analysis.what_settles import BY_INTERVAL
from audit.claims import Claim

# Refusals that leave the verdict standing: the interval is there, and says less than the claim.
_BY_INTERVAL = BY_INTERVAL - {"not-equivalent"}


@dataclass(frozen=True, slots=True)
class StudyDecision:
    """Whether to adopt a change; see `audit.stats.ship_decision`.

    Attributes
    ----------
    word : str
        ``ship``, ``discuss`` or ``don't``.
    primary, guardrails : tuple of ClaimResult
    against : tuple of ClaimResult
        The claims that keep it from being shipped.
    """

    word: str
    primary: tuple[ClaimResult, ...]
    guardrails: tuple[ClaimResult, ...]
    against: tuple[ClaimResult, ...]


def guardrail_claims(study: Study, claims: Sequence[Claim]) -> Iterator[Claim]:
    """Yield a claim of no loss for each guardrail of the file and of the policy.

    A guardrail is asked of every pair of arms of which a gain is claimed.
    """
    pairs = dict.fromkeys((c.arm, c.against) for c in claims if c.direction == "gain")
    block = study.results.block("decision").get("guardrails") or ()
    declared = [
        (str(one.get("metric", "")), one.get("benchmark"), one.get("margin"))
        for one in block
        if isinstance(one, dict)
    ]
    declared += [(one.metric, one.benchmark, one.margin) for one in study.policy.guardrails]
    for metric, benchmark, margin in dict.fromkeys(declared):
        for arm, against in pairs:
            claim = Claim("no loss", metric, arm, against, benchmark=benchmark, margin=margin)
            yield replace(claim, id=f"guardrail {claim.typed_text}")


def decide_to_ship(study: Study, claims: Sequence[ClaimResult]) -> StudyDecision | None:
    """Return the decision of a study; None where nothing guards what is claimed."""
    named = study.results.block("decision").get("primary") or ()
    guardrails = tuple(c for c in claims if c.claim.guardrail)
    primary = tuple(
        c for c in claims if (c.claim.id in named if named else c.claim.direction == "gain")
    )
    if not guardrails or not primary:
        return None
    from audit.stats import ship_decision

    found = ship_decision(
        [_ends(claim) for claim in primary],
        [_guarded(claim) for claim in guardrails],
        p_values=[claim.p_value for claim in primary],
        level=study.policy.level,
    )
    against = [
        *(primary[place] for place in (*found.losses, *found.refused_primary)),
        *(guardrails[place] for place in (*found.worse, *found.not_shown)),
        *(guardrails[place] for place in found.refused_guardrails),
    ]
    if not found.gains:
        against += [claim for claim in primary if claim not in against]
    return StudyDecision(found.word, primary, guardrails, tuple(against))


def _ends(result: ClaimResult) -> tuple[float, float] | None:
    """Return the interval of a claim, above 0 better; None where it carries no verdict."""
    comparison = result.comparison
    if comparison is None or comparison.standing is None or comparison.decision is None:
        return None
    if any(refusal.reason not in _BY_INTERVAL for refusal in result.refusals):
        return None
    settings = comparison.settings
    about = comparison.standing.about(settings)
    lows, highs = zip(
        *(numbers.improvement(about, settings.level) for numbers in comparison.numbers),
        strict=True,
    )
    return min(lows), max(highs)


def _guarded(result: ClaimResult) -> tuple[float, float, float] | None:
    ends, comparison = _ends(result), result.comparison
    if ends is None or comparison is None:
        return None
    return (*ends, comparison.settings.margin)
