"""Training data and checkpoint files at hand, to recompute the hashes a results file records."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from audit.errors import InputError
from audit.paths import is_folder
from audit.reading import Source, read_source

VALIDATION_SHARE = 0.1


@dataclass(frozen=True)
class DataFile:
    """A JSON Lines file of questions, as read.

    The partition rule: a row is validation when the first eight bytes (big-endian) of the SHA-256
    of its question, white space folded to single spaces, divided by 2^64, lie below 0.1.
    """

    source: Source

    @property
    def sha256(self) -> str:
        """SHA-256 of the whole file."""
        return self.source.sha256

    @cached_property
    def _partitions(self) -> dict[str, list[bytes]]:
        rows: dict[str, list[bytes]] = {"train": [], "validation": []}
        for number, line in enumerate(self.source.data.splitlines(keepends=True), start=1):
            if line.strip():
                rows["validation" if self._is_validation(line, number) else "train"].append(line)
        return rows

    def _is_validation(self, line: bytes, number: int) -> bool:
        try:
            question = json.loads(line)["question"]
            folded = " ".join(question.split())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(
                "not a JSON object with a text `question`", path=self.source.name, line=number
            ) from None
        digest = hashlib.sha256(folded.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") / 2**64 < VALIDATION_SHARE

    def rows(self, partition: str) -> int:
        """Return the number of rows of ``train`` or ``validation``."""
        return len(self._partitions[partition])

    def partition_sha256(self, partition: str) -> str:
        """Return the SHA-256 of a partition's lines joined as they stand, newlines included."""
        return hashlib.sha256(b"".join(self._partitions[partition])).hexdigest()


def read_data(path: str | Path) -> DataFile:
    """Read a JSON Lines data file.

    Raises
    ------
    InputError
        When it cannot be read or a line is no question.
    """
    data = DataFile(read_source(path))
    data.rows("train")  # so that a bad line is an error of the input, not of a rule
    return data


def artifacts_folder(path: str | Path) -> Path:
    """Return the folder with checkpoint files.

    Raises
    ------
    InputError
        When it is not a folder.
    """
    folder = Path(path)
    if not is_folder(folder):
        raise InputError("not a folder with the checkpoint's files", path=str(path))
    return folder


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
