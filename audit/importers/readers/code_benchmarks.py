"""EvalPlus and SWE-bench: verdicts of tests, one file a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.shapes import inner, objects
from audit.importers.readers.tally import AnswerTally

_EVALPLUS_NAME = re.compile(r"[._-]?eval_results$")
_DATASETS = ("verified", "lite", "multimodal", "full", "test", "dev")


def _claims_evalplus(found: Found) -> Certainty:
    return Certainty.SURE if found.mentions("eval", "hash") else Certainty.NO


def _read_evalplus(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        document = found.document()
        base, plus = AnswerTally(["truncated"]), AnswerTally(["truncated"])
        with_plus = False
        for task, answers in inner(document, "eval").items():
            for answer in objects(answers, f"eval of {task}", found):
                status, more = answer.get("base_status"), answer.get("plus_status")
                base.answer(str(task), status == "pass", truncated=status == "timeout")
                with_plus |= more is not None
                plus.answer(
                    str(task),
                    status == "pass" and more == "pass",
                    truncated=more == "timeout" or status == "timeout",
                )
        name = _benchmark(document)
        piece = RunPiece("evalplus", (found,), root=found.folder)
        piece.name = _EVALPLUS_NAME.sub("", found.stem)
        piece.notes.append(
            f"{name}+ is right where the base tests and the additional tests both pass; a timeout "
            "is wrong, counted as truncated"
        )
        piece.evaluations = [Evaluated(name, tally=base, source=found)]
        if with_plus:
            piece.evaluations.append(Evaluated(f"{name}+", tally=plus, source=found))
        yield piece


def _benchmark(document: dict[str, Any]) -> str:
    first = str(next(iter(inner(document, "eval")), ""))
    return {"HumanEval": "humaneval", "Mbpp": "mbpp"}.get(first.partition("/")[0], "evalplus")


def _claims_swebench(found: Found) -> Certainty:
    return Certainty.SURE if found.mentions("submitted_ids", "resolved_ids") else Certainty.NO


def _read_swebench(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        document = found.document()
        submitted = sorted(_ids(document, "submitted_ids"))
        resolved = _ids(document, "resolved_ids")
        empty = _ids(document, "empty_patch_ids")
        failed = _ids(document, "error_ids") | _ids(document, "infra_failure_ids")
        tally = AnswerTally(["errored", "unparsed"])
        for task in submitted:
            tally.answer(task, task in resolved, errored=task in failed, unparsed=task in empty)
        model, _, rest = found.stem.rpartition(".")
        named = next((word for word in _DATASETS if word in rest.lower()), None)
        piece = RunPiece("swebench", (found,), name=model or rest)
        piece.evaluations = [
            Evaluated(f"swebench-{named}" if named else "swebench", tally=tally, source=found)
        ]
        total = document.get("total_instances")
        if isinstance(total, int) and total > len(submitted):
            piece.notes.append(
                f"the tasks are the {len(submitted)} that were submitted; the other "
                f"{total - len(submitted)} of {total} are no tasks here, and wrong on a leaderboard"
            )
        yield piece


def _ids(document: dict[str, Any], key: str) -> set[str]:
    listed = document.get(key) if isinstance(document, dict) else None
    return {str(name) for name in listed} if isinstance(listed, list) else set()


EVALPLUS = Reader(
    "evalplus",
    "EvalPlus results",
    re.compile(r"eval_results\.json$"),
    _claims_evalplus,
    _read_evalplus,
)
SWEBENCH = Reader(
    "swebench",
    "a SWE-bench report",
    re.compile(r"\.json$"),
    _claims_swebench,
    _read_swebench,
    also=("swe-bench",),
)
