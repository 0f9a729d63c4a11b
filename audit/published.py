"""Scores that public studies print for every training run: what spread between runs is usual.

``reports/field/scores.csv`` has one row a run, numbers only; ``docs/field.md`` says where they are
from and what they do not show. Most are of small models, adapters and benchmarks like GSM8K, and
evaluation noise is part of their spread.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import NamedTuple

from audit.resources import resource

SCORES = "reports/field/scores.csv"
# All of them together, where a file does not say what kind of training it is of.
POST_TRAINING = "post-training"
KINDS = ("RL", "SFT", "DPO", "OPD")
SIZES: tuple[tuple[int, int | None], ...] = ((0, 99), (100, 500), (501, None))
_SPANS = {"0-1": 1.0, "0-100": 100.0}


@dataclass(frozen=True, slots=True)
class PublishedArm:
    """One recipe, model and benchmark with three training runs or more.

    ``kind`` is ``RL``, ``SFT``, ``DPO`` or ``OPD`` (on-policy distillation); ``source`` is the
    family of repositories; ``sd`` is that of the runs' scores (ddof 1) on a scale of [0, 1].
    """

    study: str
    source: str
    name: str
    kind: str
    benchmark: str
    tasks: int
    runs: int
    sd: float


@dataclass(frozen=True, slots=True)
class Typical:
    """Quartiles of the sd between training seeds over the arms of one kind and size.

    Attributes
    ----------
    kind : str
        One of ``KINDS``, or ``POST_TRAINING`` for all of them.
    fewest, most : int, int or None
        Tasks of the benchmark.
    arms, sources : int
        Recipes with three seeds or more, and the families of repositories they are from. Arms of
        one source are not independent.
    quartiles : tuple of float
        Over arms, on a scale of [0, 1], evaluation noise included; three decimals.
    source_quartiles : tuple of float
        Over the medians of the sources.
    """

    kind: str
    fewest: int
    most: int | None
    arms: int
    sources: int
    quartiles: tuple[float, float, float]
    source_quartiles: tuple[float, float, float]

    @property
    def size(self) -> str:
        """The benchmark's size in words: ``100 to 500 tasks``."""
        if self.most is None:
            return f"more than {self.fewest - 1} tasks"
        if self.fewest == 0:
            return f"fewer than {self.most + 1} tasks"
        return f"{self.fewest} to {self.most} tasks"


class Place(NamedTuple):
    """Where an sd lies: above so many of the arms that ``typical`` counts."""

    sd: float
    above: int
    typical: Typical


def published_arms(kind: str, tasks: int) -> tuple[PublishedArm, ...]:
    """Return the arms of a kind whose benchmark is about as large."""
    low, high = _size(tasks)
    return tuple(
        arm
        for arm in _arms()
        if kind in (arm.kind, POST_TRAINING) and low <= arm.tasks and arm.tasks <= (high or 10**9)
    )


def typical_seed_sds(tasks: int, kind: str = "RL") -> Typical | None:
    """Return what is usual for a benchmark with so many tasks; None where no arm was published.

    Raises
    ------
    ValueError
        There is no such kind.
    """
    if kind not in (*KINDS, POST_TRAINING):
        raise ValueError(f"no typical sd of {kind!r}")
    return _typical(kind, *_size(tasks))


def place_among_published(sd: float, tasks: int, kind: str = POST_TRAINING) -> Place | None:
    """Return where an sd of run scores on [0, 1] lies; None where no arm was published."""
    typical = typical_seed_sds(tasks, kind)
    if typical is None:
        return None
    return Place(sd, sum(arm.sd < sd for arm in published_arms(kind, tasks)), typical)


def _size(tasks: int) -> tuple[int, int | None]:
    return next((low, high) for low, high in SIZES if high is None or tasks <= high)


@lru_cache
def _typical(kind: str, low: int, high: int | None) -> Typical | None:
    arms = published_arms(kind, low)
    if not arms:
        return None
    sources: dict[str, list[float]] = defaultdict(list)
    for arm in arms:
        sources[arm.source].append(arm.sd)
    return Typical(
        kind,
        low,
        high,
        len(arms),
        len(sources),
        quartiles([arm.sd for arm in arms]),
        quartiles([median(sds) for sds in sources.values()]),
    )


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the three quartiles to three decimals, interpolated linearly."""
    ordered = sorted(values)

    def at(share: float) -> float:
        place = (len(ordered) - 1) * share
        below = ordered[int(place)]
        above = ordered[min(int(place) + 1, len(ordered) - 1)]
        part = place % 1  # from the nearer end, as NumPy does
        if part < 0.5:
            return round(below + (above - below) * part, 3)
        return round(above - (above - below) * (1 - part), 3)

    return at(0.25), at(0.5), at(0.75)


@lru_cache
def _arms() -> tuple[PublishedArm, ...]:
    scores: dict[tuple[str, ...], list[float]] = defaultdict(list)
    names = ("study", "source", "arm", "kind", "benchmark", "tasks", "scale")
    for row in read_table(SCORES):
        if row["in_quartiles"] == "yes":
            scores[tuple(row[name] for name in names)].append(float(row["score"]))
    return tuple(
        PublishedArm(
            study,
            source,
            name,
            kind,
            benchmark,
            int(float(tasks)),
            len(found),
            _sd(found) / _SPANS[scale],
        )
        for (study, source, name, kind, benchmark, tasks, scale), found in scores.items()
    )


def _sd(values: Sequence[float]) -> float:
    import numpy as np

    return float(np.std(values, ddof=1))


def read_table(name: str) -> Iterable[dict[str, str]]:
    """Return the rows of a shipped CSV table."""
    return csv.DictReader(resource(name).read_text(encoding="utf-8").splitlines())
