"""A fact is derived once for a document, whoever asks for it first."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from audit.results import Results

T = TypeVar("T")


def once(derive: Callable[[Results], T]) -> Callable[[Results], T]:
    """Return a derivation that keeps what it found with the document."""
    key = f"{derive.__module__}.{derive.__qualname__}"

    @wraps(derive)
    def remembered(results: Results) -> T:
        if key not in results.memo:
            results.memo[key] = derive(results)
        found: T = results.memo[key]
        return found

    return remembered
