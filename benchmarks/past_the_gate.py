"""What passes as a supported claim though it should not: each trick now, and in an older version.

    git worktree add ../old REVISION     # with an environment of its own, audit installed in it
    python benchmarks/past_the_gate.py --before ../old/.venv/bin/python --write FILE

One process, about four minutes of CPU. What is in the state file is not run again. Exit status 1
where a trick passes that is refused whatever the outcomes are.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from judged import Document, Judged, elsewhere, judge, read
from tricks import TRICKS, Trick

from audit.analysis import analyse
from audit.facts.siblings import run_keys
from audit.stats import wilson

STUDIES = {120: 150, 1319: 50}
Judging = Callable[[Document, Mapping[str, Any]], Judged]


@dataclass
class Outcome:
    """What became of the studies of a trick at one size.

    ``before`` is None where the older version was not asked; ``unread`` is how many studies it
    could not read.
    """

    studies: int = 0
    now: int = 0
    before: int | None = None
    unread: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def passes(trick: Trick, documents: Sequence[Document], judging: Judging) -> tuple[bool, str]:
    """Return whether a claim of any document is supported, and else why the first is refused."""
    found = [judging(document, trick.policy) for document in documents]
    return any(one.supported for one in found), found[0].slug


def together(documents: Sequence[Document]) -> tuple[bool, str]:
    """Judge the files of one study as the gate does: one family where they share a run."""
    files = [read(document) for document in documents]
    alone = [analyse(file).claims[0] for file in files]
    keys = [run_keys(file) for file in files]
    found = []
    for place, file in enumerate(files):
        others = [
            alone[other].family_p_value
            for other in range(len(files))
            if other != place and keys[other] & keys[place]
        ]
        found.append(analyse(file, siblings=others).claims[0] if others else alone[place])
    return any(claim.stands for claim in found), found[0].slug


def judge_trick(trick: Trick, tasks: int, studies: int, before: Judging | None) -> Outcome:
    """Make and judge so many studies of a trick."""
    start, outcome = time.process_time(), Outcome()
    random = np.random.default_rng([zlib.crc32(trick.name.encode()), tasks])
    reasons: Counter[str] = Counter()
    for _ in range(studies):
        documents = trick.make(tasks, random)
        if trick.together:
            passed, slug = together(documents)
        else:
            passed, slug = passes(trick, documents, judge)
        outcome.studies += 1
        outcome.now += passed
        reasons["supported" if passed else slug] += 1
        if before is not None:
            passed, slug = passes(trick, documents, before)
            outcome.before = (outcome.before or 0) + passed
            outcome.unread += slug == "not-read"
    outcome.reasons = dict(reasons.most_common())
    outcome.seconds = round(time.process_time() - start, 2)
    return outcome


def recorded(state: Path) -> dict[tuple[str, int], Outcome]:
    """Return the outcomes of an earlier run."""
    if not state.exists():
        return {}
    lines = map(json.loads, state.read_text(encoding="utf-8").splitlines())
    return {(line["trick"], line["tasks"]): Outcome(**line["outcome"]) for line in lines}


def measure(state: Path, python: Path | None) -> dict[tuple[str, int], Outcome]:
    """Run what the state file lacks; return all outcomes by trick and size."""
    done = recorded(state)
    state.parent.mkdir(parents=True, exist_ok=True)
    other = elsewhere(python) if python else nullcontext(None)
    with other as older, state.open("a", encoding="utf-8") as log:
        if older is not None:
            print(f"before: {older.package}", file=sys.stderr)
        for tasks, studies in STUDIES.items():
            for trick in TRICKS:
                if (trick.name, tasks) in done:
                    continue
                known = older is not None and set(trick.policy) <= {"level"}
                before = older.judge if older is not None and known else None
                found = done[trick.name, tasks] = judge_trick(trick, tasks, studies, before)
                line = {"trick": trick.name, "tasks": tasks, "outcome": asdict(found)}
                log.write(json.dumps(line) + "\n")
                log.flush()
                print(f"{tasks}  {trick.name}  {found.seconds} s", file=sys.stderr)
    return done


def page(done: Mapping[tuple[str, int], Outcome], revision: str) -> str:
    """Return the page."""
    lines = [
        "# What passes the gate and should not",
        "",
        "Each row is a way to make a claim pass, tried on "
        f"{STUDIES[120]} studies of 120 tasks and {STUDIES[1319]} of 1,319:",
        "three records per arm, 4 answers per task, two recipes without any difference, training "
        "sd 0.03.",
        "The claim is a gain of the arm that came out ahead. A figure is the share of studies in "
        "which it",
        "is supported, with its 95% interval (Wilson); an honest study passes one time in twenty "
        "at most.",
        f"*Before* is revision {revision} on the same studies.",
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}. Made by "
        "`benchmarks/past_the_gate.py`.",
        "",
    ]
    header = ["what was done"]
    for tasks in STUDIES:
        header += [f"{tasks} tasks: now", "before"]
    lines += [f"| {' | '.join([*header, 'most often'])} |", "|" + "---|" * (len(header) + 1)]
    lines += [_row(trick, done) for trick in TRICKS]
    lines += [
        "",
        "## What nothing in a file can show",
        "",
        "A results file says what its author writes into it. These pass as often as their numbers "
        "let them:",
        "",
    ]
    lines += [f"* {trick.name}: {trick.nothing}." for trick in TRICKS if trick.nothing]
    return "\n".join(lines) + "\n"


def _row(trick: Trick, done: Mapping[tuple[str, int], Outcome]) -> str:
    row = [trick.name]
    reasons: Counter[str] = Counter()
    for tasks in STUDIES:
        found = done.get((trick.name, tasks))
        if found is None:
            row += ["", ""]
            continue
        row.append(_share(found.now, found.studies))
        row.append(_before(found))
        reasons.update(found.reasons)
    reasons.pop("supported", None)
    row.append(reasons.most_common(1)[0][0] if reasons else "")
    return f"| {' | '.join(row)} |"


def _before(found: Outcome) -> str:
    if found.before is None:
        return ""
    if found.unread == found.studies:
        return "not read"
    return f"{found.before / found.studies:.2f}"


def _share(passed: int, studies: int) -> str:
    found = wilson(passed, studies)
    return f"{found.rate:.2f} [{found.low:.2f}, {found.high:.2f}]"


def let_by(done: Mapping[tuple[str, int], Outcome]) -> Iterator[str]:
    """Yield the tricks that passed though they are refused whatever the outcomes are."""
    for trick in TRICKS:
        passed = sum(found.now for (name, _), found in done.items() if name == trick.name)
        if trick.refused and passed:
            yield f"{trick.name}: {passed} passed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--state", type=Path, default=Path("build/past_the_gate.jsonl"))
    parser.add_argument("--before", type=Path, help="python of an older version of audit")
    parser.add_argument("--revision", default="80d2e5b", help="what the older version is called")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    done = measure(options.state, options.before)
    text = page(done, options.revision)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text)
    wrong = list(let_by(done))
    for line in wrong:
        print(f"let by: {line}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
