"""What a reward correlates with on the surface of the responses.

A reward that length, digits or one word predicts may be won without the skill it stands for. The
scan endorses nothing: it lists the features by strength, for a person to look at.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_WORDS = 50  # the most common words looked at
_COUNTS: dict[str, Callable[[str], float]] = {
    "n:characters": len,
    "n:words": lambda text: len(text.split()),
    "n:digits": lambda text: sum(c.isdigit() for c in text),
    "n:lines": lambda text: text.count("\n"),
    "n:punctuation": lambda text: sum(not c.isalnum() and not c.isspace() for c in text),
}


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson correlation of one surface feature with the reward."""

    feature: str
    r: float


class SurfaceScan:
    """Takes responses as they come; keeps numbers, no texts."""

    def __init__(self) -> None:
        self._rewards = array("d")
        self._counts = {name: array("d") for name in _COUNTS}
        self._words: dict[str, tuple[int, float]] = {}  # responses with it, sum of their rewards

    def add(self, texts: Sequence[str], rewards: Sequence[float]) -> None:
        """Take responses with their rewards."""
        self._rewards.extend(rewards)
        for name, count in _COUNTS.items():
            self._counts[name].extend(map(count, texts))
        for text, reward in zip(texts, rewards, strict=True):
            for word in set(text.lower().split()):
                n, total = self._words.get(word, (0, 0.0))
                self._words[word] = n + 1, total + reward

    def state(self) -> dict[str, Any]:
        """Return what was taken so far as JSON has it, for `restore`."""
        return {
            "rewards": self._rewards.tolist(),
            "counts": {name: column.tolist() for name, column in self._counts.items()},
            "words": {word: list(seen) for word, seen in self._words.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what another scan had taken."""
        self._rewards = array("d", state["rewards"])
        self._counts = {name: array("d", column) for name, column in state["counts"].items()}
        self._words = {word: (n, total) for word, (n, total) in state["words"].items()}

    def correlations(self) -> list[Correlation]:
        """Correlate counts and the presence of words with the reward, the strongest first.

        Features without variance are left out; a constant reward leaves nothing.
        """
        found = {name: pearson(column, self._rewards) for name, column in self._counts.items()}
        # Ties are broken by the word itself, so that the list never depends on an order of sets.
        common = sorted(self._words.items(), key=lambda item: (-item[1][0], item[0]))
        for word, (n, total) in common[:_WORDS]:
            found[f"contains:{word}"] = _presence(n, total, self._rewards)
        known = [Correlation(name, r) for name, r in found.items() if r is not None]
        return sorted(known, key=lambda c: (-abs(c.r), c.feature))

    def block(self, top: int = 5) -> dict[str, Any]:
        """Return the scan as a results file carries it."""
        return {
            "responses": len(self._rewards),
            "features": [
                {"feature": c.feature, "correlation": float(f"{c.r:.6g}")}
                for c in self.correlations()[:top]
            ],
        }


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's r, or None where either side is constant."""
    if len(x) < 2 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    dx, dy = [v - mean_x for v in x], [v - mean_y for v in y]
    product = math.fsum(a * b for a, b in zip(dx, dy, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in dx) * math.fsum(b * b for b in dy))


def _presence(n: int, total: float, rewards: Sequence[float]) -> float | None:
    """Pearson's r of being among ``n`` responses whose rewards add up to ``total``."""
    size = len(rewards)
    if n == size or len(set(rewards)) == 1:
        return None
    mean = math.fsum(rewards) / size
    spread = math.fsum((reward - mean) ** 2 for reward in rewards)
    return (total - n * mean) / math.sqrt(n * (1 - n / size) * spread)
