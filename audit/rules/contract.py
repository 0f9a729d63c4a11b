"""SCHEMA: the file against ``schemas/results.v2.schema.json``."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import Severity
from audit.rules.rule import Case, Found, Held, Outcome, Rule


def schema_violation(case: Case) -> Iterator[Outcome]:
    """A value is not what the schema of results files says.

    Why
        What cannot be read as what it should be is left out of every check and every figure.
    Fix
        Compare the place with the schema; editors complete a results file from it.
    Bad
        "seed": "42"
    Good
        "seed": 42
    """
    for fault in case.results.faults:
        yield Found(fault.pointer, fault.message, fault.expected, fault.actual)
    if not case.results.faults:
        yield Held()


def unknown_key(case: Case) -> Iterator[Outcome]:
    """A key is none the schema knows; it is allowed and not read.

    Why
        A misspelt key is silently absent.
    Fix
        Correct its spelling, or leave it: nothing depends on it.
    Bad
        "launched_seed": {"method": [1, 2, 3]}
    Good
        "launched_seeds": {"method": [1, 2, 3]}
    """
    from audit.schema import unknown_keys

    pointers = [] if case.results.keeps_to_named_keys else unknown_keys(case.results.document)
    for pointer in pointers:
        yield Found(pointer, "a key the schema does not know")
    if not pointers:
        yield Held()


RULES = (
    Rule("SCHEMA001", "schema-violation", Severity.ERROR, schema_violation),
    Rule("SCHEMA002", "unknown-key", Severity.INFO, unknown_key),
)
