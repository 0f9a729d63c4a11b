"""What a study would run, how long that takes and what effect its design can see."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from audit.analysis.verdict import FEWEST_TASKS
from audit.errors import UsageError
from audit.training.arms import changed_fields
from audit.training.guards import clip_reachable
from audit.training.price import Sharing, schedule, usd

if TYPE_CHECKING:
    from audit.training.ledger import Ledger
    from audit.training.run import Bench
    from audit.training.study_file import Training

_PROBE_ROUNDS = 3
_SEED_SDS = (0.01, 0.03, 0.05)


def forecast(bench: Bench, ledger: Ledger, workers: int = 1) -> Iterator[str]:
    """Lines for a person; runs are timed on a few rounds where none is finished yet.

    Raises
    ------
    UsageError
        When the short run for timing fails or diverges, as the study's would.
    """
    study, partition = bench.study, bench.partition
    held = "holdout and the further benchmarks" if bench.further else "holdout"
    yield (
        f"{bench.task.benchmark}: {len(partition.train)} training prompts "
        f"({partition.dropped} dropped against the {held}, {partition.ngram}-grams), "
        f"{len(partition.holdout)} holdout tasks x {study.evaluation.samples} samples"
    )
    for one in bench.further:
        samples = one.setting.samples or study.evaluation.samples
        yield f"  benchmark {one.setting.benchmark}: {len(one.chosen.items)} tasks x {samples}"
    for arm in study.arms:
        training = arm.training
        yield (
            f"  arm {arm.name} ({arm.role}): {arm.clip} clip, {training.rounds} rounds of "
            f"{training.prompts_per_round} x {training.group_size} responses, {training.updates} "
            f"updates a run; {_reachability(training)}"
        )
        if training.warmup_updates:
            yield f"  arm {arm.name}: its first update trains nothing, TRL's warm-up begins at 0"
    yield f"  arms differ in: {', '.join(changed_fields(study)) or 'nothing'}"
    yield from _schedule(bench, ledger, workers)
    yield from _smallest_effects(bench)


def _reachability(training: Training) -> str:
    if clip_reachable(training.accumulation, training.steps_per_generation, training.iterations):
        return "the clip can be reached"
    return "the clip CANNOT be reached, which the study allows: this tests no clip"


def _schedule(bench: Bench, ledger: Ledger, workers: int) -> Iterator[str]:
    from audit.training.run import machines, world_size
    from audit.training.study import pieces

    wanted = pieces(bench)
    runs = [p for p in wanted if p.arm is not None]
    kept = {p.name: r for p in wanted if (r := ledger.get(p.name, p.fingerprint)) is not None}
    ended = [kept[p.name] for p in runs if p.name in kept]
    finished = [record for record in ended if record["status"] == "finished"]
    lost = f" ({len(ended) - len(finished)} did not finish)" if len(ended) > len(finished) else ""
    missing = [p for p in wanted if p.name not in kept]
    left = [p for p in missing if p.arm is not None]
    bases = len(missing) - len(left)
    yield (
        f"  {len(bench.study.arms)} arms x {len(bench.study.seeds)} seeds = {len(runs)} runs, "
        f"{len(ended)} ended already{lost}, {len(left)} to do, and {bases} evaluations of the base"
    )
    if not missing:
        return
    run, evaluation = _probe(bench)
    if finished:
        # A finished run of these settings tells more than a short one.
        run = sum(record["cost"]["minutes"] for record in finished) / len(finished)
        source = f"mean of {len(finished)} finished runs"
    else:
        source = f"timed on a short run of {bench.study.method.name}"
    total = run * len(left) + evaluation * bases
    planned = schedule([evaluation] * bases + [run] * len(left), workers)
    sharing = Sharing(len(missing), workers)
    cost = bench.study.cost
    price = ""
    if cost is not None:
        shape = {"devices": world_size(), "machines": machines()}
        dollars = sum(
            usd(cost, minutes, at_once=sharing.finished(end, minutes), **shape)
            for end, minutes in planned
        )
        price = f", {dollars:.2f} USD at {cost.usd_per_hour:g} a {cost.per} hour"
    yield (
        f"  {_duration(run)} a run ({source}), {_duration(evaluation)} an evaluation: "
        f"{_duration(total)} one at a time{price}"
    )
    if workers > 1:
        at_once = min(workers, len(missing))
        shared = _duration(planned[-1][0])
        yield f"  {shared} with {at_once} workers, if each has a processor or GPU to itself"


def _duration(minutes: float) -> str:
    if minutes < 2:
        return f"{60 * minutes:.1f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _probe(bench: Bench) -> tuple[float, float]:
    """Minutes that a run and an evaluation take, from a short run of the method.

    Its first updates, which pay for warming up, are not counted; a run is evaluated at its
    checkpoints too, there on the benchmark of the task and those that are asked for.

    Raises
    ------
    UsageError
        When the short run fails or diverges.
    """
    from audit.training.run import run
    from audit.training.tasks.benchmarks import evaluation_of

    study = bench.study
    arm = study.method
    clock: dict[str, list[float]] = defaultdict(list)

    def tick(what: str, done: int, total: int) -> None:
        clock[what].append(time.monotonic())

    training = arm.training
    short = replace(
        training,
        rounds=training.accumulation * _PROBE_ROUNDS,
        save_steps=0,
        keep_adapter=False,
        keep_weights=False,
    )
    once = replace(
        bench, study=replace(study, evaluation=replace(study.evaluation, checkpoints=()))
    )
    record = run(once, replace(arm, training=short), study.seeds[0], tick)
    if record["status"] != "finished":
        raise UsageError(f"the short run for timing {record['status']}: {record['failure']}")
    updates = clock["training"]
    steady = len(updates) // 2
    each = (updates[-1] - updates[steady]) / max(1, len(updates) - 1 - steady) / 60
    asked = [(bench.task.benchmark, True)]
    asked += [(one.setting.benchmark, one.setting.at_checkpoints) for one in bench.further]
    end, within = updates[-1], 0.0
    for number, (name, often) in enumerate(asked):
        begin, end = end, max(end, *clock[evaluation_of(name, number)])
        within += (end - begin) / 60 if often else 0.0
    evaluation = (end - updates[-1]) / 60
    fixed: float = record["cost"]["minutes"] - each * short.updates
    earlier = len({*study.evaluation.checkpoints} - {training.steps})
    return max(0.0, fixed) + each * training.updates + within * earlier, evaluation


def _smallest_effects(bench: Bench) -> Iterator[str]:
    """Say the smallest effect seen in 80% of studies, for several spreads between training runs."""
    from audit.stats.planning import minimum_detectable_effect
    from audit.stats.records import Components

    study = bench.study
    seeds, tasks = len(study.seeds), len(bench.partition.holdout)
    if seeds < 2:
        yield "  one seed per arm: every claim would be refused"
        return
    if tasks < FEWEST_TASKS:
        yield f"  fewer than {FEWEST_TASKS} holdout tasks: every claim would be refused"
        return
    for sd in _SEED_SDS:
        effect = minimum_detectable_effect(
            # Spreads within tasks as in published GRPO studies at accuracy about one half.
            components=Components(sd, sd, 0.065, 0.145, 0.085),
            seeds=seeds,
            tasks=tasks,
            samples=study.evaluation.samples,
        )
        seen = "no effect would be seen" if effect is None else f"{effect:.3f}"
        yield f"  smallest effect seen at 80% power if runs differ by sd {sd}: {seen}"
