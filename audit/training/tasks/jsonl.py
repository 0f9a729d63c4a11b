"""A task of the user's own: prompts and answers from two JSON Lines files, and a reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.config import build
from audit.errors import UsageError
from audit.training.own_rewards import program_of
from audit.training.reward_program import RewardProgram
from audit.training.rewards import Scorer
from audit.training.tasks import Item, Partition
from audit.training.tasks.checkpoint import Checkpoint, Dtype, model_beside
from audit.training.tasks.questions import Questions
from audit.training.tasks.rows import read_rows
from audit.training.tasks.selection import arranged, select

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Mixed:
    """A further training file, and how many of its clean rows are added; 0 for all."""

    train: str
    prompts: int = 0


@dataclass(frozen=True, slots=True)
class JsonlSettings:
    """Settings of the task.

    ``train``, ``holdout`` and a local ``model`` are relative to the study file. ``prompt``,
    ``answer`` and ``id`` name fields of a row; without ``id`` a holdout row is ``holdout-<row>``,
    counted from 0. ``prompt_template`` has ``{prompt}`` where the prompt goes, and ``instruction``
    follows it. ``train_prompts`` and ``holdout_tasks`` take the first rows (0: all).
    ``where`` and ``order`` act on the training rows before that, ``mixture`` adds rows of further
    files after it. ``split`` is that of the benchmark which the holdout is. ``test_read`` and
    ``gold_in_generation`` say what only the user knows of the files, and are left out of the
    results where not given.
    """

    benchmark: str
    train: str
    holdout: str
    reward: str
    model: str
    prompt: str = "question"
    answer: str = "answer"
    id: str = ""
    revision: str = ""
    instruction: str = ""
    train_prompts: int = 0
    where: Mapping[str, Any] = field(default_factory=dict)
    order: str = ""
    mixture: tuple[Mapping[str, Any], ...] = ()
    holdout_tasks: int = 0
    ngram: int = 8
    dtype: Dtype = "float32"
    test_read: bool | None = None
    gold_in_generation: bool | None = None
    split: str = "validation"
    prompt_template: str = "{prompt}"

    def __post_init__(self) -> None:
        """Refuse settings of which no task can be made."""
        if self.prompt == self.answer:
            raise UsageError(f"answer: {self.answer!r} is the field of the prompt")
        if self.split == "test" and self.test_read is False:
            raise UsageError("test_read: false, but the holdout is the test split")

    def beside(self, folder: Path) -> Jsonl:
        """Return the task, its files and its reward found from the study file's folder."""
        return Jsonl(
            settings=self,
            folder=folder,
            checkpoint=Checkpoint(model_beside(folder, self.model), self.revision, self.dtype),
            program=program_of(folder, self.reward),
        )


@dataclass(frozen=True, slots=True)
class Jsonl:
    """The task as the study runs it."""

    settings: JsonlSettings
    folder: Path
    checkpoint: Checkpoint
    program: RewardProgram | None

    @property
    def benchmark(self) -> str:
        """Name under which outcomes are reported."""
        return self.settings.benchmark

    @property
    def split(self) -> str:
        """Split of the benchmark that is held out."""
        return self.settings.split

    @property
    def order(self) -> str:
        """Order of the training rows; empty where each run shuffles them by its seed."""
        return self.settings.order

    @property
    def scorer(self) -> Scorer:
        """The reward that the study names; the user's own is loaded in the process that asks."""
        return self.questions.scorer

    @property
    def questions(self) -> Questions:
        """How a row is read, asked and judged."""
        settings = self.settings
        return Questions(
            settings.prompt,
            settings.answer,
            settings.id,
            settings.instruction,
            settings.reward,
            self.program,
            settings.prompt_template,
        )

    def partition(self, further: Sequence[str] = ()) -> Partition:
        """Read both files, and refuse what no run could use.

        Raises
        ------
        AuditError
            Naming the file and the line, or the setting.
        """
        settings, questions = self.settings, self.questions
        parts = (Mixed(settings.train, settings.train_prompts), *map(_mixed, settings.mixture))
        sources, offered, offset = [], [], 0
        for part in parts:
            rows = read_rows(self.folder / part.train)
            names = [f"train-{offset + n}" for n in range(len(rows.rows))]
            candidates = questions.candidates(rows, names, offset)
            offered.append(candidates.arranged(settings.where, settings.order))
            sources.append((rows, offset))
            offset += len(rows.rows)
        holdout = read_rows(self.folder / settings.holdout)
        if any(rows.lines_sha256 == holdout.lines_sha256 for rows, _ in sources):
            raise UsageError("holdout: holds the same rows as train")
        held = questions.candidates(holdout, questions.ids(holdout))
        tokens = self.checkpoint.tokenizer()
        trained: list[Item] = []
        dropped = 0
        for part, candidates, (rows, first) in zip(parts, offered, sources, strict=True):
            chosen = select(
                candidates,
                held,
                train_prompts=part.prompts,
                holdout_tasks=settings.holdout_tasks,
                ngram=settings.ngram,
                further=further,
            )
            trained += questions.asked(chosen.train, rows, tokens, first)
            dropped += chosen.dropped
        if len(parts) > 1:  # one order over all files
            trained = [trained[n] for n in arranged(trained, {}, settings.order)]
        questions.try_grader(chosen.holdout[0], "reward")
        train, *others = (rows for rows, _ in sources)
        test_read, gold = settings.test_read, settings.gold_in_generation
        return Partition(
            train=tuple(trained),
            holdout=tuple(questions.asked(chosen.holdout, holdout, tokens)),
            dataset={
                # Not "verified": there is no published hash to hold a user's file against.
                **({} if test_read is None else {"test_read": test_read}),
                "source_sha256": train.sha256,
                "partition_sha256": {
                    "train": train.lines_sha256,
                    settings.split: holdout.lines_sha256,
                },
                "partition": f"a file each for train and {settings.split}",
                **({"mixture_sha256": [rows.sha256 for rows in others]} if others else {}),
            },
            protocol={
                **({} if gold is None else {"gold_in_generation": gold}),
                **({} if test_read is None else {"test_opened": test_read}),
                "reward": settings.reward,
                **({"reward_sha256": self.program.sha256} if self.program else {}),
            },
            dropped=dropped,
            ngram=settings.ngram,
        )

    def prepare(self, cache: Path) -> dict[str, Any]:
        """Describe the checkpoint by id, revision and hash of its parameters."""
        return self.checkpoint.describe()

    def tokenizer(self, cache: Path) -> PreTrainedTokenizerBase:
        """Load the checkpoint's tokenizer, padding on the left."""
        return self.checkpoint.tokenizer()

    def fresh_model(self, cache: Path) -> PreTrainedModel:
        """Load a fresh copy of the checkpoint."""
        return self.checkpoint.fresh_model()


def _mixed(table: Mapping[str, Any]) -> Mixed:
    return build(Mixed, table)
