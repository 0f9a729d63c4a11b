"""A folder of runs to one study: walk, claim, read, join, name arms and seeds, settle, compose."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from audit.errors import ImportRefused, InputError, UsageError
from audit.importers.folder.arm_names import CONTROLS, ArmNames, find_arms
from audit.importers.folder.claiming_files import Claimed, claim, refuse_what_is_no_text
from audit.importers.folder.composing import Study, compose
from audit.importers.folder.declaring import declared, declared_roles
from audit.importers.folder.found_table import as_text, rows_of
from audit.importers.folder.joining import Joined, join
from audit.importers.folder.run_seeds import Seeds, find_seeds
from audit.importers.folder.said import Said
from audit.importers.folder.settling import Settled, settle
from audit.importers.folder.walking import Walked, walk
from audit.importers.place_names import telling
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Piece
from audit.importers.readers.reader import Reading

_UNTRAINED = frozenset({"base", "pretrained", "init", "untrained", "step0"})


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
    _refuse_results_files(walked, paths)
    claimed = claim(walked, said.readers)
    notes: dict[str, None] = {}
    pieces = _pieces(walked, claimed, said)
    _refuse_nothing(walked, claimed, pieces)
    runs = [run for run in join(pieces) if _is_run(run)]
    runs = _kept(runs, said)
    _refuse_no_evaluation(runs, pieces)
    _refuse_copies(runs)
    _refuse_other_questions(runs)
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
    _check_answers(settled, said, notes)
    questions += settle(settled, said, notes)
    settled, asked = _one_a_seed(settled, notes)
    questions += asked
    long = dict(zip(arms.names, arms.long, strict=True))
    try:
        study, more = _study(settled, arms, long, said, notes)
    except UsageError:
        unseeded = _ask_for_seeds(settled)
        if not questions and unseeded is None:
            raise
        # An open question may be why an arm is not there.
        study, more = None, [] if unseeded is None else [unseeded]
    readers = {found: piece.reader for piece in reversed(pieces) for found in piece.files}
    used = [name for name in claimed.files if any(p.reader == name for p in pieces)]
    brought = Brought(_heading(walked, settled, used))
    brought.questions = [*questions, *more]
    if study is not None:
        brought.rows = rows_of([run for group in study.runs.values() for run in group])
    else:
        brought.rows = rows_of(settled)
    brought.lines = _lines(seeds, arms, settled, study, walked, claimed, used)
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


def _refuse_results_files(walked: Walked, paths: Sequence[str]) -> None:
    """Refuse a results file among the inputs: two studies are never merged in silence."""
    for found in walked.files:
        named = found.name in paths and found.base.endswith(".json")
        if named and found.mentions("schema_version", "seed_results"):
            raise ImportRefused(
                "a results file already: audit verify and audit gate read it as it is",
                path=found.name,
            )


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


def _pieces(walked: Walked, claimed: Claimed, said: Said) -> list[Piece]:
    """Return what the readers make of their files; the most general read what is left."""
    reading = Reading(said.options(), {found.relative: found for found in walked.files})
    pieces: list[Piece] = []
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


def _refuse_nothing(walked: Walked, claimed: Claimed, pieces: Sequence[Piece]) -> None:
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


def _is_run(run: Joined) -> bool:
    """Whether pieces are a run, and not settings alone that no run was found for."""
    return any(
        piece.evaluations or piece.log or piece.trained or piece.status or piece.reported
        for piece in run.pieces
    )


def _kept(runs: list[Joined], said: Said) -> list[Joined]:
    """Return the runs whose settings are as ``--where`` says; columns are the readers' own."""
    known = {key for run in runs for key in run.config}
    wanted = {key: value for key, value in said.where.items() if key in known}
    kept = [run for run in runs if all(str(run.config.get(k)) == v for k, v in wanted.items())]
    if not kept and runs:
        raise UsageError("--where leaves no run")
    return kept


def _refuse_no_evaluation(runs: Sequence[Joined], pieces: Sequence[Piece]) -> None:
    if any(e.counts or e.error for run in runs for e, _ in run.evaluations):
        return
    if not runs:
        raise InputError("no run and no evaluation among the files")
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


def _refuse_copies(runs: Sequence[Joined]) -> None:
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


def _refuse_other_questions(runs: Sequence[Joined]) -> None:
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


def _fallback(paths: Sequence[str], pieces: Sequence[Piece]) -> str:
    names = [piece.name for piece in pieces if piece.name]
    for text in (*names, *(p for p in paths)):
        parts = telling(text.replace("\\", "/").strip("/"))
        if parts:
            return parts[-1].rsplit(".", 1)[0] if text in paths else parts[-1]
    return "runs"


def _said_arms(runs: Sequence[Joined], arms: ArmNames, said: Said) -> None:
    """Put runs into the arms that ``--arm NAME=FILES`` names."""
    for index, run in enumerate(runs):
        files = [found for piece in run.pieces for found in piece.files]
        for name, pattern in said.arm:
            plain = pattern.rstrip("/")
            texts = [run.label, *(f.relative for f in files), *(f.name for f in files)]
            if any(fnmatch(t, plain) or fnmatch(t, f"{plain}/*") for t in texts):
                arms.names[index] = arms.long[index] = name
    if said.arm:
        arms.questions = []


def _check_answers(runs: Sequence[Settled], said: Said, notes: dict[str, None]) -> None:
    """Compare the answers of each task with what the settings asked for.

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
            asked = e.asked or run.run.first("asked") or most
            where = e.source.name if e.source else run.run.label
            if most > asked and not (e.by_content and most % asked == 0):
                raise ImportRefused(
                    f"{most} answers per task where the settings say {asked}: two evaluations in "
                    "one file",
                    path=where,
                )
            if most > asked:
                notes.setdefault(
                    f"{where}: tasks of equal content cannot be told apart and count as one, "
                    f"with up to {most} answers"
                )
            if fewest < asked:
                short = f"{where}: {fewest} to {most} answers per task where {asked} expected"
                if said.missing == "wrong":
                    filled = e.tally.fill(asked)
                    notes.setdefault(f"{short}; {filled} are missing and count as wrong")
                else:
                    notes.setdefault(f"{short} (--missing wrong counts the missing as wrong)")
        for found in run.run.pieces:
            run.earlier_failures += found.extra.pop("earlier_failures", [])


def _one_a_seed(runs: list[Settled], notes: dict[str, None]) -> tuple[list[Settled], list[str]]:
    """Return the runs with failed attempts folded into the one that finished, and questions."""
    groups: dict[tuple[str, int | None], list[Settled]] = defaultdict(list)
    for run in runs:
        groups[run.arm, run.seed].append(run)
    kept: list[Settled] = []
    questions: list[str] = []
    for (arm, seed), twins in groups.items():
        if seed is None or len(twins) == 1:
            kept += twins
            continue
        done = [run for run in twins if run.judged]
        if len(done) == 1:
            final = done[0]
            for run in twins:
                if run is not final:
                    final.earlier_failures.append(run.failure or run.status)
                    notes.setdefault(
                        f"{arm}, seed {seed}: {run.run.label} is an earlier attempt at "
                        f"{final.run.label}"
                    )
            kept.append(final)
            continue
        kept += twins
        names = " and ".join(run.run.label or run.run.run_id or "?" for run in twins)
        questions.append(
            f"{arm}, seed {seed} is there {len(twins)} times: {names}: which is the run? "
            f"--exclude '{twins[-1].run.label}'"
        )
    return kept, questions


def _study(
    runs: list[Settled],
    arms: ArmNames,
    long: dict[str, str],
    said: Said,
    notes: dict[str, None],
) -> tuple[Study | None, list[str]]:
    """Return the study: the untrained model apart, the top arm first."""
    base_arm = _base_arm(runs, said, notes)
    untrained = [run for run in runs if run.arm == base_arm]
    trained = [run for run in runs if run.arm != base_arm]
    if not trained:
        raise ImportRefused("no training run among the files, only the untrained model")
    renamed = _rename_base(trained, said, notes)
    grouped: dict[str, list[Settled]] = {}
    for run in trained:
        grouped.setdefault(run.arm, []).append(run)
    ends = Counter(text.rpartition("/")[2] for text in long.values())
    known = {text.rpartition("/")[2]: name for name, text in long.items()}
    known = {end: name for end, name in known.items() if ends[end] == 1}
    known |= {text: name for name, text in long.items()}
    known |= {name: name for name in grouped} | renamed
    roles = declared_roles([run.run for run in trained], list(grouped), said)
    controls, method, question = (*roles, None) if roles else _roles(list(grouped), known, said)
    if question:
        return None, [question]
    grouped.setdefault(method, [])  # a study may be recorded from its control on
    ordered = {
        name: sorted(grouped[name], key=lambda r: (r.seed is None, r.seed or 0, r.run.label))
        for name in (method, *(name for name in grouped if name != method))
    }
    base = [(run.run.label, e) for run in untrained for e in (*run.judged, *run.untrained)]
    if _one_start(trained, notes):
        base += [(run.run.label, e) for r in ordered.values() for run in r for e in run.untrained]
    differ = {
        key: {renamed.get(a, a): v for a, v in values.items()}
        for key, values in arms.differ.items()
    }
    return Study(method, controls, ordered, base, differ), []


def _base_arm(runs: Sequence[Settled], said: Said, notes: dict[str, None]) -> str | None:
    """Return the arm that is the untrained model: named so, and without a trace of training."""
    names = dict.fromkeys(run.arm for run in runs)
    if said.base is not None:
        if said.base not in names:
            raise UsageError(f"no arm {said.base!r}; there are {', '.join(names)}")
        return said.base
    for name in names:
        own = [run for run in runs if run.arm == name]
        named = name.lower() in _UNTRAINED and name not in (*said.control, said.method)
        if named and len(names) > 1 and not any(_was_trained(run) for run in own):
            notes.setdefault(f"{name} is taken as the untrained model (--control {name} otherwise)")
            return name
    return None


def _was_trained(run: Settled) -> bool:
    return run.run.trained or run.seed is not None or any(e.step for e in run.judged)


def _rename_base(runs: Sequence[Settled], said: Said, notes: dict[str, None]) -> dict[str, str]:
    """Rename a trained arm called base: in a results file that name is the untrained model."""
    if not any(run.arm == "base" for run in runs):
        return {}
    for run in runs:
        if run.arm == "base":
            run.arm = "base_trained"
    notes.setdefault(
        "the arm base was trained and comes over as base_trained: base names the untrained model"
    )
    return {"base": "base_trained"}


def _roles(
    names: Sequence[str], known: dict[str, str], said: Said
) -> tuple[tuple[str, ...], str, str | None]:
    """Return the controls and the top arm, or the question that asks for them."""
    for name in (*said.control, *([said.method] if said.method else [])):
        if name not in known or known[name] not in names:
            raise UsageError(f"no arm {name!r}; there are {', '.join(names)}")
    controls = tuple(known[name] for name in said.control)
    method = known[said.method] if said.method else None
    if not controls and len(names) > 1:
        called = [name for name in names if CONTROLS.match(name) and name != method]
        if len(called) == 1:
            controls = (called[0],)
        elif method is not None and len(names) == 2:
            controls = tuple(name for name in names if name != method)
    if not controls and len(names) > 1:
        return (), "", f"which arm is the control? --control {'|'.join(names)}"
    free = [name for name in names if name not in controls]
    if not free:
        raise UsageError(f"--control names every arm: {', '.join(names)}")
    return controls, method or free[0], None


def _one_start(runs: Sequence[Settled], notes: dict[str, None]) -> bool:
    models = {run.run.first("model") for run in runs} - {None}
    if len(models) > 1 and any(run.untrained for run in runs):
        shown = ", ".join(sorted(models))
        notes.setdefault(f"runs start from {shown}: evaluations at step 0 are left out")
        return False
    return True


def _say_evidence(runs: Sequence[Settled], notes: dict[str, None]) -> None:
    if len(runs) > 1 and not any(run.run.by_trainer for run in runs):
        notes.setdefault(
            "no training log: that these are training runs rests on the names of folders, files "
            "or runs; --seed-from path says that each seed is a training of its own"
        )
    if runs and all(run.seed is None for run in runs):
        notes.setdefault("no training seed is said anywhere: each run has seed null")


def _heading(walked: Walked, runs: Sequence[Settled], used: Sequence[str]) -> str:
    count = f"{len(runs)} run" + ("s" if len(runs) != 1 else "")
    return f"{walked.root}: {count}, read by {', '.join(used)}"


def _lines(
    seeds: Seeds,
    arms: ArmNames,
    runs: Sequence[Settled],
    study: Study | None,
    walked: Walked,
    claimed: Claimed,
    used: Sequence[str],
) -> list[str]:
    lines = [f"seeds: {seeds.said or 'none found'}"]
    if arms.said:
        lines.append(f"arms: {arms.said}")
    base = [] if study is None else [e.score for _, e in study.base if e.score is not None]
    if base:
        count = "1 evaluation" if len(base) == 1 else f"{len(base)} evaluations"
        lines.append(f"untrained model: {count}, {min(base):.3f} to {max(base):.3f}")
    unread = _not_read(walked, claimed)
    if unread:
        lines.append(f"not read: {unread}")
    if walked.excluded:
        lines.append(f"excluded: {len(walked.excluded)} files")
    return lines


def _not_read(walked: Walked, claimed: Claimed) -> str:
    parts = []
    weights = sum(walked.weights.values())
    if weights:
        parts.append(f"{weights} files of weights in {len(walked.weights)} folders")
    if walked.pickled:
        parts.append(f"{len(walked.pickled)} pickles, first {walked.pickled[0]}")
    if claimed.unread:
        names = Counter(found.base for found in claimed.unread)
        shown = ", ".join(f"{n} {name}" if n > 1 else name for name, n in names.most_common(4))
        more = len(names) - 4
        parts.append(shown + (f" and {more} more names" if more > 0 else ""))
    if walked.passed:
        parts.append(f"{len(walked.passed)} links or deep folders, first {walked.passed[0]}")
    return "; ".join(parts)
