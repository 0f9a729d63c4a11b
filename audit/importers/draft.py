"""What an importer hands over: runs and notes, before several files become one study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Options:
    """What the user says about foreign files, because they do not say it themselves.

    Attributes
    ----------
    metric : str or None
        Which of the file's metrics is the outcome; for tables, what the value column measures.
    benchmark : str or None
        Which of the file's benchmarks to bring over; all when None.
    filter : str or None
        Which answer extraction of lm-evaluation-harness to bring over.
    scale : tuple of float or None
        Smallest and largest possible value; (0, 100) brings accuracy to a fraction.
    higher_is_better : bool or None
        Direction of the metric; None leaves it to its name.
    columns : mapping
        Role (see :data:`~audit.importers.columns.ROLES`) to column name or JSON Pointer.
    where : mapping
        Column to the text its cells must have; other rows are left out.
    seed_is : str or None
        ``training`` or ``decoding``: what seeds and runs of unknown meaning are. Decoding makes
        them answers of one training run.
    seed_key : str or None
        The key or column that holds the training seed.
    missing : str or None
        ``wrong``: answers that other tasks or runs have and that are absent count as errored.
    """

    metric: str | None = None
    benchmark: str | None = None
    filter: str | None = None
    scale: tuple[float, float] | None = None
    higher_is_better: bool | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    seed_is: str | None = None
    seed_key: str | None = None
    missing: str | None = None


# What says that a record is a training run of its own, the weakest first.
EVIDENCE = ("none", "user", "trainer-config", "trainer-record")


@dataclass(frozen=True, slots=True)
class DraftRun:
    """One training run, or one model's evaluation, as a source describes it.

    Attributes
    ----------
    document : dict
        The run's block of a results file, without ``seed``.
    arm : str or None
        The arm, where the source names it.
    seed : int or None
        The training seed, where the source names it. Decoding seeds never stand here.
    base : bool
        Whether this is the untrained model.
    name : str or None
        What the source calls the model; the arm's name where nothing else names one.
    identity : str or None
        What the source says about the model evaluated, be it only the name under which a server
        offers it; two runs of one arm that agree in it and have no seed are one model evaluated
        twice.
    tasks : mapping
        (benchmark, task) to a hash of the question, for a check across runs.
    identified_by : str
        What says that this is a training run of its own: one of :data:`EVIDENCE`.
    model : str or None
        Path or name of the weights that were loaded. Two records that name steps of one run are
        one run. A name that several weights may share, as a server's, is none.
    run_key : str or None
        Equal in records that the source itself gives as one run, such as the steps of a log.
    printed : mapping
        Metric to the score the source printed beside outcomes by task, as a fraction for accuracy.
    """

    document: dict[str, Any]
    arm: str | None = None
    seed: int | None = None
    base: bool = False
    name: str | None = None
    identity: str | None = None
    tasks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    identified_by: str = "none"
    model: str | None = None
    run_key: str | None = None
    printed: Mapping[str, float] = field(default_factory=dict)

    @property
    def evaluated(self) -> bool:
        """Whether it holds an outcome, and not telemetry alone."""
        outcomes = ("evaluation", "evaluations", "method_metrics", "accuracy", "status")
        return any(key in self.document for key in outcomes)


@dataclass(frozen=True, slots=True)
class Draft:
    """All that one importer read from files that belong together.

    Attributes
    ----------
    tool, version : str or None
        What wrote the files.
    runs : tuple of DraftRun
        In the order of the source.
    study : str or None
        What the source calls the whole.
    method : str or None
        The top arm, where the format fixes its name.
    roles : mapping
        Arm to control / ablation / other, where the format fixes it.
    top : dict
        Further top-level blocks of the results file.
    metrics : dict
        Metric to scale and direction.
    reported : dict
        What the source printed; never used for a verdict.
    notes : tuple of str
        What was missing, dropped, averaged or left out.
    """

    tool: str | None
    version: str | None
    runs: tuple[DraftRun, ...]
    study: str | None = None
    method: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    top: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    reported: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
