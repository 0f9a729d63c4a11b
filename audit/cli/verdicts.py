"""The block about each comparison in the text report: delta, verdict, seeds, floor, design."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from audit.analysis.claiming import ClaimResult, needed_text
from audit.analysis.comparisons import Comparison
from audit.analysis.design import Design
from audit.analysis.floors import Floor
from audit.analysis.rounds import RoundPair
from audit.claims import BASE
from audit.cli.figures import between, bracketed, ends, p_text, plain, signed

if TYPE_CHECKING:
    from audit.analysis import Analysis

_LABEL = 18
_LEFT = 30
_SEEDS_SHOWN = 20


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
    for comparison in analysis.comparisons:
        claims = [c for c in analysis.claims if c.comparison is comparison]
        if comparison.against == BASE and comparison.verdict.refused and not claims:
            continue
        lines += ["", *_block(comparison, claims, width)]
    lost = [claim for claim in analysis.claims if claim.comparison is None]
    if lost:
        lines += ["", *(line for claim in lost for line in _claim(claim, width))]
    for pair in analysis.rounds:
        lines += ["", *_rounds(pair, analysis, width)]
    return lines[1:]


def _block(comparison: Comparison, claims: list[ClaimResult], width: int) -> Iterator[str]:
    where = f" on {comparison.benchmark}" if comparison.benchmark else ""
    yield f"{comparison.arm} over {comparison.against}, {comparison.metric}{where}"
    yield from _indented(_body(comparison, claims, width - 2))


def _body(comparison: Comparison, claims: list[ClaimResult], width: int) -> Iterator[str]:
    yield headline(comparison)
    if comparison.verdict.line:
        yield from _labelled("because", comparison.verdict.line, width)
    yield from _labelled("per seed", per_seed(comparison), width)
    paired = comparison.description.paired_t
    if comparison.kind == "scores" and paired is not None and not comparison.verdict.refused:
        around = ends(paired.low, paired.high)
        text = f"{signed(paired.mean)} {around} by Student's t; shown, not judged by"
        yield from _labelled("paired by seed", text, width)
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


def per_seed(comparison: Comparison) -> str:
    """Return the difference at every seed, or both arms' scores where seeds are not shared."""
    found = comparison.description
    if found.pairs and not found.unpaired:
        shown = [f"{pair.seed} {signed(pair.delta)}" for pair in found.pairs]
        return "    ".join(_capped(shown))
    arms = []
    for arm, runs in found.scores.items():
        scores = _capped([f"{run.run} {plain(run.score)}" for run in runs])
        arms.append(f"{arm}: " + ("  ".join(scores) or "no score"))
    return ";   ".join(arms)


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
