"""Standard deviations between training seeds of public post-training runs, where no pilot is.

Numbers only, computed from per-seed scores that repositories and their notes publish;
``benchmarks/typical_spreads.py`` makes the table. The scores are of small models, adapters and
benchmarks like GSM8K for the most part, and evaluation noise is part of their spread.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Typical:
    """Quartiles of the sd between training seeds over the arms of one kind and size.

    Attributes
    ----------
    kind : str
        ``RL``, ``SFT`` or ``DPO``.
    fewest, most : int, int or None
        Tasks of the benchmark.
    arms, sources : int
        Recipes with three seeds or more, and the families of repositories they are from. Arms of
        one source are not independent.
    quartiles : tuple of float
        Over arms, on a scale of [0, 1], evaluation noise included.
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


TYPICAL = (
    Typical("RL", 0, 99, 14, 5, (0.036, 0.062, 0.077), (0.015, 0.052, 0.062)),
    Typical("RL", 100, 500, 37, 6, (0.022, 0.051, 0.133), (0.017, 0.033, 0.044)),
    Typical("RL", 501, None, 47, 4, (0.007, 0.012, 0.017), (0.01, 0.011, 0.021)),
    Typical("SFT", 0, 99, 11, 5, (0.047, 0.074, 0.112), (0.045, 0.049, 0.074)),
    Typical("SFT", 100, 500, 13, 6, (0.009, 0.018, 0.042), (0.014, 0.026, 0.038)),
    Typical("SFT", 501, None, 33, 3, (0.005, 0.008, 0.012), (0.007, 0.01, 0.017)),
    Typical("DPO", 0, 99, 3, 2, (0.019, 0.027, 0.072), (0.027, 0.042, 0.057)),
    Typical("DPO", 100, 500, 3, 2, (0.021, 0.029, 0.037), (0.027, 0.033, 0.039)),
    Typical("DPO", 501, None, 5, 2, (0.006, 0.006, 0.008), (0.006, 0.006, 0.006)),
)


def typical_seed_sds(tasks: int, kind: str = "RL") -> Typical:
    """Return what is usual for a benchmark with so many tasks.

    Raises
    ------
    ValueError
        The kind has no row.
    """
    for row in TYPICAL:
        if row.kind == kind and row.fewest <= tasks and (row.most is None or tasks <= row.most):
            return row
    raise ValueError(f"no typical sd of {kind!r}")
