"""Hydra's settings of a run, verl's among them: seeds, steps, model, decoding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from audit.importers.numbers import integer, number
from audit.importers.readers.found import Found
from audit.importers.readers.piece import RunPiece, SeedSaid
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, whole_number, yaml_of

# verl's seeds of training: order of the data, and of the actor's start. The seeds of rollouts
# and rewards are others.
_SEEDS = re.compile(
    r"^(?:data\.seed|actor_rollout_ref\.actor\.(?:data_loader_seed|(?:fsdp_config|megatron)\.seed)"
    r"|trainer\.seed)$"
)
_ASKED = "actor_rollout_ref.rollout.val_kwargs.n"
_VAL = "actor_rollout_ref.rollout.val_kwargs."


def _claims(found: Found) -> Certainty:
    return Certainty.SURE


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        if found.base != "config.yaml":
            continue
        config = flat(yaml_of(found), found.name)
        overrides = reading.beside(found, "overrides.yaml")
        yield _piece(found, config, overrides)


def _piece(found: Found, config: dict[str, Any], overrides: Found | None) -> RunPiece:
    said = _overridden(overrides)
    known = {key: whole_number(value) for key, value in config.items() if _SEEDS.match(key)}
    known |= {key: whole_number(said[key]) for key in said if _SEEDS.match(key)}
    chosen = [key for key in known if key in said] or list(known)
    where = overrides if overrides is not None and any(k in said for k in chosen) else found
    piece = RunPiece(
        "hydra",
        (found,) if overrides is None else (found, overrides),
        root=str(PurePosixPath(found.folder).parent).removeprefix("."),
        anchor=True,
        config=config,
        seeds=[
            SeedSaid(value, key, where.relative)
            for key in chosen
            if (value := known[key]) is not None
        ],
        planned_steps=integer(config.get("trainer.total_training_steps")),
        model=_text(config.get("actor_rollout_ref.model.path")),
        asked=integer(config.get(_ASKED)),
        benchmark=_benchmark(config.get("data.val_files")),
    )
    name, folder = config.get("trainer.experiment_name"), config.get("trainer.default_local_dir")
    piece.name = _text(name)
    piece.links = tuple(link for link in (_text(folder),) if link)
    fields = {
        "temperature": number(config.get(f"{_VAL}temperature")),
        "top_p": number(config.get(f"{_VAL}top_p")),
        "engine": _text(config.get("actor_rollout_ref.rollout.name")),
    }
    piece.condition = {key: value for key, value in fields.items() if value is not None}
    return piece


def _overridden(found: Found | None) -> dict[str, str]:
    """Return the keys that the command line set, with their values as text."""
    document = yaml_of(found) if found is not None else None
    pairs = [str(entry).partition("=") for entry in document or () if "=" in str(entry)]
    return {key.lstrip("+~"): value for key, _, value in pairs}


def _benchmark(files: Any) -> str | None:
    names = files if isinstance(files, list) else [files]
    if len(names) != 1 or not isinstance(names[0], str):
        return None
    path = PurePosixPath(names[0])
    generic = path.stem.lower() in ("val", "test", "valid", "validation", "eval")
    name = path.parent.name if generic else path.stem
    return name or None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


HYDRA = Reader(
    "hydra",
    "Hydra's settings of a run",
    re.compile(r"(?:^|/)\.hydra/(?:config|overrides|hydra)\.yaml$"),
    _claims,
    _read,
    also=("verl",),
)
