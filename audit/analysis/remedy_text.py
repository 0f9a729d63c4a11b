"""What to do about a refused claim, in words: one act or command per text."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from audit import numerals
from audit.analysis.what_settles import (
    ACT,
    LATER_LOOK,
    NOTHING,
    PLAN,
    RUNS,
    RefusedClaim,
    Settling,
    in_direction,
    next_threshold,
)
from audit.reasons import find_reason

if TYPE_CHECKING:
    from audit.stats import Needed

_MOST = 1000


def next_acts(result: RefusedClaim, settling: Settling, file: str | None = None) -> Iterator[str]:
    """Yield what to do next about a refused claim, the nearest first.

    ``file`` is what commands call the results file: by default the name it was read by.
    """
    file = _file(result) if file is None else file
    if settling.kind == NOTHING:
        yield _nothing(result, settling)
    elif settling.kind == RUNS:
        yield from _up_to(result, settling, file)
    elif settling.kind == ACT or settling.remedy is None:
        reason = find_reason(settling.reason)
        if reason is not None and reason.settles:
            yield reason.settles
    else:
        yield from _seeds(result, settling, file)


def seeds_text(needed: Needed | None, most: int = _MOST) -> str:
    """Return the seeds per arm of an effect: ``11 to 22 seeds per arm``; empty for None.

    The range is from the training sd as estimated to its upper limit; ``most`` were tried. Where
    tasks must come first they are named instead.
    """
    if needed is None:
        return ""
    if needed.tasks is not None:
        tasks = numerals.counted(needed.tasks, "task")
        return f"at least {tasks}; with fewer no number of seeds is enough"
    if needed.seeds is None:
        return f"more than {most} seeds per arm"
    if needed.seeds == needed.seeds_upper:
        return f"{needed.seeds} seeds per arm"
    if needed.seeds == most:
        return f"{needed.seeds} seeds per arm or more"
    upper = f"more than {most}" if needed.seeds_upper is None else str(needed.seeds_upper)
    return f"{needed.seeds} to {upper} seeds per arm"


def _nothing(result: RefusedClaim, settling: Settling) -> str:
    found = result.comparison
    margin = "" if found is None else f"{found.settings.margin:g}"
    delta = "" if found is None else numerals.signed(found.delta)
    why = {
        "wrong-way": "the difference seen points the other way",
        "within-margin": f"the difference seen, {delta}, is not beyond {margin}",
        "equivalent": f"the arms differ by less than {margin}",
        "not-equivalent": f"the difference seen, {delta}, is not inside {margin}",
        "loss-not-excluded": f"the loss seen, {delta}, is not less than {margin}",
    }[settling.reason]
    target = "; only the target effect lies beyond it"
    aimed = settling.remedy is not None and settling.remedy.target_only
    return f"nothing settles this: {why}{target if aimed else ''}"


def _up_to(result: RefusedClaim, settling: Settling, file: str) -> Iterator[str]:
    missing, runs = settling.missing or 0, settling.runs
    if settling.judgement == PLAN:
        needs = "" if settling.threshold is None else f"; it needs {_below(settling.threshold)}"
        yield f"train up to the plan's first look, {runs} runs per arm: {missing} more{needs}"
        return
    more = "at least " + numerals.counted(missing, "more seed")
    yield f"train {more} per arm, {runs} in all"
    found = result.comparison
    effect = None if found is None else found.settings.target_effect
    if effect:
        yield f"what {numerals.signed(effect)} needs: {_plan_command(file, effect)}"


def _seeds(result: RefusedClaim, settling: Settling, file: str) -> Iterator[str]:
    found, remedy = result.comparison, settling.remedy
    if found is None or remedy is None:
        return
    span = found.measure.span or 1.0
    needed, seen = remedy.to_see, remedy.if_seen
    if settling.futile_below is not None:
        seen_here = numerals.signed(in_direction(result.claim, found))
        bound = numerals.signed(settling.futile_below)
        yield f"stop: {seen_here} is below {bound}, futile at this look; stopping is advice"
    if settling.judgement == PLAN:
        yield from _next_look(result, file)
    if needed is not None:
        yield f"{_goal(result, needed, span)}: {_amount(result, settling, needed)}"
    elif seen is not None:
        yield f"if the true difference is the one seen: {_amount(result, settling, seen)}"
    else:
        yield "declare target_effect, the effect that matters; the one seen is within noise"
    enough = needed is None or needed.tasks is None
    if enough and settling.judgement != PLAN and result.claim.direction != "equivalent":
        effect = found.settings.target_effect
        yield f"or a new study with a plan: {_plan_command(file, effect)} --declare plan.json"


def _goal(result: RefusedClaim, needed: Needed, span: float) -> str:
    direction, found = result.claim.direction, result.comparison
    margin = 0.0 if found is None else found.settings.margin
    if direction == "equivalent":
        return f"to show them equivalent within {margin:g}"
    if direction == "no loss":
        return f"to exclude a loss of {margin:g}"
    beyond = margin if result.claim.exceeds else 0.0
    return f"to see {numerals.signed(needed.effect * span + beyond)}"


def _amount(result: RefusedClaim, settling: Settling, needed: Needed) -> str:
    """Return the seeds, and how so many are judged; the tasks where they come first."""
    planned = result.look.maximum if settling.judgement == PLAN and result.look else None
    text = seeds_text(needed, planned or _MOST)
    if needed.tasks is not None:
        return text
    return f"{text} at 80% power{_how(result, settling, needed)}"


def _how(result: RefusedClaim, settling: Settling, needed: Needed) -> str:
    """Say how so many seeds are judged, where they are no new study."""
    if settling.judgement == PLAN:
        look = result.look
        most = "" if look is None else f", of {look.maximum} planned"
        return most if needed.seeds is not None else "; the plan is too short for it"
    bound = "" if settling.threshold is None else _below(settling.threshold)
    if settling.judgement == LATER_LOOK:
        at = f", {bound} at {needed.seeds}" if bound else ""
        return f", as one later look (looked = [{settling.looked}]{at})"
    return ", in a new study" + (f" ({bound})" if bound else "")


def _below(threshold: float) -> str:
    return f"p below {numerals.p_value(threshold)}"


def _next_look(result: RefusedClaim, file: str) -> Iterator[str]:
    look, needs = result.look, next_threshold(result.claim, result.look)
    if look is None or look.next is None or needs is None:
        return
    more = numerals.counted(look.next - (look.seeds or 0), "more run")
    yield f"{more} per arm; look {look.next} needs {_below(needs)}: audit next {file}"


def _plan_command(file: str, effect: float) -> str:
    return f"audit plan {file} --effect {effect:g}"


def _file(result: RefusedClaim) -> str:
    """Return the results file as one types it; what was read from a pipe has no name."""
    name = "" if result.comparison is None else result.comparison.study.results.name
    return "FILE" if name in ("", "-") or name.startswith("<") else shlex.quote(name)
