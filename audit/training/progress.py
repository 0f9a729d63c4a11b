"""Bars on a terminal, lines elsewhere; always on stderr, and never a change to a result."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Progress = Callable[[str, int, int], None]
"""Told what is under way, how much of it is done, and how much there is."""

Report = Callable[[str, str, int, int], None]
"""The same, after the name of the piece of the study it is about."""

_SECONDS_BETWEEN_REPORTS = 0.5
_SECONDS_BETWEEN_LINES = 60.0


def hide_loading_bars() -> None:
    """Show no bar of transformers while a model is loaded: each run loads the base again."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def silent(what: str, done: int, total: int) -> None:
    """Progress that is not shown."""


def say(line: str) -> None:
    """Say on stderr what must not be missed, from whatever process this is."""
    print(f"audit: {line}", file=sys.stderr, flush=True)


class Throttled:
    """The progress of one piece, passed on at most twice a second and when a part is complete."""

    def __init__(self, report: Report, name: str) -> None:
        self._report, self._name = report, name
        self._last = -_SECONDS_BETWEEN_REPORTS

    def __call__(self, what: str, done: int, total: int) -> None:
        """Pass it on, or leave it out."""
        now = time.monotonic()
        if done >= total or now - self._last >= _SECONDS_BETWEEN_REPORTS:
            self._last = now
            self._report(self._name, what, done, total)


class Bars:
    """One bar over the pieces of a study, and one for each piece under way.

    Where stderr is no terminal, a line for each finished piece, and one a minute for each that is
    under way.
    """

    def __init__(self, pieces: int, *, quiet: bool = False) -> None:
        from tqdm import tqdm

        self._quiet = quiet
        self._terminal = sys.stderr.isatty() and not quiet
        self._tqdm = tqdm
        self._pieces: Any = tqdm(
            total=pieces, desc="runs", unit="run", disable=not self._terminal, position=0
        )
        self._inner: dict[str, Any] = {}
        self._spoke: dict[str, float] = {}

    def finished(self, name: str, how: str) -> None:
        """Count one more piece as done."""
        self._forget(name)
        self._pieces.update()
        if self._terminal:
            self._pieces.set_postfix_str(f"{name} {how}")
        else:
            self._say(f"{name}: {how}")

    def note(self, line: str) -> None:
        """Say something that is not about one piece."""
        self._say(line)

    def inside(self, name: str, what: str, done: int, total: int) -> None:
        """Show how far a piece is."""
        if self._terminal:
            self._draw(name, what, done, total)
            return
        now = time.monotonic()
        if now - self._spoke.setdefault(name, now) >= _SECONDS_BETWEEN_LINES:
            self._spoke[name] = now
            self._say(f"{name}: {what} {done} of {total}")

    def close(self) -> None:
        """Leave the terminal as it was."""
        for name in list(self._inner):
            self._forget(name)
        self._pieces.close()

    def _draw(self, name: str, what: str, done: int, total: int) -> None:
        bar = self._inner.get(name)
        if bar is None:
            taken = {other.pos for other in self._inner.values()}
            free = next(p for p in range(1, len(taken) + 2) if -p not in taken)
            bar = self._tqdm(total=total, position=free, leave=False)
            self._inner[name] = bar
        if bar.desc != f"{name} {what}: ":
            bar.reset(total=total)
            bar.set_description(f"{name} {what}")
        bar.update(done - bar.n)

    def _forget(self, name: str) -> None:
        self._spoke.pop(name, None)
        bar = self._inner.pop(name, None)
        if bar is not None:
            bar.close()

    def _say(self, line: str) -> None:
        if not self._quiet:
            self._tqdm.write(line, file=sys.stderr)
