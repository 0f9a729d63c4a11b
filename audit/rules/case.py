"""All that a rule may look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from audit.facts.measurements import Measurement, all_evaluations, all_measurements
from audit.facts.starts import PairedStart, starts
from audit.facts.training_logs import ArmLog, read_logs
from audit.policy import Policy
from audit.results import Evaluation, Results

if TYPE_CHECKING:
    from audit.analysis import Analysis
    from audit.analysis.study import SpentLook
    from audit.claims import Claim
    from audit.facts.copies import SamePair
    from audit.partition import DataFile


@dataclass(frozen=True)
class Case:
    """One file under one policy. Facts are derived when a rule first asks, and then shared.

    Attributes
    ----------
    results : Results
        The file; its accessors show only the sound part.
    policy : Policy
        Levels, margins and limits in force for this file.
    claims : tuple of Claim
        Claims from the command line; those of the file are in ``results``.
    data : DataFile or None
        The training data, when the user gave it.
    artifacts : Path or None
        Folder with the checkpoint's files, when the user gave it.
    siblings : tuple of float
        P-values of the claims that other files of the same study make.
    looked : tuple of int
        Runs per arm at which the claims were judged before, without a plan.
    spent : tuple of SpentLook
        Looks that only an earlier version of the file shows.
    """

    results: Results
    policy: Policy = field(default_factory=Policy)
    claims: tuple[Claim, ...] = ()
    data: DataFile | None = None
    artifacts: Path | None = None
    siblings: tuple[float, ...] = ()
    looked: tuple[int, ...] = ()
    spent: tuple[SpentLook, ...] = ()

    @cached_property
    def analysis(self) -> Analysis:
        """The statistics of the file."""
        from audit.analysis import analyse

        return analyse(
            self.results,
            policy=self.policy,
            claims=self.claims,
            siblings=self.siblings,
            looked=self.looked,
            spent=self.spent,
        )

    @property
    def claimed(self) -> bool:
        """Whether anything is claimed, in the file or on the command line."""
        return bool(self.claims or self.results.items("claims"))

    @property
    def logs(self) -> tuple[ArmLog, ...]:
        """The training logs of every arm, flattened."""
        return read_logs(self.results)

    @property
    def starts(self) -> tuple[PairedStart, ...]:
        """The runs of the top arm beside those of each other arm at the same seed."""
        return starts(self.results)

    @property
    def copies(self) -> dict[str, tuple[SamePair, ...]]:
        """Which runs of each arm are one training, by the pointer of the arm."""
        from audit.facts.copies import copies_in

        return copies_in(self.results)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Every evaluation's totals, those of the arms before those of the base."""
        return all_measurements(self.results)

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """Every evaluation with per-task outcomes, or room for them."""
        return all_evaluations(self.results)
