"""What a study trains on: prompts, a holdout, a scorer and a base model to start from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from audit.training.rewards import Scorer


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt with its gold answer.

    ``prompt`` is text or a list of chat messages. ``row`` is the item's place in its source, and
    ``columns`` what its row says, for rewards, filters and orders.
    """

    id: str
    prompt: Any
    answer: str
    row: int
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Partition:
    """The items of a task after decontamination, and the blocks that describe them.

    ``protocol`` is what the task knows of a run's protocol: the reward, and whether the test
    split or the answers were seen. ``dropped`` training rows were not clean.
    """

    train: tuple[Item, ...]
    holdout: tuple[Item, ...]
    dataset: dict[str, Any]
    protocol: dict[str, Any]
    dropped: int
    ngram: int

    @property
    def train_sha256(self) -> str:
        """SHA-256 of what is trained on, as it is asked and in its order."""
        asked = [[item.prompt, item.answer, dict(item.columns)] for item in self.train]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def with_test_opened(self) -> Partition:
        """Return it as one of a study that reads a test split."""
        return replace(
            self,
            dataset={**self.dataset, "test_read": True},
            protocol={**self.protocol, "test_opened": True},
        )


class Task(Protocol):
    """A task as the study runs it; settings it cannot work with raise ``UsageError``."""

    @property
    def benchmark(self) -> str:
        """Name under which outcomes are reported."""

    @property
    def split(self) -> str:
        """Split of the benchmark that is held out."""

    @property
    def order(self) -> str:
        """Order of the training rows; empty where each run shuffles them by its seed."""

    @property
    def scorer(self) -> Scorer:
        """Judge of one response, and the training reward of an arm without one of its own."""

    def partition(self, further: Sequence[str] = ()) -> Partition:
        """Read or make the data, verified by hash where it was published.

        Training prompts that share text with the holdout, or with ``further``, the questions of
        other benchmarks, are dropped.
        """

    def prepare(self, cache: Path) -> dict[str, Any]:
        """Make what every run starts from, once, and return the ``checkpoint`` block."""

    def tokenizer(self, cache: Path) -> PreTrainedTokenizerBase:
        """Return a tokenizer that pads on the left."""

    def fresh_model(self, cache: Path) -> PreTrainedModel:
        """Load a fresh copy of the base model."""
