"""What every pair of single runs would have reported, had no other run been made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.analysis.measures import MeasuredRun
from audit.analysis.tables import Table
from audit.claims import BASE
from audit.errors import InsufficientData

if TYPE_CHECKING:
    from audit.analysis.comparisons import Comparison

FEWEST_RUNS = 3
# Beyond, only the pairs at one seed are computed: pairs grow with the square of the seeds.
MOST_PAIRS = 400


@dataclass(frozen=True, slots=True)
class OneSeedStudy:
    """One run of each arm, read as a study of one seed would be.

    Attributes
    ----------
    run, against_run : str
        The runs of ``arm`` and of ``against``.
    seed : int or None
        Their seed where they share one.
    delta : float
        Run of ``arm`` minus run of ``against``, in the metric's units.
    low, high : float
        Paired t interval over tasks of these two models; training variance is not in it.
    word : str
        ``won``, ``lost`` or ``flat``: whether that interval excludes zero, and on which side.
    """

    run: str
    against_run: str
    seed: int | None
    delta: float
    low: float
    high: float
    word: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How many studies of one seed would have reported what.

    Attributes
    ----------
    won, lost, flat : int
    """

    won: int
    lost: int
    flat: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.won + self.lost + self.flat


@dataclass(frozen=True, slots=True)
class Lottery:
    """What studies of one seed would have reported of two arms; it decides nothing.

    Attributes
    ----------
    studies : tuple of OneSeedStudy
        The pairs of runs at one seed, by seed.
    same_seed : Tally
        Of these.
    any_pair : Tally or None
        Of every run of one arm against every run of the other; None where they are too many.
    level : float
        Confidence level of the intervals: the policy's, since a report of one seed follows no plan.
    """

    studies: tuple[OneSeedStudy, ...]
    same_seed: Tally
    any_pair: Tally | None
    level: float


def lottery(comparison: Comparison) -> Lottery | None:
    """Return what each pair of single runs would have reported.

    Returns
    -------
    Lottery or None
        None against the untrained model, below three runs per arm, and without outcomes per task.
    """
    control, treatment = comparison.control, comparison.treatment
    few = min(len(control.runs), len(treatment.runs)) < FEWEST_RUNS
    if comparison.against == BASE or few or comparison.aligned is None:
        return None
    if not (control.per_task and treatment.per_task):
        return None
    table = comparison.aligned.complete()
    if len(table.tasks) < 2:
        return None
    rows = [
        [(run, side_table, row) for row, run in enumerate(side.runs)]
        for side, side_table in ((treatment, table.treatment), (control, table.control))
    ]
    pairs = [(one, other) for one in rows[0] for other in rows[1]]
    everything = len(pairs) <= MOST_PAIRS
    made = [
        _study(comparison, one, other)
        for one, other in pairs
        if everything or _shared_seed(one[0], other[0]) is not None
    ]
    known = [study for study in made if study is not None]
    same = tuple(sorted((s for s in known if s.seed is not None), key=lambda s: s.seed or 0))
    return Lottery(
        studies=same,
        same_seed=_tally(same),
        any_pair=_tally(known) if everything else None,
        level=comparison.study.policy.level,
    )


_Row = tuple[MeasuredRun, Table, int]


def _study(comparison: Comparison, one: _Row, other: _Row) -> OneSeedStudy | None:
    from audit.stats import one_seed_interval

    measure = comparison.measure
    span = measure.span or 1.0
    (run, treatment, row), (against, control, against_row) = one, other
    try:
        seen = one_seed_interval(
            control.counts[against_row],
            treatment.counts[row],
            samples=(control.samples[against_row], treatment.samples[row]),
            level=comparison.study.policy.level,
        )
    except InsufficientData:
        return None
    better, worse = ("won", "lost") if measure.higher_is_better else ("lost", "won")
    return OneSeedStudy(
        run=run.label,
        against_run=against.label,
        seed=_shared_seed(run, against),
        delta=seen.mean * span,
        low=seen.low * span,
        high=seen.high * span,
        word=better if seen.low > 0 else worse if seen.high < 0 else "flat",
    )


def _shared_seed(one: MeasuredRun, other: MeasuredRun) -> int | None:
    return one.seed if one.seed == other.seed else None


def _tally(studies: Iterable[OneSeedStudy]) -> Tally:
    words = [study.word for study in studies]
    return Tally(words.count("won"), words.count("lost"), words.count("flat"))
