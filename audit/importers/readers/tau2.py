"""tau2-bench: simulations of trials; errors of the infrastructure count as wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.numbers import integer, number
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.shapes import inner, objects
from audit.importers.readers.tally import AnswerTally
from audit.importers.readers.values import metric_of_rewards, outcome_of

_CUT = frozenset({"max_steps", "context_window_exceeded", "timeout"})


def _claims(found: Found) -> Certainty:
    fits = found.mentions("info") and (
        found.mentions("simulations") or found.mentions("agent_info", "user_info")
    )
    return Certainty.SURE if fits else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        document = found.document()
        if not isinstance(document, dict) or not isinstance(document.get("info"), dict):
            continue
        yield _piece(found, document, reading)


def _piece(found: Found, document: dict[str, Any], reading: FolderReading) -> RunPiece:
    info = document["info"]
    simulations = objects(document.get("simulations"), "simulations", found)
    piece = RunPiece("tau2", (found,))
    if not simulations:  # one file a simulation, in a folder beside
        below = f"{found.folder}/simulations/".lstrip("/")
        apart = [f for place, f in sorted(reading.files.items()) if place.startswith(below)]
        simulations = objects([f.document() for f in apart], "simulations/", found)
        piece.files = (found, *apart)
    tally, unscored, scored = AnswerTally(["errored", "truncated"]), 0, []
    for simulation in simulations:
        reward = inner(simulation, "reward_info")
        value = outcome_of(reward.get("reward"))
        reason = str(simulation.get("termination_reason"))
        failed = value is None or reason.endswith("_error")
        unscored += failed
        if not failed and value is not None:
            scored.append(value)
        tally.answer(
            str(simulation.get("task_id")),
            0.0 if failed or value is None else value,
            errored=failed,
            truncated=reason in _CUT,
        )
    domain = _text(info, "environment_info", "domain_name") or "tau2"
    model = _text(info, "agent_info", "llm") or found.stem
    piece.name = model.rpartition("/")[2] if "/" in model else model
    trials = integer(info.get("num_trials"))
    temperature = number(inner(info, "agent_info", "llm_args").get("temperature"))
    piece.evaluations = [
        Evaluated(
            domain,
            metric_of_rewards(tally),
            tally=tally,
            source=found,
            asked=trials,
            more={} if temperature is None else {"condition": {"temperature": temperature}},
        )
    ]
    if unscored and scored:
        mean = sum(sorted(scored)) / len(scored)
        piece.notes.append(
            f"{found.name}: {unscored} simulations were not scored and count as wrong: "
            f"{tally.mean:.4f} with them, {mean:.4f} of the others"
        )
    if trials and trials > 1:
        piece.notes.append(f"{trials} trials are {trials} answers per task of one training run")
    return piece


def _text(value: Any, *keys: str) -> str | None:
    found = inner(value, *keys[:-1]).get(keys[-1])
    return found if isinstance(found, str) and found else None


TAU2 = Reader(
    "tau2",
    "tau2-bench results",
    re.compile(r"\.json$"),
    _claims,
    _read,
    also=("tau2-bench",),
)
