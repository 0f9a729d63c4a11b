"""Names of arms that a reader cannot tell apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from audit.facts.memo import once
from audit.results import Arm, Results

# Letters of other scripts, and signs, that most fonts draw like a Latin one: those of Unicode's
# table of confusables (UTS 39) that resemble a single small one.
_LOOKS_LIKE = {
    "a": "\u0430\u03b1\u0251",
    "c": "\u0441\u03f2",
    "d": "\u0501",
    "e": "\u0435\u0454",
    "g": "\u0261\u0581",
    "h": "\u04bb",
    "i": "\u0456\u03b9\u0131",
    "j": "\u0458\u03f3",
    "k": "\u043a\u03ba",
    "l": "\u04cf1|",
    "m": "\u043c",
    "o": "\u043e\u03bf\u05850",
    "p": "\u0440\u03c1",
    "s": "\u0455",
    "t": "\u0442\u03c4",
    "v": "\u0475\u03bd",
    "w": "\u0461",
    "x": "\u0445\u03c7",
    "y": "\u0443\u03b3\u04af",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212",
}
# The same of capitals whose small letters look like another letter, or like none.
_CAPITALS = {
    "b": "\u0392\u0412",
    "e": "\u0395",
    "h": "\u0397\u041d",
    "m": "\u039c",
    "n": "\u039d",
    "y": "\u03a5",
    "z": "\u0396",
}


def _table(alike: dict[str, str]) -> dict[int, str]:
    return str.maketrans({char: latin for latin, others in alike.items() for char in others})


_CONFUSABLE, _CONFUSABLE_CAPITALS = _table(_LOOKS_LIKE), _table(_CAPITALS)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class LookAlike:
    r"""Two arms whose names look the same.

    Attributes
    ----------
    first, second : Arm
    text : str
        Both names with the code points in which they differ:
        ``'grpo' and 'grp\u043e' (U+006F o and U+043E CYRILLIC SMALL LETTER O)``.
    """

    first: Arm
    second: Arm
    text: str


@once
def look_alikes(results: Results) -> tuple[LookAlike, ...]:
    """Return pairs of arms with names that differ only in what a reader does not see.

    Two names look alike where they are equal after compatibility decomposition (NFKC), folding of
    case, removal of characters without a shape, trimming, and replacement of confusable
    characters by the one they resemble.
    """
    seen: dict[str, Arm] = {}
    found = []
    for arm in results.arms:
        known = next((seen[key] for key in _keys(arm.name) if key in seen), None)
        if known is not None and known.name != arm.name:
            found.append(LookAlike(known, arm, _told(known.name, arm.name)))
        for key in _keys(arm.name):
            seen.setdefault(key, arm)
    return tuple(found)


def _keys(name: str) -> tuple[str, ...]:
    """Return the name as it looks: with case folded, and as its capitals look."""
    plain = "".join(
        char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf"
    )
    plain = _SPACE.sub(" ", plain).strip()
    plain = plain.translate(_CONFUSABLE_CAPITALS)
    capital = plain.replace("I", "l")  # without serifs the two are one
    return tuple(
        dict.fromkeys(
            unicodedata.normalize("NFKC", text.casefold()).translate(_CONFUSABLE)
            for text in (plain, capital)
        )
    )


def _told(first: str, second: str) -> str:
    points = [f"{_points(one)} and {_points(other)}" for one, other in _differences(first, second)]
    return f"{first!r} and {second!r} ({'; '.join(points)})"


def _differences(first: str, second: str) -> Iterable[tuple[str, str]]:
    from difflib import SequenceMatcher

    matched = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    return [(first[a:b], second[c:d]) for what, a, b, c, d in matched if what != "equal"][:3]


def _points(text: str) -> str:
    named = [f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}" for char in text[:3]]
    return ", ".join(named) or "nothing"
