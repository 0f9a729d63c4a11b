"""Comparisons as a page shows them: the delta, its intervals, its verdict and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from audit.analysis import (
    Analysis,
    Comparison,
    Floor,
    Interval,
    Lottery,
    NotMeasured,
    lottery,
)
from audit.analysis.design import Design
from audit.claims import BASE
from audit.pages import readings
from audit.pages.arms import BASE_LABEL
from audit.views.claim_view import ClaimView, claim_view, views_of
from audit.views.comparison_view import ComparisonView
from audit.views.headline_view import Headline, headline


@dataclass(frozen=True, slots=True)
class Delta:
    """One arm minus another on one metric.

    Attributes
    ----------
    arm, against : str
        What the recipe calls the arms.
    arm_name, against_name : str
        Their names in the file.
    metric : str
    benchmark : str or None
    where : str
        The benchmark and the steps that were evaluated, in words; empty where neither is stated.
    value : float or None
    low, high : float or None
        The interval the verdict is about; where the verdict is refused, the interval over tasks
        of these very models, which leaves the training variance out.
    level : float
    interval_kind : str
        Of what the interval tells, in words.
    tasks_interval, benchmark_interval : tuple of float, or str
        For new tasks, and for these tasks only; a string says why there is none.
    tasks : int or None
    seeds : tuple of int
        Training runs of ``arm`` and ``against``.
    verdict : str
        The verdict in words.
    word : str
        ``gain``, ``loss``, ``flat`` or ``refused``.
    meaning : str
        What the verdict says and does not say.
    p_value, df : float or None
    floor : float or None
        Noise floor of this difference of means.
    floor_reason : str
        Why there is no floor.
    in_floors : float or None
        Size of the delta in such floors.
    paired : tuple of float, or None
        Student's interval of the differences by seed; description, it decides nothing.
    tipping_sd : float or None
        Training sd per arm that would undo a one-seed interval that excludes zero.
    spread : tuple of float, or None
        Training sd with its interval: (sd, low, high).
    published_place : str
        Where the sd of the runs' scores lies among published ones; empty where it has no place.
    smallest_effect : float or None
        Effect seen at 80% power, each arm's training sd at its upper limit; None where no effect on
        the scale would be.
    sees : str
        What this design can see, in words.
    goal : float
        The effect that matters: the claim's target, else its margin, else the policy's.
    needs : str
        What it would take to see that effect, in words; empty where nothing can be said.
    unpaired : tuple of str
        Runs without a partner at their seed, and why.
    resampled : tuple of (str, str)
        Bootstrap intervals and exact p-values with what was resampled; they decide nothing.
    lottery : Lottery or None
        What each pair of single runs would have reported; None below three runs per arm, against
        the untrained model and without outcomes per task.
    """

    arm: str
    against: str
    arm_name: str
    against_name: str
    metric: str
    benchmark: str | None
    where: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    interval_kind: str
    tasks_interval: tuple[float, float] | str
    benchmark_interval: tuple[float, float] | str
    tasks: int | None
    seeds: tuple[int, int]
    verdict: str
    word: str
    meaning: str
    p_value: float | None
    df: float | None
    floor: float | None
    floor_reason: str
    in_floors: float | None
    paired: tuple[float, float] | None
    tipping_sd: float | None
    spread: tuple[float, float, float] | None
    published_place: str
    smallest_effect: float | None
    sees: str
    goal: float
    needs: str
    unpaired: tuple[str, ...]
    resampled: tuple[tuple[str, str], ...]
    lottery: Lottery | None

    @property
    def seeds_text(self) -> str:
        """Training runs of both arms: ``3 v 3``."""
        return f"{self.seeds[0]} v {self.seeds[1]}"

    @property
    def against_base(self) -> bool:
        """Whether it is against the untrained model."""
        return self.against_name == BASE

    @property
    def refused(self) -> bool:
        """Whether no verdict could be given."""
        return self.word == "refused"


def deltas(analysis: Analysis, labels: Mapping[str, str]) -> tuple[Delta, ...]:
    """Return the comparisons of an analysis in its order: claimed ones, controls, the base."""
    return tuple(delta(comparison, labels) for comparison in analysis.comparisons)


def claims(analysis: Analysis) -> tuple[ClaimView, ...]:
    """Return the claims of an analysis with what became of them, the refused ones first."""
    return tuple(sorted(map(claim_view, analysis.claims), key=lambda view: not view.refused))


def heads(analysis: Analysis) -> tuple[Headline, ...]:
    """Return what stands above all else: the claims, else what was compared, refused ones first."""
    return tuple(map(headline, sorted(views_of(analysis), key=lambda view: not view.refused)))


def delta(comparison: Comparison, labels: Mapping[str, str]) -> Delta:
    """Return one comparison as a page shows it."""
    view = ComparisonView(comparison)
    shown, kind = _shown(view)
    beside = comparison.description
    paired = beside.paired_t
    return Delta(
        arm=_label(comparison.arm, labels),
        against=_label(comparison.against, labels),
        arm_name=comparison.arm,
        against_name=comparison.against,
        metric=comparison.metric,
        benchmark=comparison.benchmark,
        where=_where(comparison),
        value=comparison.delta,
        low=shown.low if shown else None,
        high=shown.high if shown else None,
        level=shown.level if shown else comparison.settings.level,
        interval_kind=kind,
        tasks_interval=_ends(comparison, "tasks"),
        benchmark_interval=_ends(comparison, "benchmark"),
        tasks=_tasks(comparison),
        seeds=comparison.seeds,
        verdict=view.verdict,
        word=comparison.verdict.word,
        meaning=readings.meaning(comparison),
        p_value=shown.p_value if shown and not comparison.verdict.refused else None,
        df=shown.df if shown else None,
        floor=comparison.floor_of_delta,
        floor_reason=_floor_reason(comparison),
        in_floors=_in_floors(comparison),
        paired=(paired.low, paired.high) if paired else None,
        tipping_sd=beside.tipping_sd,
        spread=_spread(comparison),
        published_place=view.published_place,
        smallest_effect=_smallest(comparison),
        sees=readings.sees(comparison),
        goal=comparison.settings.target_effect,
        needs=view.needs,
        unpaired=tuple(f"{u.arm} {u.run}: {u.reason}" for u in beside.unpaired),
        resampled=view.resampled,
        lottery=lottery(comparison),
    )


def _where(comparison: Comparison) -> str:
    steps = sorted(comparison.measure.checkpoints)
    parts = [f"on {comparison.benchmark}"] if comparison.benchmark else []
    if len(steps) > 1:
        parts.append(f"mean of {len(steps)} steps, {steps[0]} to {steps[-1]}")
    elif steps:
        parts.append(f"at step {steps[0]}")
    return ", ".join(parts)


def _label(name: str, labels: Mapping[str, str]) -> str:
    return labels.get(name) or (BASE_LABEL if name == BASE else name)


def _shown(view: ComparisonView) -> tuple[Interval | None, str]:
    found, comparison = view.shown, view.comparison
    if found is not None:
        return found, readings.kind(found)
    if comparison.verdict.refused:
        return None, "no interval can be given"
    deciding = comparison.deciding
    return None, deciding.reason if isinstance(deciding, NotMeasured) else ""


def _ends(comparison: Comparison, about: str) -> tuple[float, float] | str:
    found = comparison.interval(about)
    return found.reason if isinstance(found, NotMeasured) else (found.low, found.high)


def _tasks(comparison: Comparison) -> int | None:
    if comparison.standing is not None and comparison.standing.tasks is not None:
        return comparison.standing.tasks
    if comparison.aligned is not None:
        return len(comparison.aligned.tasks)
    study = comparison.study.results
    for printed in study.block("reported").get("comparisons") or ():
        arm = study.arm(str(printed.get("arm")))
        if arm is not None and arm.name == comparison.arm:
            tasks = printed.get("tasks")
            return tasks if isinstance(tasks, int) else None
    return None


def _in_floors(comparison: Comparison) -> float | None:
    if comparison.delta is None or not comparison.floor_of_delta:
        return None
    return abs(comparison.delta) / comparison.floor_of_delta


def _floor_reason(comparison: Comparison) -> str:
    found = comparison.floor
    if isinstance(found, NotMeasured):
        return found.reason
    return "" if found.value is not None else found.text


def _spread(comparison: Comparison) -> tuple[float, float, float] | None:
    if not isinstance(comparison.design, Design):
        return None
    span, found = comparison.measure.span or 1.0, comparison.design.spread
    return found.sd * span, found.low * span, found.high * span


def _smallest(comparison: Comparison) -> float | None:
    if not isinstance(comparison.design, Design):
        return None
    found = comparison.design.smallest_effect
    return None if found is None else found * (comparison.measure.span or 1.0)


def floor_of(analysis: Analysis) -> Floor | NotMeasured:
    """Return the noise floor of the first measure, or why there is none."""
    for _, floor in analysis.floors:
        return floor
    return NotMeasured("nothing was measured")
