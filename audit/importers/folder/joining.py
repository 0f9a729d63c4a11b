"""Pieces to runs: by the run's folder, its id, a link that names it, or its name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from audit.importers.place_names import of_model, says_nothing, shared_tail, telling
from audit.importers.readers.piece import Declared, Evaluated, RunPiece


@dataclass(slots=True, eq=False)
class Joined:
    """One run: its pieces, and where it lies or what it is called."""

    root: str | None
    name: str | None
    pieces: list[RunPiece] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What people know the run by: its folder, else its name or id."""
        return self.root or self.name or next((p.run_id for p in self.pieces if p.run_id), "") or ""

    @property
    def run_id(self) -> str | None:
        """The trainer's or tracker's own id."""
        return next((piece.run_id for piece in self.pieces if piece.run_id), None)

    @property
    def group(self) -> str | None:
        """The arm, as a tracker has it."""
        return next((piece.group for piece in self.pieces if piece.group), None)

    @property
    def declared(self) -> Declared | None:
        """What the record of the run says itself."""
        return next((piece.declared for piece in self.pieces if piece.declared), None)

    @property
    def names(self) -> list[str]:
        """Every text that may hold arm and seed, the surest first."""
        texts = [self.root, *(piece.name for piece in self.pieces), self.run_id]
        return [text for text in dict.fromkeys(texts) if text]

    @property
    def config(self) -> dict[str, Any]:
        """The settings of all pieces, the first that says a key."""
        merged: dict[str, Any] = {}
        for piece in reversed(self.pieces):
            merged |= piece.config
        return merged

    @property
    def evaluations(self) -> list[tuple[Evaluated, RunPiece]]:
        """Every evaluation, in the order of the pieces."""
        return [(evaluation, piece) for piece in self.pieces for evaluation in piece.evaluations]

    @property
    def trained(self) -> bool:
        """Whether anything shows that a training took place."""
        return any(piece.trained or piece.log for piece in self.pieces)

    @property
    def by_trainer(self) -> bool:
        """Whether a trainer's own files are among the pieces: its log, or its settings."""
        return self.trained or any(
            piece.seeds or (piece.anchor and piece.config) for piece in self.pieces
        )

    def first(self, attribute: str) -> Any:
        """Return the first value of a piece's attribute that is there."""
        values = (getattr(piece, attribute) for piece in self.pieces)
        return next((value for value in values if value not in (None, "", {}, [])), None)


def join(pieces: Sequence[RunPiece]) -> list[Joined]:
    """Return the runs that pieces belong to, in the order of their labels."""
    runs = _by_place(pieces)
    _under_one_ancestor(runs)
    _linked(runs)
    _same_id(runs)
    _same_name(runs)
    return sorted(runs, key=lambda run: (run.label, run.run_id or ""))


def _by_place(pieces: Sequence[RunPiece]) -> list[Joined]:
    anchored = {piece.root for piece in pieces if piece.anchor and piece.root is not None}
    places: dict[tuple[str, str], list[RunPiece]] = defaultdict(list)
    for number, piece in enumerate(pieces):
        if piece.root is not None:
            places["root", _home(piece, anchored)].append(piece)
        elif piece.run_id is not None:
            places["id", f"{piece.reader} {piece.run_id}"].append(piece)
        elif piece.name is not None:
            name, step = of_model(piece.name)
            for evaluation in piece.evaluations:
                evaluation.step = step if evaluation.step is None else evaluation.step
            places["name", name].append(piece)
        else:
            places["none", str(number)].append(piece)
    runs: list[Joined] = []
    for (kind, key), members in places.items():
        if kind != "root":
            runs.append(Joined(None, key if kind == "name" else members[0].name, members))
            continue
        alone, crowded = _parted(members)
        if alone:
            runs.append(Joined(key, None, alone))
        runs += [_own(piece) for piece in crowded]
    return runs


def _home(piece: RunPiece, anchored: set[str]) -> str:
    """Return the folder of the run that a piece lies in."""
    root = piece.root or ""
    if piece.anchor:
        return root
    parts = root.split("/") if root else []
    for end in range(len(parts), -1, -1):
        if "/".join(parts[:end]) in anchored:
            return "/".join(parts[:end])
    while parts and says_nothing(parts[-1]):
        parts.pop()
    return "/".join(parts)


def _parted(members: list[RunPiece]) -> tuple[list[RunPiece], list[RunPiece]]:
    """Part pieces of one run from those that only lie in one folder, each a run of its own.

    Several pieces of one reader that say the same kind of thing cannot be one run: six logs in
    one folder are six runs.
    """
    by_reader: dict[str, list[RunPiece]] = defaultdict(list)
    for piece in members:
        by_reader[piece.reader].append(piece)
    crowded = {
        reader
        for reader, own in by_reader.items()
        if len(own) > 1 and not any(piece.anchor for piece in own) and _clash(own)
    }
    alone = [piece for piece in members if piece.reader not in crowded]
    return alone, [piece for piece in members if piece.reader in crowded]


def _clash(own: Sequence[RunPiece]) -> bool:
    ids = [piece.run_id for piece in own]
    if all(ids) and len(set(ids)) > 1:
        return True
    places = [
        (e.benchmark, e.metric, e.step) for piece in own for e in piece.evaluations if e.counts
    ]
    logs = [piece for piece in own if piece.log]
    return len(set(places)) < len(places) or len(logs) > 1


def _own(piece: RunPiece) -> Joined:
    """Return a run of one piece, named by its file where it has no other name."""
    if piece.run_id is not None:
        return Joined(None, piece.name or piece.run_id, [piece])
    if piece.files:
        return Joined(str(PurePosixPath(piece.files[0].relative).with_suffix("")), None, [piece])
    return Joined(None, piece.name, [piece])


def _merge(runs: list[Joined], into: Joined, other: Joined) -> None:
    into.pieces += other.pieces
    if into.root is None or (other.root is not None and other.trained and not into.trained):
        into.root, into.name = other.root or into.root, into.name or other.name
    runs.remove(other)


def _under_one_ancestor(runs: list[Joined]) -> None:
    """Join a run below another's folder where no third lies there."""
    for run in sorted(runs, key=lambda run: -(run.root or "").count("/")):
        above = [
            other
            for other in runs
            if other is not run
            and run.root
            and other.root
            and run.root.startswith(f"{other.root}/")
        ]
        if run not in runs or not above:
            continue
        nearest = max(above, key=lambda other: len(other.root or ""))
        beside = [
            other
            for other in runs
            if other is not run and (other.root or "").startswith(f"{nearest.root}/")
        ]
        if not beside and not _both_judged(nearest, run):
            _merge(runs, nearest, run)


def _both_judged(one: Joined, other: Joined) -> bool:
    """Whether both have an evaluation of one benchmark at one step, so that they are two."""
    mine, others = (
        {(e.benchmark, e.metric, e.step) for e, _ in run.evaluations if e.tally is not None}
        for run in (one, other)
    )
    return bool(mine & others)


def _linked(runs: list[Joined]) -> None:
    """Join runs where one names the other's folder, by two parts of its path or a unique one."""
    for run in list(runs):
        for link in [link for piece in run.pieces for link in piece.links]:
            target = _named_by(link, run, runs)
            if run in runs and target is not None and not _both_judged(run, target):
                _merge(runs, run, target)
    for run in list(runs):  # an evaluation of a model that a run saved
        if run not in runs or run.trained or run.root is not None or not run.name:
            continue
        target = _named_by(run.name, run, runs)
        if target is not None and not _both_judged(target, run):
            _merge(runs, target, run)


def _named_by(link: str, run: Joined, runs: Sequence[Joined]) -> Joined | None:
    parts = tuple(part for part in of_model(link)[0].split("/") if part not in ("", ".", "~"))
    sizes = [
        (shared_tail(parts, tuple(other.root.split("/"))), other) for other in runs if other.root
    ]
    best = max((size for size, _ in sizes), default=0)
    found = [other for size, other in sizes if size == best and size]
    if len(found) != 1 or found[0] is run or (best == 1 and (not parts or says_nothing(parts[-1]))):
        return None
    return found[0]


def _same_id(runs: list[Joined]) -> None:
    first: dict[str, Joined] = {}
    for run in list(runs):
        if run.run_id is None:
            continue
        known = first.setdefault(run.run_id, run)
        # One id from one reader at two places is a copy or a restart, which is not decided here.
        readers = {p.reader for p in known.pieces} & {p.reader for p in run.pieces}
        if known is not run and not readers:
            _merge(runs, known, run)


def _same_name(runs: list[Joined]) -> None:
    """Join runs that bear one name in different folders, where it is unique among their kind."""
    by_name: dict[str, list[Joined]] = defaultdict(list)
    for run in runs:
        names = telling(run.root or run.name or "")
        if names:
            by_name["/".join(names)].append(run)
    for run in runs:
        names = telling(run.root or run.name or "")
        if len(names) > 1:
            by_name[names[-1]].append(run)
    for twins in by_name.values():
        twins = [run for run in twins if run in runs]
        if len(twins) != 2 or _both_judged(*twins):
            continue
        readers = [{piece.reader for piece in run.pieces} for run in twins]
        if readers[0].isdisjoint(readers[1]):
            into, other = sorted(twins, key=lambda run: not run.trained)
            _merge(runs, into, other)
