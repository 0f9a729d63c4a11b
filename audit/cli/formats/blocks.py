"""Claims and comparisons as blocks of text for a terminal and a comment."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from audit import numerals
from audit.analysis.claiming import ClaimResult
from audit.analysis.comparisons import Comparison
from audit.analysis.floors import Floor
from audit.analysis.rounds import RoundPair
from audit.claims import BASE
from audit.safetext import visible
from audit.views.claim_view import ClaimView, claim_view, unclaimed_view
from audit.views.comparison_view import ComparisonView

if TYPE_CHECKING:
    from audit.analysis import Analysis

_LABEL = 18
_LEFT = 28
_NEXT = 7
_NARROWEST = 30  # of a column of text
_COMMAND = ": audit "
# Comparisons, claims and pairs of rounds shown; the findings name every refused claim.
_SHOWN = 20
_NO_BREAK = "\N{NO-BREAK SPACE}"
_TIED = re.compile(r"p [=<] [\d.]+|\[[-+\d., ]+\]|\d v \d+")


def verdict_lines(analysis: Analysis, width: int) -> list[str]:
    """Return the lines about every claim, comparison and repeated round.

    Comparisons with the base that have no verdict and are not claimed are left out: they are in
    the JSON report.

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
    for comparison in shown[:_SHOWN]:
        lines += ["", *_about(comparison, about.get(id(comparison), []), width)]
    lines += _more(len(shown) - _SHOWN + analysis.left_out, "comparison")
    lost = about.get(id(None), [])
    for result in lost[:_SHOWN]:
        lines += ["", *block(claim_view(result), width)]
    lines += _more(len(lost) - _SHOWN, "claim")
    for pair in analysis.rounds[:_SHOWN]:
        lines += ["", *_rounds(pair, analysis, width)]
    lines += _more(len(analysis.rounds) - _SHOWN, "pair of rounds", "pairs of rounds")
    return lines[1:]


def block(view: ClaimView, width: int, study: str = "") -> list[str]:
    """Return one claim or unclaimed comparison: its word, its figures, what weakens it, what next.

    ``study`` is put before the claim where several studies are told of.
    """
    named = f"{study}: {view.sentence}" if study else view.sentence
    lines = list(_head(view.result.upper(), named, view.label if view.claimed else "", width))
    beside = view.size if view.claimed else view.verdict
    lines += _indented(_beside(view.estimate, beside, width - 2))
    if not view.claimed:
        lines += _indented(_wrapped(view.size, width - 2))
    if view.claimed and view.judged_by:
        lines += _indented(_wrapped(f"{view.verdict}; {view.judged_by}", width - 2))
    elif view.judged_by:
        lines += _indented(_wrapped(view.judged_by, width - 2))
    lines += _indented(_wrapped(view.look, width - 2))
    if view.weakened_by:
        lines.append("  weakened by")
        longest = max(len(one.slug) for one in view.weakened_by) + 2
        for one in view.weakened_by:
            lines += _labelled(f"    {one.slug}", one.text, width, longest + 4)
    lines += _indented(_wrapped(view.why, width - 2))
    label = "  next"
    for act in view.next:
        words, _, command = act.partition(_COMMAND)
        lines += _labelled(label, words + (":" if command else ""), width, _NEXT + 2)
        if command:  # on a line of its own, to be copied
            lines.append(visible(" " * (_NEXT + 2) + _COMMAND.lstrip(": ") + command))
        label = ""
    return lines


def _head(word: str, what: str, label: str, width: int) -> Iterator[str]:
    """Yield ``REFUSED  claim      one-seed``, the label at the right where it fits."""
    line = visible(f"{word}  {what}")
    if not label:
        yield from _hanging(line, width, len(word) + 2)
    elif len(line) + 2 + len(label) <= width:
        yield f"{line}{label:>{width - len(line)}}"
    else:
        yield from _hanging(line, width, len(word) + 2)
        yield f"{label:>{width}}"


def _hanging(line: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        visible(line),
        max(width, _NARROWEST),
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _beside(left: str, right: str, width: int) -> list[str]:
    """Return two texts on one line where they fit, else on lines of their own."""
    line = "   ".join(part for part in (left, right) if part)
    if len(line) <= width:
        return [line] if line else []
    return [*_wrapped(left, width), *_wrapped(right, width)]


def _about(comparison: Comparison, claims: list[ClaimResult], width: int) -> Iterator[str]:
    """Yield the claims about one comparison, then all figures behind them."""
    for claim in claims:
        yield from block(claim_view(claim), width)
    if not claims:
        yield from block(unclaimed_view(comparison), width)
    yield from _indented(_figures(ComparisonView(comparison), width - 2))


def _figures(view: ComparisonView, width: int) -> Iterator[str]:
    for label, text in (
        ("per seed", view.per_seed),
        ("left out", view.left_out),
        ("paired by seed", view.paired),
        ("missing", view.missing),
        ("errored answers", view.errored),
        ("read otherwise", view.other_readings),
    ):
        yield from _labelled(label, text, width)
    floor = ("evaluation floor", view.floor)
    if not view.training_sd:
        yield from _columns(("these runs", view.one_seed), floor, width)
        return
    yield from _columns(("training sd", view.training_sd), floor, width)
    yield from _labelled("among published", view.published_place, width)
    goal = (f"to see {view.goal}", view.needs)
    yield from _columns(("this design sees", view.sees), goal if view.needs else ("", ""), width)
    if view.needs_for_seen:
        text = f"{view.needs_for_seen}, if the true difference is the one seen"
        yield from _labelled(f"to see {view.delta}", text, width)
    yield from _labelled("collapse", view.collapse, width)


def _rounds(pair: RoundPair, analysis: Analysis, width: int) -> Iterator[str]:
    found = pair.replication
    z = "" if found.z is None else f"|z| = {numerals.fraction(abs(found.z), 2)}, "
    word = "conflict" if pair.conflict else "agree"
    deltas = " and ".join(numerals.signed(delta) for delta in pair.deltas)
    yield f"rounds {pair.original} and {pair.repeat}, one experiment: {deltas}"
    yield f"  {z}{numerals.p_equals(found.p_value)}   {word}"
    low, high = found.per_arm_interval
    around = numerals.interval(low, high, 3)
    text = f"{numerals.fraction(found.per_arm_sd, 3)} {around} per arm, if they differ by it"
    yield from _indented(_labelled("training sd", text, width - 2))
    floors = swing_in_floors(pair, analysis)
    if floors is not None:
        swing = numerals.fraction(pair.swing, 3)
        text = f"{swing}, {numerals.times(floors)} times the evaluation floor as printed"
        yield from _indented(_labelled("swing", text, width - 2))


def swing_in_floors(pair: RoundPair, analysis: Analysis) -> float | None:
    """Return how many noise floors, in the form often printed, two rounds lie apart."""
    for _, floor in analysis.floors:
        if isinstance(floor, Floor) and floor.noise.printed:
            return pair.swing / (floor.noise.printed * floor.span)
    return None


def _more(number: int, noun: str, plural: str = "") -> list[str]:
    """Return the line that counts what is not shown; none where all is."""
    if number <= 0:
        return []
    return ["", f"and {number} more {noun if number == 1 else plural or noun + 's'}"]


def _wrapped(text: str, room: int) -> list[str]:
    """Wrap a text, a p-value and an interval never in their middle."""
    tied = _TIED.sub(lambda match: match[0].replace(" ", _NO_BREAK), visible(text))
    room = max(room, _NARROWEST)
    lines = textwrap.wrap(tied, room, break_on_hyphens=False, break_long_words=False)
    return [line.replace(_NO_BREAK, " ") for line in lines]


def _labelled(label: str, text: str, width: int, indent: int = _LABEL) -> list[str]:
    if width - indent < _NARROWEST and label:  # the text goes below its label
        inner = len(label) - len(label.lstrip()) + 2
        return [label, *(" " * inner + line for line in _wrapped(text, width - inner))] * bool(text)
    lines = _wrapped(text, width - indent)
    return [f"{label if n == 0 else '':<{indent}}{line}" for n, line in enumerate(lines)]


def _columns(left: tuple[str, str], right: tuple[str, str], width: int) -> Sequence[str]:
    """Return two labelled texts side by side where they fit, else below each other."""
    first = f"{left[0]:<{_LABEL}}{left[1]:<{_LEFT}}"
    second = f"{right[0]:<{_LABEL + 1}}{right[1]}".rstrip()
    if left[1] and right[1] and len(left[1]) < _LEFT and len(first) + len(second) <= width:
        return [(first + second).rstrip()]
    return [*_labelled(*left, width), *_labelled(*right, width)]


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
