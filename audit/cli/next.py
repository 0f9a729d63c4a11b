"""``audit next``: stop, or train on? What the next seeds can settle, on one screen."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit import numerals
from audit.cli.effect_option import effect_of
from audit.cli.examples import add_examples
from audit.cli.looked_option import add_looked, looked_of
from audit.cli.output import add_output, guard, publish
from audit.cli.terminal import width_of
from audit.errors import UsageError, did_you_mean
from audit.safetext import inert, visible

if TYPE_CHECKING:
    from audit.analysis.advice import Advice, MoreRuns
    from audit.analysis.claiming import ClaimResult
    from audit.analysis.study import SpentLook
    from audit.claims import Claim
    from audit.results import Results

EXAMPLES = (
    "audit next results.json",
    "audit next results.json --claim 'gain accuracy method over control' --looked 3",
    "audit next results.json --format json",
)
_LABEL = 12
# Reasons to train on that the interval beside them shows.
_PLAIN = frozenset({"interval-reaches-zero", "not-equivalent", "before-first-look"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit next``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument("results", metavar="RESULTS", help="results file, or - for stdin")
    parser.add_argument(
        "--claim",
        action="append",
        default=[],
        metavar="TEXT",
        help='claim to advise on, e.g. "gain accuracy method over control"',
    )
    add_looked(parser)
    parser.add_argument("--metric", help="only claims about this metric")
    parser.add_argument("--benchmark", help="only claims about this benchmark")
    parser.add_argument(
        "--effect",
        metavar="SIZE",
        help="effect that matters, in the metric's units or as 2%% of its scale (the plan's "
        "target)",
    )
    parser.add_argument("--level", type=float, help="confidence level, where above the policy's")
    parser.add_argument("--policy", metavar="FILE", help="policy file (else the nearest one found)")
    parser.add_argument("--format", choices=("text", "json", "github"), default="text")
    add_output(parser)


def main(options: argparse.Namespace) -> int:
    """Run ``audit next``; 0 where there is advice on every claim, 1 where there is not."""
    guard(options.output, (options.results, options.policy), force=options.force)
    advice = _advice(options)
    publish(_written(advice, options), options.output)
    return int(any(one.word is None for one in advice))


def _advice(options: argparse.Namespace) -> tuple[Advice, ...]:
    from audit.analysis.advice import advise
    from audit.policy import find_policy
    from audit.results import load

    if options.level is not None and not 0.5 <= options.level < 1:
        raise UsageError(f"--level must lie from 0.5 to below 1, not {options.level}")
    effect = None if options.effect is None else effect_of(options.effect)
    results = load(options.results)
    policy = find_policy(Path.cwd(), options.policy).for_path(results.name)
    policy = replace(policy, level=max(policy.level, options.level or 0.0))
    every = advise(
        results,
        policy=policy,
        claims=_claims(options.claim),
        looked=looked_of(options),
        effect=None if effect is None else effect.on,
        unrecorded=lambda claims: _unrecorded(options.results, results, claims),
    )
    if not every:
        raise UsageError(
            "there is no claim to advise on: --claim 'gain METRIC ARM over ARM', or a claim in "
            "the file",
            path=results.name,
        )
    advice = tuple(
        one
        for one in every
        if options.metric in (None, one.result.claim.metric)
        and options.benchmark in (None, *_benchmarks(one))
    )
    if not advice:
        raise _no_such_claim(every, options)
    return advice


def _unrecorded(
    path: str, results: Results, claims: Sequence[ClaimResult]
) -> tuple[SpentLook, ...]:
    """Return the looks that only earlier versions of the file show, as the gate sees them."""
    from audit.fleet.earlier_looks import unrecorded_looks

    unrecorded = unrecorded_looks(path, results, claims)
    if unrecorded.missing:
        from audit.cli.judging_options import report_not_searched

        report_not_searched({unrecorded.missing: [results.name]})
    return unrecorded.looks


def _benchmarks(advice: Advice) -> tuple[str | None, ...]:
    found = advice.result.comparison
    return advice.result.claim.benchmark, None if found is None else found.benchmark


def _no_such_claim(every: Sequence[Advice], options: argparse.Namespace) -> UsageError:
    metrics = [one.result.claim.metric for one in every]
    benchmarks = [name for one in every for name in _benchmarks(one) if name]
    wrong, known = (
        (options.metric, metrics)
        if options.metric is not None and options.metric not in metrics
        else (options.benchmark, benchmarks)
    )
    shown = ", ".join(dict.fromkeys(known))
    return UsageError(
        f"no claim is about {wrong}; the claims are about {shown}{did_you_mean(wrong, known)}",
        path=options.results,
    )


def _claims(texts: Sequence[str]) -> tuple[Claim, ...]:
    from audit.claims import parse_claim

    return tuple(parse_claim(text) for text in texts)


def _written(advice: Sequence[Advice], options: argparse.Namespace) -> str:
    if options.format == "json":
        from audit.cli.formats.json_text import json_text

        return json_text(_document(advice, options))
    if options.format == "github":
        return "".join(f"{line}\n" for line in _annotations(advice))
    blocks = ["\n".join(map(visible, _lines(one))) for one in advice]
    return inert("\n\n".join(blocks) + "\n")


def _lines(advice: Advice) -> Iterator[str]:
    from audit.views.claim_view import claim_view

    view = claim_view(advice.result)
    yield from _fold(f"{_headline(advice)}  {view.sentence}{_look(advice)}", "  ")
    if view.estimate:
        yield f"  {view.estimate}   {_judged(advice)}"
    for label, text in _facts(advice):
        yield from _fold(f"  {label:<{_LABEL}}{text}", " " * (_LABEL + 2))


def _fold(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        width_of(),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _headline(advice: Advice) -> str:
    heads = {
        "train-on": "TRAIN ON",
        "supported": "STOP, supported",
        "futile": "STOP, futile",
        "at-maximum": "STOP, at maximum",
        None: "NO ADVICE",
    }
    return heads[advice.word]


def _look(advice: Advice) -> str:
    look = advice.result.look
    if look is None or look.plan is None:
        return ""
    planned = f"{look.first}..{look.maximum}"
    return f": before look {planned}" if look.seeds is None else f": look {look.seeds} of {planned}"


def _judged(advice: Advice) -> str:
    """Return p, what it needs, and the verdict's second word."""
    result = advice.result
    parts = []
    if advice.p_value is not None:
        parts.append(numerals.p_equals(advice.p_value))
        if advice.needs is not None:
            parts.append(f"needs {numerals.p_value(advice.needs)}")
    word = result.verdict.detail or result.verdict.word
    judged = ", ".join(parts)
    return "; ".join(part for part in (judged, word) if part)


def _facts(advice: Advice) -> Iterator[tuple[str, str]]:
    result = advice.result
    if advice.word == "train-on":
        if result.slug not in _PLAIN:
            yield "because", result.reason
        yield "next look", _next_look(advice)
        chances = _chances(advice)
        if chances:
            yield "chances", chances
        if result.look is None or result.look.plan is None:
            yield from (("next", act) for act in result.next)
        return
    if advice.word == "supported":
        yield "next", "stop: more runs are not needed for this claim"
        return
    yield "because", result.reason
    if advice.word == "futile" and advice.futile_below is not None and advice.delta is not None:
        yield "futile", f"{numerals.signed(advice.delta)} is {_below(advice)}; stopping is advice"
        return
    if advice.word == "at-maximum" and result.look is not None and result.look.plan is not None:
        yield "plan", f"ends at {result.look.maximum} runs per arm"
    yield from (("next", act) for act in result.next)


def _below(advice: Advice) -> str:
    return f"below {numerals.signed(advice.futile_below)}"


def _next_look(advice: Advice) -> str:
    text = f"{advice.next_seeds}: {_runs(advice.more)}"
    cost = _cost(advice.more)
    return f"{text}; {cost}" if cost else text


def _runs(more: Sequence[MoreRuns]) -> str:
    if not more:
        return "no more runs are needed"
    if len(more) == 2 and (more[0].runs, more[0].seeds) == (more[1].runs, more[1].seeds):
        return f"{_counted(more[0].runs)} per arm{_seeds(more[0])}"
    return "; ".join(f"{_counted(arm.runs)} of {arm.arm}{_seeds(arm)}" for arm in more)


def _counted(runs: int) -> str:
    return "one more run" if runs == 1 else f"{numerals.spelled(runs)} more runs"


def _seeds(more: MoreRuns) -> str:
    seeds = more.seeds
    if not seeds:
        return ""
    if len(seeds) > 3 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f", seeds {seeds[0]} to {seeds[-1]}"
    return f", seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _cost(more: Sequence[MoreRuns]) -> str:
    """Return what the runs cost at the study's own cost per run; empty where it has none."""
    parts = []
    usd, minutes = ([getattr(arm, key) for arm in more] for key in ("usd", "minutes"))
    if usd and None not in usd:
        parts.append(f"{numerals.fraction(sum(usd))} usd")
    if minutes and None not in minutes:
        parts.append(_duration(sum(minutes)))
    return ", ".join(parts)


def _duration(minutes: float) -> str:
    if minutes < 120:
        return f"{numerals.fraction(minutes, 0)} min"
    return f"{numerals.fraction(minutes / 60, 1)} h"


def _chances(advice: Advice) -> str:
    look = advice.result.look
    if advice.chance_next is None or advice.chance_end is None or look is None:
        return ""
    text = f"{numerals.percent(advice.chance_next)} at {_at(advice)}"
    if look.maximum is not None:
        text += f", {numerals.percent(advice.chance_end)} by look {look.maximum}"
    text += f", if {_supposed(advice)}"
    return text if advice.futile_below is None else f"{text}; futile {_below(advice)}"


def _at(advice: Advice) -> str:
    look = advice.result.look
    planned = look is not None and look.plan is not None
    return f"look {advice.next_seeds}" if planned else f"{advice.next_seeds} runs per arm"


def _supposed(advice: Advice) -> str:
    if not advice.effect:
        return "there is no difference"
    return f"the true difference is {numerals.signed(advice.effect)}"


def _annotations(advice: Sequence[Advice]) -> Iterator[str]:
    from audit.cli.formats.github import Annotation

    for one in advice:
        title, *rest = (visible(line.strip()) for line in _lines(one))
        yield str(Annotation("notice" if one.word else "warning", title, "\n".join(rest)))


def _document(advice: Sequence[Advice], options: argparse.Namespace) -> dict[str, Any]:
    from audit.analysis.advice import overall

    return {
        "results": options.results,
        "advice": overall(advice),
        "claims": [_claim(one) for one in advice],
    }


def _claim(advice: Advice) -> dict[str, Any]:
    from dataclasses import asdict

    result, look = advice.result, advice.result.look
    return {
        "id": result.claim.id,
        "claim": result.claim.text,
        "advice": advice.word,
        "supported": result.supported,
        "slug": result.slug,
        "reason": result.reason,
        "delta": None if result.comparison is None else result.comparison.delta,
        "p_value": advice.p_value,
        "needs": advice.needs,
        "look": None
        if look is None
        else {
            "kind": look.kind,
            "seeds": look.seeds,
            "first": look.first,
            "maximum": look.maximum,
            "threshold": look.threshold,
        },
        "next_seeds": advice.next_seeds,
        "more_runs": [asdict(arm) for arm in advice.more],
        "effect": advice.effect,
        "chance_next_look": advice.chance_next,
        "chance_by_maximum": advice.chance_end,
        "futile_below": advice.futile_below,
        "next": list(result.next),
    }
