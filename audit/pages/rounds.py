"""The rounds of a study: what changed, what came out, what can be said, and do repeats agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit import numerals
from audit.analysis import Analysis, Floor, NotMeasured, RoundPair
from audit.pages.deltas import floor_of
from audit.results import Results


@dataclass(frozen=True, slots=True)
class ShownRound:
    """One time the study was run.

    Attributes
    ----------
    id : str
    change : str
        What differs from the round before.
    replicates : str or None
        The round it repeats unchanged.
    scores : tuple of (str, float)
        Label and score of each arm.
    seeds : tuple of int
        Training runs of each arm, in the order of ``scores``; empty where not recorded.
    value, low, high : float or None
        The delta and its printed interval.
    level : float
    tasks : int or None
    source_verdict : str
        What the source called it.
    verdict, why : str
        What can be said of it, and why.
    excludes_zero : bool
        Whether the printed interval excludes zero.
    """

    id: str
    change: str
    replicates: str | None
    scores: tuple[tuple[str, float], ...]
    seeds: tuple[int, ...]
    value: float | None
    low: float | None
    high: float | None
    level: float
    tasks: int | None
    source_verdict: str
    verdict: str
    why: str
    excludes_zero: bool


@dataclass(frozen=True, slots=True)
class ShownReplication:
    """Two rounds of which one repeats the other unchanged.

    Attributes
    ----------
    original, repeat : str
    first, second : float
        Their deltas.
    swing : float
        How far the deltas are apart.
    sign_changed : bool
    z, p_value : float
        Of their difference against the printed intervals.
    conflict : bool
    in_printed_floors, in_t_floors : float or None
        The swing in noise floors by 1.96·√2·run_std, and with Student's quantile.
    omega, omega_low, omega_high : float
        Training sd of the delta that the intervals leave out, with its interval.
    arm_sd, arm_sd_low, arm_sd_high : float
        The same of one arm.
    """

    original: str
    repeat: str
    first: float
    second: float
    swing: float
    sign_changed: bool
    z: float
    p_value: float
    conflict: bool
    in_printed_floors: float | None
    in_t_floors: float | None
    omega: float
    omega_low: float
    omega_high: float
    arm_sd: float
    arm_sd_low: float
    arm_sd_high: float


def rounds(results: Results, labels: Mapping[str, str]) -> tuple[ShownRound, ...]:
    """Return the rounds a file records, in its order."""
    return tuple(_round(entry, results, labels) for entry in results.items("rounds"))


def replications(analysis: Analysis) -> tuple[ShownReplication, ...]:
    """Return every pair of rounds that repeat each other."""
    floor = floor_of(analysis)
    return tuple(_replication(pair, floor) for pair in analysis.rounds)


def _round(entry: Mapping[str, Any], results: Results, labels: Mapping[str, str]) -> ShownRound:
    delta = entry.get("delta") or {}
    scores = entry.get("scores") or {}
    seeds = entry.get("seeds_per_arm") or {}
    names = sorted(scores, key=lambda name: (name == results.method or name == "method", name))
    low, high = delta.get("low"), delta.get("high")
    known = low is not None and high is not None
    excludes_zero = low is not None and high is not None and (low > 0 or high < 0)
    verdict, why = _judged(seeds, interval=known, excludes_zero=excludes_zero)
    return ShownRound(
        id=str(entry.get("id", "")),
        change=str(entry.get("change") or "not recorded"),
        replicates=None if entry.get("replicates") is None else str(entry["replicates"]),
        scores=tuple((labels.get(name) or name, scores[name]) for name in names),
        seeds=tuple(seeds[name] for name in names if name in seeds),
        value=delta.get("value"),
        low=low,
        high=high,
        level=delta.get("level") or 0.95,
        tasks=delta.get("tasks"),
        source_verdict=str(entry.get("verdict") or ""),
        verdict=verdict,
        why=why,
        excludes_zero=excludes_zero,
    )


def _judged(seeds: Mapping[str, int], *, interval: bool, excludes_zero: bool) -> tuple[str, str]:
    """Say what a round's summary allows to be said, and why."""
    if not seeds:
        return "not judged", "the training runs of each arm are not recorded"
    if min(seeds.values()) >= 2:
        return "not judged", "a round's summary has no score of each run"
    why = "one training seed per arm"
    if interval:
        why += ", and the interval leaves the training variance out"
    if excludes_zero:
        why += "; that it excludes zero changes nothing"
    return "no verdict", why


def _replication(pair: RoundPair, floor: Floor | NotMeasured) -> ShownReplication:
    found = pair.replication
    noise = floor.noise if isinstance(floor, Floor) else None
    span = floor.span if isinstance(floor, Floor) else 1.0
    return ShownReplication(
        original=pair.original,
        repeat=pair.repeat,
        first=pair.deltas[0],
        second=pair.deltas[1],
        swing=pair.swing,
        sign_changed=pair.deltas[0] * pair.deltas[1] < 0,
        z=abs(found.z or 0.0),
        p_value=found.p_value,
        conflict=pair.conflict,
        in_printed_floors=_ratio(pair.swing, noise.printed if noise else None, span),
        in_t_floors=_ratio(pair.swing, noise.t_form if noise else None, span),
        omega=found.omega,
        omega_low=found.omega_interval[0],
        omega_high=found.omega_interval[1],
        arm_sd=found.per_arm_sd,
        arm_sd_low=found.per_arm_interval[0],
        arm_sd_high=found.per_arm_interval[1],
    )


def _ratio(swing: float, floor: float | None, span: float) -> float | None:
    return swing / (floor * span) if floor else None


def conflict_line(pair: ShownReplication) -> str:
    """Say in a sentence how a repeat disagrees with its original."""
    moved = f"moved by {numerals.fraction(pair.swing, 3)}"
    sign = " and changed sign" if pair.sign_changed else ""
    floors = (
        f", {numerals.times(pair.in_printed_floors)} times the printed noise floor"
        if pair.in_printed_floors
        else ""
    )
    return (
        f"Round {pair.repeat} repeats round {pair.original} unchanged, and the delta {moved}"
        f"{sign}: {numerals.signed(pair.first)} became {numerals.signed(pair.second)} "
        f"(z = {numerals.times(pair.z)}, p = {numerals.p_value(pair.p_value)}{floors}). "
        "The printed intervals do not explain it."
    )
