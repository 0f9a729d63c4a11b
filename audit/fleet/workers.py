"""A function over many items in several processes, in order, with a bar on a terminal."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

# Fewer files than this are done before other processes have started.
MANY = 32
_BAR = 30
# Items that a process is handed at a time, and how many such lists wait for it: enough that none
# waits for work, few enough that 10,000 items are not all in the queue.
_CHUNK = 16
_CHUNKS_EACH = 4

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
        Gives the result of an item whose process dies again when it does that item alone.
    """
    if jobs is None:
        jobs = processors() if len(items) > MANY else 1
    if min(jobs, len(items)) < 2:
        yield from map(function, items)
        return
    size = max(1, min(_CHUNK, len(items) // (_CHUNKS_EACH * jobs)))
    waiting = deque(batched(items, size))
    while waiting:
        yield from _until_one_dies(function, waiting, jobs, lost)


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of one size, the last one perhaps shorter."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def _until_one_dies(
    function: Callable[[Item], Result],
    waiting: deque[list[Item]],
    jobs: int,
    lost: Callable[[Item], Result],
) -> Iterator[Result]:
    """Yield results from one pool; where a process of it dies, do again what was handed out.

    What was not handed out yet stays in ``waiting``, for a pool of its own.
    """
    with pool(min(jobs, len(waiting))) as workers:
        handed: deque[tuple[list[Item], Future[list[Result]]]] = deque()
        broken = False
        while handed or (waiting and not broken):
            while waiting and not broken and len(handed) < _CHUNKS_EACH * jobs:
                try:
                    future = workers.submit(_all_of, function, waiting[0])
                except BrokenProcessPool:
                    broken = True
                    break
                handed.append((waiting.popleft(), future))
            if not handed:
                break
            chunk, future = handed.popleft()
            try:
                yield from future.result()
            except BrokenProcessPool:
                broken = True
                yield from _again(function, chunk, lost)


def _all_of(function: Callable[[Item], Result], chunk: list[Item]) -> list[Result]:
    return list(map(function, chunk))


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


def _again(
    function: Callable[[Item], Result], chunk: list[Item], lost: Callable[[Item], Result]
) -> list[Result]:
    """Do items in a process of their own; where that dies too, each in one of its own."""
    with pool(1) as worker:
        try:
            return worker.submit(_all_of, function, chunk).result()
        except BrokenProcessPool:
            if len(chunk) == 1:
                return [lost(chunk[0])]
    return [result for item in chunk for result in _again(function, [item], lost)]


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
