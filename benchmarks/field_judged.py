"""Published comparisons, each judged by the scores of its own training runs.

Reads `scores.csv` and `comparisons.csv` of `reports/field` and judges every row twice: by Welch's
interval alone, and, where both arms' scores lie on a scale with ends, as `audit gate` would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

from audit.analysis import analyse
from audit.published import SCORES, read_table
from audit.results import from_document
from audit.stats import paired_t
from audit.stats.decimals import mean, sample_variance
from audit.stats.quantiles import t_quantile

COMPARISONS = "reports/field/comparisons.csv"
LEVEL = 0.95
SPANS = {"0-1": 1, "0-100": 100}

Runs = dict[str, str]  # seed to score, as printed


@dataclass(frozen=True, slots=True)
class Ends:
    """A difference with its 95% interval, in the units of the source."""

    delta: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Judged:
    """One published comparison with the intervals that its runs give.

    Attributes
    ----------
    row : mapping of str to str
        The row of `comparisons.csv`.
    treatment, control : sequence of (str, str)
        Seed and score of each run; empty where the source prints none.
    span : int or None
        Width of the scale; None where it has no ends.
    answers : int or None
        Answers behind the score of a run, where the score is the share of right ones.
    """

    row: Mapping[str, str]
    treatment: Sequence[tuple[str, str]]
    control: Sequence[tuple[str, str]]
    span: int | None
    answers: int | None

    @property
    def title(self) -> str:
        """What is compared."""
        return f"{self.row['treatment']} over {self.row['control']}"

    @cached_property
    def welch(self) -> Ends:
        """Welch's interval as published (1947), Student's against a base measured once.

        The tool's own has floors below the variances and fewer degrees of freedom beside it.
        """
        if self.row["standard_error"]:
            delta = float(self.row["treatment_mean"]) - float(self.row["control_mean"])
            return _ends(delta, float(self.row["standard_error"]), float(self.row["df"]))
        ours, theirs = _values(self.treatment), _values(self.control)
        if len(theirs) < 2:
            base = Fraction(self.row["control_mean"])
            return _student([score - base for score in ours])
        parts = [sample_variance(arm) / len(arm) for arm in (ours, theirs)]
        df = sum(parts) ** 2 / (parts[0] ** 2 / (len(ours) - 1) + parts[1] ** 2 / (len(theirs) - 1))
        return _ends(float(mean(ours) - mean(theirs)), sqrt(sum(parts)), float(df))

    @cached_property
    def paired(self) -> Ends | None:
        """Student's interval by seed, where both arms have the same three seeds or more."""
        ours, theirs = dict(self.treatment), dict(self.control)
        # A seed twice is of arms that were pooled.
        once = len(ours) == len(self.treatment) and len(theirs) == len(self.control)
        if not once or set(ours) != set(theirs) or len(ours) < 3:
            return None
        return _student([Fraction(ours[seed]) - Fraction(theirs[seed]) for seed in ours])

    def word(self, ends: Ends) -> str:
        """Return the word that an interval gives: ``gain``, ``loss`` or ``flat``."""
        if ends.low <= 0 <= ends.high:
            return "flat"
        return "gain" if (ends.delta > 0) == (self.row["better"] == "higher") else "loss"

    @property
    def published(self) -> str:
        """The published word, none counting as flat."""
        return self.row["word"].replace("none", "flat")

    @property
    def stands(self) -> bool:
        """Whether Welch's interval says what was published."""
        return self.word(self.welch) == self.published

    @property
    def stands_paired(self) -> bool:
        """The same by the paired interval, where there is one."""
        return self.word(self.paired or self.welch) == self.published

    @cached_property
    def gate(self) -> tuple[str, str]:
        """The tool's word and why it refuses the published claim; the first empty if not judged."""
        if self.span is None or min(len(self.treatment), len(self.control)) < 2:
            return "", ""
        if self.published == "flat":
            (comparison, *_) = analyse(from_document(self._document)).comparisons
            verdict = comparison.verdict
            return verdict.word, verdict.detail or ""
        claim = f"{self.published} accuracy recipe over control for these tasks"
        (result,) = analyse(from_document(self._document), claims=[claim]).claims
        return result.verdict.word, "" if result.supported else result.slug

    @cached_property
    def _document(self) -> dict[str, Any]:
        assert self.span is not None
        arms = []
        for runs in (self.treatment, self.control):
            metrics = [{"accuracy": float(Fraction(score) / self.span)} for _, score in runs]
            size = {} if self.answers is None else {"examples": self.answers}
            arms.append(
                [
                    {"seed": seed, "run_id": f"run {seed}", "method_metrics": {**metric, **size}}
                    for seed, metric in enumerate(metrics)
                ]
            )
        return {
            "schema_version": 2,
            "method": "recipe",
            "seed_results": arms[0],
            "controls": {"control": {"role": "control", "seed_results": arms[1]}},
        }


def judged() -> tuple[Judged, ...]:
    """Return every published comparison, in the order of the table."""
    runs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    about: dict[tuple[str, str], Mapping[str, str]] = {}
    for row in read_table(SCORES):
        key = f"{row['study']}/{row['arm']}", row["benchmark"]
        runs[key].append((row["seed"], row["score"]))
        about[key] = row
    return tuple(_judged(row, runs, about) for row in read_table(COMPARISONS))


def _judged(
    row: Mapping[str, str],
    runs: Mapping[tuple[str, str], list[tuple[str, str]]],
    about: Mapping[tuple[str, str], Mapping[str, str]],
) -> Judged:
    sides = [
        [(arm, row["benchmark"]) for arm in row[name].split("; ") if arm]
        for name in ("treatment_arms", "control_arms")
    ]
    found = [about[key] for side in sides for key in side]
    sizes = {_answers(arm) for arm in found}
    answers = sizes.pop() if len(sizes) == 1 else None
    ours, theirs = ([run for key in side for run in runs[key]] for side in sides)
    return Judged(row, ours, theirs, SPANS.get(row["scale"]), answers)


def _answers(arm: Mapping[str, str]) -> int | None:
    """Return the answers behind a score; composites and majority votes are no such shares."""
    if arm["in_quartiles"] != "yes":
        return None
    return int(float(arm["tasks"]) * float(arm["answers"]))


def _values(runs: Iterable[tuple[str, str]]) -> list[Fraction]:
    return [Fraction(score) for _, score in runs]


def _ends(delta: float, standard_error: float, df: float) -> Ends:
    reach = t_quantile(df, LEVEL) * standard_error
    return Ends(delta, delta - reach, delta + reach)


def _student(differences: Sequence[Fraction]) -> Ends:
    found = paired_t(differences, level=LEVEL)
    return Ends(found.mean, found.low, found.high)
