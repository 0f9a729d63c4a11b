"""Bars on a terminal, lines elsewhere; always on stderr, and never a change to a result."""

from __future__ import annotations

import sys
from typing import Any


class Bars:
    """One bar over the pieces of a study and one over what the current piece is doing."""

    def __init__(self, pieces: int, *, quiet: bool = False) -> None:
        from tqdm import tqdm

        self._quiet = quiet
        self._terminal = sys.stderr.isatty() and not quiet
        self._pieces: Any = tqdm(
            total=pieces, desc="runs", unit="run", disable=not self._terminal, position=0
        )
        self._inner: Any = None
        self._tqdm = tqdm

    def finished(self, name: str, how: str) -> None:
        """Count one more piece as done."""
        self._close_inner()
        self._pieces.update()
        if self._terminal:
            self._pieces.set_postfix_str(f"{name} {how}")
        elif not self._quiet:
            print(f"{name}: {how}", file=sys.stderr, flush=True)

    def inside(self, what: str, done: int, total: int) -> None:
        """Show how far the current piece is."""
        if not self._terminal:
            return
        if self._inner is None or self._inner.desc != f"{what}: ":
            self._close_inner()
            self._inner = self._tqdm(total=total, desc=what, position=1, leave=False)
        self._inner.update(done - self._inner.n)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._close_inner()
        self._pieces.close()

    def _close_inner(self) -> None:
        if self._inner is not None:
            self._inner.close()
            self._inner = None
