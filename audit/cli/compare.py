"""``audit compare``: whether two runs of one study agree, or the rounds inside one file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit import numerals
from audit.analysis import Interval, analyse
from audit.analysis.comparisons import Comparison
from audit.analysis.rounds import RoundPair, compare_rounds
from audit.claims import BASE
from audit.cli.examples import add_examples
from audit.cli.formats.json_text import json_text
from audit.cli.output import add_output, guard, publish
from audit.errors import InsufficientData, UsageError
from audit.results import Results, load
from audit.safetext import inert, visible
from audit.views.analysis_json import round_json
from audit.views.comparison_view import interval_text

if TYPE_CHECKING:
    from audit.stats import Replication


EXAMPLES = (
    "audit compare first/results.json second/results.json",
    "audit compare results.json",
    "audit compare a.json b.json --metric accuracy --format json",
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two runs of one study side by side.

    ``deltas`` and ``intervals`` are those of the first and the second file; ``correlation`` is
    that of the differences by seed, None below three shared seeds.
    """

    names: tuple[str, str]
    subject: str
    deltas: tuple[float, float]
    intervals: tuple[Interval, Interval]
    replication: Replication
    shared_seeds: int
    correlation: float | None

    @property
    def conflict(self) -> bool:
        """Whether they differ by more than their intervals allow."""
        return self.replication.p_value < 1 - self.replication.level


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit compare``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument("first", metavar="A.json", help="results file")
    parser.add_argument(
        "second", nargs="?", metavar="B.json", help="the same study run again; else rounds of A"
    )
    parser.add_argument("--metric", help="metric to compare by (default: the first both have)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_output(parser)


def main(options: argparse.Namespace) -> int:
    """Run ``audit compare``; 1 when the runs conflict."""
    guard(options.output, (options.first, options.second), force=options.force)
    first = load(options.first)
    if options.second is None:
        pairs = _rounds(first)
        document: Any = {"rounds": [round_json(pair) for pair in pairs]}
        lines = [line for pair in pairs for line in _round_lines(pair)]
        conflict = any(pair.conflict for pair in pairs)
    else:
        agreement = agreement_of(first, load(options.second), options.metric)
        document, lines = _document(agreement), list(_lines(agreement))
        conflict = agreement.conflict
    text = json_text(document) if options.format == "json" else inert("\n".join(lines) + "\n")
    publish(text, options.output)
    return int(conflict)


def _rounds(results: Results) -> tuple[RoundPair, ...]:
    analysis = analyse(results)
    if not analysis.rounds:
        reasons = "; ".join(left.reason for left in analysis.rounds_uncompared)
        what = reasons or "no round says that it repeats another; name a second file"
        raise UsageError(what, path=results.name, pointer="/rounds")
    return analysis.rounds


def agreement_of(first: Results, second: Results, metric: str | None) -> Agreement:
    """Compare the same difference of two files.

    Parameters
    ----------
    first, second : Results
    metric : str, optional
        Name of the metric; else the first that both have.

    Raises
    ------
    UsageError
        The files are the same one, share no comparison, or one has no interval.
    """
    if first.sha256 and first.sha256 == second.sha256:
        raise UsageError("both files are the same, byte for byte; nothing was run again")
    one, other = _shared(first, second, metric)
    intervals = (_interval(one, first), _interval(other, second))
    deltas = (one.delta or 0.0, other.delta or 0.0)
    level = intervals[0].level
    ends = [_ends(d, i, level) for d, i in zip(deltas, intervals, strict=True)]
    try:
        found = compare_rounds(deltas, ends, level)
    except ValueError as error:
        raise UsageError(f"cannot be compared: {error}") from None
    shared, correlation = _by_seed(one, other)
    return Agreement(
        names=(first.name, second.name),
        subject=f"{one.arm} over {one.against}, {one.metric}",
        deltas=deltas,
        intervals=intervals,
        replication=found,
        shared_seeds=shared,
        correlation=correlation,
    )


def _shared(first: Results, second: Results, metric: str | None) -> tuple[Comparison, Comparison]:
    theirs = [c for c in analyse(second).comparisons if metric in (None, c.metric)]
    for own in analyse(first).comparisons:
        if own.against == BASE or metric not in (None, own.metric):
            continue
        for other in theirs:
            if (own.metric, own.benchmark, own.arm, own.against) == (
                other.metric,
                other.benchmark,
                other.arm,
                other.against,
            ):
                return own, other
    names = f"{first.name} and {second.name}"
    raise UsageError(f"{names} share no comparison: metric, benchmark and arms must be the same")


def _interval(comparison: Comparison, results: Results) -> Interval:
    """Return the deciding interval, else that over tasks or as printed."""
    found = comparison.deciding
    interval = found if isinstance(found, Interval) else comparison.description.one_seed
    if interval is None or not interval.se or comparison.delta is None:
        raise UsageError(
            f"no interval for {comparison.arm} over {comparison.against}: "
            f"{comparison.verdict.line or 'no outcomes per task and none printed'}",
            path=results.name,
        )
    return interval


def _ends(delta: float, interval: Interval, level: float) -> tuple[float, float]:
    from audit.stats.quantiles import normal_quantile

    half = normal_quantile(level) * (interval.se or 0.0)
    return delta - half, delta + half


def _by_seed(one: Comparison, other: Comparison) -> tuple[int, float | None]:
    from audit.stats import seed_correlation

    own = {pair.seed: pair.delta for pair in one.description.pairs}
    again = {pair.seed: pair.delta for pair in other.description.pairs}
    shared = sorted(own.keys() & again.keys())
    if len(shared) < 3:
        return len(shared), None
    try:
        found = seed_correlation([own[s] for s in shared], [again[s] for s in shared])
    except InsufficientData:
        found = None
    return len(shared), found


def _lines(found: Agreement) -> Iterator[str]:
    yield visible(found.subject)
    for name, delta, interval in zip(found.names, found.deltas, found.intervals, strict=True):
        around = interval_text(interval)
        yield f"  {numerals.signed(delta)} {around}   {visible(name)} ({interval.method})"
    yield from _verdict_lines(found.replication, found.conflict)
    if found.correlation is not None:
        yield (
            f"  correlation of the differences over {found.shared_seeds} shared seeds "
            f"{numerals.signed(found.correlation, 2)}"
        )
    if any(interval.about == "these-runs" for interval in found.intervals):
        yield "  An interval of one seed per arm leaves the training out; a conflict shows it."


def _verdict_lines(found: Replication, conflict: bool) -> Iterator[str]:
    z = "" if found.z is None else f"|z| = {numerals.fraction(abs(found.z), 2)}, "
    word = "conflict" if conflict else "no conflict"
    q, p = numerals.fraction(found.q, 2), numerals.p_equals(found.p_value)
    yield f"  {z}Q = {q} on {found.df} df, {p}   {word}"
    low, high = found.per_arm_interval
    around = numerals.interval(low, high, 3)
    sd = numerals.fraction(found.per_arm_sd, 3)
    yield f"  training sd per arm that would explain it  {sd} {around}"


def _round_lines(pair: RoundPair) -> Iterator[str]:
    first, second = (numerals.signed(delta) for delta in pair.deltas)
    yield visible(f"rounds {pair.original} and {pair.repeat}: {first} and {second}")
    yield from _verdict_lines(pair.replication, pair.conflict)


def _document(found: Agreement) -> dict[str, Any]:
    from dataclasses import asdict

    result = found.replication
    return {
        "files": list(found.names),
        "subject": found.subject,
        "deltas": list(found.deltas),
        "intervals": [asdict(interval) for interval in found.intervals],
        "z": result.z,
        "q": result.q,
        "df": result.df,
        "p_value": result.p_value,
        "conflict": found.conflict,
        "omega": result.omega,
        "omega_interval": list(result.omega_interval),
        "per_arm_sd": result.per_arm_sd,
        "per_arm_sd_interval": list(result.per_arm_interval),
        "shared_seeds": found.shared_seeds,
        "seed_correlation": found.correlation,
        "level": result.level,
    }
