"""READ: content that JSON parsers let slip, found while the file was read."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import ERROR
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed
from audit.rules.rule import rule


def _defects(case: Case, kind: str, message: str, expected: str) -> Iterator[CheckResult]:
    found = [defect for defect in case.results.defects if defect.kind == kind]
    yield from (Failed(defect.pointer, message, expected, defect.text) for defect in found)
    if not found:
        yield Passed()


@rule("READ001", "non-finite", ERROR, each=Case)
def non_finite(case: Case) -> Iterator[CheckResult]:
    """A number is NaN, infinite, or too large for a double.

    Why
        A NaN turns a mean into NaN, or is silently dropped; either way the figure on the page is
        not that of the runs.
    Fix
        Write null for a value that was not measured, and say in the run's status what happened.
    Bad
        "accuracy": NaN
    Good
        "accuracy": null, "status": "diverged"
    """
    return _defects(case, "non-finite", "not a finite number", "a finite number")


@rule("READ002", "duplicate-key", ERROR, each=Case)
def duplicate_key(case: Case) -> Iterator[CheckResult]:
    """An object has the same key twice.

    Why
        Parsers keep the last value and drop the first, so two readers may see two results.
    Fix
        Keep one of the two; check the program that writes the file.
    Bad
        {"accuracy": 0.5, "accuracy": 0.7}
    Good
        {"accuracy": 0.7}
    """
    return _defects(case, "duplicate-key", "duplicate key", "one value per key")


@rule("READ003", "large-integer", ERROR, each=Case)
def large_integer(case: Case) -> Iterator[CheckResult]:
    """An integer lies beyond 2^53, where JSON readers round.

    Why
        JavaScript, pandas and jq read such a number as the nearest double, so a seed or a token
        count changes on the way.
    Fix
        Use a smaller seed; a long label belongs in run_id.
    Bad
        "seed": 9007199254740993
    Good
        "seed": 42
    """
    return _defects(case, "large-integer", "an integer beyond 2^53", "at most 9007199254740992")


@rule("READ004", "unpaired-surrogate", ERROR, each=Case)
def unpaired_surrogate(case: Case) -> Iterator[CheckResult]:
    r"""A string holds half of a surrogate pair, which no UTF-8 text can carry.

    Why
        The string cannot be printed, hashed or written again as it is.
    Fix
        Escape the text with a JSON library instead of cutting it by UTF-16 units.
    Bad
        "run_id": "\ud83d"
    Good
        "run_id": "\ud83d\ude00"
    """
    return _defects(case, "unpaired-surrogate", "an unpaired surrogate", "valid Unicode text")
