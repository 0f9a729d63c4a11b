"""Claims: what a results file, or a person on the command line, says the data shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite

from audit.errors import UsageError
from audit.results import DEFAULT_METRIC, Results

DIRECTIONS = ("gain", "loss", "equivalent")
BASE = "base"
GRAMMAR = '"DIRECTION METRIC ARM over ARM [by MARGIN]"'

_TEXT = re.compile(r"(\S+)\s+(\S+)\s+(.+?)\s+over\s+(.+?)(?:\s+by\s+(\S+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about two arms, written down before the result is known.

    Attributes
    ----------
    direction : str
        ``gain``, ``loss`` or ``equivalent``: what ``arm`` is said to be against ``against``.
    metric, benchmark : str, str or None
        What is measured; without a benchmark the only one.
    arm, against : str
        Names of arms; ``method`` is the top arm, ``base`` the untrained checkpoint.
    margin : float or None
        Smallest difference of interest, on the metric's scale; the policy's when None.
    target_effect : float or None
        Effect the study was designed to see.
    pairing : str
        ``none``, or ``seeds`` where runs at one seed were declared to be pairs.
    target : str or None
        ``tasks`` (new tasks) or ``benchmark`` (these tasks); the policy's when None.
    level : float or None
        Confidence level, where it is above the policy's.
    exceeds : bool
        The whole interval must lie beyond ``margin``: "by MARGIN" on the command line.
    id : str
        Name of the claim.
    pointer : str or None
        Its place in the file; None for one from the command line.
    """

    direction: str
    metric: str
    arm: str
    against: str
    benchmark: str | None = None
    margin: float | None = None
    target_effect: float | None = None
    pairing: str = "none"
    target: str | None = None
    level: float | None = None
    exceeds: bool = False
    id: str = ""
    pointer: str | None = None

    @property
    def text(self) -> str:
        """The claim in a few words, e.g. ``gain in accuracy of recipe over control``."""
        by = ""
        if self.margin is not None and self.direction == "equivalent":
            by = f" within {self.margin:g}"
        elif self.margin is not None and self.exceeds:
            by = f" by {self.margin:g}"
        where = f" on {self.benchmark}" if self.benchmark else ""
        joint = "to" if self.direction == "equivalent" else "over"
        what = f"{self.direction or 'no direction'} in {self.metric}"
        return f"{what} of {self.arm} {joint} {self.against}{by}{where}"


def parse_claim(text: str) -> Claim:
    """Read a claim from the command line.

    Parameters
    ----------
    text : str
        ``DIRECTION METRIC ARM over ARM [by MARGIN]``, e.g.
        ``gain accuracy method over grpo-control by 0.02``. Names may hold spaces.

    Raises
    ------
    UsageError
        When the words do not form a claim.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"claim {text!r} is not of the form {GRAMMAR}")
    direction, metric, arm, against, by = match.groups()
    if direction not in DIRECTIONS:
        choices = ", ".join(DIRECTIONS)
        raise UsageError(f"claim {text!r}: direction must be one of {choices}, not {direction!r}")
    margin = None if by is None else _margin(by, text)
    return Claim(
        direction=direction,
        metric=metric,
        arm=arm,
        against=against,
        margin=margin,
        exceeds=margin is not None and direction != "equivalent",
        id=text.strip(),
    )


def _margin(word: str, text: str) -> float:
    try:
        margin = float(word)
    except ValueError:
        margin = float("nan")
    if not (isfinite(margin) and margin > 0):
        raise UsageError(f"claim {text!r}: margin must be a number above 0, not {word!r}")
    return margin


def claims_of(results: Results) -> tuple[Claim, ...]:
    """Return the claims a results file declares, in its order.

    An entry without ``arm`` speaks of the top arm. One without ``direction``, or without
    ``against`` where there are several other arms, declares nothing that can be judged; it comes
    back with an empty ``direction`` or ``against``, and judging it refuses it.
    """
    return tuple(
        _claim(results, entry, index)
        for index, entry in enumerate(results.items("claims"))
        if isinstance(entry, dict)
    )


def _claim(results: Results, entry: dict[str, object], index: int) -> Claim:
    only = results.controls[0].name if len(results.controls) == 1 else ""

    def number(key: str) -> float | None:
        value = entry.get(key)
        return float(value) if isinstance(value, int | float) else None

    def word(key: str) -> str:
        value = entry.get(key)
        return value if isinstance(value, str) else ""

    return Claim(
        direction=word("direction"),
        metric=word("metric") or DEFAULT_METRIC,
        arm=word("arm") or results.method,
        against=word("against") or only,
        benchmark=word("benchmark") or None,
        margin=number("by") or number("margin") or None,
        exceeds=number("by") is not None,
        target_effect=number("target_effect") or None,
        pairing=word("pairing") or "none",
        target=word("target") or None,
        level=number("level"),
        id=word("id") or f"claim {index + 1}",
        pointer=f"/claims/{index}",
    )
