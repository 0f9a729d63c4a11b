"""One training run that is being recorded."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, SupportsIndex

from audit.errors import RecordingError
from audit.failure import described
from audit.recording import surroundings
from audit.recording.append_only import AppendOnlyFile
from audit.recording.evaluation_entry import evaluation_entry
from audit.recording.parameter_hash import parameters_digest
from audit.recording.plain_values import figure, settings, text, whole
from audit.recording.run_blocks import run_blocks


class RecordedRun:
    """A run of one arm with one training seed; made by :meth:`audit.Study.run`.

    As a context manager it ends the run: finished where the block ends, failed with the exception
    where one leaves it. Without ``with``, call :meth:`finish` or :meth:`fail`; a run that ends in
    neither, because its process was killed, is read as failed.

    All methods may be called from several threads. Under ``torchrun`` only rank 0 writes.

    Attributes
    ----------
    arm : str
        The arm.
    seed : int
        The training seed.
    run_id : str
        Name of this run and attempt, unlike that of any other.
    path : Path or None
        The record file; None on other ranks than the first.
    """

    def __init__(
        self,
        file: AppendOnlyFile | None,
        arm: str,
        seed: int,
        run_id: str,
        opening: Callable[[], AppendOnlyFile] | None = None,
    ) -> None:
        self.arm = arm
        self.seed = seed
        self.run_id = run_id
        self.path = None if file is None else file.path
        self._file = file
        # Makes the file with the first record that is accepted: what is refused leaves none behind.
        self._opening = opening
        self._began = time.monotonic()
        self._open = True
        self._last_step: int | None = None
        self._evaluated: set[tuple[Any, ...]] = set()

    def log(self, step: SupportsIndex, /, **figures: Any) -> None:
        """Record figures of one training step; calls for one step add up.

        Parameters
        ----------
        step : int
            Number of the step, from 1. Step 0 is the untrained model, which trains nothing.
        **figures
            Numbers by name, such as ``loss``; anything with ``item()`` is taken too. NaN and
            infinities are kept as such. Names that are no identifiers go in as ``**{"a/b": 1}``.

        Raises
        ------
        RecordingError
            When the step or a figure is no number.
        """
        number = whole(step, "step")
        if number < 1:
            raise RecordingError(
                f"step {number}: steps are counted from 1, and step 0 is the untrained model; "
                "a loop over range(n) logs step + 1"
            )
        found = {name: figure(value, f"{name} of step {number}") for name, value in figures.items()}
        self._append({"log": {"step": number, "figures": found}})
        self._last_step = max(number, self._last_step or 0)

    def evaluate(
        self,
        benchmark: str,
        task_ids: Any,
        correct: Any = None,
        samples: Any = 1,
        *,
        scores: Any = None,
        errored: Any = None,
        truncated: Any = None,
        unparsed: Any = None,
        mean_tokens: Any = None,
        clusters: Any = None,
        step: int | None = None,
        metric: str = "accuracy",
        split: str | None = None,
        selected_on: str | None = None,
        condition: Mapping[str, Any] | None = None,
    ) -> None:
        """Record the outcomes of one evaluation, per task.

        Parameters
        ----------
        benchmark : str
            Name of the set of tasks.
        task_ids : sequence of str or int
            One name per task, the same in every run and arm. T tasks.
        correct : sequence of int or bool, shape (T,)
            Correct answers per task.
        samples : int or sequence of int, shape (T,)
            Answers drawn per task, those included that ended in an error.
        scores : sequence of float, shape (T,)
            Score per task, in place of ``correct`` and ``samples``.
        errored, truncated, unparsed : sequence of int, shape (T,)
            Answers per task that ended in an error, were cut off at the token limit, held no
            answer. An errored answer is drawn and not correct.
        mean_tokens : sequence of float, shape (T,)
            Mean length of the answers of each task, in tokens.
        clusters : sequence of str or int, shape (T,)
            Group of each task, where tasks are not independent.
        step : int
            Training step of the evaluated checkpoint; 0 is the untrained model. Absent, it is the
            model as it is now, after the largest step that was logged; the last such evaluation
            is of the final model, whose step need not be the same in every run.
        metric : str
            What is measured.
        split : str
            Split of the benchmark.
        selected_on : str
            Split on which the checkpoint was chosen; ``"none"`` where it was fixed beforehand.
        condition : mapping
            Decoding settings: temperature, top_p, max_tokens, seed (of the sampling) and so on.

        Raises
        ------
        RecordingError
            When lengths differ, an id is there twice, a count exceeds the answers drawn, this
            step was evaluated on this benchmark already, or the record cannot be written.
        """
        latest = step is None
        step = self._last_step if step is None else step
        entry = evaluation_entry(
            benchmark,
            task_ids,
            correct,
            samples,
            scores=scores,
            counted={"errored": errored, "truncated": truncated, "unparsed": unparsed},
            mean_tokens=mean_tokens,
            clusters=clusters,
            step=step,
            named={"metric": metric, "split": split, "selected_on": selected_on},
            condition=condition,
        )
        entry["date"] = _now()
        place = (entry["benchmark"], entry["metric"], entry.get("split"), step)
        if place in self._evaluated:
            at = "" if step is None else f" at step {step}"
            raise RecordingError(
                f"{benchmark}: recorded already{at}; several answers to a task are samples of one "
                "evaluation, and another checkpoint has another step"
            )
        self._append({"evaluation": entry, "latest": latest}, keep=True)
        self._evaluated.add(place)

    def parameters(self, *, initial: Any = None, final: Any = None) -> None:
        """Record hashes of the trainable parameters before the first and after the last step.

        They show that two arms started alike, and that two runs are two. Each is 64 hexadecimal
        digits, bytes, or arrays or tensors by name, which are hashed here.

        Raises
        ------
        RecordingError
            When one is something else.
        """
        found = {
            name: parameters_digest(value, name)
            for name, value in (("initial", initial), ("final", final))
            if value is not None
        }
        if not found:
            raise RecordingError("parameters: give initial, final or both")
        self._append({"parameters": found}, keep=True)

    def add(self, **blocks: Any) -> None:
        """Record further members of the run, by the names that they have in a results file.

        Such as ``protocol``, ``dataset``, ``cost`` or ``training``; a later one of a name replaces
        an earlier one. They are checked here. ``cost`` gets the minutes of the record, and a
        ``training`` takes the place of what was logged.

        Raises
        ------
        RecordingError
            When a run has no such member, the record writes it itself, or it breaks the schema.
        """
        self._append({"blocks": run_blocks(blocks)}, keep=True)

    def finish(self) -> None:
        """End the run as finished; a second end is left out."""
        self._end({"status": "finished"})

    def fail(self, failure: str, status: str = "failed") -> None:
        """End the run as failed or diverged, with the reason in one line.

        Raises
        ------
        RecordingError
            When the status is neither, or the reason is empty.
        """
        if status not in ("failed", "diverged"):
            raise RecordingError(f"status: expected failed or diverged, got {status!r}")
        reason = " ".join(text(failure, "failure").split())
        self._end({"status": status, "failure": reason})

    def __enter__(self) -> RecordedRun:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the run; an exception goes on, and is recorded as the reason of the failure."""
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            self.finish()
            return
        try:
            self.fail(described(error))
        except RecordingError as unwritten:  # the training's own error matters more
            error.add_note(f"audit: this failure is not in the record: {unwritten}")

    def __repr__(self) -> str:
        return f"<run of {self.arm}, seed {self.seed}, recorded in {self.path}>"

    def _append(self, entry: dict[str, Any], keep: bool = False) -> None:
        if not self._open:
            raise RecordingError(f"{self.arm}, seed {self.seed}: the run has ended")
        if self._opening is not None:
            self._file, self._opening = self._opening(), None
            self.path = self._file.path
        if self._file is not None:
            self._file.append(entry, keep)

    def _end(self, end: dict[str, Any]) -> None:
        if not self._open or (self._file is not None and not self._file.owned):
            return
        minutes = round((time.monotonic() - self._began) / 60, 4)
        found: dict[str, Any] = {"minutes": minutes}
        found |= {"environment": surroundings.loaded_environment()}
        hardware = surroundings.hardware()
        self._append({"end": end | found | ({"hardware": hardware} if hardware else {})}, keep=True)
        self._open = False
        if self._file is not None:
            self._file.close()


def first_line(
    arm: str, seed: int, run_id: str, config: Any, study: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the first line of a record: what is known when a run starts."""
    known = {} if config is None else settings(config)
    if not isinstance(known, dict):
        raise RecordingError(f"config: expected settings by name, got {type(config).__name__}")
    return {
        "audit_run": 1,
        "run_id": run_id,
        "arm": arm,
        "seed": seed,
        "study": dict(study),
        "started": _now(),
        "config": known,
        "environment": surroundings.environment(),
        **({"code": code} if (code := surroundings.code_commit()) else {}),
    }


def is_first_rank() -> bool:
    """Whether this process is the one of a distributed run that writes the record."""
    launched = "WORLD_SIZE" in os.environ and "MASTER_ADDR" in os.environ
    return not launched or os.environ.get("RANK", "0") == "0"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
