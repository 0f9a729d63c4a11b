"""A difference split into what is parsed and what is right among the parsed, exactly."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.errors import InsufficientData
from audit.stats.clusters import clusters_of
from audit.stats.delta import ArmParts, compared
from audit.stats.exact import Outcomes, comparable, outcomes, replicated, split_samples
from audit.stats.quantiles import check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from audit.stats.records import SeedDelta


@dataclass(frozen=True, slots=True)
class FormatSplit:
    """Delta as the sum of two parts; see `format_split`.

    Attributes
    ----------
    format : SeedDelta
        What the arms' shares of parsed answers make of it.
    content : SeedDelta
        What their shares of right answers among the parsed make of it. Their deltas add up.
    total : SeedDelta
        The comparison itself.
    parsed : tuple of float
        Share of parsed answers in control and treatment, tasks weighted equally.
    given_parsed : tuple of float
        Right answers over parsed ones.
    """

    format: SeedDelta
    content: SeedDelta
    total: SeedDelta
    parsed: tuple[float, float]
    given_parsed: tuple[float, float]

    @property
    def mean_parsed(self) -> float:
        """Mean of the parsed shares; content over it is the difference of ``given_parsed``."""
        return sum(self.parsed) / 2

    def qualifier(self, direction: str) -> str | None:
        """Return what the parts say of a ``"gain"`` or ``"loss"`` of the total.

        ``"format-only"`` where for new tasks the format's interval excludes 0 in that direction
        and the content's does not, ``"format"`` where both do, else None.
        """
        if not _excludes_zero(self.format, direction):
            return None
        return "format" if _excludes_zero(self.content, direction) else "format-only"

    @property
    def mostly_format(self) -> bool:
        """Whether format is at least half of the difference, and in its direction."""
        total, part = self.total.fixed_pivot.delta, self.format.fixed_pivot.delta
        return total != 0 and part / total >= Fraction(1, 2)


def format_split(
    control: ArrayLike,
    treatment: ArrayLike,
    *,
    samples: Any,
    parsed: Any,
    paired: bool = False,
    level: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> FormatSplit:
    """Split a difference into format and content.

    Parameters
    ----------
    control, treatment : array of int, shape (seeds, tasks)
        Right answers; an answer that was not parsed counts as wrong.
    samples : int, array of int, or tuple of two of these
        Answers drawn for each cell; a tuple gives (control, treatment).
    parsed : int, array of int, or tuple of two of these
        Parsed answers of each cell.
    paired, level, clusters
        As for `seed_delta`.

    Returns
    -------
    FormatSplit

    Raises
    ------
    InsufficientData
        No answer of an arm is parsed (reason ``"dead-evaluation"``), and as for `seed_delta`.
    ValueError
        A cell has more right than parsed answers, or shapes do not match.

    Notes
    -----
    With f the mean parsed share of an arm, g its right answers over parsed ones, fbar and gbar
    their means over the arms: delta = gbar (f_B - f_A) + fbar (g_B - g_A). The interval of the
    first part is that of `seed_delta` for gbar P -/+ (f_B - f_A) G / 2 in control and treatment,
    of the second for fbar G -/+ (g_B - g_A) P / 2, with P the parsed shares of the cells, Y the
    right ones and G = (Y - g P) / f: the two add up to Y cell by cell. It is bookkeeping, not
    cause: a model may parse because it knows.
    """
    check_level(level)
    samples_c, samples_t = split_samples(samples)
    parsed_c, parsed_t = split_samples(parsed)
    arms = (
        _ParsedArm(control, samples_c, parsed_c, "control"),
        _ParsedArm(treatment, samples_t, parsed_t, "treatment"),
    )
    comparable(arms[0].right, arms[1].right)
    groups = None if clusters is None else clusters_of(clusters, arms[0].right.tasks)
    a, b = arms
    fbar, gbar = (a.f + b.f) / 2, (a.g + b.g) / 2
    half_f, half_g = (b.f - a.f) / 2, (b.g - a.g) / 2

    def part(of_g: tuple[Fraction, Fraction], of_p: tuple[Fraction, Fraction]) -> SeedDelta:
        matrices = [
            ArmParts(arm.mixed(g, p), clusters=groups, bounded=False)
            for arm, g, p in zip(arms, of_g, of_p, strict=True)
        ]
        return compared(*matrices, paired=paired, level=level, clusters=groups)

    if paired and a.right.seeds != b.right.seeds:
        raise ValueError(f"paired arms need equal seeds, got {a.right.seeds} and {b.right.seeds}")
    whole = [ArmParts(arm.right, clusters=groups) for arm in arms]
    return FormatSplit(
        format=part((-half_f, half_f), (gbar, gbar)),
        content=part((fbar, fbar), (-half_g, half_g)),
        total=compared(*whole, paired=paired, level=level, clusters=groups),
        parsed=(float(a.f), float(b.f)),
        given_parsed=(float(a.g), float(b.g)),
    )


def _excludes_zero(result: SeedDelta, direction: str) -> bool:
    return result.random.low > 0 if direction == "gain" else result.random.high < 0


class _ParsedArm:
    """Right and parsed answers of one arm, with f and g."""

    def __init__(self, counts: ArrayLike, samples: Any, parsed: Any, name: str) -> None:
        self.right: Outcomes = outcomes(counts, samples, name)
        replicated(self.right, name)
        cells = np.broadcast_to(np.asarray(parsed), self.right.right.shape)
        self.parsed: Outcomes = outcomes(cells, samples, f"parsed {name}")
        if (self.right.right > self.parsed.right).any():
            raise ValueError(f"{name} has more right than parsed answers in a cell")
        number = self.right.seeds * self.right.tasks * self.right.denominator
        self.f = Fraction(int(self.parsed.right.sum()), number)
        if self.f == 0:
            raise InsufficientData(f"no answer of {name} was parsed", reason="dead-evaluation")
        self.g = Fraction(int(self.right.right.sum()), number) / self.f

    def mixed(self, of_g: Fraction, of_p: Fraction) -> Outcomes:
        """Return of_g G + of_p P of every cell over one denominator."""
        of_y = of_g / self.f
        of_p = of_p - of_g * self.g / self.f
        common = lcm(of_y.denominator, of_p.denominator)
        values = self.right.right.astype(object) * int(of_y * common)
        values = values + self.parsed.right.astype(object) * int(of_p * common)
        denominator = self.right.denominator * common
        return Outcomes(values, denominator, self.right.samples, self.right.drawn)
