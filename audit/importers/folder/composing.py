"""Settled runs to one results document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit import __version__
from audit.errors import ImportRefused
from audit.importers import telemetry
from audit.importers.folder.field_places import Origins
from audit.importers.folder.run_seeds import configured_seed
from audit.importers.folder.said import Said
from audit.importers.folder.settling import Settled
from audit.importers.folder.walking import Walked
from audit.importers.metric_names import ACCURACY, reading_of
from audit.importers.notes import Notes
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated
from audit.pointer import join

MOST_STEPS = 500


@dataclass(frozen=True, slots=True)
class ComposedStudy:
    """All that a results document is made of: runs by arm, the top arm first."""

    method: str
    controls: tuple[str, ...]
    runs: Mapping[str, Sequence[Settled]]
    base: Sequence[tuple[str, Evaluated]]
    differ: Mapping[str, Mapping[str, Any]]


def compose(
    study: ComposedStudy,
    walked: Walked,
    readers: Mapping[Found, str],
    said: Said,
    notes: dict[str, None],
) -> dict[str, Any]:
    """Return the results document.

    Raises
    ------
    ImportRefused
        When a figure is one that no results file may hold.
    """
    document: dict[str, Any] = {"schema_version": 2, "method": study.method}
    launched = {
        arm: sorted({run.seed for run in runs if run.seed is not None})
        for arm, runs in study.runs.items()
    }
    if any(launched.values()):
        document["launched_seeds"] = {arm: seeds for arm, seeds in launched.items() if seeds}
    if said.seed_is is not None:
        word = "trainings" if said.seed_is == "training" else "evaluations"
        document["runs_are"] = dict.fromkeys(study.runs, word)
    fields = [key for key, values in study.differ.items() if len(values) > 1]
    if fields:
        document["change"] = {"fields": fields}
    everything = [run for runs in study.runs.values() for run in runs]
    metrics = _metrics(everything, study.base, said, notes)
    if metrics:
        document["metrics"] = metrics
    model = {run.run.first("model") for run in everything}
    if len(model) == 1 and (only := next(iter(model))):
        document["checkpoint"] = {"public_id": only}
    if study.base:
        document["base_evaluations"] = [_base(label, e) for label, e in study.base]
    logs = Notes()
    # A run of which a source only printed a figure is no run here: the figure is reported.
    judged = {
        arm: [run for run in runs if run.judged or run.status != "finished"]
        for arm, runs in study.runs.items()
    }
    origins = Origins()
    document["seed_results"] = _blocks(judged[study.method], "", said, logs, origins)
    controls = {
        arm: {
            "role": "control" if arm in study.controls else "other",
            "seed_results": _blocks(runs, join("/controls", arm), said, logs, origins),
        }
        for arm, runs in judged.items()
        if arm != study.method
    }
    if controls:
        document["controls"] = controls
    notes |= dict.fromkeys(logs.lines)
    reported = [dict(p.reported) for run in everything for p in run.run.pieces if p.reported]
    if reported:
        merged: dict[str, Any] = {}
        for block in reported:
            for key, value in block.items():
                merged.setdefault("printed", {}).setdefault(key, value)
        document["reported"] = merged
    document["provenance"] = _commit(everything, notes)
    imported = _imported(everything, walked, readers, said, notes)
    if sources := origins.fields(imported):
        imported["fields"] = sources
    document["provenance"] |= {"imported": imported}
    _refuse_broken_contract(document, walked)
    return document


def _commit(runs: Sequence[Settled], notes: dict[str, None]) -> dict[str, Any]:
    """Return the commit of the code, where all runs that say one say the same."""
    commits = sorted({run.run.first("commit") for run in runs} - {None})
    if len(commits) > 1:
        shown = ", ".join(commit[:12] for commit in commits)
        notes.setdefault(f"the runs were made with code of {len(commits)} commits: {shown}")
    return {"code_commit": commits[0]} if len(commits) == 1 else {}


def _refuse_broken_contract(document: dict[str, Any], walked: Walked) -> None:
    from audit.schema import schema_faults

    for fault in schema_faults(document, limit=1):
        raise ImportRefused(
            f"what would come over breaks the contract at {fault.pointer}: {fault.message}",
            path=walked.root,
        )


def _metrics(
    runs: Sequence[Settled],
    base: Sequence[tuple[str, Evaluated]],
    said: Said,
    notes: dict[str, None],
) -> dict[str, Any]:
    """Return scale and direction of every metric; a scale that nobody says has no bounds."""
    evaluations = [e for run in runs for e in (*run.judged, *run.between)]
    evaluations += [e for _, e in base]
    found: dict[str, Any] = {}
    for name in sorted({e.metric for e in evaluations}):
        reading = dict(reading_of(name))
        scales = {e.scale for e in evaluations if e.metric == name and e.scale is not None}
        if name != ACCURACY:
            if len(scales) == 1:
                reading["scale"] = list(scales.pop())
            if said.scale is not None:
                reading["scale"] = list(said.scale)
            if said.lower_is_better:
                reading["higher_is_better"] = False
        if "scale" not in reading:
            reading["scale"] = [None, None]
            notes.setdefault(f"{name}: its scale is not said, so no bounds are assumed (--scale)")
        found[name] = {key: reading[key] for key in ("scale", "higher_is_better") if key in reading}
    return found


def _blocks(
    runs: Sequence[Settled], arm: str, said: Said, logs: Notes, origins: Origins
) -> list[dict[str, Any]]:
    """Return the blocks of an arm's runs, and note where their fields come from."""
    blocks = []
    for place, run in enumerate(runs):
        pointer = f"{arm}/seed_results/{place}"
        blocks.append(_block(run, said, logs, pointer, origins))
    return blocks


def _block(run: Settled, said: Said, logs: Notes, pointer: str, origins: Origins) -> dict[str, Any]:
    block: dict[str, Any] = {"seed": run.seed}
    configured = configured_seed(run.run) if run.seed_source in ("path", "user") else None
    origins.of_seed(pointer, run, configured)
    if configured is not None and run.seed is not None and configured.value != run.seed:
        block["configured_seed"] = configured.value
    # Without an id of its own, a run is named by the folder that its trainer wrote.
    name = run.run.run_id or (run.run.root if run.run.by_trainer else None)
    if name:
        block["run_id"] = name
    block["identified_by"] = _identified(run, said)
    if run.status != "finished":
        block["status"] = run.status
        if run.failure:
            block["failure"] = run.failure
    if run.earlier_failures:
        block["earlier_failures"] = run.earlier_failures
    if run.status == "finished":
        block |= _scores(run.judged)
    ordered = [*run.judged, *sorted(run.between, key=_by_step)]
    blocks = [(e, evaluation_block(e)) for e in ordered if e.score is not None]
    if blocks and run.status == "finished":
        (first, block["evaluation"]), further = blocks[0], blocks[1:]
        further = [
            (e, found) for e, found in further if "task_ids" in found or _other(found, blocks[0][1])
        ]
        origins.of_evaluation(join(pointer, "evaluation"), first)
        for place, (e, _) in enumerate(further):
            origins.of_evaluation(join(pointer, "evaluations", place), e)
        if further:
            block["evaluations"] = [found for _, found in further]
    packages = {name: v for p in run.run.pieces for name, v in p.packages.items()}
    if packages:
        block["environment"] = {"packages": packages}
    for piece in run.run.pieces:
        block |= {key: value for key, value in piece.extra.items() if key not in block}
    if "training" not in block:
        block |= _training(run, logs)
        origins.of_log(pointer, run, block.get("training", []))
    return block


def _training(run: Settled, logs: Notes) -> dict[str, Any]:
    """Return ``telemetry`` and ``training``: logged figures, and rollouts where they are kept."""
    pieces = run.run.pieces
    rows = {step: row for piece in reversed(pieces) for step, row in piece.log.items()}
    block = telemetry.of_rows(_thinned(rows, logs), "the runs", logs) if rows else {}
    back = [pair for piece in pieces if piece.logged for pair in piece.logged.went_back]
    if back and block:
        block["telemetry"] = block["telemetry"] | {"went_back": [list(pair) for pair in back]}
    rollouts = next((piece.rollouts for piece in pieces if piece.rollouts), None)
    if rollouts is None:
        return block
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    lost: list[str] = []
    settings, drawn = rollouts.blocks(run.run.config, names, run.run.label, lost)
    for sentence in lost:
        logs.say(sentence)
    return telemetry.with_rollouts(block, settings, drawn)


def _thinned(rows: dict[int, Any], logs: Notes) -> dict[int, Any]:
    """Return at most some 500 steps of a log, evenly, the first and the last among them.

    One step in 2, 4, 8 and so on, so that logs of unequal lengths keep steps in common.
    """
    steps, every = sorted(rows), 1
    while len(steps) > every * MOST_STEPS:
        every *= 2
    if every == 1:
        return rows
    logs.say(f"of long training logs one step in {every} is kept, and the last")
    return {step: rows[step] for step in dict.fromkeys([*steps[::every], steps[-1]])}


def _by_step(evaluation: Evaluated) -> tuple[str, int]:
    return str(evaluation.benchmark), evaluation.step or 0


def _other(block: Mapping[str, Any], first: Mapping[str, Any]) -> bool:
    """Whether a figure without outcomes is of another benchmark than the run's score."""
    return block.get("benchmark") != first.get("benchmark")


def _identified(run: Settled, said: Said) -> str:
    """Return what says that the run is a training of its own.

    Settings that the trainer wrote name the seed; a path with a seed counts as the user's word
    where the trainer's own files lie beside it, and as nothing over evaluations alone.
    """
    if run.seed_source == "record":
        return "trainer-record"
    word = "none"
    if run.seed_source == "config":
        word = str(run.run.first("identified") or "trainer-config")
    elif run.seed_source == "user" or (run.seed_source == "path" and run.run.by_trainer):
        word = "user"
    return "user" if word == "none" and said.seed_is == "training" else word


def _scores(judged: Sequence[Evaluated]) -> dict[str, Any]:
    """Return the figures of evaluations without outcomes by task, accuracy first."""
    figures: dict[str, Any] = {}
    for e in judged:
        if e.tally is not None or e.value is None:
            continue
        name = e.metric if e.metric not in figures else f"{e.metric} on {e.benchmark}"
        figures[name] = e.value
        if e.examples and "examples" not in figures:
            figures["examples"] = e.examples
    return {"method_metrics": figures} if figures else {}


def evaluation_block(evaluation: Evaluated) -> dict[str, Any]:
    """Return one evaluation as a results file holds it."""
    block: dict[str, Any] = {"benchmark": evaluation.benchmark, "metric": evaluation.metric}
    if evaluation.step is not None:
        block["checkpoint_step"] = evaluation.step
    block |= evaluation.more
    if evaluation.printed:
        block["printed"] = dict(evaluation.printed)
    if evaluation.tally is not None:
        block |= evaluation.tally.block(evaluation.metric)
    return block


def _base(label: str, evaluation: Evaluated) -> dict[str, Any]:
    entry: dict[str, Any] = {"run": label}
    if evaluation.tally is None and evaluation.metric == ACCURACY:
        entry["accuracy"] = evaluation.value
        if evaluation.examples:
            entry["examples"] = evaluation.examples
    return entry | {"evaluation": evaluation_block(evaluation)}


def _imported(
    runs: Sequence[Settled],
    walked: Walked,
    readers: Mapping[Found, str],
    said: Said,
    notes: dict[str, None],
) -> dict[str, Any]:
    used = {found for run in runs for piece in run.run.pieces for found in piece.files}
    names = dict.fromkeys(readers[found] for found in sorted(used, key=_place) if found in readers)
    block: dict[str, Any] = {
        "by": f"audit {__version__}",
        "tools": [{"name": name} for name in names],
        "files": [
            {
                "path": found.relative,
                "format": readers.get(found, "unknown"),
                "sha256": found.sha256,
                "bytes": found.size,
            }
            for found in sorted(used, key=_place)
        ],
        "runs": [_origin(run) for run in runs],
        "options": said.recorded(),
        "excluded": walked.excluded,
        "notes": list(notes),
    }
    return {key: value for key, value in block.items() if value not in ([], {}, None)}


def _place(found: Found) -> str:
    return found.relative


def _origin(run: Settled) -> dict[str, Any]:
    """Return where each field of a run comes from: file and key of the seed, folder of the rest."""
    origin: dict[str, Any] = {"arm": run.arm, "seed": run.seed, "from": run.run.label}
    if run.seed_source is not None:
        said = [f"{s.file} {s.key}" for p in run.run.pieces for s in p.seeds if s.value == run.seed]
        origin["seed_from"] = said if run.seed_source == "config" and said else run.seed_source
    sources = [e.source.relative for e in run.judged if e.source is not None]
    if sources:
        origin["evaluation_from"] = sources
    return origin
