"""Whether an evaluation ran at all: answers that are empty, have no tokens, or took no time."""

from __future__ import annotations

from typing import Any

from audit.errors import ImportRefused


class Liveness:
    """Counts what the answers of one file show of having been generated."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._texts = self._empty = 0
        self._lengths = self._unwritten = 0
        self._times = self._instant = 0
        self.empty_and_right = 0

    def see(
        self,
        *,
        text: Any = ...,
        tokens: float | None = None,
        seconds: float | None = None,
        right: bool = False,
    ) -> bool:
        """Look at one answer and return whether its response is known to be empty.

        Parameters
        ----------
        text : object
            The response as the source has it; ``...`` where the source keeps none.
        tokens, seconds : float or None
            Its length, and the time it took in any unit.
        right : bool
            Whether it was graded as right.
        """
        empty = text is not ... and is_empty(text)
        if text is not ...:
            self._texts += 1
            self._empty += empty
        if tokens is not None:
            self._lengths += 1
            self._unwritten += tokens == 0
        if seconds is not None:
            self._times += 1
            self._instant += seconds == 0
        self.empty_and_right += empty and right
        return empty

    def count(self, *, texts: int, lengths: int, unwritten: int, times: int, instant: int) -> None:
        """Take counts of many answers: of texts, none of them empty, of lengths and of times.

        Parameters
        ----------
        texts, lengths, times : int
            Answers of which the response, its length, or the time it took is kept.
        unwritten, instant : int
            Answers of 0 tokens, and of no time.
        """
        self._texts += texts
        self._lengths += lengths
        self._unwritten += unwritten
        self._times += times
        self._instant += instant

    def refuse_dead(self) -> None:
        """Refuse an evaluation of which no answer was generated.

        Raises
        ------
        ImportRefused
            When every response is empty or has 0 tokens, or, where no response is kept, when every
            answer took 0 seconds.
        """
        signs = []
        if self._texts and self._empty == self._texts:
            signs.append(f"all {self._texts} responses are empty")
        if self._lengths and self._unwritten == self._lengths:
            signs.append(f"all {self._lengths} have 0 tokens")
        instant = bool(self._times) and self._instant == self._times
        if instant and (signs or not (self._texts or self._lengths)):
            signs.append(f"all {self._times} took 0 ms")
        if signs:
            raise ImportRefused(
                f"the evaluation never ran: {', '.join(signs)}; run it again", path=self._path
            )


def is_empty(text: Any) -> bool:
    """Whether a response holds no text: null, blank, or messages without content."""
    if text is None:
        return True
    if isinstance(text, str):
        return not text.strip()
    if isinstance(text, list):
        return all(is_empty(entry) for entry in text)
    if isinstance(text, dict):
        if text.get("tool_calls"):
            return False
        return is_empty(next((text[k] for k in ("content", "text") if k in text), None))
    return False
