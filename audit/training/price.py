"""What minutes cost: one rule for the dry run and the record."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.training.study_file import Cost


def usd(cost: Cost, minutes: float, *, devices: int, machines: int, at_once: float) -> float:
    """Return the price of some minutes of a run or an evaluation.

    Parameters
    ----------
    minutes : float
        Wall-clock time.
    devices : int
        Processes that work on it together, each with a GPU or a processor of its own.
    machines : int
        Machines that these processes are on.
    at_once : float
        Runs that share the machine meanwhile, and its price; see `Sharing`.
    """
    units = devices if cost.per == "device" else machines / at_once
    return minutes / 60 * cost.usd_per_hour * units


class Sharing:
    """How many pieces of a study share a machine while each is made.

    There are as many as workers, and fewer once less is left, so that the shares of all pieces
    add up to the time of the machine, the last ones' idle workers included.

    Parameters
    ----------
    pieces, workers : int
        Pieces to be made, and how many at a time.
    """

    def __init__(self, pieces: int, workers: int) -> None:
        self._pieces, self._workers = pieces, workers
        self._ends: list[float] = []

    def finished(self, now: float, minutes: float) -> float:
        """Take that a piece has just finished, and return how many shared the machine meanwhile.

        Parameters
        ----------
        now, minutes : float
            Reading of a clock that counts minutes, not before that of an earlier call; and how
            long the piece took.

        Returns
        -------
        float
            The harmonic mean over its time: its minutes by its share of the machine's.
        """
        begun = now - minutes
        later = [end for end in self._ends if end > begun]
        left = self._pieces - len(self._ends) + len(later)
        share, since = 0.0, begun
        for end in (*later, now):
            share += (end - since) / min(self._workers, left)
            since, left = end, left - 1
        self._ends.append(now)
        return minutes / share if share > 0 else float(min(self._workers, left + 1))


def schedule(minutes: Sequence[float], workers: int) -> list[tuple[float, float]]:
    """Return when each piece ends and what it takes, in the order of their ends.

    Pieces are begun in their order, each by the first worker that is free.
    """
    free = [0.0] * workers
    heapify(free)
    found = []
    for one in minutes:
        end = free[0] + one
        heapreplace(free, end)
        found.append((end, one))
    return sorted(found)
