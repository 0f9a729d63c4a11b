"""``audit plan``: what a design can see, and the seeds, tasks and answers an effect needs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from audit import numerals
from audit.analysis.plan import POWER, SEEDS_SHOWN, Plan
from audit.analysis.verdict import FEWEST_TASKS
from audit.cli.examples import add_examples
from audit.cli.formats.json_text import json_text
from audit.cli.layout import markdown_table, text_table
from audit.cli.output import add_output, guard, publish
from audit.errors import InputError, UsageError
from audit.safetext import inert, visible

if TYPE_CHECKING:
    from audit.stats import Components

TASK_FACTORS = (1, 2, 5, 10)

EXAMPLES = (
    "audit plan results.json --effect 0.05",
    "audit plan --tasks 200 --samples 4 --seed-sd 0.02 --effect 0.03",
    "audit plan results.json --plot power.svg --usd-per-run 12",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit plan``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument("results", nargs="?", metavar="FILE", help="take the variances from here")
    parser.add_argument("--effect", type=float, default=0.03, help="difference to see (0.03)")
    parser.add_argument("--tasks", type=int, help="tasks of the benchmark (the file's, else 120)")
    parser.add_argument("--samples", type=int, help="answers per task (the file's, else 4)")
    parser.add_argument("--level", type=float, default=0.95, help="confidence level (0.95)")
    parser.add_argument("--seed-sd", type=float, help="sd between training runs (the file's)")
    parser.add_argument(
        "--seed-task-sd", type=float, help="sd of seed times task (the file's, else 0.065)"
    )
    parser.add_argument(
        "--answer-variance",
        type=float,
        help="mean p(1 - p) of an answer (the file's, else 0.145)",
    )
    parser.add_argument(
        "--task-effect-sd",
        type=float,
        help="sd over tasks of the true difference (the file's, else 0.085)",
    )
    parser.add_argument("--usd-per-run", type=float, help="price of one training run")
    parser.add_argument(
        "--usd-per-task", type=float, help="price of evaluating one run on one task"
    )
    parser.add_argument("--plot", metavar="FILE", help="write the power curves, .svg or .png")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    add_output(parser)


def main(options: argparse.Namespace) -> int:
    """Run ``audit plan``; 0 unless it cannot run."""
    for path in (options.output, options.plot):
        guard(path, (options.results,), force=options.force)
    plan = plan_of(options)
    if options.plot is not None:
        from audit.cli.power_plot import write_plot

        write_plot(plan, options.plot)
    if options.format == "json":
        text = json_text(_document(plan))
    else:
        table = markdown_table if options.format == "markdown" else text_table
        text = inert("\n".join(_lines(plan, table)) + "\n")
    publish(text, options.output)
    return 0


def plan_of(options: argparse.Namespace) -> Plan:
    """Return the plan that the options and the file describe.

    Raises
    ------
    UsageError
        When a number makes no sense, or no seed spread is given.
    InputError
        When the file has no comparison with two runs per arm.
    """
    from audit.stats import Components

    _check(options)
    tasks, samples = 120, 4
    source = "given"
    if options.results is not None:
        components, tasks, samples = _from_file(options.results)
        source = options.results
    elif options.seed_sd is None:
        raise UsageError("give --seed-sd, or a results file to take it from")
    else:
        components = Components(0.0, 0.0, 0.065, 0.145, 0.085)
    given = {
        "seed_sd_control": options.seed_sd,
        "seed_sd_treatment": options.seed_sd,
        "seed_task_sd": options.seed_task_sd,
        "sampling_variance": options.answer_variance,
        "task_effect_sd": options.task_effect_sd,
    }
    return Plan(
        components=replace(components, **{k: v for k, v in given.items() if v is not None}),
        tasks=tasks if options.tasks is None else options.tasks,
        samples=samples if options.samples is None else options.samples,
        effect=options.effect,
        level=options.level,
        usd_per_run=options.usd_per_run,
        usd_per_task=options.usd_per_task,
        source=source,
    )


def _check(options: argparse.Namespace) -> None:
    if not 0 < options.effect <= 1:
        raise UsageError(f"--effect must lie above 0 and up to 1, not {options.effect}")
    if not 0.5 <= options.level < 1:
        raise UsageError(f"--level must lie from 0.5 to below 1, not {options.level}")
    for name, least in (("tasks", 2), ("samples", 1)):
        value = getattr(options, name)
        if value is not None and not least <= value <= 10**7:
            raise UsageError(f"--{name} must lie from {least} to 10000000, not {value}")
    most = {"seed_sd": 1.0, "seed_task_sd": 1.0, "answer_variance": 0.25, "task_effect_sd": 1.0}
    for name, limit in (*most.items(), ("usd_per_run", 1e9), ("usd_per_task", 1e9)):
        value = getattr(options, name)
        if value is not None and not 0 <= value <= limit:
            shown = name.replace("_", "-")
            raise UsageError(f"--{shown} must lie from 0 to {limit:g}, not {value}")


def _from_file(path: str) -> tuple[Components, int, int]:
    from audit.analysis import analyse
    from audit.analysis.design import Design
    from audit.results import load
    from audit.views.comparison_view import ComparisonView

    results = load(path)
    reason = "no two arms with training runs"
    for comparison in analyse(results).comparisons:
        design = comparison.design
        if not isinstance(design, Design):
            reason = f"{ComparisonView(comparison).title}: {design.reason}"
        else:
            pooled = design.spread.sd
            components = replace(
                design.components, seed_sd_control=pooled, seed_sd_treatment=pooled
            )
            return components, design.tasks, design.samples
    raise InputError(f"no variances can be taken from this file; {reason}", path=results.name)


def _lines(plan: Plan, table: Any) -> Iterator[str]:
    c = plan.components
    yield visible(
        f"variances from {plan.source}" if plan.source != "given" else "variances as given"
    )
    yield (
        f"training sd {_shown(c.seed_sd_treatment)}, seed x task sd {_shown(c.seed_task_sd)}, "
        f"answer variance {_shown(c.sampling_variance)}, task effect sd {_shown(c.task_effect_sd)}"
    )
    answers = numerals.counted(plan.samples, "answer")
    yield f"{plan.tasks} tasks, {answers} per task, level {plan.level:g}"
    yield ""
    yield f"Smallest effect seen at 80% power, and the power for {numerals.signed(plan.effect)}:"
    yield ""
    many = plan.tasks * TASK_FACTORS[-1]
    heading = ("seeds per arm", f"{plan.tasks} tasks", f"{many} tasks", "power", *_usd(plan))
    rows = [
        (
            str(seeds),
            _shown(plan.smallest(seeds, plan.tasks)),
            _shown(plan.smallest(seeds, many)),
            numerals.fraction(plan.power(plan.effect, seeds)),
            *_price(plan, seeds, plan.tasks),
        )
        for seeds in SEEDS_SHOWN
    ]
    yield from table(heading, rows)
    yield ""
    yield f"To see {numerals.signed(plan.effect)} at 80% power:"
    yield ""
    yield from table(("tasks", "seeds per arm", *_usd(plan)), _needs(plan))
    yield ""
    yield from _other_ways(plan)


def _shown(value: float | None) -> str:
    return "none" if value is None else numerals.fraction(value, 3)


def _usd(plan: Plan) -> tuple[str, ...]:
    return () if plan.cost(1, 1) is None else ("US dollars",)


def _price(plan: Plan, seeds: int | None, tasks: int) -> tuple[str, ...]:
    if plan.cost(1, 1) is None:
        return ()
    cost = None if seeds is None else plan.cost(seeds, tasks)
    return ("-" if cost is None else f"{cost:,.2f}",)


def _needs(plan: Plan) -> list[tuple[str, ...]]:
    rows = []
    for factor in TASK_FACTORS:
        tasks = plan.tasks * factor
        seeds = plan.seeds_for(tasks)
        shown = "more than 1000" if seeds is None else str(seeds)
        rows.append((str(tasks), shown, *_price(plan, seeds, tasks)))
    return rows


def _other_ways(plan: Plan) -> Iterator[str]:
    from audit.stats import samples_needed, tasks_needed

    for seeds in (3, 5, 10):
        terms: dict[str, Any] = {
            "components": plan.components,
            "seeds": seeds,
            "target_power": POWER,
            "level": plan.level,
        }
        tasks = tasks_needed(plan.effect, samples=plan.samples, **terms)
        answers = samples_needed(plan.effect, tasks=plan.tasks, **terms)
        ways = []
        if tasks is not None:  # fewer get no verdict, whatever their power
            ways.append(numerals.counted(max(tasks, FEWEST_TASKS), "task"))
        if answers is not None:
            ways.append(f"{numerals.counted(answers, 'answer')} per task at {plan.tasks} tasks")
        never = "no number of tasks, nor of answers per task, is enough"
        yield f"with {seeds} seeds per arm: {', or '.join(ways) or never}"


def _document(plan: Plan) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "source": plan.source,
        "components": asdict(plan.components),
        "tasks": plan.tasks,
        "samples": plan.samples,
        "level": plan.level,
        "effect": plan.effect,
        "designs": [
            {
                "seeds": seeds,
                "tasks": tasks,
                "smallest_effect": plan.smallest(seeds, tasks),
                "usd": plan.cost(seeds, tasks),
            }
            for tasks in (plan.tasks, plan.tasks * TASK_FACTORS[-1])
            for seeds in SEEDS_SHOWN
        ],
        "power": {str(seeds): plan.power(plan.effect, seeds) for seeds in SEEDS_SHOWN},
        "needed": [
            {"tasks": plan.tasks * factor, "seeds": plan.seeds_for(plan.tasks * factor)}
            for factor in TASK_FACTORS
        ],
    }
