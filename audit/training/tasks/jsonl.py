"""A task of the user's own: prompts and answers from two JSON Lines files, and a reward."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.config import build
from audit.errors import UsageError
from audit.training.reward_program import RewardProgram, WrongVerdict, reward_program
from audit.training.rewards import OWN_REWARDS, Scorer, final_number
from audit.training.tasks import Item, Partition
from audit.training.tasks.checkpoint import Checkpoint, Dtype, model_beside
from audit.training.tasks.rows import Number, Rows, TaskRow, read_rows
from audit.training.tasks.selection import Candidates, arranged, select

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
    counted from 0. ``train_prompts`` and ``holdout_tasks`` take the first rows (0: all).
    ``where`` and ``order`` act on the training rows before that, ``mixture`` adds rows of further
    files after it. ``test_read`` and ``gold_in_generation`` say what only the user knows of the
    files, and are left out of the results where not given.
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

    def __post_init__(self) -> None:
        """Refuse settings of which no task can be made."""
        if self.prompt == self.answer:
            raise UsageError(f"answer: {self.answer!r} is the field of the prompt")

    def beside(self, folder: Path) -> Jsonl:
        """Return the task, its files and its reward found from the study file's folder."""
        own = self.reward in OWN_REWARDS
        return Jsonl(
            settings=self,
            folder=folder,
            checkpoint=Checkpoint(model_beside(folder, self.model), self.revision, self.dtype),
            program=None if own else reward_program(folder, self.reward),
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
    def order(self) -> str:
        """Order of the training rows; empty where each run shuffles them by its seed."""
        return self.settings.order

    @property
    def scorer(self) -> Scorer:
        """The reward that the study names; the user's own is loaded in the process that asks."""
        return self.program.scorer() if self.program else OWN_REWARDS[self.settings.reward]

    def partition(self) -> Partition:
        """Read both files, and refuse what no run could use.

        Raises
        ------
        AuditError
            Naming the file and the line, or the setting.
        """
        settings = self.settings
        parts = (Mixed(settings.train, settings.train_prompts), *map(_mixed, settings.mixture))
        sources, offered, offset = [], [], 0
        for part in parts:
            rows = read_rows(self.folder / part.train)
            names = [f"train-{offset + n}" for n in range(len(rows.rows))]
            candidates = self._candidates(rows, names, offset)
            offered.append(candidates.arranged(settings.where, settings.order))
            sources.append((rows, offset))
            offset += len(rows.rows)
        holdout = read_rows(self.folder / settings.holdout)
        if any(rows.lines_sha256 == holdout.lines_sha256 for rows, _ in sources):
            raise UsageError("holdout: holds the same rows as train")
        held = self._candidates(holdout, self._holdout_ids(holdout))
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
            )
            trained += self._asked(chosen.train, rows, tokens, first)
            dropped += chosen.dropped
        if len(parts) > 1:  # one order over all files
            trained = [trained[n] for n in arranged(trained, {}, settings.order)]
        self._try_reward(chosen.holdout[0])
        train, *others = (rows for rows, _ in sources)
        test_read, gold = settings.test_read, settings.gold_in_generation
        return Partition(
            train=tuple(trained),
            holdout=tuple(self._asked(chosen.holdout, holdout, tokens)),
            dataset={
                # Not "verified": there is no published hash to hold a user's file against.
                **({} if test_read is None else {"test_read": test_read}),
                "source_sha256": train.sha256,
                "partition_sha256": {
                    "train": train.lines_sha256,
                    "validation": holdout.lines_sha256,
                },
                "partition": "a file each for train and validation",
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

    def _holdout_ids(self, holdout: Rows) -> list[str]:
        field = self.settings.id
        if not field:
            return [f"holdout-{n}" for n in range(len(holdout.rows))]
        lines: dict[str, int] = {}
        for row in holdout.rows:
            name = _text_or_number(row, field)
            if name in lines:
                row.fail(field, f"{name!r} is the {field} of line {lines[name]} too")
            lines[name] = row.line
        return list(lines)

    def _candidates(self, rows: Rows, ids: list[str], offset: int = 0) -> Candidates:
        own = (self.settings.prompt, self.settings.answer)
        items = [
            Item(
                name,
                _prompt(row, self.settings.prompt),
                self._answer(row),
                number,
                {k: _plain(v) for k, v in row.fields.items() if k not in own},
            )
            for number, (name, row) in enumerate(zip(ids, rows.rows, strict=True), start=offset)
        ]
        return Candidates(items, [_shown(i.prompt) for i in items], f"rows of {rows.path}")

    def _answer(self, row: TaskRow) -> str:
        field = self.settings.answer
        answer = _text_or_number(row, field, empty=self.program is not None)
        if self.settings.reward == "math_equal" and final_number(answer) is None:
            row.fail(field, f"math_equal compares numbers, and {answer!r} holds none")
        return answer

    def _try_reward(self, item: Item) -> None:
        """Refuse a reward that can be told to be none before hours are spent with it."""
        scorer = self.scorer
        try:
            scorer(item.answer, item.answer)
        except WrongVerdict as error:
            raise UsageError(f"reward: {error}") from error
        except (Exception, SystemExit):  # it may well refuse a bare answer as a response
            return

    def _asked(
        self,
        items: Sequence[Item],
        rows: Rows,
        tokens: PreTrainedTokenizerBase,
        offset: int = 0,
    ) -> Iterator[Item]:
        """Yield the items as the model is asked: with the instruction, and as chat where it can."""
        from jinja2 import TemplateError

        tried: set[tuple[str, ...]] = set()
        for item in items:
            prompt = item.prompt
            if isinstance(prompt, str) and tokens.chat_template is not None:
                prompt = [{"role": "user", "content": prompt}]
            prompt = self._instructed(prompt)
            if not isinstance(prompt, str):
                row, roles = rows.rows[item.row - offset], tuple(m["role"] for m in prompt)
                if tokens.chat_template is None:
                    name = self.settings.model
                    row.fail(self.settings.prompt, f"chat messages, but {name} has no template")
                if roles not in tried:  # a template may refuse roles, or their order
                    tried.add(roles)
                    try:
                        tokens.apply_chat_template(prompt, tokenize=False)
                    except TemplateError as error:
                        row.fail(self.settings.prompt, f"refused by the chat template: {error}")
            yield replace(item, prompt=prompt)

    def _instructed(self, prompt: Any) -> Any:
        instruction = self.settings.instruction
        if not instruction:
            return prompt
        if isinstance(prompt, str):
            return f"{prompt}\n\n{instruction}"
        *before, last = prompt
        return [*before, {**last, "content": f"{last['content']}\n\n{instruction}"}]


def _mixed(table: Mapping[str, Any]) -> Mixed:
    return build(Mixed, table)


def _plain(value: Any) -> Any:
    """Return a field as Python has it: a number of the file as a number."""
    if isinstance(value, Number):
        return json.loads(value)
    if isinstance(value, dict):
        return {name: _plain(below) for name, below in value.items()}
    return [_plain(below) for below in value] if isinstance(value, list) else value


def _text_or_number(row: TaskRow, field: str, *, empty: bool = False) -> str:
    value = row[field]
    if not isinstance(value, str):  # a number of the file is its text
        row.fail(field, f"must be a text or a number, not {_kind(value)}")
    text = str(value)
    if isinstance(value, Number) and "e" in text.lower():
        row.fail(field, f"write {text} without an exponent, or as a text")
    if not empty and not text.strip():
        row.fail(field, "must not be empty")
    return text


def _prompt(row: TaskRow, field: str) -> Any:
    """Return the prompt as the file has it: a text, or chat messages."""
    value = row[field]
    if isinstance(value, str) and not isinstance(value, Number):
        if not value.strip():
            row.fail(field, "must not be empty")
        return value
    if not isinstance(value, list):
        row.fail(field, f"must be a text or a list of chat messages, not {_kind(value)}")
    for number, message in enumerate(value, start=1):
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            row.fail(field, f"message {number} must have a role and a content, and nothing else")
        for key, text in message.items():
            if not isinstance(text, str) or isinstance(text, Number) or not text.strip():
                row.fail(field, f"message {number}: {key} must be a text that is not empty")
    if not value or value[-1]["role"] != "user":
        row.fail(field, "the last message must have the role 'user'")
    return value


def _shown(prompt: Any) -> str:
    """Return the text that train and holdout must not share; a system message they may."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(m["content"] for m in prompt if m["role"] != "system")


def _kind(value: Any) -> str:
    kinds = {bool: "a truth value", dict: "an object", list: "a list", Number: "a number"}
    return kinds.get(type(value), "null")
