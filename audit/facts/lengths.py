"""How long an arm's evaluated responses were, and how many were cut off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.facts.measurements import trained
from audit.results import Arm, Results


def tokens_per_response(arm: Arm) -> float | None:
    """Return the mean tokens per response over the runs that count them; None where none does."""
    found = [(m.tokens, m.responses) for m in trained(arm)]
    tokens = sum(t for t, drawn in found if t is not None and drawn)
    responses = sum(drawn for t, drawn in found if t is not None and drawn)
    return tokens / responses if responses else None


def cut_off(arm: Arm) -> tuple[int, int] | None:
    """Return responses cut off and responses drawn over the arm's runs; None where not counted."""
    found = [(m.truncated, m.responses) for m in trained(arm)]
    known = [(cut, drawn) for cut, drawn in found if cut is not None and drawn]
    if not known:
        return None
    return sum(cut for cut, _ in known), sum(drawn for _, drawn in known)


def tokens_before(results: Results) -> float | None:
    """Return the mean tokens per response of the untrained model; None where not counted."""
    blocks = _baselines(results)
    tokens, examples = (_all(blocks, key) for key in ("generated_tokens", "examples"))
    return sum(tokens) / sum(examples) if tokens and sum(examples) else None


def characters_before(results: Results) -> float | None:
    """Return the like in characters."""
    means = _all(_baselines(results), "mean_response_chars")
    return sum(means) / len(means) if means else None


def characters_per_response(arm: Arm) -> float | None:
    """Return the mean of the runs' mean lengths in characters; None where one has none."""
    means = _all([run.metrics for run in arm.runs], "mean_response_chars")
    return sum(means) / len(means) if means else None


def _baselines(results: Results) -> list[Mapping[str, Any]]:
    """Return the base as the top arm's runs saw it, else its own evaluations."""
    seen = [run.baseline for run in results.arms[0].runs] if results.arms else []
    return seen if any(seen) else list(results.items("base_evaluations"))


def _all(blocks: list[Mapping[str, Any]], key: str) -> list[float]:
    """Return a number of every block; empty where one lacks it."""
    found = [block.get(key) for block in blocks]
    known = [float(value) for value in found if isinstance(value, int | float)]
    return known if len(known) == len(found) else []
