"""Further members of a run, checked at the call, as a results file holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.errors import RecordingError
from audit.recording.plain_values import settings
from audit.schema import schema_faults, unknown_keys

_BY_THE_RECORD = {
    "seed": "study.run",
    "run_id": "study.run",
    "method": "study.run",
    "identified_by": "study.run",
    "status": "finish and fail",
    "failure": "finish and fail",
    "earlier_failures": "study.run",
    "initial_parameters_sha256": "parameters",
    "final_parameters_sha256": "parameters",
    "parameters_changed": "parameters",
    "evaluation": "evaluate",
    "evaluations": "evaluate",
    "environment": "study.run",
}

_RUN = {"seed": 0, "status": "running"}  # a run that has no score yet


def run_blocks(blocks: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members; the arguments are those of :meth:`RecordedRun.add`.

    Raises
    ------
    RecordingError
        When they are not what a run of a results file has, or the record writes them itself.
    """
    if not blocks:
        raise RecordingError("add: give members of a run by name")
    for name in blocks:
        if name in _BY_THE_RECORD:
            raise RecordingError(f"{name}: is recorded by {_BY_THE_RECORD[name]}")
    found: dict[str, Any] = settings(blocks)
    document = {"schema_version": 2, "method": "arm", "seed_results": [{**_RUN, **found}]}
    for fault in schema_faults(document, limit=1):
        place = fault.pointer.removeprefix("/seed_results/0/").replace("/", ".")
        raise RecordingError(f"{place}: {fault.message}")
    for pointer in unknown_keys(document):
        place = pointer.removeprefix("/seed_results/0/").replace("/", ".")
        raise RecordingError(f"{place}: a run has no such member")
    return found
