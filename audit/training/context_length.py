"""Whether a model has room for what it is asked: an embedding per token, a position per place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from audit.errors import UsageError
from audit.training.evaluation import prompt_text

if TYPE_CHECKING:
    from audit.training.tasks import Item


def check_lengths(
    model: Any,
    tokenizer: Any,
    items: Sequence[Item],
    max_tokens: int,
    chat_template_kwargs: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Refuse tokens the model has no embedding for, and responses beyond its context.

    Raises
    ------
    UsageError
        With the two numbers.
    """
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise UsageError(
            f"model: its tokenizer has {len(tokenizer)} tokens, its embedding {rows}; resize the "
            "embedding, or use the tokenizer that belongs to it"
        )
    context = getattr(model.config, "max_position_embeddings", None)
    if context is None or not items:
        return
    # By its letters: to count the tokens of all prompts would cost more than it is worth.
    texts = (prompt_text(tokenizer, item.prompt, chat_template_kwargs) for item in items)
    longest = max(texts, key=len)
    prompt = len(tokenizer(longest)["input_ids"])
    if prompt + max_tokens > context:
        raise UsageError(
            f"max_tokens: {max_tokens} and a prompt of {prompt} tokens are more than the "
            f"{context} positions of the model"
        )
