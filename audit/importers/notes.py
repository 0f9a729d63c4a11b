"""What an import says aloud: values that were missing, dropped, averaged or left out."""

from __future__ import annotations

from collections import Counter


class Notes:
    """Collects sentences, each once, and counts of missing values by place."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}
        self._missing: Counter[str] = Counter()

    def say(self, sentence: str) -> None:
        """Add a sentence unless it was said already."""
        self._said.setdefault(sentence)

    def missing(self, what: str, count: int = 1) -> None:
        """Count values that are not numbers (NaN, "N/A", an empty list, text)."""
        self._missing[what] += count

    @property
    def lines(self) -> tuple[str, ...]:
        """The sentences in the order they were said, then the counts sorted by place."""
        counted = (
            f"{count} missing {'value' if count == 1 else 'values'} in {what}"
            for what, count in sorted(self._missing.items())
            if count
        )
        return (*self._said, *counted)
