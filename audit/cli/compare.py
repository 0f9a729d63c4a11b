"""``audit compare``: what changed between two files, whether a study replicated, or its rounds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit import numerals
from audit.analysis import analyse
from audit.analysis.replicated import Agreement, agreement_of
from audit.analysis.rounds import RoundPair
from audit.cli.examples import add_examples
from audit.cli.formats.json_text import json_text
from audit.cli.output import add_output, guard, publish
from audit.errors import UsageError
from audit.facts.study_changes import VersionChange, of_one_study, version_change
from audit.fleet.named_versions import versions
from audit.policy import Policy, find_policy
from audit.results import Results, load
from audit.safetext import inert, visible
from audit.views.analysis_json import round_json
from audit.views.change_view import change_lines
from audit.views.claim_view import views_of
from audit.views.comparison_view import interval_text

if TYPE_CHECKING:
    from audit.stats import Replication

EXAMPLES = (
    "audit compare first/results.json second/results.json",
    "audit compare main:reports reports",
    "audit compare results.json",
    "audit compare a.json b.json --metric accuracy --format json",
)
NOTHING = "nothing changed"


@dataclass(frozen=True, slots=True)
class Compared:
    """One pair of files.

    Attributes
    ----------
    path : str
        Of both, below the folders that were named; empty for two files.
    lines : tuple of str
        What to print.
    document : dict
        The same for programs.
    fails : bool
        Whether a run, a launched seed, a claim or a whole study was lost, or two runs of a study
        conflict.
    """

    path: str
    lines: tuple[str, ...]
    document: dict[str, Any]
    fails: bool


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit compare``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument("first", metavar="OLD", help="results file, folder, or REV:PATH")
    parser.add_argument(
        "second",
        nargs="?",
        metavar="NEW",
        help="a later version, or the study run again; else the rounds of OLD",
    )
    parser.add_argument("--metric", help="metric to compare by (default: the first both have)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_output(parser)


def main(options: argparse.Namespace) -> int:
    """Run ``audit compare``; 1 when the runs conflict, or something was lost."""
    guard(options.output, (options.first, options.second), force=options.force)
    if options.second is None:
        pairs = _rounds(load(options.first))
        document: Any = {"rounds": [round_json(pair) for pair in pairs]}
        lines = [line for pair in pairs for line in _round_lines(pair)]
        fails = any(pair.conflict for pair in pairs)
    else:
        compared = list(_compared(options))
        lines = [line for one in compared for line in _told(one)]
        one_pair = len(compared) == 1 and not compared[0].path
        document = compared[0].document if one_pair else {"studies": [c.document for c in compared]}
        fails = any(one.fails for one in compared)
    text = json_text(document) if options.format == "json" else inert("\n".join(lines) + "\n")
    publish(text, options.output)
    return int(fails)


def _told(one: Compared) -> Iterator[str]:
    if one.path:
        yield visible(one.path)
    yield from (f"  {line}" if one.path else line for line in one.lines)


def _compared(options: argparse.Namespace) -> Iterator[Compared]:
    """Yield what became of every file that either side has."""
    before, after = versions(options.first), versions(options.second)
    if ("" in before) != ("" in after):
        raise UsageError(f"{options.first} and {options.second} are not both a file, or a folder")
    policy = find_policy(Path.cwd())
    moved = dict(_moved(before, after))
    for path in dict.fromkeys([*before, *after]):
        if path in moved.values():
            continue
        old, new = before.get(path), after.get(moved.get(path, path))
        if old is None:
            yield Compared(path, ("new study",), {"path": path, "new": True}, fails=False)
        elif new is None:
            yield Compared(path, ("lost: the whole study",), {"path": path, "lost": True}, True)
        else:
            yield _pair(path, old, new, options.metric, policy)


def _moved(
    before: Mapping[str, Results], after: Mapping[str, Results]
) -> Iterator[tuple[str, str]]:
    """Yield the old and the new path of every study that lies elsewhere now."""
    new = [path for path in after if path not in before]
    for path in before:
        if path not in after:
            same = (p for p in new if of_one_study(before[path], after[p]))
            found = next(same, None)
            if found is not None:
                new.remove(found)
                yield path, found


def _pair(path: str, old: Results, new: Results, metric: str | None, policy: Policy) -> Compared:
    place = {"path": path} if path else {}
    if old.sha256 == new.sha256 or of_one_study(old, new):
        change = version_change(old, new)
        views = (list(views_of(analyse(one, policy=policy))) for one in (old, new))
        lines = change_lines(change, *views) or (NOTHING,)
        lines = tuple(visible(line) for line in lines)
        document = place | {"files": [old.name, new.name], "same_runs": True}
        return Compared(path, lines, document | _changes(change, lines), change.loses)
    agreement = agreement_of(old, new, metric, policy)
    told = place | {"same_runs": False} | _document(agreement)
    return Compared(path, tuple(_lines(agreement)), told, agreement.conflict)


def _changes(change: VersionChange, lines: tuple[str, ...]) -> dict[str, Any]:
    return {
        "changes": [] if lines == (NOTHING,) else list(lines),
        "lost_runs": [asdict(run) for run in change.lost],
        "lost_launched_seeds": [asdict(run) for run in change.unlisted],
        "lost_claims": [claim.typed_text for claim in change.dropped],
        "added_runs": [asdict(run) for run in change.added],
        "scores": [asdict(score) for score in change.scores],
        "settings": [asdict(setting) for setting in change.settings],
    }


def _rounds(results: Results) -> tuple[RoundPair, ...]:
    analysis = analyse(results)
    if not analysis.rounds:
        reasons = "; ".join(left.reason for left in analysis.rounds_uncompared)
        what = reasons or "no round says that it repeats another; name a second file"
        raise UsageError(what, path=results.name, pointer="/rounds")
    return analysis.rounds


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
