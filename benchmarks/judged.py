"""What the shipped path says about a document: from ``from_document`` through ``analyse``.

As a script it judges documents from standard input, one per line, by the installed version of
audit, which may be an older one: so the same studies are held against two versions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import audit
from audit.analysis import analyse
from audit.policy import Policy
from audit.results import Results, from_document

Document = dict[str, Any]

# Refusals that leave the verdict standing: the interval says less than the claim.
BY_INTERVAL = frozenset(
    {"interval-reaches-zero", "wrong-way", "not-after-holm", "below-noise-floor", "within-margin"}
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a document's first claim.

    ``word`` is that of the comparison, ``refused`` where it carries none; ``slug`` is why the
    claim is refused, ``supported`` whether it is not.
    """

    word: str
    slug: str
    supported: bool

    @property
    def called(self) -> bool:
        """Whether a difference was seen, in either direction."""
        return self.supported or self.slug == "wrong-way"

    @property
    def refused(self) -> bool:
        """Whether the claim is refused for what the study is, not for what its interval says."""
        return not self.supported and self.slug not in BY_INTERVAL


def read(document: Document) -> Results:
    """Return a document as results; ValueError where it breaks the schema, so nothing is missed."""
    results = from_document(document)
    if results.faults:
        raise ValueError(str(results.faults[0]))
    return results


def judge(document: Document, policy: Mapping[str, Any] | None = None, **options: Any) -> Judged:
    """Judge a document under the default policy, with some of its terms changed.

    ``options`` are further ones of ``analyse``.
    """
    return _judged(read(document), policy or {}, **options)


def _judged(results: Results, policy: Mapping[str, Any], **options: Any) -> Judged:
    analysis = analyse(results, policy=Policy(**policy), **options)
    if not analysis.claims:  # an older version does not know some key, and takes nothing
        return Judged("refused", "not-read", False)
    claim = analysis.claims[0]
    slug = "supported" if claim.stands else claim.slug  # an older version says it otherwise
    return Judged(claim.verdict.word, slug, claim.stands)


class Elsewhere:
    """Another version of audit, that of another interpreter, as a process that judges."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process = process
        self.package = process.stdout.readline().strip()  # where its audit lies

    def judge(self, document: Document, policy: Mapping[str, Any] | None = None) -> Judged:
        """Judge a document there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([document, policy or {}]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("the other version of audit ended before it answered")
        return Judged(**json.loads(answer))


@contextmanager
def elsewhere(python: Path) -> Iterator[Elsewhere]:
    """Start the judge of another interpreter, and end it."""
    # What this process finds its own version by must not decide what the other one finds.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with subprocess.Popen(
        [python, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        yield Elsewhere(process)
        assert process.stdin is not None
        process.stdin.close()


def main() -> int:
    print(Path(audit.__file__).parent, flush=True)
    for line in sys.stdin:
        document, policy = json.loads(line)
        print(json.dumps(asdict(_judged(from_document(document), policy))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
