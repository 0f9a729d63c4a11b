"""Hostile input study: mutated bytes and mutated structure against ``audit verify``.

Each input must end in a report or in one line: no exception but ``AuditError``, no rule that
raises (status 3), none slower than 5 s, memory below the stated multiple of the file. Run::

    python benchmarks/hostile.py [--inputs 20000] [--seed 1] [--write benchmarks/hostile.md]
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import audit
from audit.cli.formats import FORMATS, Style, render
from audit.errors import AuditError
from audit.fleet.files import FileResult, FileResults
from audit.reading import Source
from audit.results import from_source

ROOT = Path(__file__).resolve().parent.parent
SEEDS = (
    ROOT / "reports" / "gppo-framework" / "results.json",
    ROOT / "tests" / "data" / "results" / "full.json",
    ROOT / "tests" / "data" / "results" / "minimal.json",
)
SLOWEST_SECONDS = 5.0

# What a hostile hand puts in the place of a value.
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**53, 2**53 + 1, 10**400, 1e308, -1e308, 5e-324, 0.1, -0.0,
    float("nan"), float("inf"), "", "x", "\x00", "\ud800", "a" * 10_000, "NaN", "1", "../../etc",
    [], {}, [[]], [{}], [None], {"": {}}, [0] * 1000, ["x"], {"seed": 1}, [1, "2", 3.0, None],
)  # fmt: skip
BYTES = (b"\x00", b"\xff", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"NaN", b"1e999", b"-")


def containers(value: Any) -> list[Any]:
    """Return every object and list in a document."""
    found = []
    stack = [value]
    while stack:
        here = stack.pop()
        if isinstance(here, dict | list):
            found.append(here)
            stack.extend(here.values() if isinstance(here, dict) else here)
    return found


def structural(document: dict[str, Any], rng: random.Random) -> bytes:
    """Return the document with one to five places changed."""
    changed = copy.deepcopy(document)
    for _ in range(rng.randint(1, 5)):
        box = rng.choice(containers(changed))
        if not box:
            continue
        key = rng.choice(list(box)) if isinstance(box, dict) else rng.randrange(len(box))
        act = rng.random()
        if act < 0.55:
            box[key] = copy.deepcopy(rng.choice(STRANGE))
        elif act < 0.7:
            del box[key]
        elif act < 0.8 and isinstance(box, list):
            box.insert(key, copy.deepcopy(rng.choice([*STRANGE, box[key]])))
        elif act < 0.9 and isinstance(box, dict):
            box[rng.choice(["", "a/b", "~", "seed", "x" * 300, "\u202e"])] = box[key]
        else:
            donor = rng.choice(containers(changed))
            box[key] = copy.deepcopy(donor) if len(json.dumps(donor)) < 20_000 else None
    return json.dumps(changed).encode("utf-8", "surrogatepass")


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with pieces cut, doubled, flipped or put in."""
    raw = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(raw) + 1) if raw else 0
        act = rng.random()
        if act < 0.3:
            raw[at : at + rng.randint(1, 40)] = b""
        elif act < 0.5:
            raw[at:at] = rng.choice(BYTES) * rng.choice([1, 1, 2, 300])
        elif act < 0.7 and at < len(raw):
            raw[at] = rng.randrange(256)
        elif act < 0.85:
            raw[at:at] = raw[at : at + rng.randint(1, 200)]
        else:
            del raw[at:]
    return bytes(raw)


def inputs(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (kind, bytes): half structural, half on bytes."""
    rng = random.Random(seed)
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in SEEDS if path.exists()]
    texts = [json.dumps(document).encode() for document in documents]
    for number in range(count):
        at = rng.randrange(len(documents))
        if number % 2:
            yield "structure", structural(documents[at], rng)
        else:
            yield "bytes", mutated(texts[at], rng)


def judge(data: bytes, formats: tuple[str, ...] = ()) -> str:
    """Return how verifying these bytes ends: ``status 0/1/3`` or ``one line`` (status 2)."""
    try:
        report = audit.verify(from_source(Source("hostile.json", data, "")))
        outcome = FileResult("hostile.json", report, None, report.exit_status)
        for name in formats:
            render(name, FileResults((outcome,)), Style())
    except AuditError as error:
        lines = len(str(error).splitlines())
        return "one line (status 2)" if lines == 1 else f"REFUSED IN {lines} LINES"
    return f"report (status {report.exit_status})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for inputs that break a promise")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    outcomes: Counter[tuple[str, str]] = Counter()
    slowest = 0.0
    for number, (kind, data) in enumerate(inputs(options.inputs, options.seed)):
        start = time.perf_counter()
        try:
            outcome = judge(data, tuple(FORMATS) if number % 50 < 2 else ())
        except BaseException as error:
            outcome = f"RAISED {type(error).__name__}"
            if isinstance(error, KeyboardInterrupt):
                raise
        seconds = time.perf_counter() - start
        slowest = max(slowest, seconds)
        if seconds > SLOWEST_SECONDS:
            outcome = "SLOWER THAN 5 s"
        if options.keep and (outcome[:1] in "RS" or "status 3" in outcome):
            options.keep.mkdir(exist_ok=True)
            (options.keep / f"{number}.json").write_bytes(data)
        outcomes[kind, outcome] += 1
        if number % 1000 == 999:
            print(f"{number + 1} inputs, slowest {slowest:.2f} s", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = report(options, outcomes, slowest, peak)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text)


def report(
    options: argparse.Namespace,
    outcomes: Counter[tuple[str, str]],
    slowest: float,
    peak: float,
) -> str:
    lines = [
        "# Hostile input study",
        "",
        f"Command: `python benchmarks/hostile.py --inputs {options.inputs} --seed {options.seed}`.",
        "",
        "Every input is verified; one in twenty-five is printed in all six formats too.",
        "",
        "| inputs changed in | outcome | count |",
        "|---|---|---|",
    ]
    lines += [f"| {kind} | {what} | {count} |" for (kind, what), count in sorted(outcomes.items())]
    lines += [
        "",
        f"Slowest input {slowest:.2f} s. Peak memory of the process that verified all of them "
        f"{peak:.0f} MiB. Status 3 (a rule raised) and exceptions would stand above as rows of "
        "their own.",
        "",
        *memory_rows(),
    ]
    return "\n".join(lines) + "\n"


def worst_cases(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield files of about ``size`` bytes that are all structure and no content."""
    head = b'{"schema_version": 2, "method": "m", "seed_results": ['
    yield "empty lists", head + b"[]," * (size // 3) + b"[]]}"
    yield "empty objects", head + b"{}," * (size // 3) + b"{}]}"
    yield "zeros", head + b"0," * (size // 2) + b"0]}"
    yield "short keys", head + b'{"a":0},' * (size // 8) + b"{}]}"
    yield "broken at the end", head + b"[]," * (size // 3)


def memory_rows(size: int = 10_000_000) -> list[str]:
    """Measure peak memory over the size of the file, each case in a process of its own."""
    rows = ["| file of 10 MB, all | peak memory / file |", "|---|---|"]
    for name, data in worst_cases(size):
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            judge(data)
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            os.write(writing, str((grown * 1024 + len(data)) / len(data)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        rows.append(f"| {name} | {float(os.read(reading, 100) or b'nan'):.0f} |")
        os.close(reading)
    return rows


if __name__ == "__main__":
    main()
