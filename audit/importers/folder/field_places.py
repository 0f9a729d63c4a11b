"""Where the fields of imported runs come from: file, and line or key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.importers.folder.run_seeds import configured_seed
from audit.importers.folder.settling import Settled
from audit.importers.readers.piece import Evaluated, SeedSaid
from audit.pointer import join


class Origins:
    """Collects entries of ``provenance.imported.fields``."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []

    def fields(self, imported: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the entries whose files the import names with their hashes."""
        known = {file["path"] for file in imported.get("files", ())}
        return [entry for entry in self._entries if entry["file"] in known]

    def of_seed(self, pointer: str, run: Settled, configured: SeedSaid | None) -> None:
        """Note the settings that say a run's seed, or another one."""
        said = configured_seed(run.run) if run.seed_source == "config" else configured
        if said is None or not said.file:
            return
        name = "seed" if said.value == run.seed else "configured_seed"
        self._add(join(pointer, name), said.file, None, said.key)

    def of_evaluation(self, pointer: str, evaluation: Evaluated) -> None:
        """Note the file of an evaluation, and the places of what stands elsewhere."""
        if evaluation.source is not None and "" not in evaluation.places:
            self._add(pointer, evaluation.source.relative)
        for member, place in evaluation.places.items():
            at = join(pointer, *member.split("/")) if member else pointer
            self._add(at, place.file.relative, place.line, place.key)

    def of_log(self, pointer: str, run: Settled, training: Sequence[Mapping[str, Any]]) -> None:
        """Note the file of a training log, with the line of each step where all are known."""
        piece = next((p for p in run.run.pieces if p.log and p.files), None)
        if piece is None or not training:
            return
        place = join(pointer, "training")
        lines = piece.logged.lines if piece.logged is not None else {}
        found = [lines[step["step"]] for step in training if step["step"] in lines]
        self._add(place, piece.files[0].relative)
        if len(found) == len(training):
            self._entries[-1]["lines"] = found
        back = piece.logged.went_back if piece.logged is not None else []
        if back:
            at = join(pointer, "telemetry", "went_back")
            self._add(at, piece.files[0].relative, lines.get(back[0][1]))

    def _add(
        self, pointer: str, file: str, line: int | None = None, key: str | None = None
    ) -> None:
        place = {"line": line, "key": key}
        told = {name: value for name, value in place.items() if value is not None}
        self._entries.append({"pointer": pointer, "file": file, **told})
