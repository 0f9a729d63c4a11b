"""POLICY: what the policy asks of a results file beyond the contract."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import ERROR
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed
from audit.rules.rule import rule


@rule("POLICY001", "required-block", ERROR, each=Case, missing="the policy requires no block")
def required_block(case: Case) -> Iterator[CheckResult]:
    """A block that the policy requires is absent or empty.

    Why
        Whoever set the policy cannot judge a study without it.
    Fix
        Record the block, or remove it from `require` in the policy.
    Bad
        require = ["base_evaluations"] and a file without base_evaluations
    Good
        require = ["base_evaluations"] and three evaluations of the base
    """
    for key in case.policy.require:
        if case.results.usable.get(key):
            yield Passed()
        else:
            yield Failed("", f"no {key}, which the policy requires", key, "absent")
