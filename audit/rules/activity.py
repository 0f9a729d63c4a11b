"""What an arm's clip did: by the run's own count, by response audits, or by update."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from audit.finding import Severity
from audit.pointer import join
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped
from audit.rules.telemetry import ArmLog, RunLog, each_run

# The mean clip fraction of an update, where its responses are not audited one by one.
_CLIP_METRIC = "audit/clip_fraction"
_UPDATES = ("updates", "updates_after_the_first", "updates_that_clipped")
# Each count is part of the next.
_NESTED = (
    ("updates_that_clipped", "updates_after_the_first"),
    ("updates_after_the_first", "updates"),
    ("gated_clipped_tokens", "clipped_tokens"),
    ("clipped_tokens", "tokens"),
)


class Activity(NamedTuple):
    """What tells of an arm's clip: in all, after the first update of a batch, and where it fired.

    ``unit`` says what was counted: response audits, or updates where the run or the log only sums
    them up.
    Where gated fractions are logged they decide: a token outside the bounds whose gradient was
    not stopped is no act of the clip.
    """

    unit: str
    total: int
    later: int
    fired: int
    first_later: str | None


def activity_of(arm: ArmLog) -> Activity:
    """Return what is known of an arm's clip, from the most complete source."""
    counted = [(log, log.run.document.get("clip_activity") or {}) for log in arm.runs]
    if counted and all(counts.keys() >= set(_UPDATES) for _, counts in counted):
        return _of_counts(arm, counted)
    return _of_audits(arm) if arm.audits else _of_updates(arm)


def _of_counts(arm: ArmLog, counted: list[tuple[RunLog, dict[str, Any]]]) -> Activity:
    total = sum(counts["updates"] for _, counts in counted)
    later = sum(counts["updates_after_the_first"] for _, counts in counted)
    fired = sum(
        counts["updates_that_clipped"]
        for _, counts in counted
        if counts.get("gated_clipped_tokens") != 0
    )
    return Activity("updates", total, later, fired, _first_later(arm))


def _of_audits(arm: ArmLog) -> Activity:
    fractions, gated = arm.column("clip_fraction"), arm.column("gated_clip_fraction")
    later = arm.of_first_updates.count(0)
    if arm.known("gated_clip_fraction"):
        pairs = zip(fractions, gated, strict=True)
        fractions = [share if stopped is None else stopped for share, stopped in pairs]
    fired = sum(map(bool, fractions))
    return Activity("response audits", arm.known("clip_fraction"), later, fired, _first_later(arm))


def _of_updates(arm: ArmLog) -> Activity:
    shares = [
        (update, (update.document.get("metrics") or {}).get(_CLIP_METRIC)) for update in arm.updates
    ]
    told = [(update, share) for update, share in shares if share is not None]
    later = [update for update, _ in told if update.place]
    fired = sum(share > 0 for _, share in told)
    first = later[0].pointer if later else None
    return Activity("updates", len(told), len(later), fired, first)


def _first_later(arm: ArmLog) -> str | None:
    """Return where the first logged update stands that could have clipped."""
    audited = (u.pointer for u in arm.updates if u.place and u.first < u.end)
    later = (u.pointer for u in arm.updates if u.place)
    return next(chain(audited, later), None)


def clip_activity_counts(case: Case) -> Iterator[Outcome]:
    """A run's counts of what its clip did contradict each other or its training log.

    Why
        Whether the mechanism acted is read from them where the log leaves steps or responses out.
    Fix
        Count over all updates of the training, as they happen.
    Bad
        "clip_activity": {"updates": 4, "updates_after_the_first": 2, "updates_that_clipped": 3}
    Good
        "clip_activity": {"updates": 4, "updates_after_the_first": 2, "updates_that_clipped": 1}
    """
    return each_run(case, _clip_activity_counts)


def _clip_activity_counts(log: RunLog) -> Iterator[Outcome]:
    counts = log.run.document.get("clip_activity")
    if not counts:
        yield Skipped("no clip_activity", log.run.pointer)
        return
    pointer = join(log.run.pointer, "clip_activity")
    for part, whole in _NESTED:
        if part in counts and whole in counts:
            if counts[part] <= counts[whole]:
                yield Held()
            else:
                message = f"more {part} than {whole}"
                place = join(pointer, part)
                yield Found(place, message, f"{counts[whole]} at most", str(counts[part]))
    whole_log = log.full or log.run.telemetry.get("every") == 1
    for name, least in _logged(log).items():
        if name not in counts:
            continue
        if counts[name] == least or (counts[name] > least and not whole_log):
            yield Held()
        else:
            message = "not what the training log holds"
            expected = str(least) if whole_log else f"{least} at least"
            yield Found(join(pointer, name), message, expected, str(counts[name]))


def _logged(log: RunLog) -> dict[str, int]:
    """Count in the log what ``clip_activity`` counts; tokens only where every response is there."""
    steps = [step.get("updates") or [] for step in log.steps]
    later = [update for updates in steps for update in updates[1:]]
    shares = [(update.get("metrics") or {}).get(_CLIP_METRIC) for update in later]
    found = {"updates": sum(map(len, steps)), "updates_after_the_first": len(later)}
    known = [share for share in shares if share is not None]
    if len(known) == len(later):
        found["updates_that_clipped"] = sum(share > 0 for share in known)
    audits = [audit for update in later for audit in update.get("response_audits") or ()]
    if log.full and audits and all("tokens" in audit for audit in audits):
        found["tokens"] = sum(audit["tokens"] for audit in audits)
        for name, share in (
            ("clipped_tokens", "clip_fraction"),
            ("gated_clipped_tokens", "gated_clip_fraction"),
        ):
            if all(share in audit for audit in audits):
                found[name] = sum(round(audit[share] * audit["tokens"]) for audit in audits)
    return found


RULES = (Rule("MECH004", "clip-activity-counts", Severity.ERROR, clip_activity_counts),)
