"""The arms of a study as a page shows them: score, interval, pass@k, steps, cost, every seed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.analysis import Analysis
from audit.analysis.arms import ArmRates, Rate, arm_rates
from audit.analysis.measures import Measure
from audit.claims import BASE
from audit.results import DEFAULT_METRIC, Results, Run
from audit.views.run_view import RunView, mean_score, run_views

BASE_LABEL = "untrained model"
_PASS_AT = re.compile(r"pass@[1-9]\d{0,4}")


@dataclass(frozen=True, slots=True)
class ShownArm:
    """One arm of the study, or the untrained model (``base``).

    Attributes
    ----------
    name, label : str
        Its name in the file, and what the recipe calls it.
    is_base : bool
    seeds : int
        Training runs; for the base its evaluations.
    score : float or None
        Mean over the runs.
    low, high : float or None
        Interval of the score.
    interval_source : str
        ``computed``, ``printed`` (by the source of the file), or why there is none.
    at_k : float or None
        Share of tasks with a right answer among k, and where known k itself.
    k : int or None
    steps : int or None
    minutes, usd : float or None
        Over all runs of the arm; of the base, over all its evaluations.
    runs : tuple of RunView
    """

    name: str
    label: str
    is_base: bool
    seeds: int
    score: float | None
    low: float | None
    high: float | None
    interval_source: str
    at_k: float | None
    k: int | None
    steps: int | None
    minutes: float | None
    usd: float | None
    runs: tuple[RunView, ...]

    @property
    def by_seed(self) -> dict[int, float]:
        """Scores of the runs that have a seed, by seed."""
        return {r.seed: r.score for r in self.runs if r.seed is not None and r.score is not None}


@dataclass(frozen=True, slots=True)
class SeedRow:
    """The runs of every trained arm at one seed, or one run without a seed.

    Attributes
    ----------
    label : str
        The seed, else the name of the run.
    runs : tuple of RunView or None
        In the order of the arms; None where an arm has no run at this seed.
    """

    label: str
    runs: tuple[RunView | None, ...]


def seed_rows(shown: tuple[ShownArm, ...]) -> tuple[SeedRow, ...]:
    """Return every run of the trained arms, those at one seed in one row."""
    trained = [arm for arm in shown if not arm.is_base]
    rows: dict[tuple[bool, int, str, int], list[RunView | None]] = {}
    for place, arm in enumerate(trained):
        for number, run in enumerate(arm.runs):
            # A seed twice in one arm, or a run without one, gets a row of its own.
            again = sum(other.seed == run.seed for other in arm.runs[:number])
            own = (run.seed is None, run.seed or 0, "" if run.seed is not None else arm.name, again)
            rows.setdefault(own, [None] * len(trained))[place] = run
    return tuple(
        SeedRow(next(run.run for run in row if run is not None), tuple(row))
        for _, row in sorted(rows.items(), key=lambda item: item[0])
    )


def arms(
    results: Results, analysis: Analysis, measure: Measure | None, labels: Mapping[str, str]
) -> tuple[ShownArm, ...]:
    """Return the base, the controls and the top arm, in the order a page shows them."""
    if measure is None:
        return ()
    names = [BASE, *(arm.name for arm in results.controls), results.method]
    found = [_arm(results, analysis, measure, name, labels) for name in names]
    return tuple(arm for arm in found if arm is not None)


def _arm(
    results: Results, analysis: Analysis, measure: Measure, name: str, labels: Mapping[str, str]
) -> ShownArm | None:
    side = analysis.study.side(name, measure)
    printed = _printed(results, name) if measure.metric in (DEFAULT_METRIC, "pass@1") else {}
    if name == BASE and not side.runs and not printed:
        return None
    score = mean_score(side)
    rates = _rates(analysis, name, measure)
    low, high, source = _interval(rates, printed)
    runs = () if name == BASE else _runs(results, name)
    spent = results.items("base_evaluations") if name == BASE else [run.document for run in runs]
    return ShownArm(
        name=name,
        label=labels.get(name) or (BASE_LABEL if name == BASE else name),
        is_base=name == BASE,
        seeds=len(side.runs),
        score=printed.get("score") if score is None else score,
        low=low,
        high=high,
        interval_source=source,
        **_at_k(results, runs, rates, printed),
        steps=0 if name == BASE else _steps(runs),
        minutes=total_cost(spent, "minutes"),
        usd=total_cost(spent, "usd"),
        runs=run_views(side),
    )


def _printed(results: Results, name: str) -> Mapping[str, Any]:
    arms: Mapping[str, Any] = results.block("reported").get("arms") or {}
    keys = [name, "method"] if name == results.method else [name]
    return next((arms[key] for key in keys if key in arms), {})


def _rates(analysis: Analysis, name: str, measure: Measure) -> ArmRates | None:
    if measure.checkpoints:  # the rates of an analysis are those at the end of training
        return arm_rates(analysis.study, name, measure)
    return next((a for a in analysis.arms if a.arm == name and a.measure == measure), None)


def _interval(
    rates: ArmRates | None, printed: Mapping[str, Any]
) -> tuple[float | None, float | None, str]:
    if rates is not None and isinstance(rates.rate, Rate):
        return rates.rate.low, rates.rate.high, "computed"
    if printed.get("low") is not None and printed.get("high") is not None:
        return printed["low"], printed["high"], "printed"
    return None, None, "no outcomes per task"


def _at_k(
    results: Results, runs: tuple[Run, ...], rates: ArmRates | None, printed: Mapping[str, Any]
) -> dict[str, Any]:
    if rates is not None and isinstance(rates.at_k, Rate):
        return {"at_k": rates.at_k.mean, "k": int(rates.at_k.name.partition("@")[2])}
    known = {name for run in results.runs for name in run.metrics if _PASS_AT.fullmatch(name)}
    k = int(known.pop().partition("@")[2]) if len(known) == 1 else None
    measured = [run.metrics.get(f"pass@{k}") for run in runs]
    values = [float(value) for value in measured if isinstance(value, int | float)]
    if values and len(values) == len(measured):
        return {"at_k": sum(values) / len(values), "k": k}
    return {"at_k": printed.get("pass_at_k"), "k": k}


def _runs(results: Results, name: str) -> tuple[Run, ...]:
    arm = results.arm(name)
    return () if arm is None else arm.runs


def _steps(runs: tuple[Run, ...]) -> int | None:
    found = {run.protocol.get("steps") or len(run.training) or None for run in runs}
    return max((steps for steps in found if steps is not None), default=None)


def total_cost(entries: Iterable[Mapping[str, Any]], key: str) -> float | None:
    """Return the sum of one figure of the entries' costs; None where one has none."""
    values = [(entry.get("cost") or {}).get(key) for entry in entries]
    known = [float(value) for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
