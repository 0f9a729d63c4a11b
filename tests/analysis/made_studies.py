"""Results documents made for the tests of the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from audit.analysis import Analysis, Comparison, analyse
from audit.claims import parse_claim
from audit.policy import Policy
from audit.results import from_document
from audit.simulation import Cell, simulate

Document = dict[str, Any]
Counts = Sequence[Sequence[int]]


def run(correct: Sequence[int], seed: int | None, samples: int = 4, **evaluation: Any) -> Document:
    block = {"benchmark": "b", "correct": list(correct), "samples": [samples] * len(correct)}
    return {"seed": seed, "evaluation": {**block, **evaluation}}


def study(control: Counts, treatment: Counts, samples: int = 4, **more: Any) -> Document:
    arms = [
        [run(row, seed, samples) for seed, row in enumerate(counts, start=1)]
        for counts in (treatment, control)
    ]
    return {
        "schema_version": 2,
        "method": "recipe",
        "seed_results": arms[0],
        "controls": {"control": {"role": "control", "seed_results": arms[1]}},
        **more,
    }


def scores(control: Sequence[float], treatment: Sequence[float], examples: int | None) -> Document:
    def arm(values: Sequence[float]) -> list[Document]:
        size = {} if examples is None else {"examples": examples}
        return [
            {"seed": seed, "method_metrics": {"accuracy": value, **size}}
            for seed, value in enumerate(values, start=1)
        ]

    return {
        "schema_version": 2,
        "method": "recipe",
        "seed_results": arm(treatment),
        "controls": {"control": {"role": "control", "seed_results": arm(control)}},
    }


def simulated(
    tasks: int = 120,
    seeds: int | tuple[int, int] = 5,
    sd: float = 0.0,
    delta: float = 0.0,
    rate: float = 0.4,
    kind: str = "arms",
    number: int = 0,
) -> Document:
    """Return the study with that number in a fixed stream."""
    pair = seeds if isinstance(seeds, tuple) else (seeds, seeds)
    cell = Cell(kind, tasks, pair, (sd, sd), rate, delta)
    random = cell.generator()
    for _ in range(number):
        simulate(cell, random)
    return simulate(cell, random).document()


def base(*evaluations: Sequence[int], samples: int = 4, **condition: Any) -> list[Document]:
    return [
        {"run": index, "evaluation": run(row, None, samples, condition=condition)["evaluation"]}
        for index, row in enumerate(evaluations)
    ]


def analysed(document: Document, *claims: str, **policy: Any) -> Analysis:
    return analyse(
        from_document(document),
        policy=Policy(**policy),
        claims=[parse_claim(text) for text in claims],
    )


def compared(document: Document, **policy: Any) -> Comparison:
    return analysed(document, **policy).comparisons[0]


def claimed(document: Document, *entries: Document, **policy: Any) -> Analysis:
    defaults = {"direction": "gain", "arm": "recipe", "against": "control"}
    document = {**document, "claims": [{**defaults, **entry} for entry in entries]}
    return analysed(document, **policy)
