"""A study whose runs are recorded by the training loops that make them."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, SupportsIndex

from audit.errors import InputError, RecordingError, did_you_mean
from audit.recording.append_only import AppendOnlyFile
from audit.recording.plain_values import text, whole
from audit.recording.recorded_run import RecordedRun, first_line, is_first_rank
from audit.run_record import ENDING, RunRecord, read_record
from audit.writing import write_whole

_UNSAFE = re.compile(r"[^A-Za-z0-9._+=-]+")
_MOST_ATTEMPTS = 10_000


class RecordedStudy:
    """Arms, and a folder with one record file per attempt at a run.

    Processes on one machine or on many may record runs of one study at the same time, as long as
    they share the folder; folders of several machines can be put together by copying their files.

    Parameters
    ----------
    method : str
        The arm under test.
    control : str or sequence of str
        The arms it is compared with.
    others : sequence of str
        Further arms, such as ablations.
    folder : str or Path
        Where the record files are; it is made with the first run.

    Raises
    ------
    RecordingError
        When a name is empty or there twice.

    Examples
    --------
    ::

        study = audit.Study("dapo", control="grpo", folder="runs")
        with study.run("dapo", seed=1, config=config) as run:
            for step in range(1, 101):
                run.log(step, loss=train_step())
            run.evaluate("math500", task_ids, correct, samples=4)
        study.write("results.json")
    """

    def __init__(
        self,
        method: str,
        *,
        control: str | Sequence[str] = (),
        others: Sequence[str] = (),
        folder: str | Path = "runs",
    ) -> None:
        self.method = text(method, "method")
        names = [control] if isinstance(control, str) else list(control)
        self.controls = tuple(text(name, "control") for name in names)
        self.others = tuple(text(name, "others") for name in others)
        self.folder = Path(folder)
        for name in self.arms:
            if self.arms.count(name) > 1:
                raise RecordingError(f"{name!r} names two arms")

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms, the one under test first."""
        return (self.method, *self.controls, *self.others)

    def run(self, arm: str, *, seed: SupportsIndex, config: Any = None) -> RecordedRun:
        """Begin to record a training run.

        A run that failed or was killed may be tried again: the new attempt is a file of its own,
        and the failure stays in the study as an earlier one.

        Parameters
        ----------
        arm : str
            The arm.
        seed : int
            The seed that this training was started with.
        config : mapping or object
            Settings of the training: a mapping, a dataclass, an argparse namespace or anything
            with ``to_dict``.

        Returns
        -------
        RecordedRun
            Used with ``with``, or ended by its ``finish`` or ``fail``.

        Raises
        ------
        RecordingError
            When the study has no such arm, the seed is no integer, this run has finished or goes
            on, or the folder cannot be written.
        """
        self._require(arm)
        number = whole(seed, "seed")
        if not is_first_rank():
            return RecordedRun(None, arm, number, "")
        stem = f"{file_name(arm)}-seed{number}"
        study = {"method": self.method, "controls": list(self.controls)}
        run_id = f"{stem}-{secrets.token_hex(4)}"
        first = first_line(arm, number, run_id, config, study)
        for attempt in range(1, _MOST_ATTEMPTS):
            again = "" if attempt == 1 else f"-attempt{attempt}"
            path = self.folder / f"{stem}{again}{ENDING}"
            try:
                file = AppendOnlyFile(path, first | {"attempt": attempt})
            except FileExistsError:
                self._refuse_unless_over(path, arm, number)
                continue
            return RecordedRun(file, arm, number, run_id)
        raise RecordingError(f"{_MOST_ATTEMPTS} attempts at one run", path=str(self.folder))

    def evaluate(
        self, arm: str, seed: int, benchmark: str, task_ids: Any, *arguments: Any, **named: Any
    ) -> None:
        """Record an evaluation of a run that has finished, such as one made by another program.

        The arguments after ``seed`` are those of :meth:`RecordedRun.evaluate`; without ``step``
        it is the final model. The evaluation is a file of its own beside the run's, so that this
        too may happen on any machine.

        Raises
        ------
        RecordingError
            When the run has not finished, or the evaluation cannot be recorded.
        """
        self._require(arm)
        seed = whole(seed, "seed")
        run = self._finished(arm, seed)
        if named.get("step") is None and run.log:
            named["step"] = max(run.log)
        part = f"{run.run_id}-evaluation-{secrets.token_hex(4)}"
        first = {"audit_run": 1, "run_id": part, "part_of": run.run_id, "arm": arm, "seed": seed}
        path = self.folder / f"{part}{ENDING}"
        later = RecordedRun(None, arm, seed, part, opening=lambda: AppendOnlyFile(path, first))
        later.evaluate(benchmark, task_ids, *arguments, **named)
        later.finish()

    def write(self, path: str | Path) -> Path:
        """Write the results file of all runs of this study that are recorded so far.

        Failed runs and runs that still go on are in it as such. The file is written whole or not
        at all, and an old one of that name is replaced.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        RecordingError
            When no run is recorded, or something must be decided first.
        AuditError
            When a record cannot be read, or the file not be written.
        """
        document = self.document()
        written = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(path, written.encode())
        return Path(path)

    def document(self) -> dict[str, Any]:
        """Return what :meth:`write` writes, as a dict; raises like it."""
        from audit.importers.folder.bringing_in import bring_in
        from audit.importers.folder.said import Said

        records = [_read(path) for path in sorted(self.folder.glob(f"**/*{ENDING}"))]
        own = [record for record in records if record.arm in self.arms]
        if not own:
            raise RecordingError("no run of this study is recorded here", path=str(self.folder))
        methods = {(record.first.get("study") or {}).get("method") for record in own} - {None}
        said = Said()
        if methods != {self.method}:  # arms that another study recorded
            here = {record.arm for record in own}
            controls = tuple(name for name in self.controls if name in here)
            said = Said(method=self.method if self.method in here else None, control=controls)
        brought = bring_in([record.name for record in own], said)
        if brought.document is None:
            raise RecordingError("; ".join(brought.questions), path=str(self.folder))
        return brought.document

    def __repr__(self) -> str:
        return f"<study of {', '.join(self.arms)} in {self.folder}>"

    def _require(self, arm: str) -> None:
        if arm in self.arms:
            return
        hint = did_you_mean(str(arm), self.arms)
        raise RecordingError(
            f"the study has no arm {arm!r}; there are {', '.join(self.arms)}{hint} (others=[...] "
            "names further arms)"
        )

    def _refuse_unless_over(self, path: Path, arm: str, seed: int) -> None:
        record = _read(path)
        if (record.arm, record.seed) != (arm, seed):
            return  # a name that two arms share on a file system without upper case
        status, _ = record.status
        if status == "finished":
            raise RecordingError(
                f"{arm}, seed {seed}, has finished; another training needs another seed, and "
                "evaluations of this one go in with study.evaluate",
                path=str(path),
            )
        if status == "running":
            raise RecordingError(
                f"{arm}, seed {seed}, is being recorded by another process", path=str(path)
            )

    def _finished(self, arm: str, seed: int) -> RunRecord:
        runs = [
            record
            for record in map(_read, sorted(self.folder.glob(f"*{ENDING}")))
            if (record.arm, record.seed, record.part_of) == (arm, seed, None)
        ]
        for record in runs:
            if record.status[0] == "finished":
                return record
        seen = runs[-1].status[0] if runs else "not recorded"
        raise RecordingError(
            f"{arm}, seed {seed}: only a finished run is evaluated afterwards; this one is {seen}",
            path=str(self.folder),
        )


def file_name(arm: str) -> str:
    """Return an arm's name as a file may have it; the record inside has the name itself."""
    return _UNSAFE.sub("_", arm).strip("._")[:80] or "arm"


def _read(path: Path) -> RunRecord:
    try:
        return read_record(path, str(path))
    except InputError as error:
        raise RecordingError(error.message, path=error.path, line=error.line) from None
