"""One training run as every surface shows it: its label and its score."""

from __future__ import annotations

from dataclasses import dataclass

from audit import numerals
from audit.analysis.comparisons import mean_score_of
from audit.analysis.measures import Side


@dataclass(frozen=True, slots=True)
class RunView:
    """One training run, or one evaluation of the base.

    Attributes
    ----------
    run : str
        Its seed, else its id.
    seed : int or None
    score : float or None
        In the metric's units; None where it has none.
    status : str
        ``finished``, ``failed``, ``diverged`` or ``running``.
    """

    run: str
    seed: int | None
    score: float | None
    status: str

    @property
    def text(self) -> str:
        """The run with its score: ``42 0.417``."""
        return f"{self.run} {numerals.fraction(self.score, 3)}"


def run_views(side: Side) -> tuple[RunView, ...]:
    """Return the runs of one arm, those that did not finish last."""
    measured = [
        RunView(run.label, run.seed, None if run.score is None else float(run.score), "finished")
        for run in side.runs
    ]
    lost = [RunView(run.label, run.seed, None, run.status) for run in side.lost]
    return (*measured, *lost)


def mean_score(side: Side) -> float | None:
    """Return the mean score of one arm's runs, in the metric's units; None where none has one."""
    mean = mean_score_of(side)
    return None if mean is None else float(mean)
