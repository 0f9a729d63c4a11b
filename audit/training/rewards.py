"""Rewards that are programs: exact match, and equality of numbers as people write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Score:
    """Whether a response is right, and whether an answer could be read out of it at all.

    ``parsed`` is None where the scorer does not say.
    """

    correct: bool
    parsed: bool | None


class Scorer(Protocol):
    """Judges one response against the gold answer."""

    def __call__(self, response: str, answer: str) -> Score:
        """Score one response."""


def exact_match(response: str, answer: str) -> Score:
    """Right when the response, without surrounding space, is the answer to the letter."""
    text = response.strip()
    return Score(correct=text == answer.strip(), parsed=bool(text))


def math_equal(response: str, answer: str) -> Score:
    """Right when the response's final number equals the answer's, exactly, as a rational.

    Raises
    ------
    ValueError
        When the gold answer holds no number.
    """
    gold = final_number(answer)
    if gold is None:
        raise ValueError(f"the answer {answer!r} holds no number")
    value = final_number(response)
    return Score(correct=value == gold, parsed=value is not None)


# A sign counts only where it cannot be a minus between two numbers: "5-3" ends in 3.
_SIGN = r"(?:(?<![\w.)])[-\u2212]\s*)?"
_WHOLE = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)"
_NUMBER = re.compile(
    rf"(?P<sign>{_SIGN})[$\u00a3\u20ac]?\s*"
    rf"(?:(?P<mixed>{_WHOLE})\s+(?P<mixed_top>\d+)\s*/\s*(?P<mixed_bottom>\d+)"
    rf"|(?P<top>{_WHOLE})\s*/\s*(?P<bottom>{_WHOLE})"
    rf"|(?P<decimal>(?:{_WHOLE})?\.\d+|{_WHOLE}\.?))"
)
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")


def final_number(text: str) -> Fraction | None:
    r"""Return the number a response ends on, or None where it holds none.

    Looked for after the last ``####``, else in the last ``\boxed{}``, else in the whole text,
    where the last number counts. Thousands separators, currency signs, units, a final full stop,
    fractions, mixed numbers and ``\frac`` are understood; ``%`` is a unit, so 50% is 50.
    """
    if "####" in text:
        text = text.rsplit("####", 1)[1]
    elif boxed := _BOXED.findall(text):
        text = boxed[-1]
    text = _LATEX_FRACTION.sub(r" \1/\2 ", text.replace("{,}", ",").replace("\\,", ""))
    value = None
    for match in _NUMBER.finditer(text):
        value = _value(match)
    return value


def _value(match: re.Match[str]) -> Fraction | None:
    part = {k: v.replace(",", "") for k, v in match.groupdict().items() if v is not None}
    try:
        if "mixed" in part:
            top, bottom = int(part["mixed_top"]), int(part["mixed_bottom"])
            value = int(part["mixed"]) + Fraction(top, bottom)
        elif "top" in part:
            value = Fraction(int(part["top"]), int(part["bottom"]))
        else:
            value = Fraction(part["decimal"].rstrip("."))
    except (ZeroDivisionError, ValueError):  # more digits than Python reads
        return None
    return -value if part["sign"].strip() else value


class ScoreReward:
    """A scorer as the reward function TRL calls: 1.0 for right, 0.0 otherwise."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.__name__ = getattr(scorer, "__name__", "score")

    def __call__(
        self, *, completions: Sequence[Any], answer: Sequence[str], **_: Any
    ) -> list[float]:
        """Score a batch; ``answer`` is the data set's column of gold answers."""
        return [
            float(self.scorer(text_of(c), a).correct)
            for c, a in zip(completions, answer, strict=True)
        ]


def text_of(completion: str | Sequence[dict[str, Any]]) -> str:
    """Return the text of a completion, plain or a list of chat messages."""
    if isinstance(completion, str):
        return completion
    return "".join(str(message.get("content") or "") for message in completion)
