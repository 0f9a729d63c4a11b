"""Simulated studies with training variance in them, as results documents in memory.

A run's expected score is its arm's rate plus a normal seed effect, exactly so over the population
of tasks; tasks, seed x task and task effects are normal on the logit scale. Both arms carry an
effect per task of the same spread, so that without a difference they are exchangeable.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

TASK_SD = 1.8
TASK_EFFECT_SD = 0.5 / 2**0.5
SEED_TASK_SD = 0.4
_SPREAD = (TASK_SD**2 + TASK_EFFECT_SD**2 + SEED_TASK_SD**2) ** 0.5
BENCHMARK = "simulated"

Matrix = NDArray[np.int64]


@dataclass(frozen=True)
class Cell:
    """One setting of the simulation.

    ``kind`` is ``arms``, ``base`` (one arm against re-evaluations of its start) or ``copies``
    (one run of each arm recorded under several seeds).
    """

    kind: str
    tasks: int
    seeds: tuple[int, int]
    seed_sd: tuple[float, float]
    rate: float = 0.34
    delta: float = 0.0
    samples: int = 4
    evaluations: int = 3

    @property
    def name(self) -> str:
        """A key that tells cells apart and seeds their generator."""
        return "/".join(f"{key}={value}" for key, value in asdict(self).items())

    def generator(self) -> np.random.Generator:
        """Return the cell's own random generator."""
        return np.random.default_rng(zlib.crc32(self.name.encode()))


@dataclass(frozen=True)
class SimulatedStudy:
    """Right answers of both sides, runs x tasks; ``control`` may be the base's evaluations."""

    cell: Cell
    control: Matrix
    treatment: Matrix

    def document(self) -> dict[str, Any]:
        """Return the results document of the study."""
        document: dict[str, Any] = {
            "schema_version": 2,
            "method": "recipe",
            "seed_results": self._runs(self.treatment),
        }
        if self.cell.kind == "base":
            document["base_evaluations"] = [
                {"run": index, "evaluation": self._evaluation(row)}
                for index, row in enumerate(self.control.tolist())
            ]
        else:
            runs = self._runs(self.control)
            document["controls"] = {"control": {"role": "control", "seed_results": runs}}
        return document

    def _runs(self, counts: Matrix) -> list[dict[str, Any]]:
        return [
            {"seed": seed, "evaluation": self._evaluation(row)}
            for seed, row in enumerate(counts.tolist())
        ]

    def _evaluation(self, row: list[int]) -> dict[str, Any]:
        samples = [self.cell.samples] * self.cell.tasks
        return {"benchmark": BENCHMARK, "correct": row, "samples": samples}


def simulate(cell: Cell, random: np.random.Generator) -> SimulatedStudy:
    """Draw one study."""
    tasks = random.normal(0, TASK_SD, cell.tasks)
    if cell.kind == "base":
        model = random.normal(0, TASK_EFFECT_SD, cell.tasks)
        model += random.normal(0, SEED_TASK_SD, cell.tasks)
        chance = success_chances(cell.rate, tasks + model)
        control = random.binomial(cell.samples, chance, (cell.evaluations, cell.tasks))
        return SimulatedStudy(cell, control, _arm(cell, 1, tasks, random))
    arms = [_arm(cell, side, tasks, random) for side in (0, 1)]
    if cell.kind == "copies":
        arms = [np.repeat(arm[:1], len(arm), axis=0) for arm in arms]
    return SimulatedStudy(cell, arms[0], arms[1])


def _arm(cell: Cell, side: int, tasks: NDArray[np.float64], random: np.random.Generator) -> Matrix:
    seeds = cell.seeds[side]
    rates = cell.rate + side * cell.delta + random.normal(0, cell.seed_sd[side], seeds)
    effect = random.normal(0, TASK_EFFECT_SD, cell.tasks)
    own = random.normal(0, SEED_TASK_SD, (seeds, cell.tasks))
    return random.binomial(cell.samples, success_chances(rates, tasks + effect + own))


def success_chances(
    rates: float | NDArray[np.float64], logits: NDArray[np.float64], spread: float | None = None
) -> NDArray[np.float64]:
    """Return the chance that each run answers each task right.

    Parameters
    ----------
    rates : float or ndarray, shape (runs,)
        Expected score of each run over the population of tasks, as a fraction.
    logits : ndarray, shape (tasks,) or (runs, tasks)
        Effects of tasks and runs on the logit scale, normal with mean 0.
    spread : float, optional
        Standard deviation of ``logits`` over the population; that of the simulated arms when
        left out.
    """
    intercepts, means = _curve(_SPREAD if spread is None else spread)
    shift = np.interp(np.clip(rates, 0.002, 0.998), means, intercepts)
    chances: NDArray[np.float64] = 1 / (1 + np.exp(-(shift[..., None] + logits)))
    return chances


@lru_cache(maxsize=16)
def _curve(spread: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean rate over tasks as a function of the intercept, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    intercepts = np.linspace(-16, 16, 6401)
    means = 1 / (1 + np.exp(-(intercepts[:, None] + spread * nodes))) @ weights
    return intercepts, means / weights.sum()
