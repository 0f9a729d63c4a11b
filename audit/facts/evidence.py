"""What shows that the runs of an arm are trainings of their own: grades A to D.

Two records are two training runs only on evidence. A grade says how good it is:

====  ==========================================================================================
A     final parameters and a training log of each run, or the record of this toolkit's trainer
B     the trainer's own files name the seed and the run, or its logs differ in loss or gradient
C     somebody says so: a seed written by hand, a pattern for paths, ``--seed-is training``
D     nothing: file names, positions, a column called seed that may be an evaluation's
====  ==========================================================================================

That two records are *one* run is another question, see :mod:`audit.facts.copies`; it beats any
grade.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.facts.copies import tells_runs_apart
from audit.results import Results, Run

GRADES = "ABCD"
TRAINER_RECORD, TRAINER_CONFIG, USER, NONE = "trainer-record", "trainer-config", "user", "none"

# What each grade rests on, for the row that prints it.
BASIS = {
    "A": "trainer's record with hashes",
    "B": "trainer's configs",
    "C": "seeds as declared",
    "D": "not identified",
}

# A loss or a gradient norm, by the names that trainers log them under.
_GRADIENT_FIGURES = frozenset({"loss", "gradient_l2_norm", "grad_norm", "gradient_norm"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """How well an arm's runs are known to be trainings of their own.

    Attributes
    ----------
    grade : str
        ``A`` to ``D``; that of the run with the least evidence.
    run : str
        Label of that run.
    pointer : str
        Where it stands in the file.
    """

    grade: str
    run: str
    pointer: str

    @property
    def basis(self) -> str:
        """What the grade rests on, in a few words."""
        return BASIS[self.grade]

    def reaches(self, grade: str) -> bool:
        """Whether the evidence is at least that good."""
        return GRADES.index(self.grade) <= GRADES.index(grade)


def arm_evidence(results: Results, arm: str, runs: Iterable[Run]) -> Evidence | None:
    """Return the evidence for the runs of one arm; None below two runs, where there is none."""
    graded = [Evidence(run_grade(results, arm, run), run.label, run.pointer) for run in runs]
    return max(graded, key=lambda one: one.grade) if len(graded) > 1 else None


def weakest(evidences: Iterable[Evidence | None]) -> Evidence | None:
    """Return the least evidence of several arms; arms of one run have none and do not count."""
    known = [one for one in evidences if one is not None]
    return max(known, key=lambda one: one.grade) if known else None


def run_grade(results: Results, arm: str, run: Run) -> str:
    """Return the grade of one run: what it shows of being a training of its own."""
    identified = run.document.get("identified_by") or _unstated(results, run)
    final = run.document.get("final_parameters_sha256")
    recorded = identified == TRAINER_RECORD
    if (final and tells_runs_apart(run.training)) or (recorded and _studied(results)):
        return "A"
    named = run.run_id is not None
    if named and _has_gradient_figures(run.training):
        return "B"
    if identified in (TRAINER_RECORD, TRAINER_CONFIG) and (recorded or named):
        return "B"
    if identified == USER or are_trainings(results, arm):
        return "C"
    return "D"


def are_trainings(results: Results, arm: str) -> bool | None:
    """Return what ``runs_are`` says of an arm: trainings or evaluations; None where nothing."""
    said = results.block("runs_are").get(arm)
    if said is None and arm == results.method:
        said = results.block("runs_are").get("method")
    return None if said is None else said == "trainings"


def _unstated(results: Results, run: Run) -> str:
    """Whose word a run's identity is where the file does not say.

    A seed or a name in a file that somebody wrote by hand is that person's word; a converted file
    has only what its importer found.
    """
    imported = bool(results.block("provenance").get("imported"))
    labelled = run.seed is not None or run.run_id is not None
    return USER if labelled and not imported else NONE


def _studied(results: Results) -> bool:
    return bool(results.block("provenance").get("study_sha256"))


def _has_gradient_figures(log: Iterable[Mapping[str, Any]]) -> bool:
    return any(
        _figures(step) or any(_figures(update) for update in step.get("updates") or ())
        for step in log
    )


def _figures(entry: Mapping[str, Any]) -> bool:
    logged = {**(entry.get("metrics") or {}), **entry}
    return any(
        logged[name] is not None and name.rpartition("/")[2] in _GRADIENT_FIGURES for name in logged
    )
