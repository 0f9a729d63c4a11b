"""Rows of a JSON Lines file as questions: how they are read, asked and judged."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from audit.errors import UsageError
from audit.training.math_verifier import NAME, NoVerdict, reads_answer
from audit.training.own_rewards import OWN_REWARDS
from audit.training.reward_program import RewardProgram, WrongVerdict
from audit.training.rewards import Scorer, final_number
from audit.training.tasks import Item
from audit.training.tasks.rows import Number, Rows, TaskRow
from audit.training.tasks.selection import Candidates

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Questions:
    """Fields of a row, what a prompt is set in, and the grader.

    ``prompt``, ``answer`` and ``id`` name fields; without ``id`` a task is ``holdout-<row>``,
    counted from 0. ``template`` has ``{prompt}`` where the prompt goes; the instruction follows
    after an empty line. ``program`` is the grader where it is the user's own.
    """

    prompt: str
    answer: str
    id: str
    instruction: str
    grader: str
    program: RewardProgram | None
    template: str = "{prompt}"

    @property
    def scorer(self) -> Scorer:
        """The grader; the user's own is loaded in the process that asks."""
        return self.program.scorer() if self.program else OWN_REWARDS[self.grader]

    def ids(self, holdout: Rows) -> list[str]:
        """Name the tasks of a holdout: by a field, else by their places."""
        field = self.id
        if not field:
            return [f"holdout-{n}" for n in range(len(holdout.rows))]
        lines: dict[str, int] = {}
        for row in holdout.rows:
            name = _text_or_number(row, field)
            if name in lines:
                row.fail(field, f"{name!r} is the {field} of line {lines[name]} too")
            lines[name] = row.line
        return list(lines)

    def candidates(self, rows: Rows, ids: list[str], offset: int = 0) -> Candidates:
        """Read rows as items, not yet as the model is asked."""
        items = [
            Item(
                name,
                _prompt(row, self.prompt),
                self._answer(row),
                number,
                {name: _column(row, name) for name in row.fields},
            )
            for number, (name, row) in enumerate(zip(ids, rows.rows, strict=True), start=offset)
        ]
        return Candidates(items, [_shown(i.prompt) for i in items], f"rows of {rows.path}")

    def _answer(self, row: TaskRow) -> str:
        field = self.answer
        answer = _text_or_number(row, field, empty=self.program is not None)
        if self.grader == "math_equal" and final_number(answer) is None:
            shown = reprlib.repr(answer)
            row.fail(field, f"math_equal compares numbers, and {shown} holds none that it reads")
        if self.grader == NAME:
            try:
                found = reads_answer(answer)
            except NoVerdict as error:
                row.fail(field, str(error))
            if not found:
                row.fail(field, f"{NAME} reads no answer in {answer!r}")
        return answer

    def try_grader(self, item: Item, key: str) -> None:
        """Refuse a grader that can be told to be none before hours are spent with it.

        Raises
        ------
        UsageError
            Naming the setting ``key``.
        """
        scorer = self.scorer
        try:
            scorer(item.answer, item.answer)
        except WrongVerdict as error:
            raise UsageError(f"{key}: {error}") from error
        except (Exception, SystemExit):  # it may well refuse a bare answer as a response
            return

    def asked(
        self,
        items: Sequence[Item],
        rows: Rows,
        tokens: PreTrainedTokenizerBase,
        offset: int = 0,
    ) -> Iterator[Item]:
        """Yield the items as the model is asked: set in the template, and as chat where it can."""
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
                    name = tokens.name_or_path
                    row.fail(self.prompt, f"chat messages, but {name} has no template")
                if roles not in tried:  # a template may refuse roles, or their order
                    tried.add(roles)
                    try:
                        tokens.apply_chat_template(prompt, tokenize=False)
                    except TemplateError as error:
                        row.fail(self.prompt, f"refused by the chat template: {error}")
            yield replace(item, prompt=prompt)

    def _instructed(self, prompt: Any) -> Any:
        if isinstance(prompt, str):
            text = self.template.replace("{prompt}", prompt)
            return f"{text}\n\n{self.instruction}" if self.instruction else text
        *before, last = prompt
        return [*before, {**last, "content": self._instructed(last["content"])}]


def _column(row: TaskRow, field: str) -> Any:
    try:
        return _plain(row.fields[field])
    except ValueError:
        row.fail(field, "a whole number of more digits than Python reads")


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
