"""Each run's ending and its evaluations: at the step judged, before it, and of the base."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.errors import ImportRefused, UsageError, did_you_mean
from audit.importers.folder.joining import Joined
from audit.importers.folder.said import Said
from audit.importers.metric_names import ACCURACY, REWARD, is_accuracy
from audit.importers.numbers import number
from audit.importers.readers.piece import Evaluated, RunPiece

Place = tuple[str, str]


@dataclass(slots=True, eq=False)
class Settled:
    """A run with its arm, seed, ending and evaluations.

    Attributes
    ----------
    judged : list of Evaluated
        One a benchmark and metric, at the step that is judged.
    between : list of Evaluated
        At other steps.
    untrained : list of Evaluated
        At step 0.
    """

    run: Joined
    arm: str
    seed: int | None
    seed_source: str | None
    status: str = "finished"
    failure: str | None = None
    judged: list[Evaluated] = field(default_factory=list)
    between: list[Evaluated] = field(default_factory=list)
    untrained: list[Evaluated] = field(default_factory=list)
    earlier_failures: list[str] = field(default_factory=list)


def settle(runs: Sequence[Settled], said: Said, notes: dict[str, None]) -> list[str]:
    """Fill in status, failure and evaluations of every run; returns the questions left open.

    Raises
    ------
    ImportRefused
        When one run has two evaluations of one benchmark at one step, or nothing was drawn.
    UsageError
        When no run was evaluated on the benchmark, or at the step, that is asked for.
    """
    _agree_on_shares(runs)
    by_run = {id(run): _evaluations(run.run, said, notes) for run in runs}
    _require_chosen(runs, said)
    for run in runs:
        run.untrained = [e for e in by_run[id(run)] if e.step == 0]
        _own_status(run, by_run[id(run)])
    questions = _judge(runs, by_run, said, notes)
    for run in runs:
        if run.status == "finished" and not run.judged and not run.run.first("reported"):
            run.status, run.failure = _without_evaluation(run, by_run[id(run)])
    unused = [r for r in runs if r.status != "finished" and r.judged]
    for run in unused:
        notes.setdefault(
            f"{_label(run)} did not finish ({run.failure or run.status}): its value is not used"
        )
        run.between += run.judged
        run.judged = []
    return questions


def _require_chosen(runs: Sequence[Settled], said: Said) -> None:
    """Refuse a choice that fits nothing: every run would count as failed without an evaluation."""
    found = [e for run in runs for e, _ in run.run.evaluations if e.counts]
    benchmarks = sorted({str(e.benchmark) for e in found if e.benchmark is not None})
    if said.benchmark is not None and benchmarks and said.benchmark not in benchmarks:
        near = did_you_mean(said.benchmark, benchmarks)
        raise UsageError(
            f"--benchmark {said.benchmark}: no run was evaluated on it, but on "
            f"{', '.join(benchmarks[:6])}{near}"
        )
    steps = sorted({e.step for e in found if e.step is not None})
    if said.step is not None and found and said.step not in steps:
        told = f"but at {', '.join(map(str, steps[:6]))}" if steps else "and no file says a step"
        raise UsageError(f"--step {said.step}: no run was evaluated there, {told}")


def _agree_on_shares(runs: Sequence[Settled]) -> None:
    """Call a mean reward a share of right answers only where that of every run can be one."""
    found = [e for run in runs for e, _ in run.run.evaluations if e.by_count]
    rewards = {e.benchmark for e in found if e.metric != ACCURACY}
    for evaluation in found:
        if evaluation.benchmark in rewards:
            evaluation.metric = REWARD


def _label(run: Settled) -> str:
    return run.arm if run.seed is None else f"{run.arm}, seed {run.seed}"


def _evaluations(run: Joined, said: Said, notes: dict[str, None]) -> list[Evaluated]:
    """Return a run's evaluations, one a benchmark, metric and step; outcomes before figures."""
    found = [(e, piece) for e, piece in run.evaluations if e.counts]
    if any(e.tally is not None for e, _ in found):
        found = [(e, p) for e, p in found if e.tally is not None or e.benchmark is not None]
    _name_benchmarks(found, run.first("benchmark"))
    condition = run.first("condition")
    for evaluation, _ in found:
        if condition and "condition" not in evaluation.more:
            evaluation.more["condition"] = condition
    kept: dict[tuple[str, str, int | None], tuple[Evaluated, RunPiece]] = {}
    for evaluation, piece in found:
        if said.benchmark not in (None, evaluation.benchmark):
            continue
        _turn_signed(evaluation, run, notes)
        _check_drawn(evaluation, piece)
        key = (str(evaluation.benchmark), evaluation.metric, evaluation.step)
        if key not in kept:
            kept[key] = (evaluation, piece)
            continue
        kept[key] = _better(kept[key], (evaluation, piece), run, notes)
    rows = {(e.benchmark, e.metric) for e, _ in kept.values() if e.tally is not None}
    # Logs may spell a benchmark without its slashes, and call its mean reward a score.
    spelt = {str(benchmark).replace("/", "_") for benchmark, _ in rows}
    return _of_metric(
        [
            e
            for e, _ in kept.values()
            if e.tally is not None
            or ((e.benchmark, e.metric) not in rows and e.benchmark not in spelt)
        ],
        said,
    )


def _name_benchmarks(found: Sequence[tuple[Evaluated, RunPiece]], fallback: str | None) -> None:
    """Name the benchmark of outcomes that do not say it: as the run's log has it, if it has one."""
    logged = {e.benchmark for e, _ in found if e.benchmark is not None}
    for evaluation, _ in found:
        if evaluation.benchmark is None:
            only = next(iter(logged)) if len(logged) == 1 else None
            evaluation.benchmark = only or fallback or "validation"


def _turn_signed(evaluation: Evaluated, run: Joined, notes: dict[str, None]) -> None:
    if evaluation.tally is not None and evaluation.tally.signed:
        evaluation.tally.as_right_or_wrong()
        evaluation.metric = ACCURACY
        notes.setdefault("outcomes are 1 and -1: 1 is right, -1 is wrong")


def _check_drawn(evaluation: Evaluated, piece: RunPiece) -> None:
    tally = evaluation.tally
    if tally is not None and len(tally) and tally.empty == tally.answers:
        source = evaluation.source or (piece.files[0] if piece.files else None)
        raise ImportRefused(
            f"{tally.empty} of {tally.answers} completions are empty: nothing was drawn, so "
            f"{tally.mean:g} is no score",
            path=source.name if source else None,
        )


def _better(
    one: tuple[Evaluated, RunPiece],
    other: tuple[Evaluated, RunPiece],
    run: Joined,
    notes: dict[str, None],
) -> tuple[Evaluated, RunPiece]:
    """Return the one of two evaluations that counts, or refuse where both have outcomes.

    Of two attempts the later counts. A figure beside outcomes is compared with them.
    """
    if one[1].order != other[1].order:
        return max(one, other, key=lambda pair: pair[1].order)
    with_rows = [pair for pair in (one, other) if pair[0].tally is not None]
    if len(with_rows) == 2:
        paths = [p[0].source.name for p in (one, other) if p[0].source is not None]
        raise ImportRefused(
            f"{run.label}: two evaluations of one model on {one[0].benchmark}"
            + (f", {' and '.join(paths)}" if paths else "")
            + ": evaluating again is not training again; leave one out with --exclude"
        )
    if not with_rows:
        return one
    rows, printed = with_rows[0], one if with_rows[0] is other else other
    mean, value = rows[0].score, printed[0].value
    if mean is not None and value is not None and abs(mean - value) > 1e-3:
        notes.setdefault(
            f"{run.label}: the log says {value:g}, the outcomes average {mean:.6g}: they count"
        )
    return rows


def _of_metric(evaluations: list[Evaluated], said: Said) -> list[Evaluated]:
    """Return the evaluations of the metric asked for; accuracy before others where none is."""
    if said.metric is not None:
        wanted = ACCURACY if is_accuracy(said.metric) else said.metric
        return [e for e in evaluations if e.metric == wanted]
    judged = {e.benchmark for e in evaluations if e.metric == ACCURACY}
    return [e for e in evaluations if e.metric == ACCURACY or e.benchmark not in judged]


def _own_status(run: Settled, evaluations: Sequence[Evaluated]) -> None:
    """Set the ending that the run's own files tell, whatever the other runs have."""
    said, failure = run.run.first("status"), run.run.first("failure")
    steps = [e.step for e in evaluations if e.step is not None and e.score is not None]
    if said is not None:
        run.status, run.failure = said, failure
        # A process may end in order although its loss did not.
        step = _diverged(run.run) if said == "finished" else None
        undated = any(e.step is None and e.score is not None for e in evaluations)
        if step is not None and not undated and max(steps, default=0) < step:
            run.status, run.failure = "diverged", f"loss not finite from step {step}"
        return
    planned, last = run.run.first("planned_steps"), _last_step(run.run)
    errors = [e.error for e in evaluations if e.error]
    if errors and not any(e.score is not None for e in evaluations):
        run.status, run.failure = "failed", f"no evaluation: {errors[0]}"
    elif planned and last is not None and last < planned and max(steps, default=0) < planned:
        if any(e.step is None and e.score is not None for e in evaluations):
            return
        run.status, run.failure = "failed", f"stopped at step {last} of {planned}"
    elif (step := _diverged(run.run)) is not None and max(steps, default=0) < step:
        run.status, run.failure = "diverged", f"loss not finite from step {step}"


def _last_step(run: Joined) -> int | None:
    steps = [piece.last_step for piece in run.pieces if piece.last_step is not None]
    steps += [step for piece in run.pieces for step in piece.log]
    return max(steps, default=None)


def _diverged(run: Joined) -> int | None:
    """Return the step from which on every logged loss is no finite number, None without one."""
    first: int | None = None
    rows: dict[int, Any] = {step: row for piece in run.pieces for step, row in piece.log.items()}
    for step in sorted(rows):
        losses = [
            value for name, value in rows[step].items() if name.split("/")[-1].endswith("loss")
        ]
        if not losses:
            continue
        finite = all((v := number(loss)) is not None and math.isfinite(v) for loss in losses)
        first = None if finite else step if first is None else first
    return first


def _judge(
    runs: Sequence[Settled],
    by_run: dict[int, list[Evaluated]],
    said: Said,
    notes: dict[str, None],
) -> list[str]:
    """Choose the step of each benchmark: the largest that every finished run has."""
    questions: list[str] = []
    steps: dict[Place, dict[int, set[int | None]]] = defaultdict(dict)
    for run in runs:
        for e in by_run[id(run)]:
            if e.step != 0 and e.score is not None:
                place = (str(e.benchmark), e.metric)
                steps[place].setdefault(id(run), set()).add(e.step)
    for place, having in sorted(steps.items()):
        finished = [having[id(r)] for r in runs if r.status == "finished" and id(r) in having]
        if not finished:
            finished = list(having.values())
        step, question = _common_step(place, finished, said)
        if question:
            questions.append(question)
            continue
        later = {
            s for found in having.values() for s in found if s is not None and step is not None
        }
        if step is not None and any(s > step for s in later):
            notes.setdefault(f"{place[0]}: step {step} is the last that every finished run has")
        for run in runs:
            for e in by_run[id(run)]:
                if (str(e.benchmark), e.metric) != place or e.step == 0:
                    continue
                mine = e.step == step or (e.step is None and len(having.get(id(run), ())) == 1)
                (run.judged if mine and e.score is not None else run.between).append(e)
                if mine and step is not None and said.step is None:
                    e.more.setdefault("selected_on", "none")
    return questions


def _common_step(
    place: Place, having: Sequence[set[int | None]], said: Said
) -> tuple[int | None, str | None]:
    numbers = [{step for step in found if step is not None} for found in having]
    dated = [found for found in numbers if found]
    if not dated or (said.step is None and all(None in found for found in having)):
        return None, None  # the final model of every run
    if said.step is not None:
        return said.step, None
    common = set.intersection(*dated)
    if common:
        return max(common), None
    shown = ", ".join(str(max(found)) for found in dated[:6])
    last = max(max(found) for found in dated)
    return None, (
        f"{place[0]}: no step is evaluated in every run; the last are {shown}: --step {last}"
    )


def _without_evaluation(run: Settled, evaluations: Sequence[Evaluated]) -> tuple[str, str]:
    errors = [e.error for e in evaluations if e.error]
    steps = [e.step for e in evaluations if e.step]
    if errors:
        return "failed", f"no evaluation: {errors[0]}"
    if steps:
        return "failed", f"last evaluated at step {max(steps)}"
    return "failed", "no evaluation"
