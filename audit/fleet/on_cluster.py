"""Files judged on the workers of a Dask cluster, with the results of one process here.

This process reads the files and what lies beside them and sends their content, so that a worker
needs neither the files nor a right to read them. What git says of earlier versions is asked here.
A worker that is lost is a retry; a file that takes down every worker it is given to is lost.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from audit import __version__
from audit.cluster import client_of, killed_its_workers
from audit.errors import AuditError, InputError, UsageError
from audit.fleet.files import FileResult
from audit.fleet.history import listing_of
from audit.fleet.judging import Judge, failed, lost
from audit.installed import code_digest
from audit.outcomes_file import named_files
from audit.paths import is_file, is_url
from audit.reading import Source, read_source
from audit.results import read_document

_DISTRIBUTION = "recipe-audit"
# Content goes through the scheduler: a larger file is judged here, and a task holds no more.
_LARGEST_SENT = 8 * 2**20
_TASK_BYTES = 4 * 2**20
_TASK_FILES = 16
_TASKS_PER_THREAD = 3
_RETRIES = 2
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Sent:
    """A file on its way to a worker; what lies beside it by path, or why it cannot be read."""

    judge: Judge
    name: str
    data: bytes
    sha256: str
    beside: dict[str, bytes | str]

    @property
    def size(self) -> int:
        return len(self.data) + sum(map(len, self.beside.values()))

    def source(self) -> Source:
        return Source(self.name, self.data, self.sha256, self._beside)

    def _beside(self, path: str) -> bytes:
        content = self.beside.get(path, "is missing")
        if isinstance(content, str):
            raise InputError(content)
        return content


class Cluster:
    """Workers that judge files."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._code = code_digest()
        self._most_tasks = _TASKS_PER_THREAD * sum(client.nthreads().values())

    def judged(self, works: Sequence[tuple[Judge, str]]) -> Iterator[FileResult]:
        """Yield the result of every file, in order."""
        handed_out: deque[Iterator[FileResult]] = deque()
        for task in _tasks(works):
            if isinstance(task, FileResult):
                handed_out.append(iter((task,)))
            else:
                handed_out.append(self._finished(task, self._submitted(task)))
            if len(handed_out) > self._most_tasks:
                yield from handed_out.popleft()
        for results in handed_out:
            yield from results

    def _submitted(self, task: list[_Sent]) -> Any:
        return self._client.submit(_judged_there, task, self._code, pure=False, retries=_RETRIES)

    def _finished(self, task: list[_Sent], future: Any) -> Iterator[FileResult]:
        try:
            results = future.result()
        except AuditError:
            raise
        except Exception as error:
            if not killed_its_workers(error):
                raise UsageError(f"--scheduler: a worker cannot judge: {error}") from error
            if len(task) == 1:
                yield lost(task[0].name)
                return
            for sent in task:  # one of them takes workers down, the others are judged
                yield from self._finished([sent], self._submitted([sent]))
            return
        for sent, result in zip(task, results, strict=True):
            yield _with_history(sent, result)


@contextmanager
def cluster_at(address: str) -> Iterator[Cluster]:
    """Give the workers of a cluster, after asking that each has this code of audit.

    Raises
    ------
    UsageError
        When Dask is missing, no scheduler answers, there is no worker, or a worker has no audit or
        another one; it is named.
    """
    with client_of(address) as client:
        _require_workers(client, address)
        yield Cluster(client)


def _require_workers(client: Any, address: str) -> None:
    if not client.nthreads():
        raise UsageError(f"the Dask cluster at {address} has no worker")
    for worker, found in client.run(version, _DISTRIBUTION, on_error="return").items():
        if isinstance(found, Exception):
            raise UsageError(f"--scheduler: worker {worker} has no audit: install it there")
        if found != __version__:
            raise UsageError(
                f"--scheduler: worker {worker} has audit {found}, this is {__version__}"
            )
    for worker, found in client.run(code_digest, on_error="return").items():
        if isinstance(found, Exception):
            raise UsageError(f"--scheduler: worker {worker} cannot run audit: {found}")
        if found != code_digest():
            raise UsageError(_other_code(worker))


def _other_code(worker: str) -> str:
    return f"--scheduler: worker {worker} has audit {__version__} too, with other code in it"


def _tasks(works: Sequence[tuple[Judge, str]]) -> Iterator[list[_Sent] | FileResult]:
    """Yield what goes to workers, a few files at a time, and between them what is judged here."""
    task: list[_Sent] = []
    for judge, path in works:
        sent = _read(judge, path)
        full = len(task) == _TASK_FILES or sum(one.size for one in task) >= _TASK_BYTES
        if task and (full or isinstance(sent, FileResult)):
            yield task
            task = []
        if isinstance(sent, FileResult):
            yield sent
        else:
            task.append(sent)
    if task:
        yield task


def _read(judge: Judge, path: str) -> _Sent | FileResult:
    """Return a file with what lies beside it; one that is judged here, as its result."""
    if not (is_file(path) or is_url(path)):  # standard input, a pipe, or nothing
        return judge(path)
    try:
        source = read_source(path)
    except AuditError as error:
        return failed(path, error)
    beside: dict[str, bytes | str] = {}
    for name in _named_beside(source):
        try:
            beside[name] = source.beside(name) if source.beside is not None else "is missing"
        except InputError as error:
            beside[name] = error.message
    sent = _Sent(judge, source.name, source.data, source.sha256, beside)
    return judge(path) if sent.size > _LARGEST_SENT else sent


def _named_beside(source: Source) -> Iterable[str]:
    if b'"outcomes"' not in source.data and b"\\u" not in source.data:
        return ()  # what most files are is not parsed twice
    try:
        return named_files(read_document(source)[0])
    except AuditError:  # the worker says so
        return ()


def _judged_there(task: list[_Sent], code: str) -> list[FileResult]:
    """Judge files on a worker, which may have joined after the others were asked for their code."""
    if code_digest() != code:
        from distributed import get_worker

        raise UsageError(_other_code(get_worker().address))
    with _ONE_AT_A_TIME:  # a worker's threads would wait for each other anyway
        return [sent.judge.of_source(sent.source()) for sent in task]


def _with_history(sent: _Sent, result: FileResult) -> FileResult:
    """Return the result of a worker, judged again here where earlier versions have a say."""
    if not result.may_hide_looks or is_url(sent.name):
        return result
    listing = listing_of(sent.name, sent.data)
    if listing.earlier or listing.missing:
        return sent.judge(sent.name)
    return replace(result, listing=listing)
