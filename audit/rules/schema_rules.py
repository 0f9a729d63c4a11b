"""SCHEMA: the file against ``schemas/results.v2.schema.json``."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import ERROR, INFO, WARNING
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed
from audit.rules.rule import rule


@rule("SCHEMA001", "schema-violation", ERROR, each=Case)
def schema_violation(case: Case) -> Iterator[CheckResult]:
    """A value does not match the schema of results files.

    Why
        A value that cannot be read as intended is left out of every check and every figure.
    Fix
        Compare the value with the schema; editors that know the schema complete and check a results
        file.
    Bad
        "seed": "42"
    Good
        "seed": 42
    """
    for fault in case.results.faults:
        yield Failed(fault.pointer, fault.message, fault.expected, fault.actual)
    if not case.results.faults:
        yield Passed()


@rule("SCHEMA002", "unknown-key", INFO, each=Case)
def unknown_key(case: Case) -> Iterator[CheckResult]:
    """Unknown key; allowed but ignored.

    Why
        A misspelt key reads as an absent one. One that is nearly a known key is a warning, which
        a gate shows too.
    Fix
        Correct the spelling, or leave it: nothing depends on it.
    Bad
        "launched_seed": {"method": [1, 2, 3]}
    Good
        "launched_seeds": {"method": [1, 2, 3]}
    """
    from audit.schema import nearest_key, unknown_keys

    pointers = [] if case.results.keeps_to_named_keys else unknown_keys(case.results.document)
    for pointer in pointers:
        near = nearest_key(case.results.document, pointer)
        if near is None:
            yield Failed(pointer, "a key the schema does not know")
        else:
            message = f"a key the schema does not know; did you mean {near}?"
            yield Failed(pointer, message, severity=WARNING)
    if not pointers:
        yield Passed()
