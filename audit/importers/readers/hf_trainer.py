"""TRL and other users of the Hugging Face Trainer: trainer_state.json and the model card."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.numbers import integer
from audit.importers.readers.found import Found
from audit.importers.readers.logged import evaluations_of
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, whole_number, yaml_document

_CHECKPOINT = re.compile(r"^(?:(?P<root>.*)/)?checkpoint-(?P<step>\d+)$")
_VERSION = re.compile(r"^- (?P<name>[\w .-]+?):\s*(?P<version>\d\S*)\s*$", re.M)
_AXOLOTL = re.compile(
    r"axolotl version: `?(?P<version>[\w.+-]+)`?\s*```ya?ml\n(?P<text>.*?)```", re.S
)


def _claims_state(found: Found) -> Certainty:
    return Certainty.SURE if found.mentions("log_history") else Certainty.NO


def _read_states(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    by_root: dict[str, list[tuple[int, Found]]] = defaultdict(list)
    for found in files:
        place = _CHECKPOINT.match(found.folder)
        root = (place["root"] or "") if place else found.folder
        by_root[root].append((int(place["step"]) if place else 1 << 60, found))
    for root, states in by_root.items():
        found = max(states, key=lambda state: state[0])[1]
        document = found.document()
        yield of_state(document, found, root)


def of_state(document: dict[str, Any], found: Found, root: str) -> RunPiece:
    """Return what a trainer's state says of its run: the log, its steps, its own evaluations."""
    rows: dict[int, dict[str, Any]] = {}
    for entry in document.get("log_history") or ():
        step = integer(entry.get("step")) if isinstance(entry, dict) else None
        if step is not None:
            figures = {k: v for k, v in entry.items() if k not in ("step", "epoch")}
            rows.setdefault(step, {}).update(figures)
    done = integer(document.get("global_step"))
    piece = RunPiece(
        "trl",
        (found,),
        root=root,
        anchor=True,
        trained=True,
        last_step=done if done is not None else max(rows, default=None),
        planned_steps=integer(document.get("max_steps")),
        evaluations=evaluations_of(rows),
        log={step: row for step, row in rows.items() if step > 0},
    )
    mark_best(piece.evaluations, document)
    return piece


def mark_best(evaluations: list[Evaluated], document: dict[str, Any]) -> None:
    """Say of evaluations on which split the checkpoint was chosen, where one was."""
    best = document.get("best_model_checkpoint")
    step = _CHECKPOINT.match(str(best)) if best else None
    for evaluation in evaluations:
        evaluation.more.setdefault("split", "validation")
        if step is not None and evaluation.step == int(step["step"]):
            evaluation.more["selected_on"] = "validation"


def _claims_card(found: Found) -> Certainty:
    fits = b"base_model" in found.head and b"model-index" not in found.head
    return Certainty.LIKELY if fits or b"axolotl version" in found.head else Certainty.NO


def _read_cards(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        if _CHECKPOINT.match(found.folder):
            continue  # the card of a checkpoint repeats that of the run
        text = found.text()
        front = text.split("---")[1] if text.startswith("---") and text.count("---") > 1 else ""
        head = yaml_document(front, found.name) if front else {}
        model = head.get("base_model") if isinstance(head, dict) else None
        piece = RunPiece(
            "model-card",
            (found,),
            root=found.folder,
            model=model if isinstance(model, str) else None,
            packages={m["name"].lower(): m["version"] for m in _VERSION.finditer(text)},
        )
        axolotl = _AXOLOTL.search(text)
        if axolotl:
            piece.packages = {**piece.packages, "axolotl": axolotl["version"]}
            piece.config = flat(yaml_document(axolotl["text"], found.name), found.name)
            piece.trained = True
        yield piece


def seed_of_settings(config: dict[str, Any]) -> int | None:
    """Return ``seed`` of a trainer's arguments."""
    return whole_number(config.get("seed"))


STATE = Reader(
    "trl",
    "TRL and the Hugging Face Trainer (trainer_state.json)",
    re.compile(r"(?:^|/)trainer_state\.json$"),
    _claims_state,
    _read_states,
    also=("trainer-state", "axolotl", "unsloth"),
)
CARD = Reader(
    "model-card",
    "a trained model's card",
    re.compile(r"(?:^|/)README\.md$"),
    _claims_card,
    _read_cards,
    also=("trl", "axolotl"),
)
