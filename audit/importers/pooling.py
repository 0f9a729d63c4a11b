"""Several evaluations of one model as one: further answers of each task, or the mean of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COUNTED = ("correct", "samples", "errored", "truncated", "unparsed")
_MEANS = ("scores", "mean_tokens")


def pooled_block(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return two evaluation blocks of one model on one benchmark as one.

    Counts add up by task; scores and lengths are means over the answers of both. What only one of
    the two says of its answers is left out; tasks of either are kept.
    """
    one, other = _with_samples(one), _with_samples(other)
    if ("correct" in one) is not ("correct" in other):
        one, other = _as_scores(one), _as_scores(other)
    tables = [_by_task(one), _by_task(other)]
    tasks = list(dict.fromkeys([*tables[0], *tables[1]]))
    keys = [key for key in (*_COUNTED, *_MEANS) if key in one and key in other]
    rest = {key: value for key, value in one.items() if key not in (*_COUNTED, *_MEANS)}
    block = rest | {"task_ids": tasks}
    condition = _shared_condition(one, other)
    block.pop("condition", None)
    if condition:
        block["condition"] = condition
    for key in keys:
        block[key] = [
            _together(key, [table[task] for table in tables if task in table]) for task in tasks
        ]
    return block


def _with_samples(block: Mapping[str, Any]) -> dict[str, Any]:
    return {"samples": [1] * len(block["task_ids"])} | dict(block)


def _as_scores(block: Mapping[str, Any]) -> dict[str, Any]:
    if "correct" not in block:
        return dict(block)
    drawn = zip(block["correct"], block["samples"], strict=True)
    scores = [right / samples if samples else 0.0 for right, samples in drawn]
    return {key: value for key, value in block.items() if key != "correct"} | {"scores": scores}


def _by_task(block: Mapping[str, Any]) -> dict[Any, dict[str, Any]]:
    keys = [key for key in (*_COUNTED, *_MEANS) if key in block]
    return {
        task: {key: block[key][index] for key in keys}
        for index, task in enumerate(block["task_ids"])
    }


def _together(key: str, cells: list[dict[str, Any]]) -> Any:
    if key in _COUNTED:
        return sum(cell[key] for cell in cells)
    drawn = sum(cell["samples"] for cell in cells)
    if not drawn:
        return cells[0][key]
    return sum(sorted(cell[key] * cell["samples"] for cell in cells)) / drawn


def _shared_condition(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the decoding settings that both have; a sampling seed of one is not the whole's."""
    mine, theirs = one.get("condition") or {}, other.get("condition") or {}
    return {key: value for key, value in mine.items() if theirs.get(key) == value}


def pooled_score(
    one: tuple[float, Mapping[str, Any], int], other: tuple[float, Mapping[str, Any], int]
) -> tuple[float, dict[str, Any]]:
    """Return the mean of two scores of one model, and the counts of both together.

    Parameters
    ----------
    one, other : tuple
        Score, counts (``examples`` and the like), and how many evaluations are behind it.

    Returns
    -------
    score : float
        Weighted by ``examples`` where both have them, else by the number of evaluations.
    counts : dict
        Sums of what both count.
    """
    counts = {key: value + other[1][key] for key, value in one[1].items() if key in other[1]}
    weights = [side[1]["examples"] if "examples" in counts else side[2] for side in (one, other)]
    total = sum(weights)
    return (one[0] * weights[0] + other[0] * weights[1]) / total, counts
