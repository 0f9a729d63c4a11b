"""What keeps a comparison from getting a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from audit import numerals
from audit.analysis.independence import distinct_evaluations
from audit.analysis.measures import Measure, MeasuredRun, Side
from audit.analysis.study import Study
from audit.analysis.tables import Aligned
from audit.analysis.verdict import FEWEST_TASKS, LARGEST_MISSING_SHARE, Refusal
from audit.claims import BASE
from audit.facts import evidence
from audit.facts.copies import SamePair
from audit.reasons import rank

FEWEST_AGAINST_BASE = 3


def ordered(refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Return refusals with the first to be told in front; each reason once."""
    first: dict[str, Refusal] = {}
    for refusal in refusals:
        first.setdefault(refusal.reason, refusal)
    return tuple(sorted(first.values(), key=lambda refusal: rank(refusal.reason)))


def refusals_by_runs(study: Study, control: Side, treatment: Side) -> Iterator[Refusal]:
    """Yield every reason that the runs themselves give.

    Parameters
    ----------
    study : Study
    control, treatment : Side
        ``control`` may be the base, which is no training.
    """
    arms = [side for side in (treatment, control) if side.name != BASE]
    for side in arms:
        if not side.runs and side.unmeasured:
            yield Refusal("not-measured", f"no run of {side.name} has this metric")
        yield from _of_arm(study, side)
    yield from _of_evidence(study, arms)
    if control.name == BASE:
        yield from _against_base(study, control, treatment)


def _of_arm(study: Study, side: Side) -> Iterator[Refusal]:
    pairs = study.same_runs(side)
    independent = len(side.runs) - len(pairs)
    if independent < 2:
        yield Refusal("one-seed", f"{side.name} has {_too_few(side, pairs)}")
    if side.unlisted:
        seeds = ", ".join(map(str, side.unlisted))
        yield Refusal("seeds-not-listed", f"{side.name} launched seeds that are absent: {seeds}")
    if side.lost and study.policy.failed_runs == "refuse":
        runs = ", ".join(f"{run.label} ({run.status})" for run in side.lost)
        yield Refusal("failed-runs", f"{side.name} has runs that did not finish: {runs}")
    for pair in pairs:
        yield Refusal(pair.reason, _one_run(side, pair, independent))
    if side.unmeasured:
        labels = ", ".join(run.label for run in side.unmeasured)
        yield Refusal("incomplete", f"{side.name} has finished runs without a score: {labels}")
    for run in side.runs:
        if run.fault is not None:
            line = f"evaluation of {side.name} {run.label}: {run.fault}"
            yield Refusal(run.fault_reason, line)


def _too_few(side: Side, pairs: Sequence[SamePair]) -> str:
    if not side.runs:
        return "no finished training run"
    if not pairs:
        return "one training run"
    return f"one training run: its {len(side.runs)} records are one ({pairs[0].text})"


def _one_run(side: Side, pair: SamePair, independent: int) -> str:
    first, second = side.runs[pair.first].label, side.runs[pair.second].label
    names = f"seed {first} is there twice" if first == second else f"runs {first} and {second} are"
    joined = names if first == second else f"{names} one run: {pair.text}"
    return f"{side.name}: {joined} ({independent} independent of {len(side.runs)})"


def _of_evidence(study: Study, arms: Sequence[Side]) -> Iterator[Refusal]:
    """Yield what is said against runs that nothing shows to be trainings of their own."""
    for side in arms:
        if evidence.are_trainings(study.results, side.name) is False and len(side.runs) > 1:
            yield Refusal(
                "one-seed",
                f"{side.name} has one training run: the file says that its {len(side.runs)} "
                "records are evaluations",
            )
        found = study.evidence(side)
        if found is None:
            continue
        if not found.reaches("C"):
            yield Refusal(
                "runs-not-identified",
                f"nothing shows that the {len(side.runs)} records of {side.name} are trainings of "
                "their own",
            )
        elif not found.reaches(study.policy.evidence):
            yield Refusal(
                "evidence-below-policy",
                f"{side.name} has evidence {found.grade} ({found.basis}), the policy asks for "
                f"{study.policy.evidence}",
            )


def _against_base(study: Study, base: Side, arm: Side) -> Iterator[Refusal]:
    independent = len(arm.runs) - len(study.same_runs(arm))
    distinct = distinct_evaluations(base.runs)
    if not base.runs:
        yield Refusal("no-base-evaluations", "the untrained model was not evaluated on this")
    elif not (base.per_task and arm.per_task):
        yield Refusal(
            "no-per-task-outcomes", "a comparison with the base needs per-task outcomes of both"
        )
    elif distinct < FEWEST_AGAINST_BASE:
        listed = len(base.runs)
        copies = (
            "" if distinct == listed else f" ({listed} are listed, with the same answers drawn)"
        )
        yield Refusal(
            "too-few-evaluations",
            f"the base was evaluated {distinct} time(s){copies}, {FEWEST_AGAINST_BASE} are needed",
        )
    elif independent < FEWEST_AGAINST_BASE:
        yield Refusal(
            "too-few-seeds",
            f"{arm.name} has {independent} training runs, "
            f"{FEWEST_AGAINST_BASE} are needed against the base",
        )


def refusals_by_answers(control: Side, treatment: Side, measure: Measure) -> Iterator[Refusal]:
    """Yield what keeps recorded answers from measuring anything: none given, or mixed scales."""
    sides = (treatment, control)
    for side in sides:
        for run in side.runs:
            dead = _dead(run)
            if dead:
                yield Refusal("dead-evaluation", f"{side.name} {run.label}: {dead}")
        if side.runs and all(_share(run, "unparsed") == 1 for run in side.runs):
            yield Refusal("dead-evaluation", f"no answer of any run of {side.name} was parsed")
    scores = [run.score for side in sides for run in side.runs]
    if min(len(side.runs) for side in sides) and measure.low is not None:
        for end, words in ((measure.low, "right"), (measure.high, "wrong")):
            if all(score == end for score in scores):
                yield Refusal("dead-evaluation", f"no answer of any run of either arm is {words}")
    yield from _mixed_scales(sides, measure)


def _dead(run: MeasuredRun) -> str:
    """Return why an evaluation drew no answer; empty where it did."""
    if _share(run, "errored") == 1:
        return "every answer ended in an error"
    outcomes = run.outcomes
    if outcomes is not None and outcomes.lengths and not any(outcomes.lengths):
        return "every answer has 0 tokens"
    if run.tokens == 0 and (run.answers or 0) > 0:
        return "0 tokens were generated"
    return ""


def _share(run: MeasuredRun, tally: str) -> float:
    outcomes = run.outcomes
    counts = None if outcomes is None else getattr(outcomes, tally)
    if outcomes is None or counts is None or not sum(outcomes.samples):
        return 0.0
    share: float = sum(counts) / sum(outcomes.samples)
    return share


def _mixed_scales(sides: Sequence[Side], measure: Measure) -> Iterator[Refusal]:
    """Yield where one run's values look like those of a scale of 0 to 1 and another's do not."""
    if measure.low is None or measure.high is None or measure.span is None:
        return
    from audit.stats.scales import is_wide, mixed_scales

    if not is_wide(measure.low, measure.high):
        return
    if all(side.per_task for side in sides):
        groups = [(f"{side.name} {run.label}", run.values) for side in sides for run in side.runs]
    else:
        groups = [
            (side.name, [float(run.score) for run in side.runs if run.score is not None])
            for side in sides
        ]
    found = mixed_scales([values for _, values in groups], low=measure.low, high=measure.high)
    if found is not None:
        small, large = groups[found.small][0], groups[found.large][0]
        yield Refusal(
            "mixed-scales",
            f"the values of {small} look like those of a scale from 0 to 1, those of {large} do "
            f"not; the metric's scale is {measure.low:g} to {measure.high:g}",
        )


def refusals_by_tasks(aligned: Aligned) -> Iterator[Refusal]:
    """Yield the reasons the tasks give: too many missing, too few."""
    if aligned.missing_share > LARGEST_MISSING_SHARE:
        first = aligned.missing[0]
        yield Refusal(
            "incomplete",
            f"{numerals.percent(aligned.missing_share, 1)} of the outcomes are missing, at most "
            f"{numerals.percent(LARGEST_MISSING_SHARE)} may be; the first is task {first.task} of "
            f"{first.arm} {first.run}",
        )
    kept = aligned.complete()
    yield from few_tasks(len(kept.tasks))
    if kept.clusters is not None:
        yield from few_tasks(effective_clusters(kept.clusters), "effective clusters")


def effective_clusters(clusters: Sequence[str]) -> float:
    """Return T^2 over the sum of squared sizes: so many clusters of equal size weigh as much."""
    sizes = Counter(clusters).values()
    return len(clusters) ** 2 / sum(size * size for size in sizes)


def few_tasks(number: float | None, what: str = "tasks") -> Iterator[Refusal]:
    """Yield the refusal of a benchmark with fewer tasks than can speak for others."""
    if number is not None and number < FEWEST_TASKS:
        yield Refusal("few-tasks", f"{number:.3g} {what}, at least {FEWEST_TASKS} are needed")
