"""The catalogue of rules, one file per family, listed by hand in the order they are shown."""

from __future__ import annotations

from audit.rules import claims, contract, printed, reading, replication, required
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped

CATALOGUE: tuple[Rule, ...] = (
    *reading.RULES,
    *contract.RULES,
    *claims.RULES,
    *printed.RULES,
    *replication.RULES,
    *required.RULES,
)

__all__ = ["CATALOGUE", "Case", "Found", "Held", "Outcome", "Rule", "Skipped", "find_rule"]


def find_rule(name: str) -> Rule | None:
    """Return the rule with this id or slug, whatever the case of the letters."""
    wanted = name.strip().lower()
    return next((rule for rule in CATALOGUE if wanted in (rule.id.lower(), rule.slug)), None)
