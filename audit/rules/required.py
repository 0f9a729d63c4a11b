"""POLICY: what the policy asks of a results file beyond the contract."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import Severity
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped


def required_block(case: Case) -> Iterator[Outcome]:
    """A block that the policy requires is absent or empty.

    Why
        Whoever set the policy cannot judge a study without it.
    Fix
        Record the block, or take it out of `require` in the policy.
    Bad
        require = ["base_evaluations"] and a file without base_evaluations
    Good
        require = ["base_evaluations"] and three evaluations of the base
    """
    if not case.policy.require:
        yield Skipped("the policy requires no block")
    for key in case.policy.require:
        if case.results.usable.get(key):
            yield Held()
        else:
            yield Found("", f"no {key}, which the policy requires", key, "absent")


RULES = (Rule("POLICY001", "required-block", Severity.ERROR, required_block),)
