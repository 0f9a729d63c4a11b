"""An in-toto statement about a results file: what was judged, by what, and what came out.

It rests on the bytes of the file and a policy alone. No day, path, git history or random number
enters, so that whoever has both gets the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from audit import __version__
from audit.errors import InputError
from audit.finding import Finding
from audit.policy import Policy, policy_of
from audit.reading import Source
from audit.report import BUG, Report, verify
from audit.results import Results, from_source
from audit.views.claim_json import claim_row
from audit.views.claim_view import ClaimView, views_of
from audit.views.decision_view import decision_view

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://recipe-audit.readthedocs.io/schemas/attestation.v1.schema.json"
SUFFIX = ".intoto.json"
# Each guardrail is a claim to judge, and a statement comes from anybody.
LARGEST_POLICY_BYTES = 1 << 16

# Advice names the file by its path, and an improvement has more digits than machines agree in.
_LEFT_OUT = frozenset({"next", "advice", "settles", "stands", "improvement"})
# A name that opens a file beside the statement and nothing else, on any system.
_PLAIN_NAME = re.compile(r"[^/\\:\0-\x1f\x7f\ud800-\udfff]{1,255}")


def is_plain_name(name: str) -> bool:
    """Whether a name is that of a file in one folder: no path, no drive, no dots alone."""
    return _PLAIN_NAME.fullmatch(name) is not None and name not in (".", "..")


def canonical(value: Any) -> bytes:
    """Return JSON in one spelling: keys sorted, no white space, ASCII, a newline at its end.

    Raises
    ------
    ValueError
        When a number is not finite.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"{text}\n".encode("ascii")


def statement(source: Source, policy: Policy) -> dict[str, Any]:
    """Return the statement about a results file.

    Parameters
    ----------
    source : Source
        The file; its ``name`` is that of the subject.
    policy : Policy
        What is in force for this file. Waivers are not applied: a day decides on them.

    Raises
    ------
    InputError
        When the file is no results file, breaks the contract so that nothing can be judged, or
        has a name that no statement can hold; or when the policy is larger than any.
    """
    if not is_plain_name(source.name):
        raise InputError("a statement needs a file with a plain name", path=source.name)
    results = from_source(source)
    judged_by = policy_of(policy.document())
    asked = judged_by.document()
    if len(canonical(asked)) > LARGEST_POLICY_BYTES:
        raise InputError(
            "its policy is larger than 64 KiB, which no statement holds", path=source.name
        )
    report = verify(results, policy=judged_by)
    broken = next((finding for finding in report.found if finding.rule == BUG), None)
    if broken is not None or report.analysis is None:
        what = "it breaks the contract of a results file" if broken is None else broken.message
        raise InputError(f"nothing to attest: {what}", path=source.name)
    decision = report.analysis.decision
    return {
        "_type": STATEMENT_TYPE,
        "subject": list(_subjects(results)),
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "tool": {"name": "audit", "version": __version__},
            "policy": asked,
            "policy_sha256": hashlib.sha256(canonical(asked)).hexdigest(),
            "rules": [result.rule for result in report.rules],
            "claims": results.items("claims"),
            "verdicts": [_verdict(view) for view in verdicts_of(report)],
            "decision": None if decision is None else decision_view(decision).text,
            "findings": _counts(report.found),
        },
    }


def verdicts_of(report: Report) -> tuple[ClaimView, ...]:
    """Return the claims of a report that has an analysis, or its comparisons where none."""
    assert report.analysis is not None
    return tuple(views_of(report.analysis, report.found))


def _verdict(view: ClaimView) -> dict[str, Any]:
    row = {key: value for key, value in claim_row(view).items() if key not in _LEFT_OUT}
    return row | {"id": view.id or None, "judged_by": view.judged_by or None}


def _counts(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return how often each rule spoke, by its severity, the worst first."""
    counts: dict[tuple[str, str, str], int] = {}
    for finding in found:
        key = (finding.rule, finding.slug, finding.severity.label)
        counts[key] = counts.get(key, 0) + 1
    return [
        {"rule": rule, "slug": slug, "severity": severity, "count": count}
        for (rule, slug, severity), count in counts.items()
    ]


def _subjects(results: Results) -> Iterator[dict[str, Any]]:
    """Yield the file, then what it names by a SHA-256: data, partitions, imported files."""
    yield _subject(results.name, results.sha256)
    dataset = results.block("dataset")
    name = str(dataset.get("source_id") or "dataset")
    if "source_sha256" in dataset:
        yield _subject(name, dataset["source_sha256"])
    for partition, digest in sorted((dataset.get("partition_sha256") or {}).items()):
        yield _subject(f"{name}#{partition}", digest)
    for file in (results.block("provenance").get("imported") or {}).get("files") or ():
        if "sha256" in file and "path" in file:
            yield _subject(file["path"], file["sha256"])


def _subject(name: str, digest: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": digest}}
