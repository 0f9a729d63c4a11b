r"""A grader of mathematics beyond numbers: Hugging Face's math-verify, where it is installed.

It reads the answer out of a response (the last ``\boxed{}``, formulas, plain expressions) with
latex2sympy and compares it with the gold answer as SymPy does: fractions, surds, sets, intervals,
matrices, equations, units.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from audit.errors import UsageError
from audit.failure import described
from audit.training.rewards import Score

NAME = "math_verify"
SECONDS = 5
"""Seconds after which reading an answer, or comparing two, is given up as an error."""

_KEPT = 10_000  # verdicts, as the grader is asked twice of a response that is trained on
_MARKS = ("$", r"\boxed", r"\(", r"\[")


def require_math_verify(key: str) -> None:
    """Refuse the grader where its package is missing.

    Raises
    ------
    UsageError
        Naming the setting ``key`` and the command that installs it.
    """
    if find_spec("math_verify") is None:
        raise UsageError(f"{key}: {NAME} is not installed: pip install 'recipe-audit[math]'")


class NoVerdict(RuntimeError):  # noqa: N818 - says what happened
    """math-verify gave up on a response, or on its time."""


def math_verify(response: str, answer: str) -> Score:
    """Right when math-verify finds the response's answer equal to the gold one.

    Raises
    ------
    NoVerdict
        When it raises over the response, or needs more than `SECONDS`.
    """
    verdict = _verdict(response, answer)
    if isinstance(verdict, str):
        raise NoVerdict(f"{NAME}: {verdict}")
    return verdict


def reads_answer(answer: str) -> bool:
    """Whether math-verify reads anything in a gold answer, a formula or bare.

    Raises
    ------
    NoVerdict
        When it raises over the answer, or needs more than `SECONDS`.
    """
    from math_verify.errors import TimeoutException

    try:
        return bool(_gold(answer))
    except TimeoutException as error:
        raise NoVerdict(f"{NAME}: more than {SECONDS} s") from error
    except Exception as error:
        raise NoVerdict(f"{NAME}: {described(error)}") from error


@lru_cache(maxsize=_KEPT)
def _verdict(response: str, answer: str) -> Score | str:
    from math_verify import verify
    from math_verify.errors import TimeoutException  # no Exception: it would end the run

    try:
        gold, found = _gold(answer), _parsed(response)
        if not gold:
            return f"no answer in {answer!r}"
        if not found:
            return Score(correct=False, parsed=False)
        right = verify(list(gold), found, timeout_seconds=SECONDS, raise_on_error=True)
    except TimeoutException:
        return f"more than {SECONDS} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return Score(correct=bool(right), parsed=True)


@lru_cache(maxsize=_KEPT)
def _gold(answer: str) -> tuple[Any, ...]:
    formula = answer if any(mark in answer for mark in _MARKS) else f"${answer}$"
    return tuple(_parsed(formula))


def _parsed(text: str) -> list[Any]:
    from math_verify import parse

    found: list[Any] = parse(text, parsing_timeout=SECONDS, raise_on_error=True)
    return found
