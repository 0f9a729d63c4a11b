"""``audit plan``: seeds, tasks and answers that an effect needs, by one look and by a plan."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit import numerals
from audit.analysis.plan import (
    TYPICAL,
    UPPER,
    Plan,
    PlanBasis,
    SeedSd,
    source_of,
    source_of_comparison,
)
from audit.analysis.verdict import FEWEST_TASKS
from audit.cli.effect_option import effect_of
from audit.cli.examples import add_examples
from audit.cli.layout import markdown_table, text_table
from audit.cli.output import add_output, guard, publish
from audit.errors import InputError, UsageError, did_you_mean
from audit.safetext import inert, visible

if TYPE_CHECKING:
    from audit.policy import Policy
    from audit.published import Typical
    from audit.stats import Components, PlannedDesign, Prices, SequentialPlan

TASK_FACTORS = (1, 2, 5, 10)
_FIRST = 4

EXAMPLES = (
    "audit plan --effect 0.05",
    "audit plan results.json --effect 2%",
    "audit plan --tasks 200 --samples 4 --seed-sd 0.02 --effect 0.03 --declare study.toml",
    "audit plan results.json --plot power.svg --usd-per-run 12",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit plan``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument("results", nargs="?", metavar="FILE", help="take the variances from here")
    parser.add_argument(
        "--effect",
        metavar="SIZE",
        help="difference to see, in the metric's units or as 2%% of its scale (the target of the "
        "file's claim, else the margin)",
    )
    parser.add_argument("--metric", help="metric of the file (the first claimed one)")
    parser.add_argument("--benchmark", help="benchmark of the file (the first claimed one)")
    parser.add_argument("--tasks", type=int, help="tasks of the benchmark (the file's, else 120)")
    parser.add_argument("--samples", type=int, help="answers per task (the file's, else 4)")
    parser.add_argument(
        "--checkpoints", type=int, metavar="K", help="evaluate the mean over so many checkpoints"
    )
    parser.add_argument("--level", type=float, help="confidence level (the policy's, 0.95)")
    plan = parser.add_argument_group("the plan")
    plan.add_argument(
        "--declare",
        metavar="FILE",
        help="write the plan: a [plan] in a study file (.toml), else JSON; before the first result",
    )
    plan.add_argument("--first", type=int, metavar="N", help="seeds per arm of the first look (4)")
    plan.add_argument("--maximum", type=int, metavar="N", help="most seeds per arm")
    plan.add_argument("--looks", metavar="N,N", help="the only looks (every one from the first)")
    plan.add_argument("--sequential", action="store_true", help=argparse.SUPPRESS)
    noise = parser.add_argument_group("variances, in the metric's units")
    noise.add_argument("--seed-sd", type=float, help="sd between training runs (the file's)")
    noise.add_argument("--along-sd", type=float, help="sd between the checkpoints of one run")
    noise.add_argument(
        "--seed-task-sd", type=float, help="sd of seed times task (the file's, else 0.065)"
    )
    noise.add_argument(
        "--answer-variance",
        type=float,
        help="mean p(1 - p) of an answer (the file's, else 0.145)",
    )
    noise.add_argument(
        "--task-effect-sd",
        type=float,
        help="sd over tasks of the true difference (the file's, else 0.085)",
    )
    prices = parser.add_argument_group("prices")
    for name, what in (
        ("run", "one training run"),
        ("evaluation", "evaluating one checkpoint"),
        ("task", "evaluating one checkpoint on one task"),
    ):
        prices.add_argument(f"--usd-per-{name}", type=float, help=f"price of {what}")
    parser.add_argument("--plot", metavar="FILE", help="write the power curves, .svg or .png")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    add_output(parser)


def main(options: argparse.Namespace) -> int:
    """Run ``audit plan``; 0 unless it cannot run."""
    # A study.toml is added to, and keeps what it holds.
    added_to = str(options.declare).endswith(".toml")
    for path in (options.output, options.plot, None if added_to else options.declare):
        guard(path, (options.results,), force=options.force)
    plan = plan_of(options)
    declared = "" if options.declare is None else _declare(plan, options)
    if options.plot is not None:
        from audit.cli.power_plot import write_plot

        write_plot(plan, options.plot)
    if options.format == "json":
        from audit.cli.formats.json_text import json_text

        text = json_text(_document(plan))
    else:
        table = markdown_table if options.format == "markdown" else text_table
        text = inert("\n".join(_lines(plan, table, declared)) + "\n")
    publish(text, options.output)
    return 0


def plan_of(options: argparse.Namespace) -> Plan:
    """Return the plan that the options and the file describe.

    Raises
    ------
    UsageError
        When a number makes no sense.
    InputError
        When the file has nothing to compare.
    """
    from audit.policy import find_policy

    policy = find_policy(Path.cwd())
    source = _source(options, policy)
    _check(options, source.span)
    effect = _effect(options, source, policy)
    level = policy.level if options.level is None else options.level
    least = max(policy.min_seeds, 3)
    if options.first is not None and options.first < least:
        raise UsageError(_too_early(least, options.first))
    checkpoints = options.checkpoints or 1
    tasks = source.tasks if options.tasks is None else options.tasks
    samples = source.samples if options.samples is None else options.samples
    components, sds = _given(options, source), source.sds
    if checkpoints > 1:
        components, sds, samples = _averaged(options, source, effect, level, components, samples)
    usual = () if any(sd.label in ("estimate", UPPER) for sd in sds) else _usual(tasks)
    if usual:
        sds = (*sds, *_usual_sds(usual[0], alone=not sds))
    return Plan(
        source=source,
        components=components,
        sds=sds,
        declared=_declared_sd(sds),
        tasks=tasks,
        samples=samples,
        effect=effect,
        level=level,
        min_seeds=least,
        first=max(options.first or _FIRST, least),
        prices=_prices(options),
        fixed=_fixed(options, level, least),
        checkpoints=checkpoints,
        usual=usual,
    )


def _source(options: argparse.Namespace, policy: Policy) -> PlanBasis:
    if options.results is None:
        return source_of(options.seed_sd)
    found = _from_file(options, policy)
    if options.seed_sd is not None:
        found = replace(found, sds=(SeedSd(options.seed_sd / found.span, "given"),), reason="")
    return found


def _from_file(options: argparse.Namespace, policy: Policy) -> PlanBasis:
    from audit.analysis import analyse
    from audit.analysis.design import Design
    from audit.claims import BASE
    from audit.results import load

    results = load(options.results)
    every = analyse(results, policy=policy.for_path(results.name)).comparisons
    trained = [c for c in every if c.against != BASE]
    fitting = [
        c
        for c in trained
        if options.metric in (None, c.metric) and options.benchmark in (None, c.benchmark)
    ]
    if trained and not fitting:
        shown = ", ".join(dict.fromkeys(_what(c.metric, c.benchmark) for c in trained))
        names = [name for c in trained for name in (c.metric, c.benchmark) if name]
        asked = [name for name in (options.metric, options.benchmark) if name]
        wrong = [name for name in asked if name not in names]
        hint = did_you_mean(wrong[0], names) if wrong else ""
        raise UsageError(f"the file compares nothing by that name; it has {shown}{hint}")
    if not fitting:
        raise InputError("no two trained arms to compare", path=results.name)
    chosen = next((c for c in fitting if isinstance(c.design, Design)), fitting[0])
    arms = f"{chosen.arm} over {chosen.against}"
    what = f"{arms}, {_what(chosen.metric, chosen.benchmark)}"
    return source_of_comparison(chosen, results.name, what)


def _what(metric: str, benchmark: str | None) -> str:
    return metric if benchmark is None else f"{metric} on {benchmark}"


def _effect(options: argparse.Namespace, source: PlanBasis, policy: Policy) -> float:
    """Return the effect on [0, 1]."""
    span = source.span
    if options.effect is None:
        effect = (source.effect or policy.margin) / span
    else:
        effect = effect_of(options.effect).on(span) / span
    if not 0 < effect <= 1:
        shown = options.effect if options.effect is not None else f"{effect * span:g}"
        raise UsageError(
            f"--effect must lie above 0 and up to {span:g}, the width of the scale, or be a part "
            f"of it such as 2%, not {shown}"
        )
    return effect


def _check(options: argparse.Namespace, span: float) -> None:
    if options.level is not None and not 0.5 <= options.level < 1:
        raise UsageError(f"--level must lie from 0.5 to below 1, not {options.level}")
    wholes = (
        ("tasks", 2, 10**7),
        ("samples", 1, 10**7),
        ("checkpoints", 1, 1000),
        ("first", 3, 199),
        ("maximum", 4, 200),
    )
    for name, least, most in wholes:
        value = getattr(options, name)
        if value is not None and not least <= value <= most:
            raise UsageError(f"--{name} must lie from {least} to {most}, not {value}")
    sds = dict.fromkeys(("seed_sd", "along_sd", "seed_task_sd", "task_effect_sd"), span)
    prices = dict.fromkeys(("usd_per_run", "usd_per_evaluation", "usd_per_task"), 1e9)
    for name, limit in {**sds, "answer_variance": span**2 / 4, **prices}.items():
        value = getattr(options, name)
        if value is not None and not 0 <= value <= limit:
            shown = name.replace("_", "-")
            raise UsageError(f"--{shown} must lie from 0 to {limit:g}, not {value}")


def _given(options: argparse.Namespace, source: PlanBasis) -> Components:
    """Return the variances of the file, or the usual ones, with those of the options over them."""
    span = source.span
    given = {
        "seed_task_sd": (options.seed_task_sd, span),
        "sampling_variance": (options.answer_variance, span**2),
        "task_effect_sd": (options.task_effect_sd, span),
    }
    over = {name: value / unit for name, (value, unit) in given.items() if value is not None}
    return replace(source.components, **over)


def _averaged(
    options: argparse.Namespace,
    source: PlanBasis,
    effect: float,
    level: float,
    components: Components,
    samples: int,
) -> tuple[Components, tuple[SeedSd, ...], int]:
    """Return variances, sds and answers of the mean over several checkpoints."""
    number = options.checkpoints
    if options.seed_sd is not None:
        if options.along_sd is None:
            raise UsageError("--checkpoints with --seed-sd needs --along-sd, the sd along a run")
        from audit.stats import seed_sd_over_checkpoints

        sd = seed_sd_over_checkpoints(
            options.seed_sd / source.span, options.along_sd / source.span, number
        )
        return components, (SeedSd(sd, "given"),), samples * number
    if options.results is None:
        raise UsageError("--checkpoints needs a file, or --seed-sd and --along-sd")
    rows = source.by_checkpoints(effect, level=level, least=3, numbers=(number,))
    row = next((row for row in rows if row.checkpoints == number), None)
    if row is None:
        raise UsageError(f"the runs of the file have no {number} common checkpoints")
    sds = (
        SeedSd(row.components.seed_sd_treatment, "estimate"),
        SeedSd(row.seed_sd_upper, UPPER),
    )
    return row.components, sds, row.answers if options.samples is None else samples * number


def _usual(tasks: int) -> tuple[Typical, ...]:
    """Return what is usual for each kind of training, RL first, whose figures are planned with."""
    from audit.published import KINDS, typical_seed_sds

    return tuple(found for kind in KINDS if (found := typical_seed_sds(tasks, kind)))


def _usual_sds(usual: Typical, *, alone: bool) -> Iterator[SeedSd]:
    """Yield all quartiles where nothing else is known, else the median."""
    low, middle, high = usual.quartiles
    if not alone:
        yield SeedSd(middle, TYPICAL)
        return
    yield SeedSd(low, "typical, lower quartile")
    yield SeedSd(middle, "typical, median")
    yield SeedSd(high, "typical, upper quartile")


def _declared_sd(sds: tuple[SeedSd, ...]) -> SeedSd:
    """Return the sd whose plan is declared: its upper limit, else as given, else the median."""
    wanted = (UPPER, "given", "typical, median")
    return next(sd for label in wanted for sd in sds if sd.label == label)


def _prices(options: argparse.Namespace) -> Prices | None:
    given = (options.usd_per_run, options.usd_per_evaluation, options.usd_per_task)
    if all(price is None for price in given):
        return None
    from audit.stats import Prices

    return Prices(*(price or 0.0 for price in given))


def _fixed(options: argparse.Namespace, level: float, least: int) -> SequentialPlan | None:
    """Return the plan that the options spell out; None where the shortest is to be found."""
    looks = None
    if options.looks is not None:
        if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", options.looks):
            raise UsageError(f"--looks takes numbers of seeds such as 4,8,12, not {options.looks}")
        looks = tuple(int(n) for n in options.looks.split(","))
    if options.maximum is None and looks is None:
        return None
    from audit.stats import SequentialPlan

    first = looks[0] if looks else (options.first or max(_FIRST, least))
    if first < least:
        raise UsageError(_too_early(least, first))
    try:
        return SequentialPlan(
            options.maximum or (looks or (0,))[-1], first=first, looks=looks, level=level
        )
    except ValueError as error:
        raise UsageError(f"no such plan: {error}") from None


def _too_early(least: int, first: int) -> str:
    return f"the first look must have {least} seeds per arm or more, not {first}"


def _declare(plan: Plan, options: argparse.Namespace) -> str:
    """Write the plan down and return the line that says so."""
    from audit.cli.plan_declaration import arms_of_study, declare, plan_block

    found = plan.declared_design.plan
    if found is None:
        raise UsageError(
            "no plan of up to 100 seeds per arm sees this effect; name one with --maximum, or "
            "plan with more tasks"
        )
    path = Path(options.declare)
    effect = float(f"{plan.effect * plan.span:.6g}")
    block = plan_block(
        first=found.planned[0],
        maximum=found.most,
        looks=found.looks,
        target_effect=effect,
        level=plan.level,
        arms=arms_of_study(path) or plan.source.arms,
    )
    declare(path, block, force=options.force)
    what = "[plan] to" if path.suffix == ".toml" else "the plan to"
    looks = ", ".join(map(str, found.looks)) if found.looks else _looks(found)
    return (
        f"wrote {what} {options.declare}: looks {looks}, target {numerals.signed(effect)}, "
        f"declared {block['declared']}"
    )


def _looks(plan: SequentialPlan) -> str:
    return f"{plan.planned[0]}..{plan.most}"


def _lines(plan: Plan, table: Any, declared: str) -> Iterator[str]:
    effect = _shown_effect(plan)
    yield f"To see {effect} in 4 of 5 studies: {_size(plan)}"
    yield from _basis(plan)
    yield ""
    first = plan.designs[0].plan.planned[0] if plan.designs[0].plan else plan.first
    heading = ("training sd", "one look", f"with a plan, first look {first}")
    yield from table(
        heading, (_row(plan, *pair) for pair in zip(plan.sds, plan.designs, strict=True))
    )
    yield from _without_effect(plan)
    if declared:
        yield visible(declared)
    if plan.usual:
        yield ""
        yield from _usual_lines(plan.usual, table)
    if plan.rows:
        yield ""
        yield from _checkpoint_lines(plan)
    yield ""
    yield f"At a training sd of {_sd(plan, plan.declared)}:"
    yield ""
    yield from table(("seeds per arm", "sees", f"power for {effect}", *_usd(plan)), _seen(plan))
    if not plan.source.tasks_known:
        return
    yield ""
    yield from table(("tasks", f"seeds per arm for {effect}", *_usd(plan)), _needs(plan))
    yield ""
    yield from _other_ways(plan)


def _shown_effect(plan: Plan) -> str:
    return numerals.signed(plan.effect * plan.span, _digits(plan.effect * plan.span))


def _digits(value: float) -> int:
    return next((n for n in range(3, 8) if round(value, n) and abs(value * 10**n) >= 10), 3)


def _size(plan: Plan) -> str:
    level = f"level {plan.level:g}"
    if not plan.source.tasks_known:
        return f"one score per run, {level}"
    tasks = f"{numerals.counted(plan.tasks, 'task')}"
    per = plan.samples // plan.checkpoints
    answers = f" x {numerals.counted(per, 'answer')}" if per > 1 else ", one answer each"
    if plan.checkpoints > 1:
        return f"{tasks}{answers} at {plan.checkpoints} checkpoints, {level}"
    return f"{tasks}{answers}, {level}"


def _basis(plan: Plan) -> Iterator[str]:
    """Say where the variances are from, and those that matter."""
    source, span, parts = plan.source, plan.span, plan.components
    if source.what:
        taken = "size" if source.reason else "variances"
        yield from _wrapped(f"{taken} from {source.name}: {source.what}")
    if source.reason:
        yield from _wrapped(f"no training sd in it ({source.reason}), so usual variances are taken")
    shown = [
        ("seed x task sd", parts.seed_task_sd * span),
        ("answer variance", parts.sampling_variance * span**2),
        ("task effect sd", parts.task_effect_sd * span),
    ]
    told = [f"{name} {_number(value)}" for name, value in shown if value > 0]
    if told:
        yield ", ".join(told)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(visible(text), 80, break_long_words=False, break_on_hyphens=False)


def _row(plan: Plan, sd: SeedSd, design: PlannedDesign) -> tuple[str, str, str]:
    return _sd(plan, sd), _one_look(plan, design), _planned(plan, design)


def _sd(plan: Plan, sd: SeedSd) -> str:
    return f"{_number(sd.value * plan.span)} ({sd.label})"


def _one_look(plan: Plan, design: PlannedDesign) -> str:
    if design.seeds is None:
        return "more than 1000 per arm"
    return f"{design.seeds} per arm{_priced(plan, 2 * design.seeds)}"


def _planned(plan: Plan, design: PlannedDesign) -> str:
    found, seen = design.plan, design.seen
    if found is None or seen is None:
        return "more than 100 at most"
    text = f"{found.most} at most{_priced(plan, seen.most_runs)}, "
    text += f"{seen.expected_seeds:.1f} expected{_priced(plan, seen.expected_runs)}"
    return f"{text}, seen in {numerals.percent(seen.power)}" if plan.fixed is not None else text


def _priced(plan: Plan, runs: float) -> str:
    cost = plan.cost(runs)
    return "" if cost is None else f" ({numerals.usd(cost)})"


def _without_effect(plan: Plan) -> Iterator[str]:
    design = plan.declared_design
    if design.plan is not None and design.without is not None:
        stops = numerals.fraction(design.without.expected_seeds, 0)
        most = design.plan.most
        yield f"No effect: about {stops} of {most}, if the advice to stop is followed."
        return
    from audit.stats import tasks_at_least

    fewest = tasks_at_least(
        plan.effect, task_effect_sd=plan.components.task_effect_sd, level=plan.level
    )
    if fewest is not None and fewest > plan.tasks and plan.source.tasks_known:
        yield (
            f"With {numerals.counted(plan.tasks, 'task')} no number of seeds sees it: "
            f"{numerals.count(fewest)} or more are needed first."
        )


def _usual_lines(usual: tuple[Typical, ...], table: Any) -> Iterator[str]:
    """Yield the published quartiles of every kind, with what they rest on."""
    planned = usual[0]
    sds = _three(planned.quartiles)
    yield f"On {planned.size} the training sd of {planned.kind} is usually {sds}:"
    yield "quartiles of published arms, evaluation noise included. Arms of one source"
    yield "resemble each other, so the medians of the sources stand beside them."
    yield ""
    yield from table(
        ("kind", "arms", "sources", "training sd", "medians of the sources"),
        (
            (
                row.kind,
                str(row.arms),
                str(row.sources),
                _three(row.quartiles),
                _three(row.source_quartiles),
            )
            for row in usual
        ),
    )


def _three(values: tuple[float, float, float]) -> str:
    return " / ".join(_number(value) for value in values)


def _checkpoint_lines(plan: Plan) -> Iterator[str]:
    """Yield seeds by the number of checkpoints averaged."""
    yield (
        f"With the mean over the last K checkpoints, seeds per arm for {_shown_effect(plan)}, "
        "by one look:"
    )
    yield ""
    heading = ("K", "seeds per arm", "with no more answers", "steps")
    rows = (
        (
            str(row.checkpoints),
            _range(row.seeds, row.seeds_upper),
            _range(row.traded_seeds, row.traded_seeds_upper)
            if row.traded_answers * row.checkpoints < row.answers
            else "",
            _steps(row.steps),
        )
        for row in plan.rows
    )
    yield from text_table(heading, rows)
    yield "From the sd as estimated to its upper limit. Declare the steps before the next study."


def _range(low: int | None, high: int | None) -> str:
    if low is None:
        return "more than 1000"
    if high is None:
        return f"{low} to more than 1000"
    return str(low) if low == high else f"{low} to {high}"


def _steps(steps: Iterable[int]) -> str:
    listed = list(steps)
    gaps = {b - a for a, b in pairwise(listed)}
    if len(listed) > 3 and len(gaps) == 1:
        return f"{listed[0]} to {listed[-1]}, {gaps.pop()} apart"
    return ", ".join(map(str, listed))


def _number(value: float | None) -> str:
    return "none" if value is None else numerals.fraction(value, 3)


def _usd(plan: Plan) -> tuple[str, ...]:
    return () if plan.prices is None else ("US dollars",)


def _price(plan: Plan, seeds: int | None, tasks: int) -> tuple[str, ...]:
    if plan.prices is None:
        return ()
    cost = None if seeds is None else plan.cost(2 * seeds, tasks)
    return ("-" if cost is None else f"{cost:,.2f}",)


def _seen(plan: Plan) -> Iterator[tuple[str, ...]]:
    for seeds in plan.seeds_shown:
        smallest = plan.smallest(seeds)
        yield (
            str(seeds),
            _number(None if smallest is None else smallest * plan.span),
            numerals.fraction(plan.power(plan.effect, seeds)),
            *_price(plan, seeds, plan.tasks),
        )


def _needs(plan: Plan) -> Iterator[tuple[str, ...]]:
    for factor in TASK_FACTORS:
        tasks = plan.tasks * factor
        seeds = plan.seeds_for(tasks)
        shown = "more than 1000" if seeds is None else str(seeds)
        yield str(tasks), shown, *_price(plan, seeds, tasks)


def _other_ways(plan: Plan) -> Iterator[str]:
    """Yield the tasks, or answers per task, with which fewer seeds would do."""
    tried = sorted({max(n, plan.min_seeds) for n in (3, 5, 10)})
    told = 0
    for seeds in tried:
        tasks, answers = plan.tasks_for(seeds), plan.samples_for(seeds)
        ways = []
        if tasks is not None:  # fewer get no verdict, whatever their power
            ways.append(numerals.counted(max(tasks, FEWEST_TASKS), "task"))
        if answers is not None and plan.components.sampling_variance > 0:
            number = numerals.counted(answers, "answer")
            ways.append(f"{number} per task at {numerals.counted(plan.tasks, 'task')}")
        if ways:
            told += 1
            yield f"with {seeds} seeds per arm: {', or '.join(ways)}"
    if not told:
        yield f"with {tried[-1]} seeds per arm or fewer, no number of tasks or answers is enough"


def _document(plan: Plan) -> dict[str, Any]:
    from dataclasses import asdict

    source, span = plan.source, plan.span
    return {
        "source": source.name,
        "comparison": source.what or None,
        "components": asdict(plan.components.with_seed_sd(plan.declared.value)),
        "scale": span,
        "tasks": plan.tasks if source.tasks_known else None,
        "samples": plan.samples,
        "checkpoints": plan.checkpoints,
        "level": plan.level,
        "effect": plan.effect * span,
        "min_seeds": plan.min_seeds,
        "designs": [_design(plan, *pair) for pair in zip(plan.sds, plan.designs, strict=True)],
        "typical": asdict(plan.usual[0]) if plan.usual else None,
        "typical_by_kind": [asdict(row) for row in plan.usual],
        "at_seed_sd": plan.declared.value * span,
        "seen": [
            {
                "seeds": seeds,
                "smallest_effect": None if smallest is None else smallest * span,
                "power": plan.power(plan.effect, seeds),
                "usd": plan.cost(2 * seeds),
            }
            for seeds in plan.seeds_shown
            for smallest in (plan.smallest(seeds),)
        ],
        "needed": [
            {"tasks": plan.tasks * factor, "seeds": plan.seeds_for(plan.tasks * factor)}
            for factor in (TASK_FACTORS if source.tasks_known else ())
        ],
        "by_checkpoints": [asdict(row) for row in plan.rows],
    }


def _design(plan: Plan, sd: SeedSd, design: PlannedDesign) -> dict[str, Any]:
    found, seen, without = design.plan, design.seen, design.without
    planned = None
    if found is not None and seen is not None and without is not None:
        planned = {
            "first": found.planned[0],
            "maximum": found.most,
            "looks": list(found.planned),
            "power": seen.power,
            "expected_seeds": seen.expected_seeds,
            "expected_seeds_without_effect": without.expected_seeds,
            "usd_at_most": plan.cost(seen.most_runs),
            "usd_expected": plan.cost(seen.expected_runs),
        }
    return {
        "seed_sd": sd.value * plan.span,
        "seed_sd_is": sd.label,
        "seeds": design.seeds,
        "usd": None if design.seeds is None else plan.cost(2 * design.seeds),
        "plan": planned,
    }
