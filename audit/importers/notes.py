"""What an import says aloud: values that were missing, dropped, averaged or left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


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


def gathered(notes: Iterable[str], files: Sequence[str]) -> tuple[str, ...]:
    """Return notes with each sentence once, where several files give it.

    Parameters
    ----------
    notes : iterable of str
        Sentences; what one file gives begins with its name and a colon.
    files : sequence of str
        Names of the files.

    Returns
    -------
    tuple of str
        In the order they were said first; ``a.csv and 2 more files: ...`` where three agree.
    """
    names = sorted(files, key=len, reverse=True)
    said: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        name = next((name for name in names if note.startswith(f"{name}: ")), None)
        where = said.setdefault(note if name is None else note[len(name) + 2 :], [])
        if name is not None:
            where.append(name)
    return tuple(_of_files(sentence, where) for sentence, where in said.items())


def _of_files(sentence: str, where: Sequence[str]) -> str:
    if not where:
        return sentence
    more = len(where) - 1
    others = f" and {more} more {'file' if more == 1 else 'files'}" if more else ""
    return f"{where[0]}{others}: {sentence}"
