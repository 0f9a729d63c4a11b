"""Whether rounds of one study that repeat each other agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.analysis.numbers import has_width, is_level
from audit.results import Results

if TYPE_CHECKING:
    from audit.stats import Replication


@dataclass(frozen=True, slots=True)
class RoundPair:
    """A round and the one it repeats unchanged.

    Attributes
    ----------
    original, repeat : str
        Ids of the rounds.
    pointer : str
        Place of the repeating round.
    deltas : tuple of float
        Of the original and of the repeat.
    replication : Replication
        z is the original minus the repeat over their joint standard error.
    conflict : bool
        They differ by more than their printed intervals allow, at that level.
    """

    original: str
    repeat: str
    pointer: str
    deltas: tuple[float, float]
    replication: Replication
    conflict: bool

    @property
    def swing(self) -> float:
        """Absolute difference of the two deltas."""
        return abs(self.deltas[0] - self.deltas[1])


@dataclass(frozen=True, slots=True)
class Uncompared:
    """A round that says it repeats another and could not be compared, with the reason."""

    repeat: str
    pointer: str
    reason: str


def round_pairs(results: Results) -> tuple[tuple[RoundPair, ...], tuple[Uncompared, ...]]:
    """Return the pairs of rounds that repeat each other, and those that cannot be compared."""
    rounds = {str(entry.get("id")): entry for entry in results.items("rounds")}
    pairs: list[RoundPair] = []
    left: list[Uncompared] = []
    for index, entry in enumerate(results.items("rounds")):
        if entry.get("replicates") is None:
            continue
        pointer, repeat = f"/rounds/{index}", str(entry.get("id"))
        original = rounds.get(str(entry["replicates"]))
        if original is None:
            reason = f"no round has the id {entry['replicates']}"
            left.append(Uncompared(repeat, pointer, reason))
        elif not (_complete(original) and _complete(entry)):
            left.append(Uncompared(repeat, pointer, "a delta or its interval is not recorded"))
        else:
            pairs.append(_pair(original, entry, pointer))
    return tuple(pairs), tuple(left)


def _complete(entry: Mapping[str, Any]) -> bool:
    delta = entry.get("delta") or {}
    if any(delta.get(key) is None for key in ("value", "low", "high")):
        return False
    known = is_level(float(delta.get("level") or 0.95))
    return known and has_width(delta["low"], delta["high"]) and abs(delta["value"]) < 1e9


def _pair(original: Mapping[str, Any], repeat: Mapping[str, Any], pointer: str) -> RoundPair:
    level = float(original["delta"].get("level") or 0.95)
    ends = [_at_level(entry["delta"], level) for entry in (original, repeat)]
    deltas = (float(original["delta"]["value"]), float(repeat["delta"]["value"]))
    found = compare_rounds(deltas, ends, level)
    return RoundPair(
        original=str(original.get("id")),
        repeat=str(repeat.get("id")),
        pointer=pointer,
        deltas=deltas,
        replication=found,
        conflict=found.p_value < 1 - level,
    )


def compare_rounds(
    deltas: tuple[float, float], ends: list[tuple[float, float]], level: float
) -> Replication:
    """Return z, Q and the implied training spread of two deltas with intervals at one level."""
    from audit.stats import replication

    return replication(deltas, [low for low, _ in ends], [high for _, high in ends], level=level)


def _at_level(delta: Mapping[str, Any], level: float) -> tuple[float, float]:
    """Return the interval, rescaled as a normal one where it was printed at another level."""
    low, high = float(delta["low"]), float(delta["high"])
    own = float(delta.get("level") or 0.95)
    if own == level:
        return low, high
    from audit.stats.quantiles import normal_quantile

    centre, half = (low + high) / 2, (high - low) / 2
    half *= normal_quantile(level) / normal_quantile(own)
    return centre - half, centre + half
