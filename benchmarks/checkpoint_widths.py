"""The committed studies judged by their last checkpoint and by the mean of five: interval widths.

The same runs in both rows; the mean is over the steps that the study's claim declares.

    python benchmarks/checkpoint_widths.py --write benchmarks/checkpoint_widths.md
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audit import numerals
from audit.analysis import analyse
from audit.results import from_document

ROOT = Path(__file__).resolve().parent.parent
STUDIES = ("addition-adaptive-clip", "addition-seed-lottery")


def judged(document: dict[str, Any], checkpoints: list[int]) -> Any:
    """Return the comparison of the first claim at other checkpoints, as one look without a plan."""
    (claim,) = document["claims"]
    changed = {key: value for key, value in document.items() if key != "plan"}
    changed["claims"] = [{**claim, "checkpoints": checkpoints}]
    (result,) = analyse(from_document(changed)).claims
    return result.comparison


def rows() -> Iterator[str]:
    """Yield a row for each study and way of judging it."""
    for name in STUDIES:
        path = ROOT / "reports" / name / "results.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        steps = document["claims"][0]["checkpoints"]
        first = None
        for word, chosen in ((f"last checkpoint ({steps[-1]})", steps[-1:]), (_mean(steps), steps)):
            found = judged(document, chosen)
            low, high = found.deciding.low, found.deciding.high
            width = high - low
            first = first or width
            spread = numerals.fraction(found.design.spread.sd, 3)
            yield (
                f"| {name} | {found.seeds[0]} v {found.seeds[1]} | {word} "
                f"| {numerals.estimate(found.delta, low, high)} | {numerals.fraction(width, 3)} "
                f"| {numerals.fraction(width / first, 2)} | {spread} |"
            )


def _mean(steps: list[int]) -> str:
    return f"mean of {len(steps)} ({steps[0]} to {steps[-1]})"


def page() -> str:
    """Return the table with what it says."""
    lines = [
        "# The same runs, judged by the last checkpoint and by the mean of five",
        "",
        "Written by `python benchmarks/checkpoint_widths.py --write "
        "benchmarks/checkpoint_widths.md`.",
        "Intervals are at 95%, for new tasks, training included, as one look without the plan, so",
        "that nothing but the checkpoints differs between the rows of a study.",
        "",
        "| study | runs | judged by | delta | width | of the last's | training sd |",
        "| --- | --- | --- | --- | ---: | ---: | ---: |",
        *rows(),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    if options.write is None:
        print(page())
    else:
        options.write.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
