"""Many files judged: here, in several processes, or on a cluster, in order and one way for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.fleet.files import FileResult
from audit.fleet.judging import BothPolicies, Judge, lost, worse

if TYPE_CHECKING:
    from audit.fleet.cache import Cache
    from audit.fleet.on_cluster import Cluster

# A file, and what judges it: judges differ where files are of one study.
Work = tuple[Judge, str]
Works = Sequence[tuple[Judge | BothPolicies, str]]
Visit = Callable[[Works], Iterator[FileResult]]


@dataclass(frozen=True, slots=True)
class Visitor:
    """Judges many files.

    Attributes
    ----------
    jobs : int or None
        Processes on this machine; None takes one per processor where there are many files.
    cluster : Cluster or None
        Judges in place of these.
    cache : Cache or None
        Results of earlier calls, and where those of this one are kept.
    """

    jobs: int | None = 1
    cluster: Cluster | None = None
    cache: Cache | None = None

    def __call__(self, works: Works) -> Iterator[FileResult]:
        """Yield the result of every file, in order."""
        second = [(judge.then, path) for judge, path in works if isinstance(judge, BothPolicies)]
        first = [(j.now if isinstance(j, BothPolicies) else j, path) for j, path in works]
        then = iter(list(self._judged(second)))
        for (judge, _), now in zip(works, self._judged(first), strict=True):
            yield worse(now, next(then)) if isinstance(judge, BothPolicies) else now

    def _judged(self, works: Sequence[Work]) -> Iterator[FileResult]:
        cache = self.cache
        if cache is None:
            yield from self._fresh(works)
            return
        known = [cache.found(*work) for work in works]
        missing = [work for work, file in zip(works, known, strict=True) if file is None]
        fresh = self._fresh(missing)
        for work, file in zip(works, known, strict=True):
            if file is None:
                file = next(fresh)
                cache.keep(*work, file)
            yield file

    def _fresh(self, works: Sequence[Work]) -> Iterator[FileResult]:
        if self.cluster is not None:
            return self.cluster.judged(works)
        from audit.fleet.workers import each

        # Only this process has the standard input.
        jobs = 1 if any(path == "-" for _, path in works) else self.jobs
        return each(_judge, works, jobs, _lost)


def _judge(work: Work) -> FileResult:
    judge, path = work
    return judge(path)


def _lost(work: Work) -> FileResult:
    return lost(work[1])
