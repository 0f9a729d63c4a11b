"""BASE: the evaluations of the untrained model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from audit.finding import ERROR, WARNING
from audit.pointer import join
from audit.results import Results
from audit.rules.agreement import block_agreement, same_key
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule

Block = tuple[str, Mapping[str, Any]]


def _repeats(results: Results) -> list[Block]:
    """Return the evaluations that serve as the base's: its own, else those of the top arm."""
    entries = results.items("base_evaluations")
    if entries:
        return [(join("/base_evaluations", i), _figures(e)) for i, e in enumerate(entries)]
    runs = results.arms[0].runs if results.arms else ()
    return [(join(run.pointer, "baseline"), run.baseline) for run in runs if run.baseline]


def _figures(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an entry without its label and without the settings, which may differ in the seed."""
    kept = {key: value for key, value in entry.items() if key != "run"}
    if "evaluation" in kept:
        kept["evaluation"] = {k: v for k, v in kept["evaluation"].items() if k != "condition"}
    return kept


@rule("BASE001", "deterministic-baseline", WARNING, each=Case)
def deterministic_baseline(case: Case) -> Iterator[CheckResult]:
    """The evaluations of the base are identical, so their spread of zero is no noise floor.

    Why
        Greedy decoding, or one evaluation recorded several times, always gives the same result. A
        spread of zero then says nothing about chance: any difference would exceed it.
    Fix
        Sample with a temperature and a new seed each time, or take the floor from the number of
        tasks.
    Bad
        three evaluations with 4 of 8 right and 2619 tokens each, "std": 0.0
    Good
        three evaluations with 0.505, 0.521 and 0.510
    """
    blocks = _repeats(case.results)
    if len(blocks) < 2:
        yield Unchecked("the base was not evaluated twice")
    elif len({same_key(block) for _, block in blocks}) > 1:
        yield Passed()
    else:
        message = f"{len(blocks)} identical evaluations of the base{_detail(blocks[0][1])}"
        yield Failed(blocks[0][0], f"{message}: their spread of zero is no noise floor")


def _detail(block: Mapping[str, Any]) -> str:
    parts = []
    if "accuracy" in block:
        parts.append(f"accuracy {block['accuracy']!r}")
    if "generated_tokens" in block:
        parts.append(f"{block['generated_tokens']} tokens each")
    return f" ({', '.join(parts)})" if parts else ""


@rule("BASE002", "baseline-mismatch", ERROR, each=Case)
def baseline_mismatch(case: Case) -> Iterator[CheckResult]:
    """One evaluation of the base differs although all others are identical to the token.

    Why
        The others show that the evaluation is exactly repeatable; this one used another model or
        other settings, or was edited.
    Fix
        Evaluate the base again in that run, or find out what was different.
    Bad
        2619 tokens in five runs, 2620 in the sixth
    Good
        2619 tokens in all six
    """
    blocks = [(join(r.pointer, "baseline"), r) for r in case.results.runs if r.baseline]
    counted = all("generated_tokens" in run.baseline for _, run in blocks)
    by_seed: dict[int, list[Block]] = {}
    for pointer, run in blocks:
        if run.seed is not None:
            by_seed.setdefault(run.seed, []).append((pointer, run.baseline))
    every = [(pointer, run.baseline) for pointer, run in blocks]
    shared = [group for group in by_seed.values() if len(group) > 1]
    if len(every) < 2 or not counted:
        yield Unchecked("no two runs evaluated the base and counted the tokens")
    elif _mostly_one([every]):
        yield from block_agreement(every, "of the base,")
    elif _mostly_one(shared):
        for group in shared:
            yield from block_agreement(group, "of the base at one seed,")
    else:
        yield Unchecked("the evaluations of the base vary from run to run")


def _mostly_one(groups: list[list[Block]]) -> bool:
    """Whether over half of the blocks are the usual one of their group."""
    kinds = [Counter(same_key(block) for _, block in group) for group in groups]
    usual = sum(max(kind.values()) for kind in kinds if max(kind.values()) > 1)
    return 2 * usual > sum(len(group) for group in groups)
