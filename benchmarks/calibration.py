"""Error rates of the judgement, from simulated results documents through ``analyse``.

    python benchmarks/calibration.py --write benchmarks/calibration.md

One process, about twenty minutes of CPU. Every cell gets a third of its studies, then another; what
is in the state file is not run again, so an interrupted run goes on where it was. Exit status 1
where a cell is out of bounds.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from calibration_cells import SECTIONS, Cell, Section, cells

from audit.stats import wilson

# An expected rate outside an interval of this level is one that was not found again.
SURE = 0.999
BATCHES = 3


@dataclass
class Count:
    """What became of a cell's studies: sums of each event over them."""

    studies: int = 0
    events: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def rate(self, event: str) -> float:
        """Return the share of the studies with an event, or the mean of a number."""
        return self.events[event] / self.studies


def run_cell(cell: Cell, studies: int, batch: int = 0) -> Count:
    """Simulate and judge so many studies of a cell; each batch has random numbers of its own."""
    start, random, count = time.process_time(), cell.generator(batch), Count()
    for _ in range(studies):
        for event, value in cell.study(random).items():
            count.events[event] = count.events.get(event, 0) + value
        count.studies += 1
    count.seconds = round(time.process_time() - start, 2)
    return count


def recorded(state: Path) -> dict[tuple[str, int], Count]:
    """Return the counts that were made before, by cell and batch."""
    if not state.exists():
        return {}
    lines = map(json.loads, state.read_text(encoding="utf-8").splitlines())
    return {(entry["cell"], entry["batch"]): Count(**entry["count"]) for entry in lines}


def measure(state: Path, wanted: Sequence[Cell]) -> None:
    """Run what the state file lacks: a batch of every cell, then the next of every cell."""
    done = recorded(state)
    state.parent.mkdir(parents=True, exist_ok=True)
    todo = [(batch, cell) for batch in range(BATCHES) for cell in wanted]
    with state.open("a", encoding="utf-8") as log:
        for place, (batch, cell) in enumerate(todo, start=1):
            if (cell.name, batch) in done:
                continue
            count = run_cell(cell, -(-cell.studies // BATCHES), batch)
            entry = {"cell": cell.name, "batch": batch, "count": asdict(count)}
            log.write(json.dumps(entry) + "\n")
            log.flush()
            print(f"{place}/{len(todo)}  {cell.name}  {count.seconds} s", file=sys.stderr)


def by_cell(parts: Mapping[tuple[str, int], Count]) -> dict[str, Count]:
    """Return the counts of all batches of a cell together."""
    found: dict[str, Count] = {}
    for (name, _), part in parts.items():
        whole = found.setdefault(name, Count())
        whole.studies += part.studies
        whole.seconds += part.seconds
        for event, value in part.events.items():
            whole.events[event] = whole.events.get(event, 0) + value
    return found


def page(done: dict[str, Count]) -> tuple[str, list[str]]:
    """Return the page and the cells that are out of bounds for no known reason."""
    import numpy
    import scipy

    counts = [(cell, done[cell.name]) for cell in cells() if cell.name in done]
    minutes = sum(count.seconds for _, count in counts) / 60
    lines = [
        "# Calibration of the verdicts",
        "",
        "Simulated studies, each a whole results document with its claim, judged by "
        "`audit.analyse`",
        f"as a file would be; {sum(count.studies for _, count in counts):,} studies, "
        f"{minutes:.0f} CPU minutes.",
        "In brackets the 95% interval of a rate (Wilson). *Called*: the claim of a gain is "
        "supported, or",
        "the opposite is seen, nominally 0.05; *gain* alone 0.025. *Expected* is what an "
        "independent",
        "simulation of the rule gave when it was chosen. Unless a table says otherwise: 120 tasks, "
        "4",
        "answers per task, training sd 0.03, base rate 0.34, evidence C (seeds as declared).",
        "",
        f"Python {platform.python_version()}, numpy {numpy.__version__}, scipy "
        f"{scipy.__version__}. Made by `benchmarks/calibration.py`.",
    ]
    for section in SECTIONS:
        lines += _table(section, [(c, n) for c, n in counts if c.section == section.title])
    outside: list[str] = []
    known: list[str] = []
    apart: list[str] = []
    for cell, count in counts:
        for event in cell.most:
            if out_of_bounds(cell, count, event):
                line = _told(cell, count, event)
                if cell.known:
                    known.append(f"{line}: {cell.known}")
                else:
                    outside.append(line)
        for event, rate in cell.expected.items():
            if _differs(count, event, rate):
                apart.append(f"{_told(cell, count, event)}, expected {rate:.3f}")
    lines += ["", "## Out of bounds", ""]
    lines.append(
        "The lower limit of a rate lies above 0.055 with equal arms, 0.07 with unequal spread or "
        "clusters,"
    )
    lines += ["0.035 for a gain alone, or anything at all is called that must not be.", ""]
    lines += [f"* {line}" for line in outside] or ["* none"]
    lines += ["", "Known to be, and why:", ""]
    lines += [f"* {line}" for line in known] or ["* none"]
    lines += ["", f"Expected rates outside the {100 * SURE:g}% interval of what was found:", ""]
    lines += [f"* {line}" for line in apart] or ["* none"]
    return "\n".join(lines) + "\n", outside


def _table(section: Section, counts: list[tuple[Cell, Count]]) -> Iterator[str]:
    if not counts:
        return
    events = list(dict.fromkeys(event for _, count in counts for event in count.events))
    expected = {event for cell, _ in counts for event in cell.expected}
    header = [*section.columns, "studies"]
    for event in events:
        header += [event, "expected"] if event in expected else [event]
    yield from ("", f"## {section.title}", "", section.note, "")
    yield from (f"| {' | '.join(header)} |", "|" + "---|" * len(header))
    for cell, count in counts:
        row = [*cell.design, str(count.studies)]
        for event in events:
            row.append(_shown(count, event))
            if event in expected:
                rate = cell.expected.get(event)
                row.append("" if rate is None else f"{rate:.3g}")
        yield f"| {' | '.join(row)} |"


def _shown(count: Count, event: str) -> str:
    if event not in count.events:  # what is counted differs by claim
        return ""
    rate = count.rate(event)
    if _is_mean(event):
        return f"{rate:.1f}"
    found = wilson(round(count.events[event]), count.studies)
    return f"{rate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _is_mean(event: str) -> bool:
    return event == "runs per arm"


def out_of_bounds(cell: Cell, count: Count, event: str) -> bool:
    """Whether an event is more frequent than it may be, beyond the chance of these studies."""
    most = cell.most[event]
    if not most:
        return count.events[event] > 0
    return wilson(round(count.events[event]), count.studies).low > most


def _differs(count: Count, event: str, expected: float) -> bool:
    if _is_mean(event):
        return False
    found = wilson(round(count.events[event]), count.studies, level=SURE)
    return not found.low - 0.0005 <= expected <= found.high + 0.0005


def _told(cell: Cell, count: Count, event: str) -> str:
    design = ", ".join(cell.design)
    return f"{cell.section}: {design}: {event} {_shown(count, event)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--state", type=Path, default=Path("build/calibration.jsonl"))
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", default="", help="sections whose title has these words")
    parser.add_argument("--table-only", action="store_true", help="print what the state file has")
    options = parser.parse_args()
    wanted = [cell for cell in cells() if options.only.lower() in cell.section.lower()]
    if not options.table_only:
        measure(options.state, wanted)
    text, outside = page(by_cell(recorded(options.state)))
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text)
    for problem in outside:
        print(f"out of bounds: {problem}", file=sys.stderr)
    return int(bool(outside))


if __name__ == "__main__":
    sys.exit(main())
