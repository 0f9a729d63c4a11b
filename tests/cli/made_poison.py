"""A judge that takes its process down with one file, importable on a worker."""

from __future__ import annotations

import os

from audit.fleet.files import FileResult
from audit.fleet.judging import Judge
from audit.reading import Source


class PoisonedJudge(Judge):
    """Dies of a file called poison."""

    def of_source(self, source: Source) -> FileResult:
        if "poison" in source.name:
            os._exit(9)
        return super().of_source(source)
