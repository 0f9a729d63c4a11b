"""Which rows of a task are trained on and which are held out: as many as asked, and clean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from audit.errors import UsageError
from audit.training.decontaminate import decontaminate
from audit.training.tasks import Item


@dataclass(frozen=True, slots=True)
class Candidates:
    """Items in file order, the text of each that must not be shared, and what to call them."""

    items: Sequence[Item]
    texts: Sequence[str]
    name: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The items chosen; ``dropped`` training rows before the last chosen one were not clean."""

    train: tuple[Item, ...]
    holdout: tuple[Item, ...]
    dropped: int


def select(
    train: Candidates, holdout: Candidates, *, train_prompts: int, holdout_tasks: int, ngram: int
) -> Selection:
    """Take the first rows of the holdout, and the first training rows that share no text with it.

    Parameters
    ----------
    train_prompts, holdout_tasks : int
        How many; 0 takes all.
    ngram : int
        Words in a row that a training row must not share with a chosen holdout row.

    Raises
    ------
    UsageError
        When there are fewer rows than asked for, naming the setting.
    """
    for key, asked, there in (
        ("holdout_tasks", holdout_tasks, holdout),
        ("train_prompts", train_prompts, train),
    ):
        if asked > len(there.items):
            raise UsageError(f"{key}: {asked} is more than the {len(there.items)} {there.name}")
    held = holdout.items[: holdout_tasks or None]
    clean = decontaminate(train.texts, holdout.texts[: len(held)], ngram)
    if not clean.kept:
        raise UsageError(
            f"ngram: each of the {len(train.items)} {train.name} shares {ngram} words in a row "
            "with the holdout, so none may be trained on"
        )
    if len(clean.kept) < train_prompts:
        raise UsageError(
            f"train_prompts: {train_prompts} is more than {len(clean.kept)} of the "
            f"{len(train.items)} {train.name}, which share no {ngram} words in a row with the "
            "holdout"
        )
    kept = clean.kept[: train_prompts or None]
    end = kept[-1] if train_prompts else len(train.items)
    return Selection(
        train=tuple(train.items[i] for i in kept),
        holdout=tuple(held),
        dropped=sum(index < end for index in clean.dropped),
    )
