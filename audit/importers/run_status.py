"""How a training run ended, in the words of trackers."""

from __future__ import annotations

from dataclasses import dataclass

_FINISHED = frozenset({"finished", "success", "succeeded", "completed", "complete", "done", "3"})
_FAILED = frozenset({"failed", "crashed", "failure", "error", "diverged", "4"})
_KILLED = frozenset({"killed", "preempted", "preempting", "cancelled", "canceled", "stopped", "5"})
_RUNNING = frozenset({"running", "scheduled", "pending", "started", "1", "2"})


@dataclass(frozen=True, slots=True)
class Status:
    """How a run ended.

    Attributes
    ----------
    status : str
        ``finished``, ``failed``, ``diverged`` or ``running``.
    failure : str
        Why it did not finish.
    word : str
        The source's word.
    """

    status: str
    failure: str
    word: str

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.status == "finished"


FINISHED = Status("finished", "", "finished")


def status_of(word: str, column: str = "state") -> Status | None:
    """Return what a tracker's word says of a run, None where it is no such word.

    Known are the states of Weights & Biases and of MLflow (its numbers too), and what batch
    systems say; letters may be large or small. In a column of exit codes 0 alone is an end.
    """
    plain = word.strip().lower()
    if "exit" in column.lower():
        if not plain.lstrip("-").isdecimal():
            return None
        return FINISHED if int(plain) == 0 else Status("failed", f"exit code {plain}", plain)
    if plain in _FINISHED:
        return FINISHED
    if plain in _FAILED:
        return Status("diverged" if plain == "diverged" else "failed", plain, plain)
    if plain in _KILLED:
        return Status("failed", plain, plain)
    if plain in _RUNNING:
        return Status("running", "still running", plain)
    return None
