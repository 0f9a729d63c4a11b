"""The block about each comparison in the text report: delta, verdict, seeds, floor, design."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from audit.analysis.claiming import ClaimResult, needed_text
from audit.analysis.comparisons import Comparison
from audit.analysis.design import Design
from audit.analysis.floors import Floor
from audit.analysis.numbers import Interval
from audit.analysis.rounds import RoundPair
from audit.claims import BASE
from audit.cli.figures import between, bracketed, ends, p_text, plain, signed
from audit.cli.formats.groups import count

if TYPE_CHECKING:
    from audit.analysis import Analysis

_LABEL = 18
_LEFT = 30
_SEEDS_SHOWN = 20
# Comparisons, claims and pairs of rounds shown; the findings name every refused claim.
_BLOCKS_SHOWN = 20


def verdict_lines(analysis: Analysis, width: int) -> list[str]:
    """Return the lines about every comparison, claim and repeated round.

    Comparisons with the base that are refused and not claimed are left out: they are in the JSON
    report.

    Parameters
    ----------
    analysis : Analysis
    width : int
        Columns that fit beside each other.
    """
    lines: list[str] = []
    about: dict[int, list[ClaimResult]] = {}
    for claim in analysis.claims:
        about.setdefault(id(claim.comparison), []).append(claim)
    shown = [
        comparison
        for comparison in analysis.comparisons
        if id(comparison) in about
        or not (comparison.against == BASE and comparison.verdict.refused)
    ]
    for comparison in shown[:_BLOCKS_SHOWN]:
        lines += ["", *_block(comparison, about.get(id(comparison), []), width)]
    lines += _more(len(shown) - _BLOCKS_SHOWN + analysis.left_out, "comparison")
    lost = about.get(id(None), [])
    if lost:
        shown_claims = lost[:_BLOCKS_SHOWN]
        lines += ["", *(line for claim in shown_claims for line in _claim(claim, width))]
        lines += _more(len(lost) - _BLOCKS_SHOWN, "claim")
    for pair in analysis.rounds[:_BLOCKS_SHOWN]:
        lines += ["", *_rounds(pair, analysis, width)]
    lines += _more(len(analysis.rounds) - _BLOCKS_SHOWN, "pair of rounds", "pairs of rounds")
    return lines[1:]


def _more(number: int, noun: str, plural: str = "") -> list[str]:
    """Return the line that counts what is not shown; none where all is."""
    if number <= 0:
        return []
    return ["", f"and {number} more {noun if number == 1 else plural or noun + 's'}"]


def _block(comparison: Comparison, claims: list[ClaimResult], width: int) -> Iterator[str]:
    where = f" on {comparison.benchmark}" if comparison.benchmark else ""
    yield f"{comparison.arm} over {comparison.against}, {comparison.metric}{where}"
    yield from _indented(_body(comparison, claims, width - 2))


def _body(comparison: Comparison, claims: list[ClaimResult], width: int) -> Iterator[str]:
    yield headline(comparison)
    if comparison.verdict.line:
        yield from _labelled("because", comparison.verdict.line, width)
    yield from _labelled("judged by", judged_by(comparison), width)
    yield from _labelled("per seed", per_seed(comparison), width)
    yield from _labelled("left out", left_out(comparison), width)
    paired = comparison.description.paired_t
    if comparison.kind == "scores" and paired is not None and not comparison.verdict.refused:
        around = ends(paired.low, paired.high)
        text = f"{signed(paired.mean)} {around} by Student's t; shown, not judged by"
        yield from _labelled("paired by seed", text, width)
    yield from _labelled("missing", missing_text(comparison), width)
    yield from _labelled("errored answers", errored_text(comparison), width)
    for left, right in _facts(comparison):
        yield from _columns(left, right, width)
    for claim in claims:
        yield from _claim(claim, width)


def headline(comparison: Comparison) -> str:
    """Return delta, interval and verdict: ``+0.083 [-0.294, +0.460]   flat: inconclusive``."""
    delta = "" if comparison.delta is None else signed(comparison.delta)
    interval = "" if comparison.verdict.refused else bracketed(comparison.deciding)
    numbers = f"{delta} {interval}".strip()
    return f"{numbers}   {comparison.verdict.text}".strip()


def judged_by(comparison: Comparison) -> str:
    """Return level, target, degrees of freedom and size behind a verdict; empty where refused."""
    shown, standing = comparison.deciding, comparison.standing
    if comparison.verdict.refused or standing is None or not isinstance(shown, Interval):
        return ""
    about = "new tasks" if shown.about == "tasks" else "these tasks alone"
    text = f"{100 * shown.level:.4g}% interval about {about}, df {shown.df or 0:.3g}"
    if shown.p_value is not None:
        text += f", {p_text(shown.p_value)}"
    if shown.about == "tasks":
        text += f"; these tasks alone {bracketed(comparison.interval('benchmark'))}"
    return f"{text}; {_size(comparison, standing.tasks)}"


def _size(comparison: Comparison, tasks: int | None) -> str:
    mine, theirs = comparison.seeds
    other = f"{theirs} evaluations" if comparison.against == BASE else str(theirs)
    size = f"{mine} v {other}, paired by seed" if comparison.paired else f"{mine} v {other}"
    clustered = comparison.aligned is not None and comparison.aligned.clusters is not None
    unit = "answer" if comparison.kind == "scores" else "cluster" if clustered else "task"
    return size if tasks is None else f"{size}, {count(tasks, unit)}"


def left_out(comparison: Comparison) -> str:
    """Return the runs that declared pairing leaves out, and why; empty when none are."""
    alone = comparison.description.unpaired if comparison.paired else ()
    return "; ".join(f"{one.arm} {one.run}: {one.reason}" for one in alone)


def per_seed(comparison: Comparison) -> str:
    """Return the difference at every seed, or both arms' scores where seeds are not shared."""
    found = comparison.description
    if found.pairs and (comparison.paired or not found.unpaired):
        shown = _capped([f"{pair.seed} {signed(pair.delta)}" for pair in found.pairs])
        if found.correlation is not None and len(found.pairs) > 2:
            shown.append(f"(correlation of the arms {signed(found.correlation, 2)})")
        return "    ".join(shown)
    arms = []
    for arm, runs in found.scores.items():
        scores = _capped([f"{run.run} {plain(run.score)}" for run in runs])
        arms.append(f"{arm}: " + ("  ".join(scores) or "no score"))
    return ";   ".join(arms)


def missing_text(comparison: Comparison) -> str:
    """Return which outcomes are missing and what they change; empty when none are."""
    aligned = comparison.aligned
    if aligned is None or not aligned.missing:
        return ""
    first = aligned.missing[0]
    ways = [
        f"{numbers.missing}: {numbers.decision(comparison.settings).word} {signed(numbers.delta)}"
        for numbers in comparison.numbers
    ]
    number = f"{count(len(aligned.missing), 'outcome')} ({aligned.missing_share:.1%})"
    place = f"task {first.task} in {first.arm} {first.run}"
    return f"{number}, the first of {place}; {'; '.join(ways)}"


def errored_text(comparison: Comparison) -> str:
    """Return the difference with errored answers left out; empty when none errored."""
    numbers = comparison.without_errors
    if numbers is None:
        return ""
    word = numbers.decision(comparison.settings).word
    return f"counted as wrong above; left out: {word} {signed(numbers.delta)}"


def _capped(shown: list[str]) -> list[str]:
    if len(shown) <= _SEEDS_SHOWN:
        return shown
    return [*shown[:_SEEDS_SHOWN], f"and {len(shown) - _SEEDS_SHOWN} more"]


def _facts(comparison: Comparison) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    floor = ("evaluation floor", floor_text(comparison))
    design = comparison.design
    if not isinstance(design, Design):
        one = comparison.description.one_seed
        if one is not None:
            yield ("these runs", _one_seed(comparison)), floor
        else:
            yield floor, ("", "")
        return
    span = comparison.measure.span or 1.0
    spread = design.spread
    sd = f"{plain(spread.sd * span)} {between(spread.low * span, spread.high * span)}"
    yield ("training sd", sd), floor
    effect = _effect(comparison)
    needed = needed_text(comparison, effect)
    goal = (f"to see {signed(effect)}", needed) if needed else ("", "")
    yield ("this design sees", _smallest(design, span)), goal


def _effect(comparison: Comparison) -> float:
    declared = comparison.settings.target_effect
    return abs(comparison.delta or 0.0) or declared


def _one_seed(comparison: Comparison) -> str:
    interval = comparison.description.one_seed
    if interval is None:
        return ""
    origin = {"printed": "as printed", "task-t": "over tasks"}[interval.method]
    sd = comparison.description.tipping_sd
    if not sd:
        return f"{bracketed(interval)} {origin}"
    return f"{bracketed(interval)} {origin}; a training sd of {plain(sd)} an arm would erase it"


def _smallest(design: Design, span: float) -> str:
    seen = design.smallest_effect
    if seen is None:
        at_estimate = design.smallest_effect_at_estimate
        if at_estimate is None:
            return "no effect on this scale"
        return f"none ({plain(at_estimate * span)} at the sd seen)"
    return f"{plain(seen * span)} at 80% power"


def floor_text(comparison: Comparison) -> str:
    """Return the noise floor with the form often printed beside it, or why there is none."""
    floor = comparison.floor
    if not isinstance(floor, Floor):
        return f"unknown: {floor.reason}"
    printed = floor.noise.printed
    if floor.value is None or printed is None:
        return floor.text
    return f"{floor.value:.4f} ({printed * floor.span:.4f} with 1.96)"


def _claim(result: ClaimResult, width: int) -> Iterator[str]:
    if result.stands:
        text = f"{result.claim.text}: stands ({p_text(result.holm_p_value)})"
    else:
        text = f"{result.claim.text}: refused, {result.slug}. {result.reason}"
    yield from _labelled("claim", text, width)
    if not result.stands:
        yield from _labelled("would settle it", result.settles, width)


def _rounds(pair: RoundPair, analysis: Analysis, width: int) -> Iterator[str]:
    found = pair.replication
    z = "" if found.z is None else f"|z| = {abs(found.z):.2f}, "
    word = "conflict" if pair.conflict else "agree"
    deltas = " and ".join(signed(delta) for delta in pair.deltas)
    yield f"rounds {pair.original} and {pair.repeat}, one experiment: {deltas}"
    yield f"  {z}{p_text(found.p_value)}   {word}"
    low, high = found.per_arm_interval
    text = (
        f"{plain(found.per_arm_sd)} [{plain(low)}, {plain(high, 2)}] an arm, if they differ by it"
    )
    yield from _indented(_labelled("training sd", text, width - 2))
    floors = swing_in_floors(pair, analysis)
    if floors is not None:
        text = f"{plain(pair.swing)}, {floors:.1f} times the evaluation floor as printed"
        yield from _indented(_labelled("swing", text, width - 2))


def swing_in_floors(pair: RoundPair, analysis: Analysis) -> float | None:
    """Return how many noise floors, in the form often printed, two rounds lie apart."""
    for _, floor in analysis.floors:
        if isinstance(floor, Floor) and floor.noise.printed:
            return pair.swing / (floor.noise.printed * floor.span)
    return None


def _labelled(label: str, text: str, width: int) -> Iterator[str]:
    if not text:
        return
    room = max(width - _LABEL, 30)
    lines = textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False)
    for index, line in enumerate(lines):
        yield f"{label if index == 0 else '':<{_LABEL}}{line}"


def _columns(left: tuple[str, str], right: tuple[str, str], width: int) -> Iterator[str]:
    first = f"{left[0]:<{_LABEL}}{left[1]:<{_LEFT}}"
    second = f"{right[0]:<{_LABEL + 1}}{right[1]}".rstrip()
    if left[1] and len(left[1]) <= _LEFT and len(first) + len(second) <= width:
        yield (first + second).rstrip()
        return
    yield from _labelled(*left, width)
    yield from _labelled(*right, width)


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
