"""What all trackers have in common: figures by step, statuses, and how long a run was to be."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from audit.importers.draft import Options
from audit.importers.metric_names import ACCURACY, is_accuracy
from audit.importers.numbers import number
from audit.importers.readers.logged import evaluations_of, measured
from audit.importers.readers.piece import Evaluated
from audit.importers.readers.settings import whole_number

# Words of W&B, MLflow and schedulers; a run that is not over is no failure, and no result either.
STATUSES: Mapping[str, str] = {
    "finished": "finished",
    "crashed": "failed",
    "failed": "failed",
    "killed": "failed",
    "preempted": "failed",
    "preempting": "failed",
    "running": "running",
    "scheduled": "running",
    "pending": "running",
}
# The last part of the setting that says how many steps a run was to have.
_PLANNED = ("max_steps", "total_training_steps", "max_num_steps", "total_steps", "num_steps")
# Settings that name the model a training begins with.
_MODELS = (
    "model_name_or_path",
    "model_name",
    "model",
    "model.path",
    "actor_rollout_ref.model.path",
    "policy.model_name",
    "pretrained",
)
_PUBLIC = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_COMMIT = re.compile(r"(?!0{40})[0-9a-f]{40}")
_NOT_FINITE = frozenset({"nan", "inf", "-inf", "infinity", "-infinity"})
_SHOWN = 6


def status_of(word: str | None) -> tuple[str | None, str | None]:
    """Return status and failure that a tracker's word for the state of a run stands for."""
    plain = (word or "").strip().lower()
    status = STATUSES.get(plain)
    return status, plain if status == "failed" and plain != "failed" else None


def planned_steps(config: Mapping[str, Any]) -> int | None:
    """Return how many steps the settings say the run was to have; None where they do not."""
    for name in _PLANNED:
        for key in sorted(config):
            if key.rpartition(".")[2] == name:
                steps = whole_number(config[key])
                if steps is not None and steps > 0:
                    return steps
    return None


def model_of(config: Mapping[str, Any]) -> str | None:
    """Return the public name of the model that the settings say training began with."""
    names = (config.get(key) for key in _MODELS)
    return next((n for n in names if isinstance(n, str) and _PUBLIC.fullmatch(n)), None)


def commit_of(text: Any) -> str | None:
    """Return a full git commit; None for anything else, and for the one of zeros alone."""
    return text if isinstance(text, str) and _COMMIT.fullmatch(text) else None


def tracked_evaluations(
    log: Mapping[int, Mapping[str, Any]], options: Options, notes: list[str], where: str
) -> list[Evaluated]:
    """Return the evaluations among logged figures by step.

    Names say which figures they are (``eval/gsm8k/accuracy``); ``--metric`` names another one. A
    bare ``accuracy`` may be that of training and is not taken unasked: it is said.
    """
    found = evaluations_of(log)
    names = {name for row in log.values() for name in row}
    if options.metric in names and measured(options.metric) is None:
        found += named_evaluations(log, options.metric)
    elif not found:
        likely = sorted(name for name in names if is_accuracy(name) and _unclear(name))
        if likely:
            shown = ", ".join(likely[:_SHOWN])
            notes.append(
                f"{where}: no figure is named as an evaluation; of {shown} none is taken unasked: "
                "--metric NAME"
            )
    return found


def named_evaluations(log: Mapping[int, Mapping[str, Any]], name: str) -> list[Evaluated]:
    """Return the values of a figure that the user says is an evaluation."""
    metric = ACCURACY if is_accuracy(name) else name
    values = ((step, number(log[step].get(name))) for step in sorted(log))
    return [Evaluated(None, metric, step, value=v) for step, v in values if v is not None]


def figures(rows: Iterable[tuple[str, Any]]) -> dict[str, float]:
    """Return the logged figures that are numbers, NaN and infinities among them.

    Trackers write those as such or as text. Other text, tables and media are no figures.
    """
    return {name: float(value) for name, value in rows if _is_figure(value)}


def _is_figure(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _NOT_FINITE
    return number(value) is not None or (isinstance(value, float) and not math.isfinite(value))


def _unclear(name: str) -> bool:
    """Whether a name says neither evaluation nor training."""
    return measured(name) is None and not name.lower().startswith(("train", "rollout"))
