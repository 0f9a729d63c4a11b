"""Home-made JSON, JSON Lines and tables: answers of a run, records of runs, counts, settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from audit import numerals
from audit.errors import ImportRefused, InputError
from audit.importers.metric_names import ACCURACY, is_accuracy, plain
from audit.importers.numbers import integer, number
from audit.importers.readers.found import Found
from audit.importers.readers.home_records import Record, records_of, role_value
from audit.importers.readers.home_roles import MODELS, Roles
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, whole_number
from audit.importers.readers.tally import AnswerTally
from audit.importers.readers.values import outcome_of

_COUNTS = (("correct", "n"), ("num_correct", "num_examples"), ("n_correct", "n_total"))
_ANSWERED = ("n_with_answer", "num_answered", "n_parsed")
# Settings that only a training has.
_TRAINING = re.compile(r"(?:^|\.)(?:max_steps|num_train_epochs|epochs|steps|lr|learning_rate)$")
_EVALUATION = re.compile(
    r"(?:^|[-_.])(?:eval|evaluation|gen|generation|sampling|infer|inference)(?:[-_.]|$)", re.I
)
_BENCHMARKS = ("benchmark", "dataset", "eval_name", "task_set", "task")
_USER_SEEDS = frozenset({"train_seed", "training_seed"})


def _claims(found: Found) -> Certainty:
    return Certainty.MAYBE if found.size else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    stems = Counter(found.stem for found in files)
    refusals: list[ImportRefused | InputError] = []
    pieces: list[RunPiece] = []
    parts: list[Roles] = []
    for found in files:
        benchmark = found.stem if stems[found.stem] > 1 or len(files) == 1 else "evaluation"
        try:
            pieces += _pieces(found, reading, benchmark, parts)
        except (ImportRefused, InputError) as error:
            refusals.append(error)
    judged = any(piece.evaluations or piece.status for piece in pieces)
    if refusals and (not judged or reading.options.columns):
        raise next((r for r in refusals if isinstance(r, ImportRefused)), refusals[0])
    nowhere = frozenset.intersection(*(roles.absent for roles in parts)) if parts else ()
    for role in sorted(nowhere):
        raise ImportRefused(parts[0].nothing_at(role), path=parts[0].found.name)
    for refusal in refusals:
        pieces[0].notes.append(f"not read: {refusal}")
    yield from pieces


def _pieces(
    found: Found, reading: FolderReading, benchmark: str, parts: list[Roles]
) -> list[RunPiece]:
    said = reading.options.columns
    records, beside = records_of(found, said.get("records"))
    if not records:
        return []
    records = _chosen(records, reading)
    if len(records) == 1 and not said:
        return [_single(found, records[0], benchmark)]
    roles = Roles(records, said, found)
    parts.append(roles)
    per_task = "task" in roles.pointers and "value" not in said and roles.outcome is not None
    if not per_task and roles.outcome is not None and {"arm", "seed"} & set(roles.pointers):
        return [_run_record(found, record, roles, benchmark) for record in records]
    roles.refuse_unclear()
    answers = [record for record in records if roles.of(record, "task") is not None]
    others = [record for record in records if roles.of(record, "task") is None]
    return _answered(found, answers, others, roles, benchmark, reading, beside)


def _chosen(records: Sequence[Record], reading: FolderReading) -> list[Record]:
    where = reading.options.where
    known = {key for record in records for key in record}
    reading.columns.update(known)
    wanted = {key: value for key, value in where.items() if key in known}
    return [r for r in records if all(str(r.get(k)) == v for k, v in wanted.items())]


def _single(found: Found, record: Record, benchmark: str) -> RunPiece:
    """Return one object: the counts of a run, or its settings."""
    piece = RunPiece("home-made", (found,), root=found.folder, identified="user")
    for right, total in _COUNTS:
        correct, examples = integer(record.get(right)), integer(record.get(total))
        if correct is None or not examples or not 0 <= correct <= examples:
            continue
        printed = number(record.get("accuracy"))
        if printed is not None and abs(printed - correct / examples) > 5e-3:
            raise ImportRefused(
                f"accuracy {printed:g} is not {correct} of {examples}", path=found.name
            )
        answered = next((integer(record.get(k)) for k in _ANSWERED if k in record), None)
        evaluation = Evaluated(benchmark, value=correct / examples, examples=examples)
        evaluation.source = found
        if answered is not None:
            piece.notes.append(f"{found.name}: {examples - answered} of {examples} have no answer")
        piece.evaluations = [evaluation]
        return piece
    config = flat(record, found.name)
    # A seed in the settings of an evaluation is the evaluation's.
    above = f"{found.stem}." if _EVALUATION.search(found.stem) else ""
    piece.config = {f"{above}{key}": v for key, v in config.items() if not isinstance(v, list)}
    piece.trained = any(_TRAINING.search(key) for key in config)
    return piece


def _run_record(found: Found, record: Record, roles: Roles, benchmark: str) -> RunPiece:
    """Return a record that is a run: its arm, seed and score."""
    arm, seed = roles.of(record, "arm"), whole_number(roles.of(record, "seed"))
    value = roles.value(record)
    pointer = roles.pointers[roles.outcome or "score"]
    name = pointer.rsplit("/", 1)[-1]
    piece = _of_arm(found, roles, arm, seed)
    examples = integer(roles.of(record, "examples") or _sibling(record, pointer, found))
    if isinstance(value, float):
        metric = ACCURACY if is_accuracy(name) else plain(name)
        raw = role_value(record, pointer, found)
        if metric == ACCURACY and value > 1 and not str(raw).endswith("%"):
            value = value / 100
            piece.notes.append(f"{name} lies above 1 and is read as percent")
        piece.evaluations = [
            Evaluated(
                str(roles.of(record, "benchmark") or benchmark),
                metric,
                whole_number(roles.of(record, "step")),
                value=value,
                examples=examples,
            )
        ]
    else:
        piece.status, piece.failure = "failed", f"{name} is no number"
    return piece


def _sibling(record: Record, pointer: str, found: Found) -> Any:
    """Return the number of answers that stands beside a score, in the same object."""
    above = pointer.rpartition("/")[0]
    for name in ("n", "n_examples", "num_examples", "total"):
        value = role_value(record, f"{above}/{name}" if pointer.startswith("/") else name, found)
        if value is not None:
            return value
    return None


def _of_arm(found: Found, roles: Roles, arm: Any, seed: int | None) -> RunPiece:
    """Return an empty piece for a run that a file's columns tell apart."""
    name = "/".join(str(part) for part in (arm, seed) if part is not None)
    piece = RunPiece("home-made", (found,), name=name or found.stem)
    piece.group = None if arm is None else str(arm)
    if seed is not None:
        column = plain(roles.pointers["seed"].rsplit("/", 1)[-1])
        piece.config = {"seed": seed}
        sure = "seed" in roles.said or column in _USER_SEEDS
        piece.identified = "user" if sure else "none"
    return piece


def _answered(
    found: Found,
    answers: Sequence[Record],
    others: Sequence[Record],
    roles: Roles,
    benchmark: str,
    reading: FolderReading,
    beside: Record,
) -> list[RunPiece]:
    """Return the runs of a file of answers: by its columns of arm and seed, else one."""
    columns = _run_columns(answers, roles)
    groups: dict[tuple[Any, int | None], list[Record]] = {}
    for record in answers:
        arm = roles.of(record, "arm") if "arm" in columns else None
        seed = whole_number(roles.of(record, "seed")) if "seed" in columns else None
        groups.setdefault((arm, seed), []).append(record)
    pieces = []
    for (arm, seed), own in groups.items():
        if columns and len(groups) > 1:
            piece = _of_arm(found, roles, arm, seed)
        else:
            piece = RunPiece("home-made", (found,), root=found.folder)
            piece.group = None if arm is None else str(arm)
            if seed is not None:
                piece.config = {"seed": seed}
        for key in _USER_SEEDS & set(beside):
            piece.config[key] = beside[key]
            piece.identified = "user"
        named = next((beside[key] for key in _BENCHMARKS if isinstance(beside.get(key), str)), None)
        piece.evaluations = _evaluations(found, own, roles, named or benchmark, piece, reading)
        pieces.append(piece)
    _compare_summary(found, others, pieces)
    return pieces


def _run_columns(answers: Sequence[Record], roles: Roles) -> set[str]:
    """Return which of arm and seed part a file into runs.

    A column of seeds does so where arms or models vary with it, or where nothing in the file
    names a single model; else it numbers answers.
    """
    columns: set[str] = {
        role
        for role in ("arm", "seed")
        if role in roles.pointers and any(roles.of(r, role) is not None for r in answers)
    }
    if "seed" not in columns or "seed" in roles.said:
        return columns
    models = [m for m in MODELS if any(m in record for record in answers[:50])]
    single = models and all(len({str(r.get(m)) for r in answers}) == 1 for m in models)
    several_arms = "arm" in columns and len({str(roles.of(r, "arm")) for r in answers}) > 1
    if single and not several_arms:
        columns.discard("seed")
    return columns


def _evaluations(
    found: Found,
    records: Sequence[Record],
    roles: Roles,
    benchmark: str,
    piece: RunPiece,
    reading: FolderReading,
) -> list[Evaluated]:
    tallies: dict[str, AnswerTally] = {}
    missing = contradicted = 0
    for record in records:
        name = str(roles.of(record, "benchmark") or benchmark)
        tally = tallies.setdefault(name, AnswerTally(roles.says))
        drawn = roles.value(record)
        task = roles.of(record, "task")
        error = roles.of(record, "error")
        failed = error not in (None, "", False, 0, "False", "false")
        for value in drawn if isinstance(drawn, list) else [drawn]:
            missing += value is None and not failed
            unparsed = roles.unparsed(record)
            if unparsed and value == 1.0 and not failed:
                unparsed, contradicted = False, contradicted + 1
            tally.answer(
                task if isinstance(task, int) and not isinstance(task, bool) else str(task),
                0.0 if failed or value is None else value,
                errored=failed or value is None,
                unparsed=unparsed,
                truncated=bool(outcome_of(roles.of(record, "truncated"))),
            )
    if missing:
        for tally in tallies.values():
            tally.says |= {"errored"}
        piece.notes.append(f"{found.name}: {missing} answers have no outcome and count as wrong")
    if contradicted:
        piece.notes.append(
            f"{found.name}: {numerals.counted(contradicted, 'answer')} right and unparsed at once: "
            "right is kept"
        )
    step = whole_number(roles.of(records[0], "step"))
    pointer = roles.pointers[roles.outcome or "right"]
    plain_name = plain(pointer.rsplit("/", 1)[-1])
    if roles.letters is not None:
        piece.notes.append(f"{pointer} holds letter grades: C is right, I wrong, N no answer")
    found_evaluations = []
    for name, tally in tallies.items():
        low, high = tally.per_task
        if high > 1 and low == high:
            piece.notes.append(f"{roles.pointers['task']} repeats: {high} answers per task")
        metric = reading.options.metric or (ACCURACY if tally.counted else plain_name)
        metric = ACCURACY if is_accuracy(metric) else metric
        found_evaluations.append(Evaluated(name, metric, step, tally, source=found))
    return found_evaluations


def _compare_summary(found: Found, others: Sequence[Record], pieces: Sequence[RunPiece]) -> None:
    """Compare records without a task, which are summaries, with the rows of the only run."""
    for record in others[:3]:
        printed = next((number(v) for k, v in record.items() if is_accuracy(k)), None)
        scores = [e.score for piece in pieces for e in piece.evaluations]
        if len(scores) == 1 and printed is not None and scores[0] is not None:
            agrees = abs(printed - scores[0]) < 1e-3
            word = "agrees with" if agrees else f"is {printed:g}, which is not"
            note = f"a record without a task is a summary: its accuracy {word} the rows'"
        else:
            note = "records without a task are summaries"
        pieces[0].notes.append(note if printed is not None else f"{found.name}: {note}")


HOME = Reader(
    "home-made",
    "home-made JSON, JSON Lines and tables (--map)",
    re.compile(r"\.(?:jsonl?|ndjson|csv|tsv|parquet)$"),
    _claims,
    _read,
    general=True,
)
