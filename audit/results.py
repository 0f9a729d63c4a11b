"""The typed view of a results file: arms, runs, evaluations, claims.

Everything is read through :class:`Results`. Its accessors see the sound part of the document
only (see :mod:`audit.sound`), so they need not distrust a type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import le
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.column import Column, largest, ratios, smallest
from audit.display import Displayed
from audit.errors import InputError, NotResultsError, UsageError
from audit.outcomes_file import inlined, make_columns, read_beside, with_columns
from audit.paths import is_folder
from audit.pointer import join
from audit.reading import Defect, Source, parse, read_source, source_of

if TYPE_CHECKING:
    import pandas

    from audit.schema import SchemaFault

VERSIONS = (2,)
# Keys that no other tool's file has: with one of them a file without a version is broken.
_ONLY_OURS = ("seed_results", "claims")
DEFAULT_METRIC = "accuracy"
# More answers to one task than this are no count of answers.
MOST_ANSWERS = 2**31


@dataclass(frozen=True)
class Evaluation:
    """Outcomes of one model on one benchmark, one entry per task.

    ``counts`` and ``samples`` are right answers and answers drawn, per task; ``scores`` are
    fractions or other numbers per task where no counts were recorded. Either may be absent.
    """

    pointer: str
    document: Mapping[str, Any]

    @property
    def benchmark(self) -> str | None:
        """Name of the task set, if recorded."""
        return self.document.get("benchmark")

    @property
    def metric(self) -> str:
        """Name of what is measured; ``accuracy`` where the file does not say."""
        return self.document.get("metric") or DEFAULT_METRIC

    @cached_property
    def task_ids(self) -> tuple[str, ...] | None:
        """Ids of the tasks in the order of the outcome lists; None when not recorded."""
        ids = self.document.get("task_ids")
        if ids is None:
            return None
        return ids.names if isinstance(ids, Column) else tuple(map(str, ids))

    @cached_property
    def task_set(self) -> frozenset[str]:
        """The different ids of tasks; empty when not recorded."""
        ids = self.document.get("task_ids")
        return ids.distinct if isinstance(ids, Column) else frozenset(self.task_ids or ())

    @property
    def counts(self) -> list[int] | None:
        """Right answers per task."""
        return self.document.get("correct")

    @property
    def samples(self) -> list[int] | None:
        """Answers drawn per task."""
        return self.document.get("samples")

    @property
    def scores(self) -> list[float] | None:
        """Scores per task."""
        return self.document.get("scores")

    @property
    def condition(self) -> Mapping[str, Any]:
        """Decoding settings: temperature, top_p, max_tokens, seed, engine and the like."""
        return self.document.get("condition") or {}

    @property
    def checkpoint_step(self) -> int | None:
        """Training step of the evaluated checkpoint, if recorded; 0 is before training."""
        return self.document.get("checkpoint_step")

    @property
    def greedy(self) -> bool:
        """Whether decoding is declared greedy, so that the samples of a task repeat one answer."""
        return self.condition.get("temperature") == 0

    @property
    def sampled(self) -> bool:
        """Whether decoding is declared to draw answers: at a temperature above 0."""
        temperature = self.condition.get("temperature")
        return isinstance(temperature, int | float) and temperature > 0

    @property
    def per_task(self) -> bool:
        """Whether outcomes per task were recorded."""
        return (self.counts is not None and self.samples is not None) or self.scores is not None

    @cached_property
    def consistent(self) -> bool:
        """Whether the lists can be read as one row: as long as each other, and nothing odd."""
        counts, samples, ids = self.counts, self.samples, self.task_ids
        counted = counts is not None and samples is not None
        lists = (counts, samples, ids) if counted else (self.scores, ids)
        lengths = {len(values) for values in lists if values is not None}
        if not self.per_task or len(lengths) != 1 or 0 in lengths:
            return False
        if ids and len(self.task_set) < len(ids):
            return False
        if counts is None or samples is None:
            return True
        if largest(samples) >= MOST_ANSWERS or smallest(counts) < 0:
            return False
        if isinstance(counts, Column) and isinstance(samples, Column):
            return bool((counts.__array__() <= samples.__array__()).all())
        return all(map(le, counts, samples))

    @cached_property
    def mean(self) -> float | None:
        """Mean over tasks with equal weights, each task's mean over its samples."""
        if self.counts is not None and self.samples is not None:
            rates = ratios(self.counts, self.samples)
            # One after another, as a sum of Python floats is; NumPy's own sum goes by pairs.
            return float(rates.cumsum()[-1]) / len(rates) if len(rates) else None
        scores = self.scores or ()
        return sum(scores) / len(scores) if scores else None


@dataclass(frozen=True)
class Run:
    """One training run: the unit of replication."""

    arm: str
    index: int
    pointer: str
    document: Mapping[str, Any]

    @property
    def seed(self) -> int | None:
        """Training seed; None where the source has no label."""
        return self.document.get("seed")

    @property
    def run_id(self) -> str | None:
        """The source's name for the run."""
        return self.document.get("run_id")

    @property
    def identified_by(self) -> str | None:
        """What says that the run is a training of its own; None where the file does not say."""
        return self.document.get("identified_by")

    @property
    def label(self) -> str:
        """What people call the run: its seed, else its id, else its place."""
        if self.seed is not None:
            return str(self.seed)
        return self.run_id or f"#{self.index}"

    @property
    def status(self) -> str:
        """``finished``, ``failed``, ``diverged`` or ``running``."""
        return self.document.get("status") or "finished"

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.status == "finished"

    @property
    def baseline(self) -> Mapping[str, Any]:
        """The untrained model as this run measured it."""
        return self.document.get("baseline") or {}

    @property
    def metrics(self) -> Mapping[str, Any]:
        """``method_metrics``: the trained model's figures."""
        return self.document.get("method_metrics") or {}

    @property
    def protocol(self) -> Mapping[str, Any]:
        """Training settings of the run."""
        return self.document.get("protocol") or {}

    @property
    def sampling(self) -> Mapping[str, Any]:
        """What training generated: tokens, tasks, groups without advantage."""
        return self.document.get("sampling") or {}

    @property
    def telemetry(self) -> Mapping[str, Any]:
        """How the training log was made; empty for files that predate the block."""
        return self.document.get("telemetry") or {}

    @property
    def training(self) -> list[dict[str, Any]]:
        """One entry per optimizer step (rollout), in order."""
        return self.document.get("training") or []

    @cached_property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """``evaluation`` first, then ``evaluations[]``."""
        return tuple(_evaluations(self.document, self.pointer))

    def score(self, metric: str = DEFAULT_METRIC) -> float | None:
        """Return the run's recorded score, else the mean of its per-task outcomes."""
        value = self.metrics.get(metric)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        for evaluation in self.evaluations:
            if evaluation.metric == metric:
                return evaluation.mean
        return None


@dataclass(frozen=True)
class Arm:
    """One side of a comparison: a recipe and its training runs."""

    name: str
    pointer: str
    role: str
    document: Mapping[str, Any]
    runs: tuple[Run, ...]

    @property
    def finished(self) -> tuple[Run, ...]:
        """The runs that came to their end."""
        return tuple(run for run in self.runs if run.finished)

    @property
    def is_control(self) -> bool:
        """Whether its role says control; its name counts where it has no role."""
        words = (self.role or self.name).lower()
        return "control" in words or "baseline" in words


# Fields of a protocol that bound what an arm may spend.
BUDGET_FIELDS = ("steps", "prompts_per_step", "group", "max_tokens", "inner_updates")


@dataclass(frozen=True, repr=False)
class Results(Displayed):
    """A results file: the document as read, where it came from, and the typed view of it.

    Attributes
    ----------
    document : dict
        The parsed JSON; treat it as read-only. Values that must not be used are None in it.
    source : Source
        Name, bytes and SHA-256 of what was read.
    defects : tuple of Defect
        Non-finite numbers, duplicate keys and the like, taken out of ``document``.
    beside : mapping of str to mapping
        Outcomes that lie in files beside this one, by the pointer of their block. The document
        names the files; the typed view has the lists.
    """

    document: dict[str, Any]
    source: Source
    defects: tuple[Defect, ...] = field(default=())
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    # What audit.facts derived from the document, by the name of the derivation.
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The file as the user named it."""
        return self.source.name

    @property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal."""
        return self.source.sha256

    @cached_property
    def keeps_to_named_keys(self) -> bool:
        """Whether the document keeps the schema and has no key beyond those it names."""
        from audit.schema import keeps_to_named_keys

        return keeps_to_named_keys(self.document)

    @cached_property
    def faults(self) -> tuple[SchemaFault, ...]:
        """Where the document breaks the schema, leaving out what ``defects`` names."""
        from audit.schema import schema_faults

        if self.keeps_to_named_keys:
            return ()
        taken = {defect.pointer for defect in self.defects if defect.kind != "duplicate-key"}
        return tuple(fault for fault in schema_faults(self.document) if fault.pointer not in taken)

    @cached_property
    def sound(self) -> dict[str, Any] | None:
        """The part of the document that keeps the contract; None when nothing can be used."""
        from audit.schema import schema_faults, with_whole_numbers
        from audit.sound import sound_part

        sound: dict[str, Any] | None = self.document
        if self.faults or self.defects:
            faulty = [fault.pointer for fault in schema_faults(self.document)]
            sound = sound_part(self.document, faulty)
        if sound is None:
            return None
        return with_columns(inlined(with_whole_numbers(sound), self.beside))

    @property
    def usable(self) -> dict[str, Any]:
        """``sound``, or an empty document."""
        return self.sound or {}

    @property
    def method(self) -> str:
        """Name of the top arm."""
        return str(self.usable.get("method", ""))

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """The top arm, then every arm below ``controls`` in the order of the file."""
        document = self.usable
        if not document:
            return ()
        arms = [_arm(self.method, "", "method", document)]
        for name, control in (document.get("controls") or {}).items():
            role = control.get("role") or ""
            arms.append(_arm(name, join("/controls", name), role, control))
        return tuple(arms)

    @property
    def controls(self) -> tuple[Arm, ...]:
        """All arms but the top one."""
        return self.arms[1:]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs of all arms."""
        return tuple(run for arm in self.arms for run in arm.runs)

    def arm(self, name: str) -> Arm | None:
        """Return an arm by its name, or by ``method`` for the top one."""
        if name == "method" and self.arms:
            return self._arms_by_name.get(name, self.arms[0])
        return self._arms_by_name.get(name)

    @cached_property
    def _arms_by_name(self) -> dict[str, Arm]:
        """The first arm of each name."""
        return {arm.name: arm for arm in reversed(self.arms)}

    @cached_property
    def base_evaluations(self) -> tuple[Evaluation, ...]:
        """Evaluations of the untrained model, those with an ``evaluation`` block."""
        entries = self.usable.get("base_evaluations") or []
        return tuple(
            Evaluation(f"/base_evaluations/{index}/evaluation", entry["evaluation"])
            for index, entry in enumerate(entries)
            if entry.get("evaluation")
        )

    def block(self, key: str) -> Mapping[str, Any]:
        """Return a top-level object of the sound document, empty when absent."""
        value = self.usable.get(key)
        return value if isinstance(value, dict) else {}

    def items(self, key: str) -> list[Any]:
        """Return a top-level list of the sound document, empty when absent."""
        value = self.usable.get(key)
        return value if isinstance(value, list) else []

    def to_frame(self, rows: str = "runs") -> pandas.DataFrame:
        """Return one row per training run, or per task of every run.

        Parameters
        ----------
        rows : str
            ``runs``, or ``tasks``.

        Returns
        -------
        pandas.DataFrame
            Of runs the columns ``arm``, ``role``, ``seed``, ``run_id``, ``status``, ``accuracy``
            (a fraction), ``base_accuracy``, ``examples``, ``generated_tokens``,
            ``truncated_responses``,
            ``training_tokens``, ``tasks_attempted``, and one ``metric.<name>`` for each further
            number in ``method_metrics``. Of tasks the columns ``arm``, ``seed``, ``run_id``,
            ``benchmark``, ``metric``, ``step``, ``task``, ``correct``, ``samples`` (counts),
            ``score`` (a fraction, or the metric's own scale) and ``errored``. Missing values are
            NA.

        Raises
        ------
        ValueError
            For other rows.
        """
        import pandas

        if rows == "tasks":
            told = [row for run in self.runs for row in _task_rows(run)]
            return pandas.DataFrame(told, columns=list(_TASK_COLUMNS))
        if rows != "runs":
            raise ValueError(f"rows are 'runs' or 'tasks', not {rows!r}")
        found = [_row(arm, run) for arm in self.arms for run in arm.runs]
        nobody = Run("", 0, "", {})
        columns = _row(Arm("", "", "", {}, ()), nobody)  # so that they are there without a run
        return pandas.DataFrame(found) if found else pandas.DataFrame(columns=list(columns))


def load(path: str | Path | Mapping[str, Any]) -> Results:
    """Read a results file strictly.

    Parameters
    ----------
    path : str, Path or mapping
        A file, or ``"-"`` for standard input; the document of a results file; or a folder of
        runs, which is read as ``audit import`` reads it.

    Raises
    ------
    InputError
        When the file cannot be read, is not JSON, is not a results file, or has a
        ``schema_version`` this version of audit does not read.
    UsageError
        When a document is no JSON, or a folder leaves a question open that only the options of
        ``audit import`` can answer.
    """
    if isinstance(path, Mapping):
        return from_source(document_source(path, "<document>"))
    if str(path) != "-" and is_folder(path):
        return from_source(document_source(_brought_in(path), str(path)))
    return from_source(read_source(path))


def document_source(document: Mapping[str, Any], name: str) -> Source:
    """Return a document as the file it would be, so that it is read as strictly."""
    try:
        data = json.dumps(document).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"is no JSON: {error}", path=name) from None
    return source_of(name, data)


def _brought_in(folder: str | Path) -> Mapping[str, Any]:
    from audit.importers.folder.bringing_in import bring_in
    from audit.importers.folder.said import Said

    brought = bring_in([str(folder)], Said())
    if brought.document is None:
        asked = "; ".join(brought.questions)
        raise UsageError(f"{asked}; audit import {folder} answers it", path=str(folder))
    return brought.document


def from_source(source: Source) -> Results:
    """Parse what was read into a :class:`Results`; raises like :func:`load`."""
    document, defects = read_document(source)
    make_columns(document)
    return Results(document, source, defects, read_beside(document, source))


def read_document(source: Source) -> tuple[dict[str, Any], tuple[Defect, ...]]:
    """Return the document of a results file, outcomes beside it left alone, and its defects.

    Raises
    ------
    InputError
        Like :func:`load`.
    """
    try:
        document, defects = parse(source)
    except InputError:
        from audit.importers import describe_source

        what = describe_source(source)
        if what is None:
            raise
        raise InputError(f"not a results file: it looks like {what}", path=source.name) from None
    _require_version(document, source)
    return document, defects


def from_document(document: dict[str, Any], name: str = "<memory>") -> Results:
    """Wrap a document made in memory, e.g. by a simulation; it is trusted to be plain JSON."""
    return Results(document, Source(name, b"", ""))


def _require_version(document: Any, source: Source) -> None:
    reads = " and ".join(str(version) for version in VERSIONS)
    if not isinstance(document, dict) or "schema_version" not in document:
        from audit.importers import describe

        own = [key for key in _ONLY_OURS if isinstance(document, dict) and key in document]
        if own:  # a version that was taken out must not take the file out of judgement
            raise InputError(
                f"no schema_version beside {own[0]}; a results file says which it is",
                path=source.name,
            )
        what = describe(document, source.name)
        raise NotResultsError(f"not a results file: no schema_version{what}", path=source.name)
    version = document["schema_version"]
    if isinstance(version, bool) or version not in VERSIONS:
        shown = repr(version) if isinstance(version, int | float | str) else type(version).__name__
        raise InputError(
            f"schema_version {shown[:40]} is unknown; this audit reads version {reads}",
            path=source.name,
            pointer="/schema_version",
        )


def _arm(name: str, pointer: str, role: str, document: Mapping[str, Any]) -> Arm:
    below = pointer + "/seed_results"
    runs = tuple(
        Run(name, index, f"{below}/{index}", run)
        for index, run in enumerate(document.get("seed_results") or [])
    )
    return Arm(name, pointer, role, document, runs)


def _evaluations(document: Mapping[str, Any], pointer: str) -> Iterator[Evaluation]:
    if document.get("evaluation"):
        yield Evaluation(pointer + "/evaluation", document["evaluation"])
    for index, entry in enumerate(document.get("evaluations") or []):
        yield Evaluation(f"{pointer}/evaluations/{index}", entry)


def _row(arm: Arm, run: Run) -> dict[str, Any]:
    row: dict[str, Any] = {
        "arm": arm.name,
        "role": arm.role,
        "seed": run.seed,
        "run_id": run.run_id,
        "status": run.status,
        "accuracy": run.score(),
        "base_accuracy": run.baseline.get("accuracy"),
        "examples": run.metrics.get("examples"),
        "generated_tokens": run.metrics.get("generated_tokens"),
        "truncated_responses": run.metrics.get("truncated_responses"),
        "training_tokens": run.sampling.get("generated_training_tokens_including_rejected_groups"),
        "tasks_attempted": run.sampling.get("tasks_attempted"),
    }
    for name, value in run.metrics.items():
        if name not in row and isinstance(value, int | float) and not isinstance(value, bool):
            row[f"metric.{name}"] = value
    return row


def spent_ratio(ours: Sequence[int], theirs: Sequence[int]) -> float:
    """Return how much more one arm spent a run than the other, at least 1."""
    first, second = sorted((sum(ours) / len(ours), sum(theirs) / len(theirs)))
    return second / first if first else (1.0 if second == 0 else float("inf"))


_TASK_COLUMNS = (
    "arm",
    "seed",
    "run_id",
    "benchmark",
    "metric",
    "step",
    "task",
    "correct",
    "samples",
    "score",
    "errored",
)


def _task_rows(run: Run) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each task of each evaluation of a run, in the order of ``_TASK_COLUMNS``."""
    for evaluation in run.evaluations:
        correct, samples, scores = evaluation.counts, evaluation.samples, evaluation.scores
        errored = evaluation.document.get("errored")
        tasks = len(next((values for values in (correct, scores) if values is not None), ()))
        ids = evaluation.task_ids or tuple(map(str, range(tasks)))
        for place, task in enumerate(ids[:tasks]):
            right, drawn, score = (
                None if values is None or place >= len(values) else values[place]
                for values in (correct, samples, scores)
            )
            if score is None and right is not None and drawn:
                score = right / drawn
            failed = None if errored is None or place >= len(errored) else errored[place]
            yield (
                run.arm,
                run.seed,
                run.run_id,
                evaluation.benchmark,
                evaluation.metric,
                evaluation.checkpoint_step,
                task,
                right,
                drawn,
                score,
                failed,
            )
