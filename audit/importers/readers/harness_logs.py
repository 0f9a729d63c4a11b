"""Evaluations of lm-evaluation-harness and Inspect in a folder, read by their own importers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.importers import inspect_ai, lm_eval
from audit.importers.draft import Draft, DraftRun
from audit.importers.foreign import Foreign, from_source
from audit.importers.metric_names import ACCURACY
from audit.importers.place_names import telling
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.tally import FLAGS, AnswerTally

# Figures of the harness are named metric,filter.
_FILTERED = re.compile(rb'"[a-z_0-9@]+,[\w-]+":')
# The model among the harness's arguments, as a mapping or as they are typed.
_PRETRAINED = re.compile(r"pretrained['\"]?\s*[:=]\s*['\"]?([^'\",}]+)")
_MORE = ("split", "selected_on", "condition")


def _claims_lm_eval(found: Found) -> Certainty:
    if found.base.endswith(".jsonl"):
        fits = {"doc_id", "doc", "target"} <= set(found.first or {})
    else:
        fits = found.mentions("results") and bool(_FILTERED.search(found.head))
    return Certainty.LIKELY if fits else Certainty.NO


def _claims_inspect(found: Found) -> Certainty:
    packed = found.base.endswith(".eval") and found.head.startswith(b"PK")
    plain = found.base.endswith(".json") and found.mentions("version", "status", "eval", "task")
    return Certainty.LIKELY if packed or plain else Certainty.NO


def _read_lm_eval(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    folders: dict[str, list[Found]] = defaultdict(list)
    for found in files:
        folders[found.folder].append(found)
    # The harness makes a folder of the model's name below the one it is given.
    above = Counter(folder.rpartition("/")[0] for folder in folders)
    for folder, own in folders.items():
        given = folder.rpartition("/")[0]
        root = given if above[given] == 1 and telling(given) else folder
        yield from _pieces("lm-eval", own, root, lm_eval.read(_foreign(own), reading.options))


def _read_inspect(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        draft = inspect_ai.read(_foreign([found]), reading.options)
        yield from _pieces("inspect", [found], found.folder, draft)


def _foreign(files: Sequence[Found]) -> list[Foreign]:
    return [from_source(found.source()) for found in files]


def _pieces(reader: str, files: Sequence[Found], root: str, draft: Draft) -> Iterator[RunPiece]:
    for run in draft.runs:
        yield _piece(reader, files, root, run, draft)


def _piece(reader: str, files: Sequence[Found], root: str, run: DraftRun, draft: Draft) -> RunPiece:
    document = run.document
    named = _PRETRAINED.search(run.identity or "")
    model = run.arm or (named[1] if named else None)
    piece = RunPiece(reader, tuple(files), root=root, name=model)
    piece.links = (model,) if model and "/" in model else ()
    piece.status, piece.failure = document.get("status"), document.get("failure")
    piece.notes = list(draft.notes)
    piece.evaluations = list(evaluations_of_draft(document, draft, run.tasks))
    for evaluation in piece.evaluations:
        evaluation.source = files[-1] if evaluation.tally is not None else None
    return piece


def evaluations_of_draft(
    document: Mapping[str, Any], draft: Draft, questions: Mapping[tuple[str, str], str]
) -> Iterator[Evaluated]:
    """Yield the evaluations of a run as another importer reads it."""
    figures = document.get("method_metrics", {})
    first = document.get("evaluation")
    blocks = [*([first] if first else []), *(document.get("evaluations") or ())]
    for block in blocks or [{}]:
        metric = block.get("metric", ACCURACY)
        tally = _tally(block, questions)
        value = None if tally is not None else figures.get(metric)
        if tally is None and value is None:
            continue
        scale = (draft.metrics.get(metric) or {}).get("scale")
        yield Evaluated(
            block.get("benchmark"),
            metric,
            block.get("checkpoint_step"),
            tally,
            value=value,
            examples=figures.get("examples") if tally is None else None,
            scale=tuple(scale) if scale else None,
            more={key: block[key] for key in _MORE if key in block},
        )


def _tally(
    block: Mapping[str, Any], questions: Mapping[tuple[str, str], str]
) -> AnswerTally | None:
    """Return the answers that a block's lists count."""
    tasks = block.get("task_ids")
    if not tasks:
        return None
    tally = AnswerTally(flag for flag in FLAGS if flag in block)
    for index, task in enumerate(tasks):
        question = questions.get((str(block.get("benchmark")), str(task)))
        if "scores" in block:
            tally.answer(task, block["scores"][index], question=question)
            continue
        right, drawn = block["correct"][index], block["samples"][index]
        flagged = {flag: block[flag][index] for flag in FLAGS if flag in block}
        for answer in range(drawn):
            # Errored and unparsed answers are wrong ones: they stand behind the right.
            back = drawn - 1 - answer
            tally.answer(
                task,
                float(answer < right),
                errored=back < flagged.get("errored", 0),
                truncated=back < flagged.get("truncated", 0),
                unparsed=back < flagged.get("unparsed", 0),
                question=question,
            )
    return tally


LM_EVAL = Reader(
    "lm-eval",
    "lm-evaluation-harness output",
    re.compile(r"(?:^|/)(?:results_[^/]*\.json|samples_[^/]*\.jsonl)$"),
    _claims_lm_eval,
    _read_lm_eval,
)
INSPECT = Reader(
    "inspect",
    "an Inspect evaluation log",
    re.compile(r"\.(?:eval|json)$"),
    _claims_inspect,
    _read_inspect,
    text=False,
)
