"""The catalogue of rules, one file per family, listed by hand in the order they are shown."""

from __future__ import annotations

from audit.rules import (
    advantages,
    aggregates,
    baseline,
    bounds,
    compute,
    confounds,
    contract,
    contract,
    evaluation,
    execution,
    flags,
    identity,
    leakage,
    mechanism,
    outcomes,
    protocol,
    provenance,
    ratio,
    reading,
    reading,
    seeds,
    start,
    steps,
)
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped

CATALOGUE: tuple[Rule, ...] = (
    *reading.RULES,
    *contract.RULES,
    *steps.RULES,
    *advantages.RULES,
    *ratio.RULES,
    *bounds.RULES,
    *start.RULES,
    *mechanism.RULES,
    *execution.RULES,
    *aggregates.RULES,
    *evaluation.RULES,
    *outcomes.RULES,
    *confounds.RULES,
    *identity.RULES,
    *protocol.RULES,
    *provenance.RULES,
    *seeds.RULES,
    *compute.RULES,
    *leakage.RULES,
    *baseline.RULES,
    *flags.RULES,
)

__all__ = ["CATALOGUE", "Case", "Found", "Held", "Outcome", "Rule", "Skipped", "find_rule"]


def find_rule(name: str) -> Rule | None:
    """Return the rule with this id or slug, whatever the case of the letters."""
    wanted = name.strip().lower()
    return next((rule for rule in CATALOGUE if wanted in (rule.id.lower(), rule.slug)), None)
