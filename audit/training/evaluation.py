"""Sample every holdout task several times and count what came back, per task."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from audit.failure import described
from audit.training.environment import now

if TYPE_CHECKING:
    from collections.abc import Callable

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from audit.training.components import ComponentReward
    from audit.training.rewards import Scorer
    from audit.training.tasks import Item


class NothingScored(RuntimeError):  # noqa: N818 - says what happened, as Diverged does
    """The scorer raised on every response, so there is no outcome."""


@dataclass(frozen=True, slots=True)
class Condition:
    """How prompts were put to the model, and responses sampled."""

    samples: int
    temperature: float
    max_tokens: int
    seed: int
    batch_size: int
    dtype: str = "float32"
    processes: int = 1
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts by task, all of length T, in the order of the tasks.

    ``samples`` were drawn of each task, ``correct`` of them right, ``errored`` could not be
    scored because the scorer raised, ``truncated`` ended at the token limit, ``unparsed`` held no
    answer (None where the scorer does not say). ``tokens`` is the sum over a task's samples, the
    end token included, and ``characters`` that of the decoded text. ``components`` has, by name,
    the sum of the fractions that a component of a training reward gave each task's samples (None
    where it applied to none of them), and how many of them have no fraction: it raised, or did not
    apply. ``date`` is when the last answer was scored, in UTC, ISO 8601.
    """

    task_ids: tuple[str, ...]
    correct: tuple[int, ...]
    errored: tuple[int, ...]
    truncated: tuple[int, ...]
    unparsed: tuple[int, ...] | None
    tokens: tuple[int, ...]
    characters: tuple[int, ...]
    condition: Condition
    prompt_sha256: str
    date: str
    components: Mapping[str, tuple[tuple[float | None, ...], tuple[int, ...]]] = field(
        default_factory=dict
    )
    first_error: str = ""

    def checked(self) -> Outcome:
        """Return the outcome, unless the scorer raised on every response.

        Raises
        ------
        NothingScored
            With the first error.
        """
        drawn = len(self.task_ids) * self.condition.samples
        if drawn and sum(self.errored) == drawn:
            raise NothingScored(
                f"the reward raised on each of {drawn} responses, first {self.first_error}"
            )
        return self

    @property
    def accuracy(self) -> float:
        """Share of all samples that were right: pass@1."""
        return sum(self.correct) / (len(self.task_ids) * self.condition.samples)

    def pass_at(self, k: int) -> float:
        """Mean over tasks of the unbiased pass@k, ``1 - C(n - c, k) / C(n, k)``.

        Chen et al. 2021, arXiv:2107.03374, equation 1.
        """
        n = self.condition.samples
        if not 1 <= k <= n:
            raise ValueError(f"pass@{k} needs between 1 and {n} samples per task")
        missed = sum(math.comb(n - c, k) for c in self.correct)
        return 1 - missed / (math.comb(n, k) * len(self.correct))

    def metrics(self) -> dict[str, Any]:
        """Return the ``method_metrics`` block."""
        examples = len(self.task_ids) * self.condition.samples
        return {
            "accuracy": self.accuracy,
            f"pass_at_{self.condition.samples}": self.pass_at(self.condition.samples),
            "examples": examples,
            "generated_tokens": sum(self.tokens),
            "mean_response_chars": sum(self.characters) / examples,
            "truncated_responses": sum(self.truncated),
        }

    def block(self, benchmark: str, split: str, step: int) -> dict[str, Any]:
        """Return the ``evaluation`` block."""
        return {
            **self._head(benchmark, split, step, "accuracy"),
            "correct": list(self.correct),
            "samples": [self.condition.samples] * len(self.task_ids),
            "errored": list(self.errored),
            "truncated": list(self.truncated),
            **({} if self.unparsed is None else {"unparsed": list(self.unparsed)}),
            "mean_tokens": [total / self.condition.samples for total in self.tokens],
            **self._condition_block(),
        }

    def component_blocks(self, benchmark: str, split: str, step: int) -> list[dict[str, Any]]:
        """Return an ``evaluation`` block for each component: the mean fraction of each task.

        Tasks to which it applies are in it, and a component that applies to none has no block.
        """
        drawn, blocks = self.condition.samples, []
        for name, (totals, errored) in self.components.items():
            parts = zip(self.task_ids, totals, errored, strict=True)
            found = [(task, total, bad) for task, total, bad in parts if total is not None]
            if not found:
                continue
            blocks.append(
                {
                    **self._head(benchmark, split, step, name),
                    "task_ids": [task for task, _, _ in found],
                    "scores": [total / drawn for _, total, _ in found],
                    "samples": [drawn] * len(found),
                    "errored": [bad for _, _, bad in found],
                    **self._condition_block(),
                }
            )
        return blocks

    def _head(self, benchmark: str, split: str, step: int, metric: str) -> dict[str, Any]:
        return {
            "benchmark": benchmark,
            "split": split,
            "metric": metric,
            "checkpoint_step": step,
            "selected_on": "none",
            "date": self.date,
            "task_ids": list(self.task_ids),
        }

    def _condition_block(self) -> dict[str, Any]:
        condition = self.condition
        return {
            "condition": {
                "temperature": condition.temperature,
                "top_p": 1.0,
                "top_k": 0,
                "max_tokens": condition.max_tokens,
                "seed": condition.seed,
                "batch_size": condition.batch_size,
                "engine": f"transformers {version('transformers')}",
                "dtype": condition.dtype,
                **({"processes": condition.processes} if condition.processes > 1 else {}),
                "prompt_sha256": self.prompt_sha256,
            },
        }


def outcome_of(state: Mapping[str, Any]) -> Outcome:
    """Return an outcome from its ``dataclasses.asdict``, written and read as JSON."""
    plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in state.items()}
    parts = {name: (tuple(a), tuple(b)) for name, (a, b) in state["components"].items()}
    plain |= {"condition": Condition(**state["condition"]), "components": parts}
    return Outcome(**plain)


def evaluate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    items: Sequence[Item],
    scorer: Scorer,
    condition: Condition,
    progress: Callable[[int], object] = lambda rows: None,
    components: Sequence[ComponentReward] = (),
) -> Outcome:
    """Sample and score every item; the random state and the model's mode are left as they were.

    Parameters
    ----------
    progress : callable
        Told how many responses each batch brought.
    components : sequence of ComponentReward
        Components of training rewards, measured beside the scorer; where one raises, the response
        counts as 0 for it.

    Returns
    -------
    Outcome
        To be asked by `Outcome.checked` whether anything was scored.
    """
    import torch

    prompts = _prompts(tokenizer, items, condition)
    # As TRL does in training: a template writes the special tokens itself, plain text has none.
    special = any(isinstance(item.prompt, str) for item in items)
    rows = [index for index in range(len(items)) for _ in range(condition.samples)]
    counts = [[0] * len(items) for _ in range(6)]
    fractions = {one.__name__: _Fractions(len(items)) for one in components}
    correct, errored, truncated, unparsed, tokens, characters = counts
    all_say_parsed = True
    first_error = ""
    training = model.training
    model.eval()
    devices = [model.device] if model.device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices=devices), torch.no_grad():
            torch.manual_seed(condition.seed)
            for start in range(0, len(rows), condition.batch_size):
                batch = rows[start : start + condition.batch_size]
                texts = [prompts[i] for i in batch]
                answers = _sample(model, tokenizer, texts, condition, special)
                for index, (text, ids, cut) in zip(batch, answers, strict=True):
                    tokens[index] += len(ids)
                    characters[index] += len(text)
                    truncated[index] += cut
                    try:
                        score = scorer(text, items[index].answer)
                    except (Exception, SystemExit) as error:  # counted: nobody can score it
                        errored[index] += 1
                        first_error = first_error or described(error)
                        continue
                    correct[index] += score.correct
                    unparsed[index] += score.parsed is False
                    all_say_parsed = all_say_parsed and score.parsed is not None
                for one in components:
                    fractions[one.__name__].add(one, batch, answers, items)
                progress(len(batch))
    finally:
        model.train(training)
    return Outcome(
        task_ids=tuple(item.id for item in items),
        correct=tuple(correct),
        errored=tuple(errored),
        truncated=tuple(truncated),
        unparsed=tuple(unparsed) if all_say_parsed else None,
        tokens=tuple(tokens),
        characters=tuple(characters),
        condition=condition,
        prompt_sha256=_prompts_sha256(prompts),
        date=now(),
        components={name: one.whole(condition.samples) for name, one in fractions.items()},
        first_error=first_error,
    )


def share(items: Sequence[Item], process: int, processes: int) -> Sequence[Item]:
    """Return the tasks that one of several processes evaluates."""
    return items[process::processes]


def merged(
    parts: Sequence[Outcome],
    items: Sequence[Item],
    tokenizer: PreTrainedTokenizerBase,
    condition: Condition,
) -> Outcome:
    """Put the outcomes of the shares of several processes together, in the order of the tasks.

    Parameters
    ----------
    parts : sequence of Outcome
        By process, each of its `share`.
    condition : Condition
        That of the whole: the seed from which the processes take theirs.
    """
    processes = len(parts)

    def whole(column: Callable[[Outcome], Sequence[Any]]) -> tuple[Any, ...]:
        return tuple(
            column(parts[place % processes])[place // processes] for place in range(len(items))
        )

    names = parts[0].components
    all_parsed = all(part.unparsed is not None for part in parts)
    return Outcome(
        task_ids=whole(lambda part: part.task_ids),
        correct=whole(lambda part: part.correct),
        errored=whole(lambda part: part.errored),
        truncated=whole(lambda part: part.truncated),
        unparsed=whole(lambda part: part.unparsed or ()) if all_parsed else None,
        tokens=whole(lambda part: part.tokens),
        characters=whole(lambda part: part.characters),
        condition=replace(condition, processes=processes),
        prompt_sha256=_prompts_sha256(_prompts(tokenizer, items, condition)),
        date=max(part.date for part in parts),
        components={
            name: (
                whole(lambda part, name=name: part.components[name][0]),  # type: ignore[misc]
                whole(lambda part, name=name: part.components[name][1]),  # type: ignore[misc]
            )
            for name in names
        },
        first_error=next((part.first_error for part in parts if part.first_error), ""),
    )


def _prompts(
    tokenizer: PreTrainedTokenizerBase, items: Sequence[Item], condition: Condition
) -> list[str]:
    kwargs = condition.chat_template_kwargs
    return [prompt_text(tokenizer, item.prompt, kwargs) for item in items]


def _prompts_sha256(prompts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(prompts)).encode()).hexdigest()


class _Fractions:
    """What a component gives the samples of each task."""

    def __init__(self, tasks: int) -> None:
        self.sums = [0.0] * tasks
        self.errored = [0] * tasks  # without a fraction, for whichever reason
        self.inapplicable = [0] * tasks

    def add(
        self,
        component: ComponentReward,
        batch: Sequence[int],
        answers: Sequence[tuple[str, list[int], bool]],
        items: Sequence[Item],
    ) -> None:
        for index, (text, ids, _) in zip(batch, answers, strict=True):
            item, before = items[index], component.errored
            chat = not isinstance(item.prompt, str)
            (fraction,) = component(
                prompts=[item.prompt],
                completions=[[{"role": "assistant", "content": text}] if chat else text],
                completion_ids=[ids],
                answer=[item.answer],
                row=[item.row],
            )
            self.sums[index] += fraction or 0.0
            self.inapplicable[index] += fraction is None
            self.errored[index] += component.errored - before + (fraction is None)

    def whole(self, samples: int) -> tuple[tuple[float | None, ...], tuple[int, ...]]:
        sums = zip(self.sums, self.inapplicable, strict=True)
        return tuple(None if n == samples else total for total, n in sums), tuple(self.errored)


def prompt_text(
    tokenizer: PreTrainedTokenizerBase, prompt: Any, chat_template_kwargs: Mapping[str, Any]
) -> str:
    """Return a prompt as the model reads it; chat messages go through the tokenizer's template."""
    if isinstance(prompt, str):
        return prompt
    text: str = tokenizer.apply_chat_template(
        prompt, tokenize=False, add_generation_prompt=True, **chat_template_kwargs
    )
    return text


def _sample(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[str],
    condition: Condition,
    special_tokens: bool,
) -> list[tuple[str, list[int], bool]]:
    """Text, tokens with the end and whether the limit cut it, for one response a prompt."""
    from transformers import GenerationConfig

    inputs = tokenizer(
        list(prompts),
        return_tensors="pt",
        padding=True,
        padding_side="left",
        add_special_tokens=special_tokens,
    )
    ends = model.generation_config.eos_token_id
    ends = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
    sampling = {"temperature": condition.temperature, "top_p": 1.0, "top_k": 0}
    output = model.generate(
        input_ids=inputs["input_ids"].to(model.device),
        attention_mask=inputs["attention_mask"].to(model.device),
        # A config of its own: one that came with a checkpoint would bring its own sampling.
        generation_config=GenerationConfig(
            do_sample=condition.temperature > 0,
            **(sampling if condition.temperature > 0 else {}),
            max_new_tokens=condition.max_tokens,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=sorted(ends),
        ),
    )
    answers = []
    for row in output[:, inputs["input_ids"].shape[1] :].tolist():
        end = next((place for place, token in enumerate(row) if token in ends), None)
        text = tokenizer.decode(row[:end], skip_special_tokens=True)
        answers.append((text, row if end is None else row[: end + 1], end is None))
    return answers
