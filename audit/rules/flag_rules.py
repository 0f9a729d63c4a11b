"""FLAG: what a file says about itself."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import ERROR, INFO, WARNING
from audit.pointer import join
from audit.rules.agreement import owners
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule


@rule("FLAG001", "formal-diagnostic", ERROR, each=Case)
def formal_diagnostic(case: Case) -> Iterator[CheckResult]:
    """The file calls itself both a formal comparison and a diagnostic.

    Why
        A diagnostic shows that the machinery works; it was not designed to compare.
    Fix
        Set evaluation_protocol.formal_comparison to false, or drop diagnostic_only.
    Bad
        "diagnostic_only": true with "formal_comparison": true
    Good
        "diagnostic_only": true with "formal_comparison": false
    """
    formal = case.results.block("evaluation_protocol").get("formal_comparison")
    diagnostic = case.results.usable.get("diagnostic_only")
    if formal is None or diagnostic is None:
        yield Unchecked("the file does not say whether it is a diagnostic and a formal comparison")
    elif formal and diagnostic:
        pointer = "/evaluation_protocol/formal_comparison"
        yield Failed(pointer, "the file also calls itself a diagnostic", "false", "true")
    else:
        yield Passed()


@rule("FLAG002", "not-measured-locally", WARNING, each=Case)
def not_measured(case: Case) -> Iterator[CheckResult]:
    """The figures were not measured by the author of the file.

    Why
        Copied figures cannot be checked against the runs they came from.
    Fix
        Measure them, or keep them in the reported block, where they decide nothing.
    Bad
        "measured_locally": false
    Good
        "measured_locally": true
    """
    flag = case.results.usable.get("measured_locally")
    if flag is None:
        yield Unchecked("the file does not say who measured its figures")
    elif flag:
        yield Passed()
    else:
        yield Failed("/measured_locally", "the figures were measured elsewhere", "true", "false")


@rule("FLAG003", "unverified-data", WARNING, each=Case)
def unverified_data(case: Case) -> Iterator[CheckResult]:
    """The data were not checked against their hash before use.

    Why
        A hash that is recorded but not compared proves nothing about the data that were read.
    Fix
        Hash the file when it is opened, and stop on a difference.
    Bad
        "verified": false
    Good
        "verified": true
    """
    flags = [
        (join(pointer, "dataset", "verified"), owner["dataset"]["verified"])
        for pointer, owner in owners(case.results)
        if "verified" in (owner.get("dataset") or {})
    ]
    unverified = [pointer for pointer, flag in flags if not flag]
    yield Passed(len(flags) - len(unverified))
    if unverified:
        message = f"not held against its hash, say {len(unverified)} of {len(flags)} dataset blocks"
        yield Failed(unverified[0], message, "true", "false")
    if not flags:
        yield Unchecked("the file does not say whether the data was verified")


@rule("FLAG004", "diagnostic-claim", INFO, each=Case)
def diagnostic_claim(case: Case) -> Iterator[CheckResult]:
    """A claim is made in a file that calls itself a diagnostic.

    Why
        Its authors say that the study was not designed to support claims.
    Fix
        Claim from a study that was designed for it, with seeds and tasks planned beforehand.
    Bad
        "diagnostic_only": true with "claims": [{"direction": "gain"}]
    Good
        "diagnostic_only": true without claims
    """
    claims = case.results.items("claims")
    if not (claims or case.claims):
        yield Unchecked("nothing is claimed")
    elif case.results.usable.get("diagnostic_only"):
        message = f"{len(claims) + len(case.claims)} claims on a file that says diagnostic_only"
        yield Failed("/claims" if claims else "/diagnostic_only", message)
    else:
        yield Passed()
