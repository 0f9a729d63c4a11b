"""Drop training prompts that share text with the holdout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Decontamination:
    """Which training rows may be used, and which were dropped (indices into the input)."""

    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    ngram: int


def decontaminate(train: Sequence[str], holdout: Iterable[str], ngram: int = 8) -> Decontamination:
    """Drop each training prompt that shares an n-gram of words with a holdout prompt.

    Words are runs of letters and digits, or single marks, in lower case. A prompt shorter than
    the n-gram counts as one gram, so that an identical short prompt is found too.
    """
    seen = {gram for prompt in holdout for gram in _grams(prompt, ngram)}
    kept: list[int] = []
    dropped: list[int] = []
    for index, prompt in enumerate(train):
        clean = seen.isdisjoint(_grams(prompt, ngram))
        (kept if clean else dropped).append(index)
    return Decontamination(tuple(kept), tuple(dropped), ngram)


def _grams(prompt: str, ngram: int) -> set[tuple[str, ...]]:
    words = _WORD.findall(prompt.lower())
    return {tuple(words[i : i + ngram]) for i in range(max(1, len(words) - ngram + 1))}
