"""Readers of folders of runs, one layout each, in one registry.

A reader claims files by their names and heads and turns them into :class:`~piece.Piece` records:
what it knows of a run, and nothing about arms, the study or the verdict. :mod:`..folder` walks,
asks the readers, joins the pieces to runs, and finds arms and seeds.
"""

from __future__ import annotations

from audit.errors import UsageError
from audit.importers.readers import (
    mlflow_database,
    mlflow_folder,
    recorded,
    tensorboard,
    trackio_database,
    verl_log,
    wandb_folder,
    wandb_table,
)
from audit.importers.readers.reader import Reader

# The order is that of `audit import --formats`; which reader takes a file is told by certainty.
READERS: tuple[Reader, ...] = (
    recorded.RECORDED,
    verl_log.CONSOLE,
    verl_log.FILE,
    wandb_folder.WANDB,
    wandb_table.RUNS,
    wandb_table.CHART,
    mlflow_folder.MLFLOW,
    mlflow_database.MLFLOW_DB,
    tensorboard.TENSORBOARD,
    trackio_database.TRACKIO,
)


def readers_named(name: str) -> tuple[Reader, ...]:
    """Return the readers that a name means: one layout, or all of a framework.

    Raises
    ------
    UsageError
        When there is none of that name.
    """
    plain = name.lower().replace("_", "-")
    found = tuple(reader for reader in READERS if plain == reader.name or plain in reader.also)
    if not found:
        names = ", ".join(dict.fromkeys(reader.name for reader in READERS))
        raise UsageError(f"no reader {name!r}; there are {names}")
    return found
