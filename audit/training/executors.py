"""Where the runs of a study are carried out: here, in processes, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from audit.errors import UsageError

Job = tuple[Any, ...]


def completed(
    jobs: Sequence[Job], function: Callable[..., Any], executor: Executor | None
) -> Iterator[tuple[Job, Any]]:
    """Yield each job with its result as it finishes: in order here, in any order elsewhere.

    Raises
    ------
    UsageError
        When the workers are gone; what finished before was yielded, so a second start goes on.
    """
    if executor is None:
        for job in jobs:
            yield job, function(*job)
        return
    futures: dict[Future[Any], Job] = {executor.submit(function, *job): job for job in jobs}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool as error:
        raise UsageError(
            "a worker process was killed (often for memory); finished runs are kept, start again "
            "to go on, perhaps with fewer --workers"
        ) from error


@contextmanager
def executor_for(
    workers: int, scheduler: str | None, timeout: float = 20
) -> Iterator[Executor | None]:
    """Yield the executor asked for; None stands for this process.

    Parameters
    ----------
    workers : int
        Processes here, where no scheduler is given. One means this process.
    scheduler : str, optional
        Address of a Dask scheduler. A task whose worker dies is given to another worker.
    timeout : float
        Seconds to wait for the scheduler.

    Raises
    ------
    UsageError
        When Dask is missing or the scheduler does not answer.
    """
    if scheduler is not None:
        with _dask(scheduler, timeout) as executor:
            yield executor
    elif workers == 1:
        yield None
    else:
        with _processes(workers) as executor:
            yield executor


def _processes(workers: int) -> Executor:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A forked child would inherit torch's threads in whatever state they are.
    return ProcessPoolExecutor(max_workers=workers, mp_context=get_context("spawn"))


@contextmanager
def _dask(address: str, timeout: float) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("--scheduler needs Dask: pip install distributed") from error
    try:
        client = Client(address, timeout=timeout)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        executor = client.get_executor(retries=2)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)
