"""Type-I error and power of the verdicts, from simulated results documents through ``analyse``.

Beside the shipped rule, on the same studies: the paired bootstrap over tasks of the first seed of
each arm, and whileai's ``delta_report(train_runs=...)`` where it is installed (on the first
studies of a cell only: it takes seconds a study).

    python benchmarks/calibration.py --state build/calibration.jsonl --out benchmarks/calibration.md

Cells already in the state file are not run again. Exit status 1 when a cell that the rule answers
for (three seeds or more, five against the base, base rates 0.2 to 0.8) is out of bounds. Cells
whose verdicts are labelled are listed apart.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from audit.simulation import Cell, SimulatedStudy, simulate

STUDIES = 2000
FOREIGN_STUDIES = {30: 100, 120: 60}
FOREIGN_SDS = (0.0, 0.03, 0.05)
TASKS = (30, 120, 1319)
SDS = (0.0, 0.01, 0.03, 0.05)
HIGHEST_LOWER_LIMIT = 0.06
HIGHEST_RATE = 0.08


@dataclass
class Count:
    """What became of a cell's studies."""

    studies: int = 0
    gains: int = 0
    losses: int = 0
    refused: int = 0
    one_seed_gains: int = 0
    one_seed_losses: int = 0
    foreign_studies: int = 0
    foreign_verdicts: int = 0
    seconds: float = 0.0


def cells() -> Iterator[tuple[str, Cell]]:
    """Yield (section, cell) in the order of the table."""
    for tasks, sd in product(TASKS, SDS):
        yield "one seed an arm", Cell("arms", tasks, (1, 1), (sd, sd))
    for tasks, sd, seeds in product(TASKS, SDS, (2, 3, 5, 10)):
        yield "no difference", Cell("arms", tasks, (seeds, seeds), (sd, sd))
    for tasks, rate, seeds in product(TASKS, (0.2, 0.5, 0.8), (3, 5, 10)):
        yield "other base rates", Cell("arms", tasks, (seeds, seeds), (0.03, 0.03), rate)
    for tasks, sds, seeds in product(TASKS, ((0.01, 0.05), (0.0, 0.05)), (3, 5, 10)):
        yield "unequal seed spread", Cell("arms", tasks, (seeds, seeds), sds)
    for tasks, sds in product((120, 1319), ((0.03, 0.03), (0.01, 0.05), (0.05, 0.01))):
        yield "3 against 6 seeds", Cell("arms", tasks, (3, 6), sds)
    for tasks, seeds in product((30, 120), (3, 5, 10)):
        cell = Cell("arms", tasks, (seeds, seeds), (0.03, 0.03), samples=1)
        yield "one answer a task", cell
    for tasks, rate, seeds in product((120, 1319), (0.03, 0.97), (3, 10)):
        yield "base rates near 0 and 1", Cell("arms", tasks, (seeds, seeds), (0.01, 0.01), rate)
    for tasks, seeds in product(TASKS, (3, 5)):
        yield (
            "one run recorded under several seeds",
            Cell("copies", tasks, (seeds,) * 2, (0.03,) * 2),
        )
    for tasks, sd, seeds in product(TASKS, SDS, (3, 5, 10)):
        yield "against the base", Cell("base", tasks, (0, seeds), (sd, sd))
    for tasks, delta in ((30, 0.1), (120, 0.05), (120, 0.1), (1319, 0.05)):
        for sd, seeds in product(SDS, (2, 3, 5, 10)):
            yield "a true gain", Cell("arms", tasks, (seeds, seeds), (sd, sd), delta=delta)


def run_cell(cell: Cell) -> Count:
    """Simulate a cell's studies and judge each."""
    start = time.perf_counter()
    random, count = cell.generator(), Count()
    foreign = _foreign_studies(cell)
    for index in range(STUDIES):
        study = simulate(cell, random)
        _judge(study, count)
        if cell.kind == "arms":
            _one_seed_bootstrap(study, count)
        if index < foreign:
            _foreign(study, count)
    count.seconds = round(time.perf_counter() - start, 1)
    return count


def _judge(study: SimulatedStudy, count: Count) -> None:
    from audit.analysis import analyse
    from audit.results import from_document

    (comparison,) = analyse(from_document(study.document())).comparisons
    word = "refused" if comparison.outcome is None else comparison.outcome.word
    count.studies += 1
    count.gains += word == "gain"
    count.losses += word == "loss"
    count.refused += word == "refused"


def _one_seed_bootstrap(study: SimulatedStudy, count: Count) -> None:
    from audit.stats import exact_bootstrap_counts

    found = exact_bootstrap_counts(
        study.control[:1], study.treatment[:1], samples=study.cell.samples
    )
    count.one_seed_gains += found.low > 0
    count.one_seed_losses += found.high < 0


def _foreign_studies(cell: Cell) -> int:
    wanted = cell.kind == "arms" and cell.samples == 4 and cell.rate == 0.34 and not cell.delta
    if not wanted or cell.seeds not in ((1, 1), (3, 3)) or cell.seed_sd[0] not in FOREIGN_SDS:
        return 0
    if cell.seed_sd[0] != cell.seed_sd[1]:
        return 0
    if find_spec("whileai") is None:  # a dependency of this benchmark only
        return 0
    return FOREIGN_STUDIES.get(cell.tasks, 0)


def _foreign(study: SimulatedStudy, count: Count) -> None:
    delta_report = import_module("whileai.simulations.score.delta").delta_report
    arms = {
        "before": [_rows(row, study.cell.samples) for row in study.control.tolist()],
        "after": [_rows(row, study.cell.samples) for row in study.treatment.tolist()],
    }
    report = delta_report(
        arms["before"][0], arms["after"][0], train_runs=arms, markers=[], by=False
    )
    verdict = str(report["headline_verdict"])
    silent = ("no_change_detected", "unresolved", "NO DIFFERENCE")
    count.foreign_studies += 1
    count.foreign_verdicts += not verdict.startswith((*silent, "NOT COMPARABLE"))


def _rows(correct: list[int], samples: int) -> list[dict[str, Any]]:
    return [
        {"task_id": f"t{task}", "reward": float(answer < right)}
        for task, right in enumerate(correct)
        for answer in range(samples)
    ]


def _work(item: tuple[str, Cell]) -> tuple[str, Cell, Count]:
    section, cell = item
    return section, cell, run_cell(cell)


def recorded(state: Path) -> dict[str, Count]:
    """Return the counts of the cells that were run before."""
    done: dict[str, Count] = {}
    if state.exists():
        for line in state.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            done[entry["cell"]] = Count(**entry["count"])
    return done


def measure(state: Path, processes: int) -> dict[str, Count]:
    """Run the cells that the state file lacks; return all counts by cell name."""
    done = recorded(state)
    wanted = list(cells())
    # Longest first, so that no process is left alone with one at the end.
    todo = sorted(
        (item for item in wanted if item[1].name not in done),
        key=lambda item: -item[1].tasks * sum(item[1].seeds) - 10**6 * _foreign_studies(item[1]),
    )
    state.parent.mkdir(parents=True, exist_ok=True)
    with multiprocessing.Pool(processes) as pool, state.open("a", encoding="utf-8") as log:
        for section, cell, count in pool.imap_unordered(_work, todo):
            done[cell.name] = count
            log.write(json.dumps({"cell": cell.name, "count": asdict(count)}) + "\n")
            log.flush()
            print(
                f"{len(done)}/{len(wanted)}  {section}  {cell.name}  {count.seconds} s",
                file=sys.stderr,
            )
    return done


def table(done: dict[str, Count]) -> tuple[str, list[str]]:
    """Return the page and the cells out of bounds that the rule answers for."""
    import numpy
    import scipy

    lines = [
        "# Calibration of the verdicts",
        "",
        f"{STUDIES} simulated studies a cell, through `audit.analyse`, at a nominal 0.05.",
        "A verdict is a gain or a loss about new tasks. In brackets the 95% interval of a rate",
        "(Wilson). `bootstrap` is the paired bootstrap over tasks of the first seed of each arm,",
        "in its exact form, on the same studies. `whileai` is `delta_report(train_runs=...)` on",
        "the first studies of a cell; at 1319 tasks it takes 17 s a study and was not run.",
        "",
        f"Python {platform.python_version()}, numpy {numpy.__version__}, scipy "
        f"{scipy.__version__}{_foreign_version()}. Made by `benchmarks/calibration.py`.",
    ]
    outside: list[str] = []
    labelled: list[str] = []
    section = None
    for heading, cell in cells():
        count = done.get(cell.name)
        if count is None:
            continue
        if heading != section:
            section = heading
            lines += ["", f"## {heading[0].upper()}{heading[1:]}", "", *_explained(heading)]
            lines += list(_header(heading))
        row, called = _row(heading, cell, count)
        lines.append(row)
        if _out_of_bounds(heading, cell, called, count.studies):
            (outside if _answered(cell) else labelled).append(_short(heading, cell))
    bounds = f"a lower limit above {HIGHEST_LOWER_LIMIT}, or a rate above {HIGHEST_RATE}"
    lines += ["", f"Out of bounds ({bounds}; without replication any verdict):", ""]
    lines.append(f"* cells the rule answers for: {'; '.join(outside) or 'none'}")
    lines += [f"* cells whose verdicts are labelled: {'; '.join(labelled) or 'none'}", ""]
    return "\n".join(lines), outside


def _explained(heading: str) -> list[str]:
    text = {
        "no difference": "Two seeds an arm are labelled `provisional`, and no gate passes on them.",
        "base rates near 0 and 1": "Shown beside; such verdicts carry `skewed-scale` where it "
        "applies.",
        "one run recorded under several seeds": "Copies must get no verdict at all.",
        "one seed an arm": "One seed an arm must get no verdict at all.",
        "against the base": "Three evaluations of the base, one model. With fewer than five seeds "
        "the rate is not kept everywhere, and such verdicts are labelled `provisional`.",
        "a true gain": "Power: the share of studies called a gain; losses beside.",
    }.get(heading)
    return [text, ""] if text else []


def _header(heading: str) -> tuple[str, str]:
    if heading == "a true gain":
        names = ["tasks", "k", "seeds", "seed sd", "true gain", "audit gain", "audit loss"]
    else:
        names = ["tasks", "k", "seeds", "seed sd", "base rate", "audit verdicts", "refused"]
    if heading not in ("against the base", "one run recorded under several seeds"):
        names.append("bootstrap" + (" gain" if heading == "a true gain" else ""))
    if heading in ("no difference", "one seed an arm"):
        names.append("whileai")
    return "| " + " | ".join(names) + " |", "|" + "---|" * len(names)


def _row(heading: str, cell: Cell, count: Count) -> tuple[str, int]:
    power = heading == "a true gain"
    seeds = f"{cell.seeds[1]}" if cell.seeds[0] in (0, cell.seeds[1]) else "3 v 6"
    sds = sorted(set(cell.seed_sd))
    shown_sd = f"{sds[0]:g}" if len(sds) == 1 else f"{cell.seed_sd[0]:g}, {cell.seed_sd[1]:g}"
    values = [str(cell.tasks), str(cell.samples), seeds, shown_sd]
    values.append(f"{cell.delta:g}" if power else f"{cell.rate:g}")
    called = count.gains if power else count.gains + count.losses
    values.append(_rate(called, count.studies))
    values.append(_rate(count.losses if power else count.refused, count.studies, plain=True))
    if heading not in ("against the base", "one run recorded under several seeds"):
        naive = count.one_seed_gains + (0 if power else count.one_seed_losses)
        values.append(_rate(naive, count.studies, plain=True))
    if heading in ("no difference", "one seed an arm"):
        values.append(
            f"{_rate(count.foreign_verdicts, count.foreign_studies)} of {count.foreign_studies}"
            if count.foreign_studies
            else "not run"
        )
    return "| " + " | ".join(values) + " |", called


def _out_of_bounds(heading: str, cell: Cell, called: int, studies: int) -> bool:
    from audit.stats import wilson

    if heading in ("one seed an arm", "one run recorded under several seeds"):
        return called > 0
    low = wilson(called, studies).low
    return not cell.delta and (low > HIGHEST_LOWER_LIMIT or called / studies > HIGHEST_RATE)


def _answered(cell: Cell) -> bool:
    """Whether a cell's verdicts carry no label that says they are less sure."""
    fewest = 5 if cell.kind == "base" else 3
    unreplicated = cell.kind == "copies" or cell.seeds[1] == 1
    return unreplicated or (cell.seeds[1] >= fewest and 0.2 <= cell.rate <= 0.8)


def _short(heading: str, cell: Cell) -> str:
    return f"{heading}, {cell.tasks} tasks, {cell.seeds[1]} seeds, seed sd {cell.seed_sd[1]:g}"


def _rate(successes: int, trials: int, plain: bool = False) -> str:
    from audit.stats import wilson

    if plain or not trials:
        return f"{successes / trials:.3f}" if trials else "-"
    found = wilson(successes, trials)
    return f"{found.rate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _foreign_version() -> str:
    try:
        return f", whileai {version('whileai')}"
    except PackageNotFoundError:
        return ", whileai not installed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--state", type=Path, default=Path("build/calibration.jsonl"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--table-only", action="store_true", help="print what the state file has")
    options = parser.parse_args()
    done = (
        recorded(options.state) if options.table_only else measure(options.state, options.processes)
    )
    text, outside = table(done)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    for problem in outside:
        print(f"out of bounds: {problem}", file=sys.stderr)
    return int(bool(outside))


if __name__ == "__main__":
    sys.exit(main())
