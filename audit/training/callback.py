"""A run record of any trainer of TRL or transformers: GRPO, RLOO, online DPO, DPO, SFT and others.

One line records what a trainer logs, its settings and seed, hashes of what was trained, the
environment and the time; `AuditedGRPOTrainer` adds its telemetry to the same record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from audit.errors import UsageError
from audit.recording import RecordedRun, Study
from audit.training.arguments import resolved
from audit.training.guards import sharding
from audit.training.parameters import parameters_sha256

if TYPE_CHECKING:
    from torch import nn
    from transformers import TrainerControl, TrainerState, TrainingArguments

# Readings of a clock, which make two equal runs differ; the record has its own.
_TIMED = re.compile(r"(runtime|_per_second|step_time)$")


class AuditCallback(TrainerCallback):  # type: ignore[misc]  # transformers' own is untyped here
    """Records a training as a run of a study.

    Parameters
    ----------
    target : audit.Study or audit.recording.RecordedRun
        The study, in which the run begins and ends with the training; or a run of it that was
        begun with ``study.run`` and ends there, so that what fails is recorded with its reason
        and evaluations go in before and after the training.
    arm : str, optional
        The arm, with a study.

    Attributes
    ----------
    run : RecordedRun or None
        The run that is recorded; None before the training begins.
    further : callable
        Gives what the trainer itself has for the run when the training ends.

    Raises
    ------
    UsageError
        For a study without an arm, or a run with one.

    Examples
    --------
    ::

        study = audit.Study("dpo", control="sft", folder="runs")
        trainer.add_callback(AuditCallback(study, "dpo"))
        trainer.train()
    """

    def __init__(self, target: Study | RecordedRun, arm: str | None = None) -> None:
        if isinstance(target, Study) != (arm is not None):
            raise UsageError("AuditCallback takes a study and an arm, or a run alone")
        self._study = target if isinstance(target, Study) else None
        self._arm = arm
        self.run = target if isinstance(target, RecordedRun) else None
        self.further: Callable[[], Mapping[str, Any]] = dict

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        train_dataloader: Any = None,
        **_: Any,
    ) -> None:
        """Begin the run where it is not begun, and hash what is to be trained."""
        if self._study is not None and self._arm is not None:
            config = settings(args, model, train_dataloader, state.global_step)
            self.run = self._study.run(self._arm, seed=args.seed, config=config)
        if (run := self._hashed(args)) is not None:
            run.parameters(initial=parameters_sha256(model))

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Record what the trainer logs of a step."""
        if self.run is not None and state.global_step > 0:
            figures = {
                name: value
                for name, value in (logs or {}).items()
                if isinstance(value, int | float) and not _TIMED.search(name)
            }
            self.run.log(state.global_step, **figures)

    def on_train_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **_: Any,
    ) -> None:
        """Hash what was trained, and end the run that was begun here."""
        if self.run is None:
            return
        if (run := self._hashed(args)) is not None:
            run.parameters(final=parameters_sha256(model))
        self.run.add(device=args.device.type, **self.further())
        if self._study is not None:
            self.run.finish()

    def _hashed(self, args: TrainingArguments) -> RecordedRun | None:
        """Return the run where this process writes its record and holds the parameters whole."""
        parts = sharding({"deepspeed": args.deepspeed, "fsdp": args.fsdp})
        writes = self.run is not None and self.run.path is not None
        return self.run if writes and parts is None else None


def settings(
    args: TrainingArguments, model: nn.Module, train_dataloader: Any, step: int
) -> dict[str, Any]:
    """Return what a training was set to: the arguments, the model, its adapter and the data.

    Parameters
    ----------
    args : TrainingArguments
        Of any trainer; all but places and accounts are taken.
    model : Module
        What is trained.
    train_dataloader : DataLoader
        Gives the number of training rows.
    step : int
        Where it begins; above 0 where it goes on from a checkpoint.
    """
    name = str(getattr(getattr(model, "config", None), "_name_or_path", "") or "")
    # A folder's place on a machine identifies nothing.
    name = Path(name).name if Path(name).is_dir() else name
    revision = getattr(getattr(model, "config", None), "_commit_hash", None)
    parameters = list(model.parameters())
    rows = getattr(getattr(train_dataloader, "dataset", None), "__len__", None)
    adapters = getattr(model, "peft_config", None) or {}
    return {
        **resolved(args),
        "trainer": type(args).__name__.removesuffix("Config").removesuffix("Arguments"),
        "model": {
            "class": type(model).__name__,
            **({"name": name} if name else {}),
            **({"revision": revision} if revision else {}),
            "parameters": sum(p.numel() for p in parameters),
            "trained_parameters": sum(p.numel() for p in parameters if p.requires_grad),
        },
        # TRL may put a copy beside it that is not trained; the one to be trained comes first.
        **({"adapter": adapter(next(iter(adapters.values())))} if adapters else {}),
        **({"train_rows": rows()} if rows is not None else {}),
        **({"resumed_from_step": step} if step else {}),
    }


def adapter(config: Any) -> dict[str, Any]:
    """Return the settings of a PEFT adapter that say how it is trained."""
    plain = {k: v for k, v in config.to_dict().items() if v not in (None, {}, [], "", False)}
    plain.pop("base_model_name_or_path", None)
    return plain
