"""What an arm's clip did: by the run's own count, by response audits, or by update."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

from audit.facts.training_logs import ArmLog, RunLog, read_logs
from audit.results import Results

# The mean clip fraction of an update, where its responses are not audited one by one.
_CLIP_METRIC = "audit/clip_fraction"
_UPDATES = ("updates", "updates_after_the_first", "updates_that_clipped")


@dataclass(frozen=True, slots=True)
class ClipActivity:
    """How often the clip of one arm acted.

    Where gated fractions are logged they decide: a token outside the bounds whose gradient was
    not stopped is no act of the clip.

    Attributes
    ----------
    arm : str
    unit : str
        What is counted: ``updates``, or ``response audits`` where the runs do not count for
        themselves.
    fired : int
        Those with a clipped token.
    could : int
        Those after the first update of a step. In the first the ratio is 1 and no clip acts.
    total : int
        All of them.
    first : str or None
        JSON Pointer of the first logged update that could have clipped.
    """

    arm: str
    unit: str
    fired: int
    could: int
    total: int
    first: str | None = None


def clip_activity(results: Results) -> tuple[ClipActivity, ...]:
    """Count, arm by arm, where the clip could act and where it did; arms without a log not."""
    found = (activity_of(log) for log in read_logs(results))
    return tuple(activity for activity in found if activity.total)


def activity_of(arm: ArmLog) -> ClipActivity:
    """Return what is known of an arm's clip, from the most complete source."""
    counted = [(log, log.run.document.get("clip_activity") or {}) for log in arm.runs]
    if counted and all(counts.keys() >= set(_UPDATES) for _, counts in counted):
        return _of_counts(arm, counted)
    return _of_audits(arm) if arm.audits else _of_updates(arm)


def _of_counts(arm: ArmLog, counted: list[tuple[RunLog, dict[str, Any]]]) -> ClipActivity:
    total = sum(counts["updates"] for _, counts in counted)
    later = sum(counts["updates_after_the_first"] for _, counts in counted)
    fired = sum(
        counts["updates_that_clipped"]
        for _, counts in counted
        if counts.get("gated_clipped_tokens") != 0
    )
    return ClipActivity(arm.arm.name, "updates", fired, later, total, _first_later(arm))


def _of_audits(arm: ArmLog) -> ClipActivity:
    later = arm.of_first_updates.count(0)
    array = arm.array("clip_fraction")
    if arm.known("gated_clip_fraction"):
        gated = arm.column("gated_clip_fraction")
        pairs = zip(arm.column("clip_fraction"), gated, strict=True)
        fired = sum(bool(share if stopped is None else stopped) for share, stopped in pairs)
    elif array is not None:
        fired = int((array != 0).sum())
    else:
        fired = sum(map(bool, arm.column("clip_fraction")))
    total, first = arm.known("clip_fraction"), _first_later(arm)
    return ClipActivity(arm.arm.name, "response audits", fired, later, total, first)


def _of_updates(arm: ArmLog) -> ClipActivity:
    shares = [
        (update, (update.document.get("metrics") or {}).get(_CLIP_METRIC)) for update in arm.updates
    ]
    told = [(update, share) for update, share in shares if share is not None]
    later = [update for update, _ in told if update.place]
    fired = sum(share > 0 for _, share in told)
    first = later[0].pointer if later else None
    return ClipActivity(arm.arm.name, "updates", fired, len(later), len(told), first)


def _first_later(arm: ArmLog) -> str | None:
    """Return the pointer of the first logged update that could have clipped."""
    audited = (u.pointer for u in arm.updates if u.place and u.first < u.end)
    later = (u.pointer for u in arm.updates if u.place)
    return next(chain(audited, later), None)


def counted_in_log(log: RunLog) -> dict[str, int]:
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
