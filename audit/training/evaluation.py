"""Sample every holdout task several times and count what came back, per task."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from audit.failure import described

if TYPE_CHECKING:
    from collections.abc import Callable

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from audit.training.rewards import Scorer
    from audit.training.tasks import Item


class NothingScored(RuntimeError):  # noqa: N818 - says what happened, as Diverged does
    """The scorer raised on every response, so there is no outcome."""


@dataclass(frozen=True, slots=True)
class Condition:
    """How responses were sampled."""

    samples: int
    temperature: float
    max_tokens: int
    seed: int
    batch_size: int
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts by task, all of length T, in the order of the tasks.

    ``samples`` were drawn of each task, ``correct`` of them right, ``errored`` could not be
    scored because the scorer raised, ``truncated`` ended at the token limit, ``unparsed`` held no
    answer (None where the scorer does not say). ``tokens`` is the sum over a task's samples, the
    end token included.
    """

    task_ids: tuple[str, ...]
    correct: tuple[int, ...]
    errored: tuple[int, ...]
    truncated: tuple[int, ...]
    unparsed: tuple[int, ...] | None
    tokens: tuple[int, ...]
    condition: Condition
    prompt_sha256: str

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
        return {
            "accuracy": self.accuracy,
            f"pass_at_{self.condition.samples}": self.pass_at(self.condition.samples),
            "examples": len(self.task_ids) * self.condition.samples,
            "generated_tokens": sum(self.tokens),
            "truncated_responses": sum(self.truncated),
        }

    def block(self, benchmark: str, split: str, step: int) -> dict[str, Any]:
        """Return the ``evaluation`` block."""
        condition = self.condition
        return {
            "benchmark": benchmark,
            "split": split,
            "metric": "accuracy",
            "checkpoint_step": step,
            "selected_on": "none",
            "task_ids": list(self.task_ids),
            "correct": list(self.correct),
            "samples": [condition.samples] * len(self.task_ids),
            "errored": list(self.errored),
            "truncated": list(self.truncated),
            **({} if self.unparsed is None else {"unparsed": list(self.unparsed)}),
            "mean_tokens": [total / condition.samples for total in self.tokens],
            "condition": {
                "temperature": condition.temperature,
                "top_p": 1.0,
                "top_k": 0,
                "max_tokens": condition.max_tokens,
                "seed": condition.seed,
                "batch_size": condition.batch_size,
                "engine": f"transformers {version('transformers')}",
                "dtype": condition.dtype,
                "prompt_sha256": self.prompt_sha256,
            },
        }


def evaluate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    items: Sequence[Item],
    scorer: Scorer,
    condition: Condition,
    progress: Callable[[int], object] = lambda rows: None,
) -> Outcome:
    """Sample and score every item; the random state and the model's mode are left as they were.

    Parameters
    ----------
    progress : callable
        Told how many responses each batch brought.

    Raises
    ------
    NothingScored
        When the scorer raised on every response.
    """
    import torch

    prompts = [prompt_text(tokenizer, item.prompt) for item in items]
    # As TRL does in training: a template writes the special tokens itself, plain text has none.
    special = any(isinstance(item.prompt, str) for item in items)
    rows = [index for index in range(len(items)) for _ in range(condition.samples)]
    counts = [[0] * len(items) for _ in range(5)]
    correct, errored, truncated, unparsed, tokens = counts
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
                for index, (text, length, cut) in zip(batch, answers, strict=True):
                    tokens[index] += length
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
                progress(len(batch))
    finally:
        model.train(training)
    if sum(errored) == len(rows):
        raise NothingScored(
            f"the reward raised on each of {len(rows)} responses, first {first_error}"
        )
    return Outcome(
        task_ids=tuple(item.id for item in items),
        correct=tuple(correct),
        errored=tuple(errored),
        truncated=tuple(truncated),
        unparsed=tuple(unparsed) if all_say_parsed else None,
        tokens=tuple(tokens),
        condition=condition,
        prompt_sha256=hashlib.sha256(json.dumps(prompts).encode()).hexdigest(),
    )


def prompt_text(tokenizer: PreTrainedTokenizerBase, prompt: Any) -> str:
    """Return a prompt as the model reads it; chat messages go through the tokenizer's template."""
    if isinstance(prompt, str):
        return prompt
    text: str = tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
    return text


def _sample(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[str],
    condition: Condition,
    special_tokens: bool,
) -> list[tuple[str, int, bool]]:
    """Text, length in tokens and whether the limit cut it, for one response a prompt."""
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
        kept = row if end is None else row[:end]
        text = tokenizer.decode(kept, skip_special_tokens=True)
        answers.append((text, len(kept) + (end is not None), end is None))
    return answers
