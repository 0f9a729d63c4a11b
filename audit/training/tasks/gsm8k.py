"""GSM8K from its training file alone: the published file, its published partition, verified.

A row is validation when the first eight bytes of the SHA-256 of its question, white space folded,
read as a big-endian fraction of 2^64, are below 0.1. The official test file is never opened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.errors import InputError, UsageError
from audit.training.rewards import Scorer, math_equal
from audit.training.tasks import Item, Partition
from audit.training.tasks.checkpoint import Checkpoint, Dtype, model_beside
from audit.training.tasks.selection import Candidates, select

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SOURCE_SHA256 = "17f347dc51477c50d4efb83959dbb7c56297aba886e5544ee2aaed3024813465"
PARTITION_SHA256 = {
    "train": "6b8672439c8cf6f6b6e65bf5f0e515fbf4c497c9066eefb62a6a6a61ced158e3",
    "validation": "2cf1119ad7b2e31e825274487ef32c073e03a8ed44f08ecd3e0366c1f40ebdb7",
}
REVISION = "3101c7d5072418e28b9008a6636bde82a006892c"

_INSTRUCTION = "Solve the problem. End with a line '#### ' followed by the final number."


@dataclass(frozen=True, slots=True)
class Gsm8k:
    """Settings of the task.

    ``data`` is the published ``train.jsonl``, ``model`` a local folder, both relative to the study
    file, or a public id, pinned by ``revision``. Of the validation rows the first
    ``holdout_tasks`` in file order are evaluated, of the training rows the first
    ``train_prompts`` (0: all of them) that share no text with those. A row has the columns
    ``question`` and ``solution``.
    """

    data: str
    model: str
    revision: str = ""
    train_prompts: int = 0
    holdout_tasks: int = 120
    where: Mapping[str, Any] = field(default_factory=dict)
    order: str = ""
    ngram: int = 8
    dtype: Dtype = "float32"

    def beside(self, folder: Path) -> Gsm8k:
        """Return the task, its data and a local model found from the study file's folder."""
        return replace(self, data=str(folder / self.data), model=model_beside(folder, self.model))

    @property
    def benchmark(self) -> str:
        """Name under which outcomes are reported."""
        return "gsm8k"

    @property
    def split(self) -> str:
        """Split of the benchmark that is held out."""
        return "validation"

    @property
    def scorer(self) -> Scorer:
        """Equality of the final numbers."""
        return math_equal

    def partition(self, further: Sequence[str] = ()) -> Partition:
        """Read, verify and split the published file.

        Raises
        ------
        InputError
            When the file is not the published one.
        """
        lines = verified_lines(Path(self.data))
        train, validation = split_lines(lines)
        chosen = select(
            self._candidates(train, lines, "train").arranged(self.where, self.order),
            self._candidates(validation, lines, "validation"),
            train_prompts=self.train_prompts,
            holdout_tasks=self.holdout_tasks,
            ngram=self.ngram,
            further=further,
        )
        dataset = {
            "verified": True,
            "test_read": False,
            "source_id": "openai/grade-school-math",
            "source_revision": REVISION,
            "source_sha256": SOURCE_SHA256,
            "partition_sha256": PARTITION_SHA256,
            "partition": "normalized-question sha256 unsigned-prefix / 2^64 < 0.1 validation",
        }
        protocol = {"gold_in_generation": False, "test_opened": False, "reward": "math_equal"}
        return Partition(
            chosen.train, chosen.holdout, dataset, protocol, chosen.dropped, self.ngram
        )

    def _candidates(self, rows: list[int], lines: list[bytes], name: str) -> Candidates:
        return Candidates(
            [self._item(row, lines[row]) for row in rows],
            [_question(lines[row]) for row in rows],
            f"{name} rows of {self.data}",
        )

    def _item(self, row: int, line: bytes) -> Item:
        record = json.loads(line)
        content = f"{record['question']}\n\n{_INSTRUCTION}"
        prompt = [{"role": "user", "content": content}]
        columns = {"question": record["question"], "solution": record["answer"]}
        answer = record["answer"].rsplit("####", 1)[1].strip()
        return Item(f"train-{row}", prompt, answer, row, columns)

    def prepare(self, cache: Path) -> dict[str, Any]:
        """Describe the checkpoint by id, revision and hash of its parameters."""
        if self.tokenizer(cache).chat_template is None:
            raise UsageError(f"model: {self.model} has no chat template, which gsm8k asks through")
        return self._checkpoint.describe()

    def tokenizer(self, cache: Path) -> PreTrainedTokenizerBase:
        """Load the checkpoint's tokenizer, padding on the left."""
        return self._checkpoint.tokenizer()

    def fresh_model(self, cache: Path) -> PreTrainedModel:
        """Load a fresh copy of the checkpoint."""
        return self._checkpoint.fresh_model()

    @property
    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(self.model, self.revision, self.dtype)


def in_validation(question: str) -> bool:
    """Whether the partition rule puts a question into validation."""
    digest = hashlib.sha256(" ".join(question.split()).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 < 0.1


def split_lines(lines: list[bytes]) -> tuple[list[int], list[int]]:
    """Row numbers of the train and validation partitions."""
    validation = {row for row, line in enumerate(lines) if in_validation(_question(line))}
    return [row for row in range(len(lines)) if row not in validation], sorted(validation)


def verified_lines(path: Path) -> list[bytes]:
    """Return the lines of the published training file, newlines kept.

    Raises
    ------
    InputError
        When the file, or a partition of it, does not have its published hash.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(error.strerror or str(error), path=str(path)) from error
    except ValueError as error:  # a null byte in the name
        raise InputError(f"cannot be read: {error}", path=str(path).replace("\0", "\\0")) from error
    found = hashlib.sha256(data).hexdigest()
    if found != SOURCE_SHA256:
        raise InputError(
            f"not the published GSM8K train.jsonl: sha256 {found[:12]}, expected "
            f"{SOURCE_SHA256[:12]}",
            path=str(path),
        )
    lines = data.splitlines(keepends=True)
    for name, rows in zip(("train", "validation"), split_lines(lines), strict=True):
        found = hashlib.sha256(b"".join(lines[row] for row in rows)).hexdigest()
        if found != PARTITION_SHA256[name]:
            raise InputError(
                f"the {name} partition has sha256 {found[:12]}, expected "
                f"{PARTITION_SHA256[name][:12]}",
                path=str(path),
            )
    return lines


def _question(line: bytes) -> str:
    question: str = json.loads(line)["question"]
    return question
