"""``audit verify FILE.intoto.json``: whether a statement follows from the file beside it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from audit.cli.output import guard, publish
from audit.errors import AuditError, UsageError
from audit.exports.attestation import SUFFIX
from audit.exports.recompute import Recomputed, recompute
from audit.numerals import counted
from audit.safetext import inert, visible

# A statement holds the policy it was judged by, and its results file the claims.
_NOT_HEEDED = (
    *("claim", "looked", "data", "artifacts"),
    *("policy", "policy_from", "select", "ignore", "fail_on"),
)


def is_statement(path: str) -> bool:
    """Whether a path is that of a statement, by its name."""
    return path.endswith(SUFFIX)


def verify_statements(options: argparse.Namespace) -> int:
    """Compute each statement again, print what came of it, and return the highest status.

    Raises
    ------
    UsageError
        When other files, or options that a statement leaves no room for, are named beside it.
    """
    other = next((path for path in options.paths if not is_statement(path)), None)
    if other is not None:
        raise UsageError(f"is no statement ({SUFFIX}); verify it in a call of its own", path=other)
    for name in _NOT_HEEDED:
        if getattr(options, name):
            spelt = name.replace("_", "-")
            raise UsageError(f"--{spelt} has no say over a statement, which holds its own policy")
    if options.format != "text":
        raise UsageError("a statement is verified in text; --format is for results files")
    guard(options.output, options.paths, force=options.force)
    lines: list[str] = []
    status = 0
    for path in options.paths:
        try:
            found = recompute(path)
        except AuditError as error:
            for line in error.lines:
                print(inert(f"audit: {visible(line)}"), file=sys.stderr)
            status = max(status, error.exit_status)
            continue
        if not (found.holds and options.quiet):
            lines += _lines(found)
        status = max(status, int(not found.holds))
    if lines:
        publish(inert("\n".join(map(visible, lines)) + "\n"), options.output)
    return status


def _lines(found: Recomputed) -> Iterator[str]:
    if not found.holds:
        yield f"{found.name}: does not hold for {found.subject}"
        yield from (f"  {difference}" for difference in found.differences)
        return
    yield f"{found.name}: holds, byte for byte"
    yield f"  {found.subject}   sha256 {found.sha256}"
    for verdict in found.predicate["verdicts"]:
        yield f"  {_result(verdict)}: {verdict['title']}"
        yield f"    {verdict['delta']}   {verdict['seeds']}   {verdict['verdict']}"
    errors = sum(one["count"] for one in found.predicate["findings"] if one["severity"] == "error")
    if errors:
        yield f"  {counted(errors, 'finding')} of severity error; audit verify shows them"
    asked = ", ".join(f"{key} = {value}" for key, value in found.loosened.items())
    yield f"  policy   {f'other than the defaults: {asked}' if asked else 'the built-in defaults'}"


def _result(verdict: dict[str, object]) -> str:
    if verdict["claim"] is None:
        return "not claimed"
    return "supported" if verdict["supported"] else f"refused ({verdict['label']})"
