"""Noise floor of the evaluation, from re-evaluations of the untrained model or a printed figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit import numerals
from audit.analysis.measures import Measure, Side
from audit.analysis.tables import align
from audit.results import DEFAULT_METRIC, Results

if TYPE_CHECKING:
    from audit.stats import NoiseFloor


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """What could not be computed, with the reason; false in a condition."""

    reason: str

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Floor:
    """A noise floor and where it comes from.

    ``source`` is ``base_evaluations``, ``baseline`` (the runs' own blocks) or ``reported`` (a
    printed standard deviation). ``span`` is the width of the metric's scale, by which the
    figures of ``noise`` are multiplied.
    """

    noise: NoiseFloor
    source: str
    span: float = 1.0

    @property
    def value(self) -> float | None:
        """Largest difference of two single evaluations that is noise; None with a reason."""
        return None if self.noise.value is None else self.noise.value * self.span

    def between(self, runs_control: int, runs_treatment: int) -> float | None:
        """Return the floor of a difference of means over so many runs."""
        value = self.noise.for_seeds(runs_control, runs_treatment)
        return None if value is None else value * self.span

    @property
    def text(self) -> str:
        """The floor, or why there is none, in words."""
        if self.value is not None:
            return numerals.fraction(self.value, 4)
        runs = self.noise.runs
        return {
            "deterministic-eval": f"unknown: {_spelled(runs)} identical base evaluations",
            "no-variation-seen": f"unknown: no variation in {_spelled(runs)} base evaluations",
        }.get(self.noise.reason or "", f"unknown: {_spelled(runs)} base evaluation(s) only")


def _spelled(number: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number] if number < len(words) else str(number)


def floor_of(results: Results, measure: Measure, base: Side, level: float) -> Floor | NotMeasured:
    """Return the noise floor of one measure; ``base`` holds the evaluations of the untrained model.

    Re-evaluations in the file come first; a printed standard deviation serves where they are
    absent or too few.
    """
    found: Floor | NotMeasured = NotMeasured("no re-evaluation of the untrained model")
    if base.runs:
        source = "base_evaluations" if results.items("base_evaluations") else "baseline"
        found = (
            _of_outcomes(base, source, level) if base.per_task else _of_means(base, source, level)
        )
    if isinstance(found, Floor) and found.noise.reason != "too-few-evaluations":
        return found
    return _printed(results, measure, level) or found


def _of_outcomes(base: Side, source: str, level: float) -> Floor | NotMeasured:
    from audit.stats import noise_floor

    entries = base.entries()
    aligned = align(entries, entries[:1])
    if isinstance(aligned, str):
        return NotMeasured(f"re-evaluations of the base: {aligned}")
    table = aligned.complete().control
    if not table.counts[0]:
        return NotMeasured("re-evaluations of the base share no task")
    noise = noise_floor(
        table.counts, samples=table.drawn, deterministic=_deterministic(base), level=level
    )
    return Floor(noise, source, base.runs[0].measure.span or 1.0)


def _of_means(base: Side, source: str, level: float) -> Floor | NotMeasured:
    means = [run.score for run in base.runs if run.score is not None]
    if len(means) < 2 or base.runs[0].measure.span != 1:
        return NotMeasured("one evaluation of the untrained model")
    from audit.stats import noise_floor

    noise = noise_floor(
        run_means=means,
        tasks=base.runs[0].answers,
        deterministic=_deterministic(base),
        level=level,
    )
    return Floor(noise, source)


def _printed(results: Results, measure: Measure, level: float) -> Floor | None:
    """Return the floor of a printed standard deviation, which is about the main metric."""
    reported = results.block("reported")
    spread, runs = reported.get("run_std"), int(reported.get("run_std_runs") or 0)
    if spread is None or runs < 2 or measure.metric not in (DEFAULT_METRIC, "pass@1"):
        return None
    from audit.stats import floor_from_run_std

    return Floor(floor_from_run_std(spread, runs, level=level), "reported")


def _deterministic(base: Side) -> bool:
    """Whether decoding was greedy, or the outputs have the same lengths every time."""
    outcomes = [run.outcomes for run in base.runs if run.outcomes is not None]
    if outcomes and all(seen.greedy for seen in outcomes):
        return True
    tokens = [run.tokens for run in base.runs]
    if len(tokens) > 1 and tokens[0] is not None and len(set(tokens)) == 1:
        return True
    lengths = [seen.lengths for seen in outcomes]
    return len(lengths) > 1 and lengths[0] is not None and all(x == lengths[0] for x in lengths)
