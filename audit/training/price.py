"""What minutes cost: one rule for the dry run and the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.training.study_file import Cost


def usd(cost: Cost, minutes: float, *, devices: int, machines: int, at_once: int) -> float:
    """Return the price of some minutes of a run or an evaluation.

    Parameters
    ----------
    minutes : float
        Wall-clock time.
    devices : int
        Processes that work on it together, each with a GPU or a processor of its own.
    machines : int
        Machines that these processes are on.
    at_once : int
        Runs that share the machine meanwhile, and its price.
    """
    units = devices if cost.per == "device" else machines / at_once
    return minutes / 60 * cost.usd_per_hour * units
