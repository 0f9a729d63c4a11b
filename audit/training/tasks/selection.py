"""Which rows of a task are trained on and which are held out: as many as asked, and clean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.errors import UsageError, did_you_mean
from audit.training.decontaminate import decontaminate
from audit.training.tasks import Item


@dataclass(frozen=True, slots=True)
class Candidates:
    """Items in file order, the text of each that must not be shared, and what to call them."""

    items: Sequence[Item]
    texts: Sequence[str]
    name: str

    def arranged(self, where: Mapping[str, Any], order: str) -> Candidates:
        """Return those that a filter lets by, in an order; see `arranged`."""
        places = arranged(self.items, where, order)
        return Candidates(
            [self.items[place] for place in places],
            [self.texts[place] for place in places],
            self.name,
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """The items chosen; ``dropped`` training rows before the last chosen one were not clean."""

    train: tuple[Item, ...]
    holdout: tuple[Item, ...]
    dropped: int


def select(
    train: Candidates,
    holdout: Candidates,
    *,
    train_prompts: int,
    holdout_tasks: int,
    ngram: int,
    further: Sequence[str] = (),
) -> Selection:
    """Take the first rows of the holdout, and the first training rows that share no text with it.

    Parameters
    ----------
    train_prompts, holdout_tasks : int
        How many; 0 takes all.
    ngram : int
        Words in a row that a training row must not share with a chosen holdout row.
    further : sequence of str
        Texts of other benchmarks, with which it must not share them either.

    Raises
    ------
    UsageError
        When there are fewer rows than asked for, naming the setting.
    """
    for key, asked, there in (
        ("holdout_tasks", holdout_tasks, holdout),
        ("train_prompts", train_prompts, train),
    ):
        refuse_too_many(key, asked, len(there.items), there.name)
    held = holdout.items[: holdout_tasks or None]
    clean = decontaminate(train.texts, [*holdout.texts[: len(held)], *further], ngram)
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


def refuse_too_many(key: str, asked: int, there: int, name: str) -> None:
    """Refuse to be asked for more than there is.

    Raises
    ------
    UsageError
        Naming the setting.
    """
    if asked > there:
        raise UsageError(f"{key}: {asked} is more than the {there} {name}")


def arranged(items: Sequence[Item], where: Mapping[str, Any], order: str) -> list[int]:
    """Return the places of the items that a filter lets by, in the order that is asked for.

    Parameters
    ----------
    items : sequence of Item
    where : mapping
        What an item's columns must be: a value, one of a list, or a number from ``min`` to
        ``max``.
    order : str
        Empty or ``file`` for that of the items; else a column, with ``-`` in front for falling.

    Raises
    ------
    UsageError
        For a column that an item lacks, values that cannot be ordered, or where nothing is left.
    """
    places = [
        place
        for place, item in enumerate(items)
        if all(_fits(_column(item, name, "where"), wanted) for name, wanted in where.items())
    ]
    if not places:
        raise UsageError("where: lets no training row by")
    if order in ("", "file"):
        return places
    name = order.removeprefix("-")
    try:
        places.sort(
            key=lambda place: _column(items[place], name, "order"), reverse=order.startswith("-")
        )
    except TypeError as error:
        raise UsageError(f"order: the values of {name!r} are not of one kind") from error
    return places


def _column(item: Item, name: str, key: str) -> Any:
    if name not in item.columns:
        hint = did_you_mean(name, item.columns)
        raise UsageError(f"{key}: the training row {item.id} has no field {name!r}{hint}")
    return item.columns[name]


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        low, high = wanted.get("min", value), wanted.get("max", value)
        return number and low <= value <= high
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)
