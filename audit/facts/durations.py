"""How long runs and their answers took, as their sources say to the last digit."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from itertools import chain

from audit.facts.training_logs import read_logs
from audit.pointer import join
from audit.results import Results, Run

# Fewer digits may be equal by chance among a dozen runs.
FEWEST_DIGITS = 5
# So many tasks with times of their own are not the same in two evaluations.
FEWEST_TASKS = 5
_OF_RUN = re.compile(r"(?:^|[/_.])(?:train_)?(?:runtime|duration)$", re.IGNORECASE)


def _recorded(run: Run) -> Iterator[tuple[Hashable, str, str]]:
    """Yield the durations of one run that no other run would have to the digit.

    Yields
    ------
    value : hashable
        Equal for equal durations of the same thing.
    text : str
        The duration in words.
    pointer : str
    """
    for evaluation in run.evaluations:
        times = evaluation.document.get("mean_seconds")
        if times and len(set(times)) >= FEWEST_TASKS:
            value = (evaluation.benchmark, evaluation.task_ids, tuple(times))
            text = f"the times of {len(times)} tasks"
            yield value, text, join(evaluation.pointer, "mean_seconds")
    minutes = (run.document.get("cost") or {}).get("minutes")
    if minutes is not None and digits(minutes) >= FEWEST_DIGITS:
        yield ("minutes", minutes), f"{minutes!r} minutes", join(run.pointer, "cost", "minutes")


def _logged(run: Run) -> Iterator[tuple[Hashable, str, str]]:
    """Yield the same of what a run's log says of the run as a whole."""
    for place, step in enumerate(run.training):
        for at, update in enumerate(step.get("updates") or ()):
            for name, figure in (update.get("metrics") or {}).items():
                if figure is not None and _OF_RUN.search(name) and digits(figure) >= FEWEST_DIGITS:
                    pointer = join(run.pointer, "training", place, "updates", at, "metrics", name)
                    yield (name, figure), f"{name} {figure!r}", pointer


def equal_durations(results: Results) -> Iterator[tuple[str, str, Run]]:
    """Yield pointer and text of each duration that an earlier run has too, and that run."""
    first: dict[Hashable, Run] = {}
    metered = {log.run.pointer for arm in read_logs(results) if arm.has_metrics for log in arm.runs}
    for run in results.runs:
        logged = _logged(run) if run.pointer in metered else ()
        for value, text, pointer in chain(_recorded(run), logged):
            other = first.setdefault(value, run)
            if other is not run:
                yield pointer, text, other


def digits(value: float) -> int:
    """Return the significant digits of a number's shortest text, zeros at its end left out."""
    mantissa = repr(float(value)).partition("e")[0].replace(".", "").replace("-", "")
    return len(mantissa.strip("0"))
