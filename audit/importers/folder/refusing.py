"""What a folder is refused for: nothing to read, copies, other questions, too many answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from audit.errors import ImportRefused, InputError, UsageError, did_you_mean
from audit.importers.folder.claiming_files import Claimed
from audit.importers.folder.joining import Joined
from audit.importers.folder.run_seeds import find_seeds
from audit.importers.folder.said import Said
from audit.importers.folder.settling import Settled
from audit.importers.folder.walking import Walked
from audit.importers.readers.found import Found
from audit.importers.readers.piece import RunPiece


def refuse_results_files(walked: Walked, paths: Sequence[str]) -> None:
    """Refuse a results file among the inputs: two studies are never merged in silence."""
    for found in walked.files:
        named = found.name in paths and found.base.endswith(".json")
        if named and found.mentions("schema_version", "seed_results"):
            raise ImportRefused(
                "a results file already: audit verify and audit gate read it as it is",
                path=found.name,
            )


def refuse_nothing(walked: Walked, claimed: Claimed, pieces: Sequence[RunPiece]) -> None:
    """Refuse paths below which no reader reads anything, and samples that are pickled.

    Raises
    ------
    ImportRefused, InputError
    """
    if pieces:
        return
    if walked.pickled:
        last = walked.pickled[-1]
        raise ImportRefused(
            "a pickle, which runs code when it is opened, so it is not; write the samples as JSON "
            "Lines (index, reward, status, label) or give the tracker's history",
            path=last,
        )
    shown = ", ".join(found.name for found in claimed.unread[:3])
    what = f"; not read: {shown}" if shown else ""
    raise InputError(f"no importer reads any file here{what}", path=walked.root)


def refuse_no_evaluation(runs: Sequence[Joined], pieces: Sequence[RunPiece]) -> None:
    """Refuse trainings of which none was evaluated.

    Raises
    ------
    ImportRefused, InputError
    """
    if any(e.counts or e.error for run in runs for e, _ in run.evaluations):
        return
    if not runs:
        files = {found.relative: found for piece in pieces for found in piece.files}
        looked_at = [found for _, found in sorted(files.items())]
        told = [note for found in looked_at for note in found.notes][:3]
        shown = "; ".join(told) or "read: " + ", ".join(found.name for found in looked_at[:3])
        raise InputError(f"no run and no evaluation among the files; {shown}")
    seeds = find_seeds(runs, None)
    read = ", ".join(
        run.label + ("" if seed is None else f" (seed {seed})")
        for run, seed in zip(runs, seeds.values, strict=True)
    )
    printed = any(piece.reported for piece in pieces)
    if printed:
        return
    raise ImportRefused(
        f"a training log without an evaluation is no result; read: {read or 'settings alone'}; "
        "give the evaluations of the same runs beside it"
    )


def refuse_copies(runs: Sequence[Joined]) -> None:
    """Refuse two runs whose evaluation or training log is the same bytes."""
    seen: dict[str, tuple[Joined, Found]] = {}
    for run in runs:
        # A printed score or a log of few lines may be the same by chance.
        sources = {e.source for e, _ in run.evaluations if e.tally is not None and e.step != 0}
        sources |= {p.files[0] for p in run.pieces if len(p.log) > 2 and len(p.files) == 1}
        for found in sorted((f for f in sources if f), key=lambda f: f.relative):
            if not found.size:
                continue
            other, where = seen.setdefault(found.sha256, (run, found))
            if other is not run and where is not found:
                raise ImportRefused(
                    f"the same bytes as {where.name}: one run copied is no second run",
                    path=found.name,
                )


def refuse_other_questions(runs: Sequence[Joined]) -> None:
    """Refuse runs in which one task's name stands for different questions."""
    seen: dict[tuple[str, str | int], tuple[str, str]] = {}
    for run in runs:
        for e, _ in run.evaluations:
            for task, asked in (e.tally.questions if e.tally is not None else {}).items():
                key = (str(e.benchmark), task)
                other, where = seen.setdefault(key, (asked, run.label))
                if other != asked:
                    raise ImportRefused(
                        f"task {task} of {e.benchmark} is another question in {run.label} than in "
                        f"{where}; they cannot be paired"
                    )


def refuse_unknown_columns(where: Iterable[str], known: Collection[str]) -> None:
    """Refuse ``--where`` of what is no column and no setting: it would keep all, unnoticed."""
    for column in where:
        if column not in known:
            near = did_you_mean(column, known)
            raise UsageError(f"--where {column}: no column of a file or setting of a run{near}")


def check_answers(runs: Sequence[Settled], said: Said, notes: dict[str, None]) -> None:
    """Compare the answers of each task with what the settings asked for.

    Answers that the settings ask for and that are absent are errored. Where no settings say how
    many were due, unequal numbers are said, and filled only where the user says so.

    Raises
    ------
    ImportRefused
        When a task has more answers than were asked for.
    """
    for run in runs:
        for e, _ in run.run.evaluations:
            if e.tally is None or not len(e.tally):
                continue
            fewest, most = e.tally.per_task
            due = e.asked or run.run.first("asked")
            where = e.source.name if e.source else run.run.label
            if due and most > due and not (e.by_content and most % due == 0):
                raise ImportRefused(
                    f"{most} answers per task where the settings say {due}: two evaluations in "
                    "one file",
                    path=where,
                )
            if due and most > due:
                notes.setdefault(
                    f"{where}: tasks of equal content cannot be told apart and count as one, "
                    f"with up to {most} answers"
                )
            if fewest < (due or most):
                short = f"{where}: {fewest} to {most} answers per task"
                if due or said.missing == "wrong":
                    filled = e.tally.fill(due or most)
                    reason = "the settings say " if due else "counted up to "
                    notes.setdefault(
                        f"{short}, {reason}{due or most}: {filled} that are absent count as "
                        "errored and wrong"
                    )
                else:
                    notes.setdefault(f"{short} (--missing wrong counts the absent as wrong)")
        for found in run.run.pieces:
            run.earlier_failures += found.extra.pop("earlier_failures", [])
