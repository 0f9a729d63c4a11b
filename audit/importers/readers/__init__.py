"""Readers of folders of runs, one layout each, in one registry.

A reader claims files by their names and heads and turns them into :class:`~piece.Piece` records:
what it knows of a run, and nothing about arms, the study or the verdict. :mod:`..folder` walks,
asks the readers, joins the pieces to runs, and finds arms and seeds.
"""

from __future__ import annotations

from audit.errors import UsageError
from audit.importers.readers import (
    bfcl,
    code_benchmarks,
    completions,
    evalscope,
    harness_logs,
    hf_trainer,
    home_made,
    hub_cards,
    hydra,
    lighteval,
    mlflow_database,
    mlflow_folder,
    nemo_rl,
    nemo_skills,
    open_instruct,
    opencompass,
    recorded,
    run_settings,
    skyrl,
    step_logs,
    tau2,
    tensorboard,
    tinker,
    trackio_database,
    verifiers_legacy,
    verifiers_traces,
    verl_dump,
    verl_log,
    wandb_folder,
    wandb_table,
)
from audit.importers.readers.reader import Reader

# The order is that of `audit import --formats`; which reader takes a file is told by certainty.
READERS: tuple[Reader, ...] = (
    hf_trainer.STATE,
    hf_trainer.CARD,
    completions.PARQUET,
    step_logs.SWIFT,
    completions.LINES,
    step_logs.FACTORY,
    hydra.HYDRA,
    verl_dump.DUMPS,
    verl_log.CONSOLE,
    verl_log.FILE,
    verifiers_legacy.LEGACY,
    verifiers_traces.TRACES,
    run_settings.PRIME,
    run_settings.TINKER,
    run_settings.LOG,
    tinker.BENCHMARKS,
    nemo_rl.DATA,
    nemo_rl.SETTINGS,
    skyrl.SKYRL,
    open_instruct.ROLLOUTS,
    code_benchmarks.SWEBENCH,
    bfcl.BFCL,
    tau2.TAU2,
    code_benchmarks.EVALPLUS,
    lighteval.RESULTS,
    lighteval.DETAILS,
    evalscope.EVALSCOPE,
    opencompass.OPENCOMPASS,
    nemo_skills.SKILLS,
    harness_logs.LM_EVAL,
    harness_logs.INSPECT,
    hub_cards.RESULTS,
    hub_cards.INDEX,
    wandb_folder.WANDB,
    wandb_table.RUNS,
    wandb_table.CHART,
    mlflow_folder.MLFLOW,
    mlflow_database.MLFLOW_DB,
    tensorboard.TENSORBOARD,
    trackio_database.TRACKIO,
    recorded.RECORDED,
    home_made.HOME,
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
