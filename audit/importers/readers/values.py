"""Outcomes as evaluation scripts write them: numbers, words, texts of numbers, percent."""

from __future__ import annotations

from typing import Any

from audit.importers.metric_names import ACCURACY, REWARD
from audit.importers.numbers import number
from audit.importers.readers.tally import AnswerTally

_RIGHT = frozenset({"true", "pass", "passed", "correct", "right", "success", "yes"})
_WRONG = frozenset({"false", "fail", "failed", "incorrect", "wrong", "failure", "no", "timeout"})


def outcome_of(value: Any) -> float | None:
    """Return an outcome as a number; None for what is missing or no number.

    True, ``"True"`` and ``"pass"`` are 1, their opposites 0; ``"57.3%"`` is 0.573; ``"NaN"`` and
    ``"Infinity"`` are missing; a list of one number is that number.
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, list) and len(value) == 1:
        return outcome_of(value[0])
    if not isinstance(value, str):
        return number(value)
    word = value.strip().lower()
    if word in _RIGHT or word in _WRONG:
        return float(word in _RIGHT)
    try:
        found = float(word.removesuffix("%"))
    except ValueError:
        return None
    if "_" in word or number(found) is None:
        return None
    return found / 100 if word.endswith("%") else found


def metric_of_rewards(tally: AnswerTally) -> str:
    """Return ``accuracy`` where every reward is 0 or 1, or 1 or -1, else ``reward``."""
    return ACCURACY if tally.counted or tally.signed else REWARD
