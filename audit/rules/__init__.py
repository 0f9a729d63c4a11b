"""The catalogue of rules, one file per family, listed by hand in the order they are shown."""

from __future__ import annotations

from audit.rules import (
    activity,
    advantages,
    aggregates,
    baseline,
    bounds,
    claims,
    compute,
    confounds,
    contract,
    evaluation,
    execution,
    flags,
    identity,
    leakage,
    loss,
    mechanism,
    outcomes,
    precision,
    printed,
    protocol,
    provenance,
    ratio,
    reading,
    replication,
    required,
    sampling,
    seeds,
    start,
    steps,
)
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped

# What the data means comes first, what it says twice after; reports keep this order.
CATALOGUE: tuple[Rule, ...] = (
    *reading.RULES,
    *contract.RULES,
    *claims.RULES,
    *replication.RULES,
    *seeds.RULES,
    *leakage.RULES,
    *mechanism.RULES,
    *activity.RULES,
    *baseline.RULES,
    *compute.RULES,
    *confounds.RULES,
    *protocol.RULES,
    *outcomes.RULES,
    *required.RULES,
    *provenance.RULES,
    *printed.RULES,
    *steps.RULES,
    *sampling.RULES,
    *advantages.RULES,
    *ratio.RULES,
    *loss.RULES,
    *precision.RULES,
    *bounds.RULES,
    *start.RULES,
    *execution.RULES,
    *aggregates.RULES,
    *evaluation.RULES,
    *identity.RULES,
    *flags.RULES,
)

__all__ = ["CATALOGUE", "Case", "Found", "Held", "Outcome", "Rule", "Skipped", "find_rule"]


def find_rule(name: str) -> Rule | None:
    """Return the rule with this id or slug, whatever the case of the letters."""
    wanted = name.strip().lower()
    return next((rule for rule in CATALOGUE if wanted in (rule.id.lower(), rule.slug)), None)
