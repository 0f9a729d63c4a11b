"""What a metric's scale leaves open: room for equivalence, and scores on two scales at once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from audit.stats.decimals import decimals, fractions

_WIDE, _SHARE_OF_WIDTH = 10, 100


class MixedScales(NamedTuple):
    """Places of two runs whose scores are of different scales."""

    small: int
    large: int


def has_room(control_mean: object, margin: object, *, low: object = 0, high: object = 1) -> bool:
    """Return whether a difference of the margin, either way, lies inside the scale.

    Without room nothing could have been lost, or gained: equivalence then says nothing.

    Parameters
    ----------
    control_mean, margin : number
        In the metric's units; floats count by their shortest decimal representation.
    low, high : number
        Ends of the scale.
    """
    mean, width, bottom, top = fractions([control_mean, margin, low, high], "room")
    return mean - width > bottom and mean + width < top


def is_wide(low: object, high: object) -> bool:
    """Return whether a scale is 10 wide or wider: on others nothing is mistaken for 1 in 100."""
    bottom, top = fractions([low, high], "scale")
    return top - bottom >= _WIDE


def mixed_scales(
    runs: Sequence[Sequence[object]], *, low: object, high: object
) -> MixedScales | None:
    """Return two runs of which one seems to hold fractions and the other points of a wide scale.

    Parameters
    ----------
    runs : sequence of sequences of numbers
        Scores of each run; where one score for a run is known, of each arm.
    low, high : number
        Ends of the metric's scale.

    Returns
    -------
    MixedScales or None
        None for scales that are not wide, see `is_wide`.

    Notes
    -----
    A run is small where its scores that are not ``low`` lie within 1/100 of the width of ``low``
    and there is one; it is mixed with a run that has a score beyond that.
    """
    if not is_wide(low, high):
        return None
    bottom, top = fractions([low, high], "scale")
    limit = bottom + (top - bottom) / _SHARE_OF_WIDTH
    values = [[v for v in fractions(scores, "score") if v != bottom] for scores in runs]
    small = [i for i, scores in enumerate(values) if scores and max(scores) <= limit]
    large = [i for i, scores in enumerate(values) if scores and max(scores) > limit]
    return MixedScales(small[0], large[0]) if small and large else None


def printed_unit(scores: Sequence[object]) -> Fraction:
    """Return the unit of the last decimal that any of the scores is printed with.

    Parameters
    ----------
    scores : sequence of float, Decimal, Fraction, int or str
        All scores of one metric in a file: a zero at the end of a decimal may have been lost.

    Returns
    -------
    Fraction
        10^-d with d the most decimals; 1 without scores.
    """
    return Fraction(1, 10 ** max((decimals(score) for score in scores), default=0))
