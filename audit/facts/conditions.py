"""Under which conditions arms were evaluated, and on what their checkpoints were chosen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from audit.pointer import join
from audit.results import Evaluation, Results

# What may differ without another question being asked: the draw, and how it was computed.
_INDIFFERENT = frozenset({"seed", "engine", "dtype", "batch_size"})
# Words of `selected_on` that say that nothing was chosen.
NOT_SELECTED = frozenset({"none", ""})


@dataclass(frozen=True, slots=True)
class ConditionDifference:
    """A setting of the evaluation that two arms do not share and no change declares.

    Attributes
    ----------
    name : str
    ours, theirs : tuple
        The values of each arm, each once, in the order of the file.
    pointer : str
        Where the first value stands that the other arm does not have.
    """

    name: str
    ours: tuple[Any, ...]
    theirs: tuple[Any, ...]
    pointer: str


def condition_differences(
    results: Results, ours: Sequence[Evaluation], theirs: Sequence[Evaluation]
) -> tuple[ConditionDifference, ...]:
    """Return what differs between the evaluations of two arms beyond the declared change.

    A setting that only one of the arms records is unknown in the other, not different.
    """
    declared = set(changed_fields(results))
    names = dict.fromkeys(
        name
        for evaluation in (*ours, *theirs)
        for name in evaluation.condition
        if name not in _INDIFFERENT and name not in declared
    )
    found = []
    for name in names:
        mine, others = (_values(side, name) for side in (ours, theirs))
        if mine and others and mine.keys() != others.keys():
            odd = next(key for key in (*others, *mine) if (key in mine) != (key in others))
            pointer = (others if odd in others else mine)[odd][1]
            found.append(ConditionDifference(name, _shown(mine), _shown(others), pointer))
    return tuple(found)


def changed_fields(results: Results) -> tuple[str, ...]:
    """Return the settings that the file says differ on purpose, without the block they are in."""
    fields = results.block("change").get("fields") or ()
    return tuple(str(name).rpartition(".")[2] for name in fields)


def _values(evaluations: Iterable[Evaluation], name: str) -> dict[str, tuple[Any, str]]:
    """Return the distinct values of a setting, by their JSON text, with their first place."""
    found: dict[str, tuple[Any, str]] = {}
    for evaluation in evaluations:
        value = evaluation.condition.get(name)
        if value is not None:
            key = json.dumps(float(value) if type(value) is int else value, sort_keys=True)
            found.setdefault(key, (value, join(evaluation.pointer, "condition", name)))
    return found


def _shown(values: dict[str, tuple[Any, str]]) -> tuple[Any, ...]:
    return tuple(value for value, _ in values.values())


def selected_here(evaluation: Evaluation) -> bool | None:
    """Return whether a checkpoint was chosen on the data it is judged by; None where unstated.

    It was where ``selected_on`` names the split or the benchmark of the evaluation, or ``test``,
    or where the evaluation names no split and something was chosen.
    """
    chosen = evaluation.document.get("selected_on")
    if chosen is None:
        return None
    words = str(chosen).strip().lower()
    if words in NOT_SELECTED:
        return False
    split = evaluation.document.get("split")
    here = {str(name).lower() for name in (split, evaluation.benchmark) if name}
    return words in here or words == "test" or split is None


def chosen_on(evaluations: Iterable[Evaluation]) -> tuple[str, ...]:
    """Return on what checkpoints were chosen, each once; ``none`` where nothing was, or unstated.

    Empty where nothing was chosen at all.
    """
    found = dict.fromkeys(
        str(evaluation.document.get("selected_on") or "none").strip().lower() or "none"
        for evaluation in evaluations
    )
    return tuple(found) if found.keys() - NOT_SELECTED else ()
