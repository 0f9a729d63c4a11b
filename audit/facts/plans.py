"""The plan a study declared before its first result, and when it was judged without one."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.facts.memo import once
from audit.results import Results
from audit.schema import keys_of

FIRST_LOOK = 4


@dataclass(frozen=True, slots=True)
class DeclaredPlan:
    """Most training runs per arm, and the looks on the way there.

    Attributes
    ----------
    maximum : mapping of str to int
        Training runs at which the study ends, by arm; ``method`` means the top arm, ``control``
        any other. Empty where the file states a plan that cannot be read whole, a misspelt key
        included: a claim is then refused, never judged as if nothing had been planned.
    first : int
        Runs per arm of the first look.
    looks : tuple of int, or None
        The only looks; every number of runs from ``first`` where None.
    target_effect : float or None
        Effect the study is to see, in the metric's units.
    level : float or None
        Confidence level of the whole plan, where it is stated.
    paired : bool
    claims : tuple of str, or None
        Ids of the claims it covers; all where None.
    declared : str or None
        Date, time or commit of the declaration.
    dated : bool or None
        Whether it was declared before the first evaluation; None where that cannot be checked,
        or where the plan no longer has the hash that it was declared with.
    """

    maximum: Mapping[str, int]
    first: int
    looks: tuple[int, ...] | None
    target_effect: float | None
    level: float | None
    paired: bool
    claims: tuple[str, ...] | None
    declared: str | None
    dated: bool | None

    def covers(self, claim: str) -> bool:
        """Whether the plan is about the claim with this id."""
        return self.claims is None or claim in self.claims

    def most(self, arm: str, *, top: bool) -> int | None:
        """Return the most runs of an arm; None where the plan does not name it.

        ``method`` stands for the top arm, ``control`` for any other.
        """
        named = self.maximum.get(arm)
        return self.maximum.get("method" if top else "control") if named is None else named


@once
def declared_plan(results: Results) -> DeclaredPlan | None:
    """Return the plan of a file; None where it has none."""
    if results.document.get("plan") is None:
        return None
    block = results.block("plan")
    whole = block == results.document["plan"] and block.keys() <= keys_of("plan")
    maximum = block.get("maximum") or {} if whole else {}
    looks, claims = block.get("looks"), block.get("claims")
    declared = block.get("declared")
    return DeclaredPlan(
        maximum=maximum,
        first=looks[0] if looks else block.get("first") or FIRST_LOOK,
        looks=tuple(looks) if looks else None,
        target_effect=block.get("target_effect"),
        level=block.get("level"),
        paired=bool(block.get("paired")),
        claims=None if claims is None else tuple(claims),
        declared=declared,
        dated=_dated(block, results),
    )


def plan_hash(block: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a plan says: its JSON with sorted keys, ``sha256`` left out."""
    said = {key: value for key, value in block.items() if key != "sha256"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def looks_before(results: Results) -> tuple[int, ...]:
    """Return the numbers of runs per arm at which the claims were judged before, without a plan."""
    return tuple(int(seeds) for seeds in results.items("looked"))


def first_evaluation_date(results: Results) -> datetime.date | None:
    """Return the day of the earliest evaluation of a trained model that has a date."""
    dates = [_date(e.document.get("date")) for run in results.runs for e in run.evaluations]
    return min((date for date in dates if date is not None), default=None)


def _dated(block: Mapping[str, Any], results: Results) -> bool | None:
    """Return whether a plan is from before the first evaluation; None where it was changed."""
    found = _before_first_evaluation(block.get("declared"), results)
    changed = block.get("sha256") is not None and block["sha256"] != plan_hash(block)
    return None if changed and found else found


def _before_first_evaluation(declared: str | None, results: Results) -> bool | None:
    day, first = _date(declared), first_evaluation_date(results)
    return None if day is None or first is None else day <= first


def _date(text: str | None) -> datetime.date | None:
    """Return the day of an ISO date or time; None for anything else, such as a commit."""
    try:
        return datetime.date.fromisoformat((text or "")[:10])
    except ValueError:
        return None
