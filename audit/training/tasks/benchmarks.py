"""Benchmarks that every run and the base are evaluated on: that of the task, and further ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from audit.training.own_rewards import program_of
from audit.training.tasks import Item
from audit.training.tasks.questions import Questions
from audit.training.tasks.rows import Rows, read_rows
from audit.training.tasks.selection import Candidates, refuse_too_many

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from audit.training.rewards import Scorer
    from audit.training.study_file import BenchmarkSettings


class HasScorer(Protocol):
    """What judges the responses to a benchmark; it travels to workers and loads itself there."""

    @property
    def scorer(self) -> Scorer:
        """Judge of one response."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A benchmark as a model is asked it.

    ``number`` is 0 for that of the task, and counts the further ones. ``at_checkpoints`` tells
    whether runs are asked it along the training too.
    """

    name: str
    items: tuple[Item, ...]
    judge: HasScorer
    samples: int
    max_tokens: int
    at_checkpoints: bool
    number: int = 0


def evaluation_of(name: str, number: int) -> str:
    """Return what progress calls an evaluation on a benchmark, 0 being that of the task."""
    return f"evaluation on {name}" if number else "evaluation"


class FurtherBenchmark(Protocol):
    """A further benchmark as it was read; it travels to workers by pickle."""

    @property
    def setting(self) -> BenchmarkSettings:
        """What the study file says of it."""

    @property
    def split(self) -> str:
        """Split of it that is asked."""

    @property
    def chosen(self) -> Candidates:
        """What is asked, not yet as a model is asked it."""

    @property
    def block(self) -> dict[str, Any]:
        """What a run's protocol says of it."""

    @property
    def judge(self) -> HasScorer:
        """What judges a response to it."""

    def asked(self, tokens: PreTrainedTokenizerBase) -> tuple[Item, ...]:
        """Return its items as a model with such a tokenizer is asked them."""


@dataclass(frozen=True, slots=True)
class FileBenchmark:
    """The rows of a file, its fields and its grader."""

    setting: BenchmarkSettings
    questions: Questions
    rows: Rows
    chosen: Candidates

    @property
    def split(self) -> str:
        """Split of it that the file is."""
        return self.setting.split

    @property
    def block(self) -> dict[str, Any]:
        """What a run's protocol says of it."""
        program = self.questions.program
        return {
            "holdout_sha256": self.rows.lines_sha256,
            "tasks": len(self.chosen.items),
            "grader": self.questions.grader,
            **({"grader_sha256": program.sha256} if program else {}),
        }

    @property
    def judge(self) -> HasScorer:
        """What judges a response to it."""
        return self.questions

    def asked(self, tokens: PreTrainedTokenizerBase) -> tuple[Item, ...]:
        """Return its items as a model with such a tokenizer is asked them.

        Raises
        ------
        InputError
            When the chat template refuses a prompt.
        """
        return tuple(self.questions.asked(self.chosen.items, self.rows, tokens))


def read_benchmark(setting: BenchmarkSettings, folder: Path) -> FileBenchmark:
    """Read the questions of a file, and find their grader.

    Raises
    ------
    AuditError
        Naming the file and the line, or the setting.
    """
    program = program_of(folder, setting.grader, "grader")
    questions = Questions(
        setting.prompt,
        setting.answer,
        setting.id,
        setting.instruction,
        setting.grader,
        program,
        setting.prompt_template,
    )
    rows = read_rows(folder / setting.holdout)
    every = questions.candidates(rows, questions.ids(rows))
    refuse_too_many("holdout_tasks", setting.holdout_tasks, len(every.items), every.name)
    end = setting.holdout_tasks or None
    chosen = Candidates(every.items[:end], every.texts[:end], every.name)
    questions.try_grader(chosen.items[0], "grader")
    return FileBenchmark(setting, questions, rows, chosen)
