"""ROUND: rounds of one experiment that should agree."""

from __future__ import annotations

from collections.abc import Iterator

from audit import numerals
from audit.finding import ERROR, WARNING
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule


@rule(
    "ROUND001",
    "replication-conflict",
    WARNING,
    each=Case,
    missing="no round says that it repeats another",
)
def replication_conflict(case: Case) -> Iterator[CheckResult]:
    """Two rounds of one experiment differ by more than their intervals allow.

    Why
        The training moved between them, and the printed intervals leave the training out; no round
        can be judged by its interval alone. Under a supported claim this is an error.
    Fix
        Train several seeds per arm in one round and compare their means.
    Bad
        -0.065 [-0.117, -0.013] and, nothing changed, +0.050 [0.000, 0.100]
    Good
        +0.031 [-0.020, 0.082] and, nothing changed, +0.050 [0.000, 0.100]
    """
    analysis = case.analysis
    for left in analysis.rounds_uncompared:
        yield Unchecked(f"round {left.repeat}: {left.reason}", left.pointer)
    claimed = any(claim.stands for claim in analysis.claims)
    for pair in analysis.rounds:
        if not pair.conflict:
            yield Passed()
            continue
        found = pair.replication
        z = "" if found.z is None else f"|z| = {numerals.fraction(abs(found.z), 2)}, "
        swing, sd = numerals.fraction(pair.swing, 3), numerals.fraction(found.per_arm_sd, 3)
        around = numerals.interval(*found.per_arm_interval, 3)
        yield Failed(
            pair.pointer,
            f"rounds {pair.original} and {pair.repeat} differ by {swing}: {z}"
            f"{numerals.p_equals(found.p_value)}; a training sd of {sd} {around} per arm would "
            "explain it",
            severity=ERROR if claimed else None,
        )
