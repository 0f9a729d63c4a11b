"""The typed view of a results file: arms, runs, evaluations, claims.

Everything is read through :class:`Results`. Its accessors see the sound part of the document
only (see :mod:`audit.sound`), so they need not distrust a type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.errors import InputError, NotResultsError
from audit.pointer import join
from audit.reading import Defect, Source, parse, read_source

if TYPE_CHECKING:
    import pandas

    from audit.schema import SchemaFault

VERSIONS = (2,)
DEFAULT_METRIC = "accuracy"


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
        return None if ids is None else tuple(str(task) for task in ids)

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
    def mean(self) -> float | None:
        """Mean over tasks with equal weights, each task's mean over its samples."""
        if self.counts is not None and self.samples is not None:
            rates = [
                right / drawn
                for right, drawn in zip(self.counts, self.samples, strict=False)
                if drawn
            ]
        else:
            rates = list(self.scores or ())
        return sum(rates) / len(rates) if rates else None


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


@dataclass(frozen=True)
class Results:
    """A results file: the document as read, where it came from, and the typed view of it.

    Attributes
    ----------
    document : dict
        The parsed JSON; treat it as read-only. Values that must not be used are None in it.
    source : Source
        Name, bytes and SHA-256 of what was read.
    defects : tuple of Defect
        Non-finite numbers, duplicate keys and the like, taken out of ``document``.
    """

    document: dict[str, Any]
    source: Source
    defects: tuple[Defect, ...] = field(default=())
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
        return None if sound is None else with_whole_numbers(sound)

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

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per training run.

        Returns
        -------
        pandas.DataFrame
            Columns ``arm``, ``role``, ``seed``, ``run_id``, ``status``, ``accuracy`` (a fraction),
            ``base_accuracy``, ``examples``, ``generated_tokens``, ``truncated_responses``,
            ``training_tokens``, ``tasks_attempted``, and one ``metric.<name>`` for each further
            number in ``method_metrics``. Missing values are NA.
        """
        import pandas

        rows = [_row(arm, run) for arm in self.arms for run in arm.runs]
        nobody = Run("", 0, "", {})
        columns = _row(Arm("", "", "", {}, ()), nobody)  # so that they are there without a run
        return pandas.DataFrame(rows) if rows else pandas.DataFrame(columns=list(columns))


def load(path: str | Path) -> Results:
    """Read a results file strictly.

    Parameters
    ----------
    path : str or Path
        A file, or ``"-"`` for standard input.

    Raises
    ------
    InputError
        When the file cannot be read, is not JSON, is not a results file, or has a
        ``schema_version`` this version of audit does not read.
    """
    return from_source(read_source(path))


def from_source(source: Source) -> Results:
    """Parse what was read into a :class:`Results`; raises like :func:`load`."""
    try:
        document, defects = parse(source)
    except InputError:
        from audit.importers import describe_source

        what = describe_source(source)
        if what is None:
            raise
        raise InputError(f"not a results file: it looks like {what}", path=source.name) from None
    _require_version(document, source)
    return Results(document, source, defects)


def from_document(document: dict[str, Any], name: str = "<memory>") -> Results:
    """Wrap a document made in memory, e.g. by a simulation; it is trusted to be plain JSON."""
    return Results(document, Source(name, b"", ""))


def _require_version(document: Any, source: Source) -> None:
    reads = " and ".join(str(version) for version in VERSIONS)
    if not isinstance(document, dict) or "schema_version" not in document:
        from audit.importers import describe

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
