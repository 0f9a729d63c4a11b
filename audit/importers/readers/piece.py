"""What a reader hands over: pieces of runs, before the frame joins them to a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.importers.metric_names import ACCURACY
from audit.importers.readers.found import Found
from audit.importers.readers.rollouts import RolloutLog
from audit.importers.readers.tally import AnswerTally


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where a figure stands: a file, and its line or key there."""

    file: Found
    line: int | None = None
    key: str | None = None


@dataclass(slots=True)
class LoggedSteps:
    """The steps of a log in the order of its lines.

    Attributes
    ----------
    lines : dict
        Step to the last line that holds it.
    went_back : list of (int, int)
        Where a step is lower than the one before: both.
    """

    lines: dict[int, int] = field(default_factory=dict)
    went_back: list[tuple[int, int]] = field(default_factory=list)
    _last: int | None = None

    def see(self, step: int, line: int) -> None:
        """Note the step of a line."""
        if self._last is not None and step < self._last:
            self.went_back.append((self._last, step))
        self._last = step
        self.lines[step] = line


@dataclass(slots=True)
class Evaluated:
    """One evaluation of one model at one step.

    Attributes
    ----------
    benchmark : str or None
        As the source spells it; None where nothing says it.
    metric : str
        ``accuracy`` for a share of right answers, else the source's name.
    step : int or None
        Training step of the checkpoint; 0 is the untrained model, None where nothing says it.
    tally : AnswerTally or None
        Answers by task.
    value : float or None
        The printed score, where there are no answers by task; on the metric's own scale.
    examples : int or None
        Answers behind ``value``, where the source counts them.
    scale : tuple or None
        Smallest and largest possible value, where the format fixes it.
    more : dict
        Further members of an evaluation block: ``split``, ``condition``, ``selected_on``, and
        ``unparsed`` and the like for a score without tasks.
    error : str or None
        Why the evaluation gave no score.
    counts : bool
        False for averages over benchmarks and the like: reported, never judged.
    source : Found or None
        The file of the outcomes: the same bytes as two runs' evaluation are one run, copied.
    printed : dict
        What the source printed of the evaluation: ``mean``, ``answers_per_task``.
    places : dict
        Member of the evaluation block, with slashes, to where it stands; the outcomes are those of
        ``source``.
    asked : int or None
        Answers per task that the settings asked for.
    by_count : bool
        Whether ``value`` is a share of right answers only if it fits ``examples``, in every run.
    by_content : bool
        Whether tasks are told apart by their text: then two equal ones are one with twice the
        answers.
    """

    benchmark: str | None
    metric: str = ACCURACY
    step: int | None = None
    tally: AnswerTally | None = None
    value: float | None = None
    examples: int | None = None
    scale: tuple[float | None, float | None] | None = None
    more: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    counts: bool = True
    source: Found | None = None
    printed: dict[str, float] = field(default_factory=dict)
    places: dict[str, SourcePlace] = field(default_factory=dict)
    asked: int | None = None
    by_count: bool = False
    by_content: bool = False

    @property
    def score(self) -> float | None:
        """The score, from the answers where they stand; None where there is none."""
        return self.tally.mean if self.tally else self.value


@dataclass(frozen=True, slots=True)
class SeedSaid:
    """A training seed as the framework's own key says it."""

    value: int
    key: str
    file: str


@dataclass(frozen=True, slots=True)
class Declared:
    """What the record of a run itself says, so that nothing is told from names or settings.

    Attributes
    ----------
    arm : str
    seed : int
        The training seed.
    method : str
        The top arm of the study.
    controls : tuple of str
        The arms it is compared with.
    """

    arm: str
    seed: int
    method: str
    controls: tuple[str, ...] = ()


@dataclass(slots=True)
class RunPiece:
    """Part of a run, or the whole of it, as one reader knows it.

    Attributes
    ----------
    reader : str
        Name of the reader.
    files : tuple of Found
        What it was read from; named with its hash in the results file.
    root : str or None
        Folder of the run below the given one (empty for that one itself); pieces of one root are
        one run. None for a row of a table or database: then ``run_id`` names the run.
    anchor : bool
        Whether the layout itself fixes ``root`` as the folder of one run. Without it the frame
        looks for the run's folder above.
    run_id, name, group : str or None
        Run id, name for people, and the arm, as a tracker has them. ``name`` may be a path.
    links : tuple of str
        Paths the files name as the run's own: log and checkpoint folders, the evaluated model.
    config : dict
        Flat, with dots between the parts of a key.
    declared : Declared or None
        Arm, seed and study, where the trainer's own record says them.
    seeds : list of SeedSaid
        From the framework's own key of the training seed alone. The frame itself finds keys
        called ``seed`` and the like in ``config``, and seeds in paths and names.
    identified : str or None
        What the seed of the settings is worth, where it is less than the trainer's own file:
        ``user`` or ``none``.
    status : str or None
        ``finished``, ``failed``, ``diverged`` or ``running``, where the source says it.
    failure : str or None
        Why it did not finish.
    trained : bool
        Whether the piece shows that a training took place here: a log with steps, a checkpoint.
    last_step, planned_steps : int or None
        Of the training.
    evaluations : list of Evaluated
        In the order of the source.
    log : dict
        Step to logged figures by name.
    logged : LoggedSteps or None
        Their lines in ``files[0]``, and where they go back.
    rollouts : RolloutLog or None
        Rewards and advantages of what the training drew.
    started : str or None
        When the run began, as the source says it: two runs of one start are one.
    model : str or None
        The model the training began with (a public name).
    packages : dict
        Versions of the software, by name.
    commit : str or None
        Commit of the code that the run was made with.
    extra : dict
        Further members of a run's block, such as ``telemetry`` and ``training``.
    asked : int or None
        Answers per task that the run's evaluations draw by its settings.
    condition : dict
        Decoding settings of the run's evaluations, as a results file names them.
    benchmark : str or None
        Name of the evaluations that do not say it, where the settings tell.
    order : int
        Of several attempts at one run, the later has the larger.
    reported : dict
        What the source printed and the rows do not rest on.
    notes : list of str
        What was missing, dropped, averaged, left out or decided.
    """

    reader: str
    files: tuple[Found, ...] = ()
    root: str | None = None
    anchor: bool = False
    run_id: str | None = None
    name: str | None = None
    group: str | None = None
    links: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    declared: Declared | None = None
    seeds: list[SeedSaid] = field(default_factory=list)
    identified: str | None = None
    status: str | None = None
    failure: str | None = None
    trained: bool = False
    last_step: int | None = None
    planned_steps: int | None = None
    evaluations: list[Evaluated] = field(default_factory=list)
    log: dict[int, dict[str, Any]] = field(default_factory=dict)
    logged: LoggedSteps | None = None
    rollouts: RolloutLog | None = None
    started: str | None = None
    model: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    asked: int | None = None
    condition: dict[str, Any] = field(default_factory=dict)
    benchmark: str | None = None
    order: int = 0
    reported: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
