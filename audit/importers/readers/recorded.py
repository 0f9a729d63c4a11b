"""Records of :class:`audit.Study`: attempts at a run, and its evaluations made afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused, InputError
from audit.importers.numbers import integer
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Declared, Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat
from audit.importers.readers.tally import FLAGS, AnswerTally
from audit.importers.readers.tracked import commit_of
from audit.run_record import MOST_ANSWERS, RunRecord, is_record, read_record
from audit.schema import schema_faults

_LISTS = frozenset({"task_ids", "correct", "samples", "scores", "mean_tokens", "clusters", *FLAGS})


def _claims(found: Found) -> Certainty:
    return Certainty.SURE if is_record(found.head) else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    records: dict[str, tuple[Found, RunRecord]] = {}
    for found in files:
        record = read_record(found.path, found.name, found.source().data)
        if record.torn:
            found.notes.append(f"{found.name}: lines that are cut off are left out ({record.torn})")
        known = records.setdefault(record.run_id, (found, record))
        if known[0] is not found:
            raise ImportRefused(
                f"a copy of {known[0].name}: both are run {record.run_id}", path=found.name
            )
    later: dict[str, list[tuple[Found, RunRecord]]] = {}
    runs: dict[tuple[str, int], list[tuple[Found, RunRecord]]] = {}
    for found, record in records.values():
        if record.part_of is not None:
            later.setdefault(record.part_of, []).append((found, record))
        else:
            runs.setdefault((record.arm, record.seed), []).append((found, record))
    for parts in runs.values():
        yield from _attempts(parts, later)
    for parts in later.values():
        for found, record in parts:
            found.notes.append(
                f"{found.name}: an evaluation of run {record.part_of}, whose record is not here"
            )


def _attempts(
    parts: Sequence[tuple[Found, RunRecord]], later: dict[str, list[tuple[Found, RunRecord]]]
) -> Iterator[RunPiece]:
    """Yield a run with the failures of its earlier attempts.

    Where several attempts finished each is a piece: which of them is the run is not decided here.
    """
    ordered = sorted(parts, key=_began)
    over = [part for part in ordered if part[1].status[0] == "finished"] or ordered[-1:]
    earlier = [record.status for _, record in ordered if all(record is not r for _, r in over)]
    failures = [failure or status for status, failure in earlier]
    for found, record in over:
        evaluations = later.pop(record.run_id, [])
        yield _piece(found, record, evaluations, failures)


def _began(part: tuple[Found, RunRecord]) -> tuple[str, int, str]:
    found, record = part
    attempt = integer(record.first.get("attempt")) or 0
    return str(record.first.get("started", "")), attempt, found.relative


def _mapping(value: Any) -> dict[str, Any]:
    """Return an object of a record, empty where something else stands in its place."""
    return value if isinstance(value, dict) else {}


def _piece(
    found: Found,
    record: RunRecord,
    later: Sequence[tuple[Found, RunRecord]],
    failures: Sequence[str],
) -> RunPiece:
    study = _mapping(record.first.get("study"))
    controls = study.get("controls")
    log = {
        step: {name: _figure(value) for name, value in row.items()}
        for step, row in sorted(record.log.items())
    }
    status, failure = record.status
    config = _mapping(record.first.get("config"))
    code = _mapping(record.first.get("code"))
    notes: list[str] = []
    if code.get("changed"):
        notes.append("the code had changes that are in no commit when runs were made")
    return RunPiece(
        "recorded",
        (found, *(part for part, _ in later)),
        run_id=record.run_id,
        name=f"{record.arm}-seed{record.seed}",
        config=flat(config, found.name),
        declared=Declared(
            record.arm,
            record.seed,
            str(study.get("method") or record.arm),
            tuple(map(str, controls)) if isinstance(controls, list) else (),
        ),
        status=status,
        failure=failure,
        trained=True,
        last_step=max(log, default=None),
        evaluations=_evaluations([(found, record), *later], max(log, default=0), notes),
        log=log,
        commit=commit_of(code.get("commit")) if not code.get("changed") else None,
        extra=_extra(found, record, failures),
        notes=notes,
    )


def _figure(value: Any) -> Any:
    """Return a figure; records hold those that are not finite as text."""
    return float(value) if isinstance(value, str) else value


def _extra(found: Found, record: RunRecord, failures: Sequence[str]) -> dict[str, Any]:
    """Return the members of a run's block that the record holds as they are.

    Raises
    ------
    InputError
        When the record was changed so that some are no members of a run any more.
    """
    extra: dict[str, Any] = dict(record.blocks)
    run = {"seed": 0, "status": "running", **extra}
    faults = schema_faults({"schema_version": 2, "method": "arm", "seed_results": [run]}, limit=1)
    if faults:
        raise InputError(f"not the members of a run: {faults[0].message}", path=found.name)
    initial, final = (record.parameters.get(name) for name in ("initial", "final"))
    if initial is not None:
        extra["initial_parameters_sha256"] = initial
    if final is not None:
        extra["final_parameters_sha256"] = final
    if initial is not None and final is not None:
        extra["parameters_changed"] = initial != final
    environment = _mapping(record.first.get("environment")) | _mapping(
        record.end.get("environment")
    )
    if environment:
        extra["environment"] = environment
    cost = {
        name: record.end[key]
        for name, key in (("minutes", "minutes"), ("device", "hardware"))
        if key in record.end
    }
    if cost:
        extra["cost"] = _mapping(extra.get("cost")) | cost
    if failures:
        extra["earlier_failures"] = list(failures)
    return extra


def _evaluations(
    parts: Sequence[tuple[Found, RunRecord]], last_step: int, notes: list[str]
) -> list[Evaluated]:
    """Return the evaluations; those of the final model have no step that all runs must share."""
    found: list[Evaluated] = []
    for source, record in parts:
        for block, latest in zip(record.evaluations, record.latest, strict=True):
            evaluation = _evaluated(block, source)
            if latest and (evaluation.step or 0) < last_step:
                if evaluation.step is None:
                    notes.append(
                        f"{source.name}: an evaluation without a step, made before the first step "
                        "was logged, is left out"
                    )
                    continue
            elif latest and evaluation.step is not None:
                evaluation.more["checkpoint_step"] = evaluation.step
                evaluation.step = None
            found.append(evaluation)
    return found


def _evaluated(block: Mapping[str, Any], source: Found) -> Evaluated:
    """Return an evaluation as the frame takes it, answer by answer.

    Raises
    ------
    InputError
        When the record was changed so that it is no evaluation any more.
    """
    _refuse_what_was_changed(block, source)
    tally = AnswerTally(flag for flag in FLAGS if flag in block)
    for place, task in enumerate(block["task_ids"]):
        tokens = block["mean_tokens"][place] if "mean_tokens" in block else None
        if "scores" in block:
            tally.answer(task, block["scores"][place], tokens=tokens)
            continue
        right, drawn = block["correct"][place], block["samples"][place]
        flags = {flag: block[flag][place] for flag in FLAGS if flag in block}
        for answer in range(drawn):
            # Wrong answers come first, so that the errored ones are among them.
            raised = {flag: answer < count for flag, count in flags.items()}
            tally.answer(task, float(answer >= drawn - right), tokens=tokens, **raised)
    more = {key: value for key, value in block.items() if key not in _LISTS}
    metric = more.pop("metric", "accuracy")
    if "clusters" in block:
        cluster_of = dict(zip(block["task_ids"], block["clusters"], strict=True))
        more["clusters"] = [cluster_of[task] for task in tally.block(metric)["task_ids"]]
    return Evaluated(
        more.pop("benchmark"),
        metric,
        more.pop("checkpoint_step", None),
        tally=tally,
        scale=None if "scores" in block else (0, 1),
        more=more,
        source=source,
    )


def _refuse_what_was_changed(block: Mapping[str, Any], source: Found) -> None:
    run = {"seed": 0, "evaluation": dict(block)}
    document = {"schema_version": 2, "method": "arm", "seed_results": [run]}
    faults = schema_faults(document, limit=1)
    lengths = {len(block[name]) for name in _LISTS & set(block) if isinstance(block[name], list)}
    outcomes = {"correct", "samples"} <= set(block) or "scores" in block
    if not faults and sum(block.get("samples", ())) > MOST_ANSWERS:
        raise InputError(f"more than {MOST_ANSWERS:,} answers", path=source.name)
    if faults or len(lengths) != 1 or not outcomes or not {"benchmark", "task_ids"} <= set(block):
        why = faults[0].message if faults else "its lists do not fit together"
        raise InputError(f"not an evaluation: {why}", path=source.name)


RECORDED = Reader(
    "recorded",
    "records of audit.Study",
    re.compile(r"\.run\.jsonl$"),
    _claims,
    _read,
    also=("audit",),
)
