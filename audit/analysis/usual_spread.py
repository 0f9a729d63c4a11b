"""Where the spread between a comparison's runs lies among those that public studies printed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from audit.analysis.floors import NotMeasured
from audit.facts.training_kind import training_kind
from audit.results import Results

if TYPE_CHECKING:
    from audit.published import Place


def place_of_spread(
    results: Results, arms: Sequence[Sequence[Fraction]], tasks: int | None
) -> Place | NotMeasured:
    """Return where the sd of run scores lies, pooled over the arms; it decides nothing.

    Published figures hold the noise of evaluating, so this one does too: it is that of the scores
    as they stand, on [0, 1], and not the training sd net of that noise.

    Notes
    -----
    s^2 = sum (S_a - 1) s_a^2 / sum (S_a - 1) over the arms of two runs or more.
    """
    from audit.published import POST_TRAINING, place_among_published
    from audit.stats.decimals import sample_variance

    several = [list(scores) for scores in arms if len(scores) > 1]
    if not several:
        return NotMeasured("needs two training runs in an arm")
    if not tasks:
        return NotMeasured("the number of tasks is not recorded")
    freedom = sum(len(scores) - 1 for scores in several)
    pooled = sum((len(scores) - 1) * sample_variance(scores) for scores in several) / freedom
    kind = training_kind(results) or POST_TRAINING
    place = place_among_published(sqrt(pooled), tasks, kind)
    return place or NotMeasured(f"no {kind} spread was published for so many tasks")
