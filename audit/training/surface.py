"""What a reward correlates with on the surface of the responses.

A reward that length, digits or one word predicts may be won without the skill it stands for. The
scan endorses nothing: it lists the features by strength, for a person to look at.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_WORDS = 50  # the most common words looked at


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson correlation of one surface feature with the reward."""

    feature: str
    r: float


_COUNTS: dict[str, Callable[[str], float]] = {
    "n:characters": len,
    "n:words": lambda text: len(text.split()),
    "n:digits": lambda text: sum(c.isdigit() for c in text),
    "n:lines": lambda text: text.count("\n"),
    "n:punctuation": lambda text: sum(not c.isalnum() and not c.isspace() for c in text),
}


def surface_correlations(texts: Sequence[str], rewards: Sequence[float]) -> list[Correlation]:
    """Correlate counts and word presence with the reward, the strongest first.

    Features without variance are left out; a constant reward leaves nothing.
    """
    columns = {name: [float(f(text)) for text in texts] for name, f in _COUNTS.items()}
    words = [set(text.lower().split()) for text in texts]
    common = Counter(word for present in words for word in present).most_common()
    # Ties are broken by the word itself, so that the list never depends on set order.
    for word, _ in sorted(common, key=lambda item: (-item[1], item[0]))[:_WORDS]:
        columns[f"contains:{word}"] = [float(word in present) for present in words]
    found = [
        Correlation(name, r)
        for name, column in columns.items()
        if (r := pearson(column, rewards)) is not None
    ]
    return sorted(found, key=lambda c: (-abs(c.r), c.feature))


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's r, or None where either side is constant."""
    if len(x) < 2 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    dx, dy = [v - mean_x for v in x], [v - mean_y for v in y]
    product = math.fsum(a * b for a, b in zip(dx, dy, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in dx) * math.fsum(b * b for b in dy))


def surface_scan(texts: Sequence[str], rewards: Sequence[float], top: int = 5) -> dict[str, Any]:
    """Return the scan as a results file carries it."""
    return {
        "responses": len(texts),
        "features": [
            {"feature": c.feature, "correlation": float(f"{c.r:.6g}")}
            for c in surface_correlations(texts, rewards)[:top]
        ],
    }
