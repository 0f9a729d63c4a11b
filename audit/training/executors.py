"""Where the runs of a study are carried out: here, in processes, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from audit.cluster import client_of, killed_its_workers
from audit.errors import UsageError
from audit.training.progress import Report

Job = tuple[Any, ...]
Message = tuple[str, str, int, int]

_GONE = (
    "a worker was killed (often for memory); finished runs are kept, start again to go on, perhaps "
    "with fewer workers at a time"
)
_SECONDS_BETWEEN_LOOKS = 0.5
_TOPIC = "audit-progress"


@dataclass(frozen=True, slots=True)
class Crew:
    """Workers, how one of them reports its progress, and what has been reported here.

    ``report`` is called in the worker, so it is a function of this module, which pickles by name.
    """

    executor: Executor
    report: Report
    messages: Any  # a queue: of threads, or of processes


def completed(
    jobs: Sequence[Job], function: Callable[..., Any], crew: Crew, heard: Report
) -> Iterator[tuple[Job, Any]]:
    """Yield each job with its result as it finishes, in whatever order.

    Parameters
    ----------
    function : callable
        Called in a worker with the parts of a job and the crew's ``report``.
    heard : callable
        Called here with each report.

    Raises
    ------
    UsageError
        When the workers are gone; what finished before was yielded, so a second start goes on.
    """
    futures: dict[Future[Any], Job] = {
        crew.executor.submit(function, *job, crew.report): job for job in jobs
    }
    waiting = set(futures)
    try:
        while waiting:
            done, waiting = wait(
                waiting, timeout=_SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED
            )
            for message in _pending(crew.messages):
                heard(*message)
            for future in sorted(done, key=list(futures).index):
                yield futures[future], future.result()
    except (BrokenProcessPool, CancelledError) as error:
        raise UsageError(_GONE) from error
    except Exception as error:
        if not killed_its_workers(error):
            raise
        raise UsageError(_GONE) from error


@contextmanager
def crew_for(
    workers: int, scheduler: str | None, *, gpus: Sequence[str] = (), timeout: float = 20
) -> Iterator[Crew]:
    """Yield the workers asked for.

    Parameters
    ----------
    workers : int
        Processes here, where no scheduler is given.
    scheduler : str, optional
        Address of a Dask scheduler. A task whose worker dies is given to another worker.
    gpus : sequence of str
        As ``CUDA_VISIBLE_DEVICES`` names them; processes here are given one each, in turn. Workers
        of a cluster see what they were started with.
    timeout : float
        Seconds to wait for the scheduler.

    Raises
    ------
    UsageError
        When Dask is missing or the scheduler does not answer.
    """
    if scheduler is not None:
        with _dask(scheduler, timeout) as crew:
            yield crew
    else:
        with _processes(workers, gpus) as crew:
            yield crew


@contextmanager
def _processes(workers: int, gpus: Sequence[str]) -> Iterator[Crew]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A forked child would inherit torch's threads in whatever state they are.
    context = get_context("spawn")
    messages, numbers = context.Queue(), context.Queue()
    for number in range(workers):
        numbers.put(number)
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(
        max_workers=workers,
        mp_context=context,
        initializer=_start_worker,
        initargs=(messages, numbers, tuple(gpus)),
    ) as executor:
        try:
            yield Crew(executor, _report_by_queue, messages)
        except BaseException:
            # Leaving waits for what is under way, hours of it, whose result nobody would take.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


_messages: Any = None  # of a worker process, which gets it as it starts: a queue does not pickle


def _start_worker(messages: Any, numbers: Any, gpus: tuple[str, ...]) -> None:
    global _messages
    _messages = messages
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    messages.cancel_join_thread()  # a report nobody reads any more must not hold the process back
    if gpus:
        # CUDA reads it when it is first used, which in this process is yet to come.
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[numbers.get() % len(gpus)]


def _end_with_parent() -> None:
    """End this worker when the process that started it is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _report_by_queue(name: str, what: str, done: int, total: int) -> None:
    _messages.put((name, what, done, total))


@contextmanager
def _dask(address: str, timeout: float) -> Iterator[Crew]:
    messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
    with client_of(address, timeout) as client:
        client.subscribe_topic(_TOPIC, lambda event: messages.put(event[1]))
        executor = client.get_executor(retries=2)
        try:
            yield Crew(executor, _report_by_topic, messages)
        finally:
            client.unsubscribe_topic(_TOPIC)
            executor.shutdown(wait=False)


def _report_by_topic(name: str, what: str, done: int, total: int) -> None:
    from distributed import get_worker

    get_worker().log_event(_TOPIC, (name, what, done, total))


def _pending(messages: Any) -> Iterator[Message]:
    while True:
        try:
            yield messages.get_nowait()
        except queue.Empty:
            return
