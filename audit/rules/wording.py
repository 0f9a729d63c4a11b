"""What a printed verdict says, in the words that people use for one."""

from __future__ import annotations

import re

_MEANINGS = {
    "gain": r"gain\w*|better|improv\w*|wins?|won|b_better|beats?|outperform\w*|up",
    "loss": r"loss\w*|worse|regress\w*|hurts?|a_better|drop\w*|degrad\w*|down",
    "moved": r"moved|significant|real|changed",
}
_FLAT = re.compile(
    r"\b(flat|null|ties?|tied|same|equal|equivalent|inconclusive|neutral|wash|insignificant|"
    r"nonsignificant|indistinguishable|unchanged|ns|n\.s)\b"
)
_NOTHING = re.compile(
    r"\b(no|without|not an?)[ _-](\w+[ _-])?(change|difference|effect)\w*\b|"
    r"\bnot (\w+ )?(significant|different|distinguishable)\w*\b|\bnon-significant\b"
)
_DENIED = r"\b(no|not|without|never|fails? to|did not|does not|isn't|wasn't)\W+(\w+\W+){0,2}?"
_OTHER_WINS = re.compile(
    r"\b(control|baseline|base|reference)\W+(is\W+|was\W+)?(better|wins?|won|ahead|beats?)\b"
)


def meanings(verdict: str) -> frozenset[str]:
    """Return what a verdict says: ``flat``, ``gain``, ``loss``, ``moved``, ``no gain`` or loss.

    Empty where none of the known words is in it.
    """
    words = verdict.lower()
    found = set()
    if _FLAT.search(words) or _NOTHING.search(words):
        found.add("flat")
    words = _NOTHING.sub(" ", words)
    words, swapped = _OTHER_WINS.subn(" ", words)
    if swapped:
        found.add("loss")
    for meaning in ("gain", "loss"):
        words, denied = re.subn(rf"{_DENIED}({_MEANINGS[meaning]})\b", " ", words)
        if denied:
            found.add(f"no {meaning}")
    for meaning, pattern in _MEANINGS.items():
        if re.search(rf"\b({pattern})\b", words):
            found.add(meaning)
    return frozenset(found)


def contradiction(verdict: str, low: float, high: float) -> str | None:
    """Return how a verdict contradicts the interval printed with it, or None."""
    said = meanings(verdict)
    beside = "wholly below zero" if high < 0 else "wholly above zero" if low > 0 else None
    if "flat" in said:
        return None if beside is None else f"the interval lies {beside}, which is not flat"
    if ("no gain" in said and low > 0) or ("no loss" in said and high < 0):
        return f"the interval lies {beside}"
    claimed = said & {"gain", "loss", "moved"}
    if claimed and beside is None:
        return "the interval includes zero"
    wrong = "loss" if low > 0 else "gain"
    if wrong in said and not {"gain", "loss"} <= said:
        return f"the interval lies {beside}"
    return None


def says_moved(verdict: str) -> bool:
    """Whether a verdict says that something changed, whichever way."""
    said = meanings(verdict)
    return "flat" not in said and bool(said & {"gain", "loss", "moved"})
