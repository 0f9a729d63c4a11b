"""The catalogue of rules, one file per family, in the order in which reports show them."""

from __future__ import annotations

from types import ModuleType

from audit.rules import (
    advantage_rules,
    aggregate_rules,
    base_rules,
    bound_rules,
    claim_rules,
    compute_rules,
    confound_rules,
    evaluation_rules,
    execution_rules,
    flag_rules,
    float_rules,
    identity_rules,
    leakage_rules,
    loss_rules,
    mechanism_rules,
    policy_rules,
    print_rules,
    protocol_rules,
    provenance_rules,
    ratio_rules,
    read_rules,
    real_rules,
    round_rules,
    sampling_rules,
    schema_rules,
    seed_rules,
    start_rules,
    step_rules,
    task_rules,
)
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import Rule, rule

# What the data means comes first, what it says twice after; reports keep this order.
_FAMILIES: tuple[ModuleType, ...] = (
    read_rules,
    schema_rules,
    claim_rules,
    round_rules,
    seed_rules,
    real_rules,
    leakage_rules,
    mechanism_rules,
    base_rules,
    compute_rules,
    confound_rules,
    protocol_rules,
    task_rules,
    policy_rules,
    provenance_rules,
    print_rules,
    step_rules,
    sampling_rules,
    advantage_rules,
    ratio_rules,
    loss_rules,
    float_rules,
    bound_rules,
    start_rules,
    execution_rules,
    aggregate_rules,
    evaluation_rules,
    identity_rules,
    flag_rules,
)


def _of(family: ModuleType) -> list[Rule]:
    declared = [value for value in vars(family).values() if isinstance(value, Rule)]
    # SEED001 is about claims, and comes before CLAIM001.
    return sorted(declared, key=lambda found: (found.family != "SEED", found.id))


CATALOGUE: tuple[Rule, ...] = tuple(found for family in _FAMILIES for found in _of(family))

__all__ = [
    "CATALOGUE",
    "Case",
    "CheckResult",
    "Failed",
    "Passed",
    "Rule",
    "Unchecked",
    "find_rule",
    "rule",
]


def find_rule(name: str) -> Rule | None:
    """Return the rule with this id or slug, whatever the case of the letters."""
    wanted = name.strip().lower()
    return next((one for one in CATALOGUE if wanted in (one.id.lower(), one.slug)), None)
