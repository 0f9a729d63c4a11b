"""The results file an import writes: with its claims, and never over what must not be lost."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from audit.claims import BASE, names_of, parse_claim
from audit.cli.outcomes_output import in_json, publish_beside
from audit.cli.output import guard, publish
from audit.errors import AuditError, ImportRefused, UsageError
from audit.paths import is_file
from audit.reading import read_source
from audit.results import from_document, read_document

# Where the outcomes of tasks are written: among the rest, or in files beside it.
INLINE, BESIDE = "inline", "beside"
# Metrics that are made of another's counts, so that no file names them.
_MADE = re.compile(r"(?:pass|maj)@\d+|accuracy-given-parsed")
# What people write into a results file by hand, and no import brings.
KEPT = ("claims", "plan", "looked", "decision", "launched_seeds", "change", "limitations")


def finish(
    document: dict[str, Any], options: argparse.Namespace, inputs: Iterable[str]
) -> tuple[str, ...]:
    """Put claims into a document and write it where the options say.

    Parameters
    ----------
    document : dict
        What was imported; it takes the claims of ``--claim``, and what was written by hand into
        the results file that it replaces.
    options : argparse.Namespace
        ``claim``, ``outcomes``, ``output`` and ``force``.
    inputs : iterable of str
        Paths that were read.

    Returns
    -------
    tuple of str
        What was kept of the file that is replaced, and what is to be said of outcomes beside it.

    Raises
    ------
    UsageError
        When the output is an input or another file that is no results file.
    ImportRefused
        When a claim names an arm or metric that the document does not have.
    """
    claims = [_claim(text, document) for text in options.claim]
    kept = _kept(document, options.output)
    for claim in claims:
        entries = document.setdefault("claims", [])
        if not any(_says(entry) == _says(claim) for entry in entries):
            entries.append(claim)
    guard_import(options.output, inputs, force=options.force)
    if options.outcomes == BESIDE:
        return (*kept, *publish_beside(document, options.output))
    publish(in_json(document), options.output)
    return kept


def guard_import(output: str | None, inputs: Iterable[str], *, force: bool) -> None:
    """Refuse to write over an input, or over what no import writes.

    Raises
    ------
    UsageError
        When the file is an input, or when it exists, is no results file, and nothing forces it.
    """
    guard(output, inputs, force=True)  # a results file is what an import writes
    if output and not force and is_file(output) and not _is_ours(output):
        raise UsageError("is no results file; --force replaces it", path=output)


def _is_ours(path: str) -> bool:
    """Whether a file is empty, a results file, or the records that an import writes with --to."""
    if Path(path).stat().st_size == 0:
        return True
    try:
        read_document(read_source(path))
    except AuditError:
        return _holds_records(path)
    return True


def _holds_records(path: str) -> bool:
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, list) and all(
        isinstance(entry, dict) and "evaluation_id" in entry for entry in found
    )


def _kept(document: dict[str, Any], output: str | None) -> tuple[str, ...]:
    """Take over what was written by hand into the results file that is replaced."""
    if not output or not is_file(output):
        return ()
    try:
        old, _ = read_document(read_source(output))
    except AuditError:
        return ()
    names = [name for name in KEPT if old.get(name) and not document.get(name)]
    for name in names:
        document[name] = old[name]
    words = [_counted(name, old[name]) for name in names]
    return (f"kept from {output}: {', '.join(words)}",) if words else ()


def _counted(name: str, value: Any) -> str:
    if name != "claims" or not isinstance(value, list):
        return name
    return "1 claim" if len(value) == 1 else f"{len(value)} claims"


def _says(claim: Any) -> tuple[Any, ...]:
    """Return everything that a claim says, its name left out."""
    if not isinstance(claim, dict):
        return (claim,)
    return tuple(sorted((key, repr(value)) for key, value in claim.items() if key != "id"))


def _claim(text: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return a claim of the command line as an entry of the file.

    Raises
    ------
    UsageError
        When the words do not form a claim.
    ImportRefused
        When the document has no such arm or metric.
    """
    names = names_of(from_document(document))
    claim = parse_claim(text, names)
    controls = list(document.get("controls") or {})
    arms = {"method": str(document["method"])} | {name: name for name in controls}
    arms[str(document["method"])] = str(document["method"])
    if len(controls) == 1:
        arms.setdefault("control", controls[0])
    entry: dict[str, Any] = {
        "id": text.strip(),
        "metric": claim.metric,
        "arm": _known(claim.arm, arms, "arm", text),
        "against": _known(claim.against, arms | {BASE: BASE}, "arm", text),
        "direction": claim.direction,
    }
    if not _MADE.fullmatch(claim.metric):
        _known(claim.metric, {name: name for name in names.metrics}, "metric", text)
    if claim.margin is not None:
        low, high = (document.get("metrics") or {}).get(claim.metric, {}).get("scale") or (0, 1)
        margin = claim.margin
        if claim.percent:
            if low is None or high is None:
                raise ImportRefused(f"claim {text!r}: the scale of {claim.metric} is not known")
            margin = margin * (high - low) / 100
        entry["by" if claim.exceeds else "margin"] = margin
    more = {
        "benchmark": claim.benchmark,
        "benchmarks": list(claim.benchmarks),
        "average": claim.average,
        "checkpoints": list(claim.checkpoints),
        "target": claim.target,
    }
    return entry | {key: value for key, value in more.items() if value not in (None, [])}


def _known(name: str, known: dict[str, str], what: str, text: str) -> str:
    if name not in known:
        raise ImportRefused(
            f"claim {text!r}: no {what} {name!r}; there are {', '.join(dict.fromkeys(known))}"
        )
    return known[name]
