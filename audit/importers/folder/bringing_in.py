"""A folder of runs to one study: walk, claim, read, join, name arms and seeds, settle, compose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from audit.errors import UsageError
from audit.importers.folder.arm_names import ArmNames, find_arms
from audit.importers.folder.claiming_files import Claimed, claim, refuse_what_is_no_text
from audit.importers.folder.composing import compose
from audit.importers.folder.declaring import declared
from audit.importers.folder.found_table import as_text, heading_of, lines_of, rows_of
from audit.importers.folder.joining import Joined, join
from audit.importers.folder.refusing import (
    check_answers,
    refuse_copies,
    refuse_no_evaluation,
    refuse_nothing,
    refuse_other_questions,
    refuse_results_files,
    refuse_unknown_columns,
)
from audit.importers.folder.run_seeds import find_seeds
from audit.importers.folder.said import Said
from audit.importers.folder.settling import Settled, settle
from audit.importers.folder.study_arms import one_a_seed, study_of
from audit.importers.folder.walking import walk
from audit.importers.place_names import telling
from audit.importers.readers.piece import RunPiece
from audit.importers.readers.reader import FolderReading


@dataclass(slots=True)
class Brought:
    """What a folder came to.

    Attributes
    ----------
    document : dict or None
        The results document; None where a question is open.
    rows : list of dict
        One a run and evaluation.
    lines : list of str
        What is printed below the table: seeds, arms, the untrained model, what was not read.
    questions : list of str
        One line a gap, each ending in the flag that answers it.
    notes : tuple of str
    heading : str
    """

    heading: str
    document: dict[str, Any] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The screen: heading, table, and what stands below it."""
        asked = [f"asked: {question}" for question in self.questions]
        return "\n".join([self.heading, "", as_text(self.rows), "", *self.lines, *asked]) + "\n"


def bring_in(paths: Sequence[str], said: Said) -> Brought:
    """Read folders and files as one study.

    Parameters
    ----------
    paths : sequence of str
        Folders of runs, or single files of trackers and evaluations.
    said : Said
        What the user says.

    Returns
    -------
    Brought

    Raises
    ------
    InputError
        When nothing in them is readable.
    ImportRefused
        When what is there cannot be brought over without inventing.
    UsageError
        When the user names an arm that is not there.
    """
    walked = walk(paths, said.exclude)
    refuse_results_files(walked, paths)
    claimed = claim(walked, said.readers)
    notes: dict[str, None] = {}
    reading = FolderReading(said.options(), {found.relative: found for found in walked.files})
    pieces = _pieces(reading, claimed, said)
    refuse_nothing(walked, claimed, pieces)
    runs = [run for run in join(pieces) if _is_run(run)]
    runs = _kept(runs, reading)
    refuse_no_evaluation(runs, pieces)
    refuse_copies(runs)
    refuse_other_questions(runs)
    recorded = declared(runs)
    if recorded is not None:
        seeds, arms = recorded
    else:
        seeds = find_seeds(runs, said.seed_from)
        arms = find_arms(runs, seeds.values, said.arm_from, _fallback(paths, pieces))
    _said_arms(runs, arms, said)
    said_by_readers = [note for piece in pieces for note in piece.notes]
    said_by_readers += [n for files in claimed.files.values() for f in files for n in f.notes]
    notes |= dict.fromkeys(_below(note, paths) for note in said_by_readers)
    settled = [
        Settled(run, arm, seed, source)
        for run, arm, seed, source in zip(
            runs, arms.names, seeds.values, seeds.sources, strict=True
        )
    ]
    questions = [*claimed.questions, *seeds.questions, *arms.questions]
    check_answers(settled, said, notes)
    questions += settle(settled, said, notes)
    settled, asked = one_a_seed(settled, notes)
    questions += asked
    long = dict(zip(arms.names, arms.long, strict=True))
    try:
        study, more = study_of(settled, arms, long, said, notes)
    except UsageError:
        unseeded = _ask_for_seeds(settled)
        if not questions and unseeded is None:
            raise
        # An open question may be why an arm is not there.
        study, more = None, [] if unseeded is None else [unseeded]
    readers = {found: piece.reader for piece in reversed(pieces) for found in piece.files}
    used = [name for name in claimed.files if any(p.reader == name for p in pieces)]
    brought = Brought(heading_of(walked, settled, used))
    brought.questions = [*questions, *more]
    if study is not None:
        brought.rows = rows_of([run for group in study.runs.values() for run in group])
    else:
        brought.rows = rows_of(settled)
    brought.lines = lines_of(seeds, arms, settled, study, walked, claimed, used)
    _say_evidence(settled, notes)
    notes = {_below(note, paths): None for note in notes}
    if study is not None and not brought.questions:
        brought.document = compose(study, walked, readers, said, notes)
    brought.notes = tuple(notes)
    return brought


def _below(sentence: str, paths: Sequence[str]) -> str:
    """Return a sentence with places told below the given folders, as a results file names them."""
    for path in sorted(paths, key=len, reverse=True):
        folder = path if os.path.isdir(path) else os.path.dirname(path)  # noqa: PTH112, PTH120
        if folder:
            sentence = sentence.replace(f"{folder.rstrip('/')}/", "")
    return sentence


def _ask_for_seeds(runs: Sequence[Settled]) -> str | None:
    """Return the question for the training seed where no run has one and names may hold it."""
    if len(runs) < 2 or any(run.seed is not None for run in runs):
        return None
    labels = [run.run.label for run in runs]
    last = [label.rpartition("/")[2] for label in labels]
    shown = ", ".join(labels[:6]) + (", ..." if len(labels) > 6 else "")
    if all(name.isdecimal() for name in last):
        return f"no training seed; the folders are {shown}: --seed-from '*/{{seed}}' if they say it"
    return (
        f"no training seed; the runs are {shown}: --seed-from 'TEXT{{seed}}', or "
        "--arm-from '{arm}/*' for runs without seeds"
    )


def _pieces(reading: FolderReading, claimed: Claimed, said: Said) -> list[RunPiece]:
    """Return what the readers make of their files; the most general read what is left."""
    pieces: list[RunPiece] = []
    for name, files in claimed.files.items():
        reader = claimed.readers[name]
        if not reader.general:
            pieces += reader.read(files, reading)
    judged = any(e.counts for piece in pieces for e in piece.evaluations)
    for name, files in claimed.files.items():
        reader = claimed.readers[name]
        if not reader.general:
            continue
        if judged and not said.roles and not any(s.startswith(name) for s in said.readers):
            claimed.unread += files
        else:
            for found in files:
                refuse_what_is_no_text(found)
            pieces += reader.read(files, reading)
    return pieces


def _is_run(run: Joined) -> bool:
    """Whether pieces are a run, and not settings alone that no run was found for."""
    return any(
        piece.evaluations or piece.log or piece.trained or piece.status or piece.reported
        for piece in run.pieces
    )


def _kept(runs: list[Joined], reading: FolderReading) -> list[Joined]:
    """Return the runs whose settings are as ``--where`` says; columns are the readers' own."""
    known = {key for run in runs for key in run.config}
    refuse_unknown_columns(reading.options.where, known | reading.columns)
    wanted = {key: value for key, value in reading.options.where.items() if key in known}
    kept = [run for run in runs if all(str(run.config.get(k)) == v for k, v in wanted.items())]
    if not kept and runs:
        raise UsageError("--where leaves no run")
    return kept


def _fallback(paths: Sequence[str], pieces: Sequence[RunPiece]) -> str:
    names = [piece.name for piece in pieces if piece.name]
    for text in (*names, *(p for p in paths)):
        parts = telling(text.replace("\\", "/").strip("/"))
        if parts:
            return parts[-1].rsplit(".", 1)[0] if text in paths else parts[-1]
    return "runs"


def _said_arms(runs: Sequence[Joined], arms: ArmNames, said: Said) -> None:
    """Put runs into the arms that ``--arm NAME=FILES`` names.

    Raises
    ------
    UsageError
        When one names no run.
    """
    unused = set(said.arm)
    for index, run in enumerate(runs):
        files = [found for piece in run.pieces for found in piece.files]
        for name, pattern in said.arm:
            plain = pattern.rstrip("/")
            texts = [run.label, *(f.relative for f in files), *(f.name for f in files)]
            if any(fnmatch(t, plain) or fnmatch(t, f"{plain}/*") for t in texts):
                arms.names[index] = arms.long[index] = name
                unused.discard((name, pattern))
    for name, pattern in sorted(unused):
        raise UsageError(f"no run fits --arm {name}={pattern}")
    if said.arm:
        arms.questions = []


def _say_evidence(runs: Sequence[Settled], notes: dict[str, None]) -> None:
    if len(runs) > 1 and not any(run.run.by_trainer for run in runs):
        notes.setdefault(
            "no training log: that these are training runs rests on the names of folders, files "
            "or runs; --seed-from path says that each seed is a training of its own"
        )
    if runs and all(run.seed is None for run in runs):
        notes.setdefault("no training seed is said anywhere: each run has seed null")
