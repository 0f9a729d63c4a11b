"""For test suites: a claim that the data must support."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from audit.analysis import analyse
from audit.claims import claims_of
from audit.policy import Policy
from audit.results import Results, load
from audit.safetext import shortened
from audit.views.claim_view import ClaimView, claim_view

_LONGEST = 240


def assert_supported(
    results: Results | Mapping[str, Any] | str | Path, claim: str, *, policy: Policy | None = None
) -> None:
    """Fail with five lines unless the data support a claim.

    Parameters
    ----------
    results : Results, mapping, str or Path
        A results file as read, its document, its path, or a folder of runs.
    claim : str
        As on the command line: ``"gain accuracy dapo over grpo"``.
    policy : Policy, optional
        The built-in defaults when left out.

    Raises
    ------
    AssertionError
        The claim is refused: what was claimed, what came out, why, what to do next, and where more
        is told, a line each.
    UsageError
        The claim cannot be read.
    InputError
        The results cannot be read.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    found = results if isinstance(results, Results) else load(results)
    # The claims of the file come before it, the guardrails of the policy after it.
    result = analyse(found, policy=policy, claims=[claim]).claims[len(claims_of(found))]
    if not result.supported:
        raise AssertionError("\n".join(_lines(claim_view(result), found.name)))


def _lines(view: ClaimView, name: str) -> list[str]:
    return [
        _one(f"REFUSED  {view.sentence}: {view.label}"),
        _one(f"  {view.estimate or 'no difference'}   {view.size or 'nothing was compared'}"),
        _one(f"  why   {view.why or view.verdict}"),
        _one(f"  next  {view.settles or 'nothing settles this'}"),
        _one(f"  more  audit explain {view.label}; audit verify {name}"),
    ]


def _one(text: str) -> str:
    return shortened(text, _LONGEST)
