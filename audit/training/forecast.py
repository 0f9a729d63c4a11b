"""What a study would run, how long that takes and what effect its design can see."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from audit.errors import UsageError
from audit.training.arms import changed_fields
from audit.training.guards import clip_reachable

if TYPE_CHECKING:
    from audit.training.ledger import Ledger
    from audit.training.run import Bench

_PROBE_ROUNDS = 3
_SEED_SDS = (0.01, 0.03, 0.05)


def forecast(bench: Bench, ledger: Ledger) -> Iterator[str]:
    """Lines for a person; runs are timed on a few rounds where none is finished yet."""
    study, partition = bench.study, bench.partition
    training = study.training
    yield (
        f"{bench.task.benchmark}: {len(partition.train)} training prompts "
        f"({partition.dropped} dropped against the holdout, {partition.ngram}-grams), "
        f"{len(partition.holdout)} holdout tasks x {study.evaluation.samples} samples"
    )
    for arm in study.arms:
        yield f"  arm {arm.name} ({arm.role}): {arm.clip} clip"
    yield f"  arms differ in: {', '.join(changed_fields(study)) or 'nothing'}"
    yield (
        f"  {training.rounds} rounds of {training.prompts_per_round} x {training.group_size} "
        f"responses, {training.updates} updates a run"
    )
    yield _reachability(bench)
    yield from _schedule(bench, ledger)
    yield from _smallest_effects(bench)


def _reachability(bench: Bench) -> str:
    training = bench.study.training
    reachable = clip_reachable(
        training.accumulation, training.steps_per_generation, training.iterations
    )
    if reachable:
        return "  the clip can be reached: some updates are made off-policy"
    if training.allow_unreachable_clip:
        return "  the clip CANNOT be reached, which the study allows: this tests no clip"
    return "  the clip CANNOT be reached: the runs would be refused"


def _schedule(bench: Bench, ledger: Ledger) -> Iterator[str]:
    from audit.training.study import pieces

    runs = [p for p in pieces(bench) if p.arm is not None]
    kept = [record for p in runs if (record := ledger.get(p.name, p.fingerprint)) is not None]
    missing = len(runs) - len(kept)
    yield (
        f"  {len(bench.study.arms)} arms x {len(bench.study.seeds)} seeds = {len(runs)} runs, "
        f"{len(kept)} finished already, {missing} to do"
    )
    if not missing:
        return
    if kept:
        minutes = sum(record["cost"]["minutes"] for record in kept) / len(kept)
        source = f"mean of {len(kept)} finished runs"
    else:
        minutes, source = _probe(bench), f"timed on {_PROBE_ROUNDS} rounds and one evaluation"
    total = minutes * missing
    dollars = bench.study.cost
    price = f", {total / 60 * dollars.usd_per_hour:.2f} USD" if dollars else ""
    yield f"  {minutes:.2f} minutes a run ({source}): {total:.1f} minutes one at a time{price}"


def _probe(bench: Bench) -> float:
    """Minutes that a run takes, from a short one whose first round is not counted.

    Raises
    ------
    UsageError
        When the short run fails or diverges, as the study's would.
    """
    from audit.training.run import run

    study = bench.study
    arm, seed = study.method, study.seeds[0]
    clock: list[float] = []

    def tick(what: str, done: int, total: int) -> None:
        if what == "training":
            clock.append(time.monotonic())

    training = study.training
    short = replace(training, rounds=training.accumulation * _PROBE_ROUNDS)
    probe: Any = replace(bench, study=replace(study, training=short))
    record = run(probe, arm, seed, tick)
    if record["status"] != "finished":
        raise UsageError(f"the short run for timing {record['status']}: {record['failure']}")
    steady = len(clock) // 2  # the first updates pay for warming up
    each = (clock[-1] - clock[steady]) / max(1, len(clock) - 1 - steady) / 60
    fixed: float = record["cost"]["minutes"] - each * short.updates
    return max(0.0, fixed) + each * training.updates


def _smallest_effects(bench: Bench) -> Iterator[str]:
    """Say the smallest effect seen in 80% of studies, for several spreads between training runs."""
    from audit.stats.planning import minimum_detectable_effect
    from audit.stats.records import Components

    study = bench.study
    seeds, tasks = len(study.seeds), len(bench.partition.holdout)
    if seeds < 2:
        yield "  one seed an arm: every claim would be refused"
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
