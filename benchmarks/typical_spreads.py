"""Quartiles of the sd between training seeds that public post-training runs show.

`python benchmarks/typical_spreads.py BANK.csv` reads one row per arm and seed (columns study, arm,
kind, benchmark, n, scale, seed, score, in_quartiles) and prints the table that
`audit/stats/typical_spreads.py` holds. An arm is one recipe, model and
benchmark with three seeds or more; arms of one source are not independent, so the quartiles of
the sources' medians stand beside those of the arms.
"""

from __future__ import annotations

import csv
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

KINDS = ("RL", "SFT", "DPO")
_SPANS = {"0-1": 1.0, "0-100": 100.0}
# Families of studies whose first word is not their name.
_TWO_WORDS = ("code", "grpo")


def main(path: Path) -> None:
    """Print the table of one bank."""
    for kind in KINDS:
        for low, high in ((0, 99), (100, 500), (501, None)):
            arms = spreads(path, kind, low, high)
            sources = defaultdict(list)
            for source, sd in arms:
                sources[source].append(sd)
            medians = [statistics.median(sds) for sds in sources.values()]
            print(
                f'    Typical("{kind}", {low}, {high}, {len(arms)}, {len(sources)}, '
                f"{quartiles([sd for _, sd in arms])}, {quartiles(medians)}),"
            )


def spreads(path: Path, kind: str, low: int, high: int | None) -> list[tuple[str, float]]:
    """Return source and sd of every arm of a kind whose benchmark has so many tasks."""
    scores: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            tasks = int(float(row["n"] or 0))
            fits = low <= tasks and (high is None or tasks <= high)
            if row["kind"] == kind and row["in_quartiles"] == "yes" and fits:
                key = row["study"], row["arm"], row["benchmark"]
                span = _SPANS[row["scale"]]
                scores[key].append(float(row["score"]) / span)
    return [(source_of(key[0]), float(np.std(found, ddof=1))) for key, found in scores.items()]


def source_of(study: str) -> str:
    """Return the family of a study: those of one family share people, code and models."""
    words = study.split("-")
    return "-".join(words[:2]) if words[0] in _TWO_WORDS else words[0]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the three quartiles to three decimals."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return round(float(low), 3), round(float(middle), 3), round(float(high), 3)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
