"""The results file an import writes: with its claims, and never over what must not be lost."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from audit.claims import BASE, parse_claim
from audit.errors import AuditError, ImportRefused, UsageError
from audit.results import load
from audit.writing import write_whole

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
        ``claim``, ``output`` and ``force``.
    inputs : iterable of str
        Paths that were read.

    Returns
    -------
    tuple of str
        What was kept of the file that is replaced.

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
    put(document, options.output, force=options.force, inputs=inputs)
    return kept


def put(document: Any, output: str | None, *, force: bool, inputs: Iterable[str]) -> None:
    """Write JSON to a file, or to stdout where none is named.

    Raises
    ------
    UsageError
        When the file is an input, or exists and is no results file, unless forced.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if not output:
        sys.stdout.write(text)
        return
    if not force:
        _refuse_loss(output, inputs)
    write_whole(output, text.encode())


def _refuse_loss(output: str, inputs: Iterable[str]) -> None:
    target = Path(output)
    if not target.is_file():
        return
    if any(_same(output, path) for path in inputs):
        raise UsageError(
            "-o names an input, which would be lost; name another file, or say --force", path=output
        )
    if not _is_ours(output):
        raise UsageError(
            "-o names a file that is no results file; name another, or say --force", path=output
        )


def _same(output: str, path: str) -> bool:
    try:
        return path != "-" and os.path.samefile(output, path)  # noqa: PTH121 - takes any name
    except OSError:
        return False


def _is_ours(path: str) -> bool:
    """Whether a file is empty, a results file, or the records that an import writes with --to."""
    if Path(path).stat().st_size == 0:
        return True
    try:
        load(path)
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
    if not output or not Path(output).is_file():
        return ()
    try:
        old = load(output).document
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
    keys = ("direction", "metric", "benchmark", "arm", "against")
    return tuple(claim.get(key) for key in keys) if isinstance(claim, dict) else (claim,)


def _claim(text: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return a claim of the command line as an entry of the file."""
    claim = parse_claim(text)
    controls = list(document.get("controls") or {})
    names = [str(document["method"]), *controls]
    entry: dict[str, Any] = {
        "id": text.strip(),
        "metric": claim.metric,
        "arm": _arm(claim.arm, names, controls, text),
        "against": _arm(claim.against, [*names, BASE], controls, text),
        "direction": claim.direction,
    }
    metrics = document.get("metrics") or {}
    if metrics and claim.metric not in metrics:
        raise ImportRefused(f"claim {text!r}: no metric {claim.metric!r}; {_listed(list(metrics))}")
    if claim.benchmark:
        entry["benchmark"] = claim.benchmark
    if claim.margin is not None:
        entry["by" if claim.exceeds else "margin"] = claim.margin
    return entry


def _arm(name: str, names: Sequence[str], controls: Sequence[str], text: str) -> str:
    if name in names:
        return name
    if name == "method":
        return names[0]
    if name == "control" and len(controls) == 1:
        return controls[0]
    raise ImportRefused(f"claim {text!r}: no arm {name!r}; {_listed(names)}")


def _listed(names: Sequence[str]) -> str:
    return f"there are {', '.join(names)}"
