"""A function over many items in several processes, in order, with a bar on a terminal."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

# Fewer files than this are done before other processes have started.
MANY = 32
_BAR = 30

Item = TypeVar("Item")
Result = TypeVar("Result")


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int | None,
    lost: Callable[[Item], Result],
) -> Iterator[Result]:
    """Yield the function's result for every item, in their order.

    Parameters
    ----------
    function : callable
        It, the items and the results must be picklable where several processes are used.
    items : sequence
    jobs : int or None
        Processes; None takes one per processor where there are more than ``MANY`` items.
    lost : callable
        Gives the result of an item whose process dies twice, the second time on its own.
    """
    if jobs is None:
        jobs = processors() if len(items) > MANY else 1
    if min(jobs, len(items)) < 2:
        yield from map(function, items)
        return
    with pool(min(jobs, len(items))) as workers:
        futures = [workers.submit(function, item) for item in items]
        for item, future in zip(items, futures, strict=True):
            try:
                yield future.result()
            except BrokenProcessPool:
                yield _alone(function, item, lost)


@contextmanager
def pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Give a pool whose processes are no copies of this one, which may have threads by now.

    A new interpreter would put the working folder first on its path and import the modules that
    lie there in place of its own; a checkout under review is such a folder. The setting against it
    is taken back at the end: what the caller starts afterwards is the caller's.
    """
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["audit.fleet.judging"])
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        with ProcessPoolExecutor(jobs, mp_context=context) as executor:
            yield executor
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _alone(
    function: Callable[[Item], Result], item: Item, lost: Callable[[Item], Result]
) -> Result:
    """Do one item in a process of its own: a process that dies takes the whole pool with it."""
    with pool(1) as worker:
        try:
            return worker.submit(function, item).result()
        except BrokenProcessPool:
            return lost(item)


def with_bar(results: Iterable[Result], total: int, *, wanted: bool) -> Iterator[Result]:
    """Pass the results on and draw how far they are, on a terminal only."""
    if not wanted or not sys.stderr.isatty():
        yield from results
        return
    for done, result in enumerate(results, start=1):
        full = done * _BAR // total
        bar = "#" * full + "." * (_BAR - full)
        print(f"\r[{bar}] {done} of {total} files", end="", file=sys.stderr, flush=True)
        yield result
    print("\r" + " " * (_BAR + 30) + "\r", end="", file=sys.stderr, flush=True)
