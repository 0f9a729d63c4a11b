"""One run of a study: an arm at a seed, from a fresh model to its outcomes per task."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.errors import AuditError, UsageError
from audit.failure import described
from audit.training.arms import protocol, trust_region
from audit.training.evaluation import Condition, NothingScored, Outcome, evaluate
from audit.training.memory import is_out_of_memory
from audit.training.progress import Progress, hide_loading_bars, silent
from audit.training.study_file import Arm, Study

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from audit.training.recorder import Recorder
    from audit.training.tasks import Partition, Task

# Two runs in one process would draw from one random state; threads of a Dask worker take turns.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class Bench:
    """What every run of a study shares; it travels to worker processes by pickle."""

    study: Study
    task: Task
    partition: Partition
    cache: Path
    checkpoint: dict[str, Any]


def run(bench: Bench, arm: Arm, seed: int, progress: Progress = silent) -> dict[str, Any]:
    """Train and evaluate, and return the run as a results file carries it.

    A run that fails or diverges is returned as such, with what was recorded until then.

    Raises
    ------
    AuditError
        For settings that no run of the study could use.
    """
    hide_loading_bars()
    with _ONE_AT_A_TIME:
        return _Run(bench, arm, seed, progress).record()


def evaluate_base(bench: Bench, repeat: int, progress: Progress = silent) -> dict[str, Any]:
    """Evaluate the untrained base once more, under a seed of its own.

    Raises
    ------
    UsageError
        When memory does not suffice, or no response could be scored.
    """
    hide_loading_bars()
    with _ONE_AT_A_TIME:
        settle(bench.study)
        device = _device(bench.study)
        model = bench.task.fresh_model(bench.cache).to(device)
        seed = bench.study.evaluation.seed + repeat
        try:
            outcome = _evaluate(bench, model, seed, progress)
        except NothingScored as error:
            raise UsageError(f"evaluation of the base: {error}") from error
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise UsageError(
                f"no memory to generate {bench.study.evaluation.batch_size} responses at once; "
                "set evaluation.batch_size lower"
            ) from error
    return {
        "run": repeat + 1,
        "evaluation": outcome.block(bench.task.benchmark, "validation", 0),
        **{k: v for k, v in outcome.metrics().items() if not k.startswith("pass_at")},
    }


class _Run:
    """The steps of one run and what they leave behind."""

    def __init__(self, bench: Bench, arm: Arm, seed: int, progress: Progress) -> None:
        self.bench, self.arm, self.seed, self.progress = bench, arm, seed, progress
        self.training = arm.training
        self.device = _device(bench.study)
        self.trainer: Any = None
        self.recorder: Recorder | None = None
        self.outcome: Outcome | None = None
        self.final_sha256: str | None = None

    def record(self) -> dict[str, Any]:
        started = time.monotonic()
        status: dict[str, Any] = {"status": "finished"}
        try:
            self._train()
        except AuditError:
            raise
        except (Exception, SystemExit) as error:  # a failed run is a result and is kept
            kind = "diverged" if type(error).__name__ == "Diverged" else "failed"
            if kind == "failed" and world_size() > 1:
                raise  # the other processes still wait for this one; only ending all of them helps
            why = str(error) if kind == "diverged" else described(error)
            status = {"status": kind, "failure": why}
        minutes = (time.monotonic() - started) / 60
        return {
            "run_id": f"{self.arm.name}-seed{self.seed}",
            "method": self.arm.name,
            "seed": self.seed,
            **status,
            "device": self.device,
            "dataset": self.bench.partition.dataset,
            "checkpoint": self.bench.checkpoint,
            **self._weights(),
            **self._outcomes(),
            **({} if self.trainer is None else self.trainer.record()),
            "protocol": {
                **protocol(self.arm, self.bench.study.evaluation),
                **self.bench.partition.protocol,
            },
            "cost": self._cost(minutes),
            "environment": self._environment(),
        }

    def _train(self) -> None:
        import torch

        from audit.training.parameters import parameters_sha256

        settle(self.bench.study)
        torch.manual_seed(self.seed)
        model = self.bench.task.fresh_model(self.bench.cache)
        found = parameters_sha256(model)
        if found != self.bench.checkpoint["parameters_sha256"]:
            raise UsageError(
                f"the base model of this worker has parameters {found[:12]}, that of the study "
                f"{self.bench.checkpoint['parameters_sha256'][:12]}: let the workers see the same "
                "files as the process that started them"
            )
        with tempfile.TemporaryDirectory() as folder:
            self.trainer = self._trainer(model, Path(folder))
            self.recorder = self.trainer.recorder
            self.trainer.train()
        trained = self.trainer.accelerator.unwrap_model(self.trainer.model)
        self.final_sha256 = _agreed(parameters_sha256(trained))
        if self.trainer.accelerator.is_main_process:
            # A seed no arm shares with another seed's run, so evaluation noise is independent.
            seed = self.bench.study.evaluation.seed + _RUN_SEEDS + self.seed
            self.outcome = _evaluate(self.bench, trained, seed, self.progress)
        self.trainer.accelerator.wait_for_everyone()

    def _trainer(self, model: PreTrainedModel, folder: Path) -> Any:
        from datasets import Dataset
        from transformers import PrinterCallback

        from audit.training.arguments import grpo_arguments
        from audit.training.recorder import Recorder
        from audit.training.rewards import ScoreReward
        from audit.training.trainer import AuditedGRPOTrainer

        region, telemetry = trust_region(self.arm), self.bench.study.telemetry
        items = self.bench.partition.train
        rows = [{"prompt": i.prompt, "answer": i.answer, "row": i.row} for i in items]
        trainer = AuditedGRPOTrainer(
            model,
            ScoreReward(self.bench.task.scorer),
            grpo_arguments(
                self.training,
                seed=self.seed,
                folder=folder,
                world_size=world_size(),
                on_cpu=self.device == "cpu",
            ),
            trust_region=region,
            recorder=Recorder(
                telemetry.level,
                self.training.group_size,
                region.geometry,
                region.topology,
                telemetry.every,
                telemetry.edge_rounds,
                telemetry.audited_groups,
            ),
            advantage="population" if self.training.advantage == "population" else "trl",
            allow_unreachable_clip=self.training.allow_unreachable_clip,
            train_dataset=Dataset.from_list(rows),
            processing_class=self.bench.task.tokenizer(self.bench.cache),
            peft_config=_lora(self.training.lora_rank),
        )
        trainer.remove_callback(PrinterCallback)  # stdout is for results
        trainer.add_callback(_steps(self.progress, self.training.updates))
        return trainer

    def _weights(self) -> dict[str, Any]:
        if self.trainer is None:
            return {}
        start = self.trainer.initial_parameters_sha256
        known = {"initial_parameters_sha256": start}
        if self.final_sha256 is None:
            return known
        return {
            **known,
            "final_parameters_sha256": self.final_sha256,
            "parameters_changed": self.final_sha256 != start,
        }

    def _outcomes(self) -> dict[str, Any]:
        if self.outcome is None:
            return {}
        step = self.training.steps
        return {
            "method_metrics": self.outcome.metrics(),
            "evaluation": self.outcome.block(self.bench.task.benchmark, "validation", step),
        }

    def _cost(self, minutes: float) -> dict[str, Any]:
        tokens = {}
        if self.recorder is not None:
            tokens = {
                "generated_tokens": self.recorder.generated_tokens,
                "trained_tokens": self.recorder.trained_tokens,
            }
        return {
            "minutes": round(minutes, 4),
            "device": self._device_name(),
            **tokens,
        }

    def _device_name(self) -> str:
        from audit.training.environment import device_name

        return device_name(self.device)

    def _environment(self) -> dict[str, Any]:
        from audit.training.environment import environment

        return environment(self.device, world_size())


_RUN_SEEDS = 1_000_000  # evaluation seeds of runs start here; those of the base lie below


def world_size() -> int:
    """How many processes train together, as ``torchrun`` and ``accelerate launch`` say it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main_process() -> bool:
    """Whether this process evaluates, writes and speaks."""
    return os.environ.get("RANK", "0") == "0"


def _agreed(sha256: str) -> str:
    """Return the hash, once all processes of the run have the same one."""
    from accelerate.utils import gather_object

    found = sorted(set(gather_object([sha256])))
    if len(found) > 1:
        raise RuntimeError(f"processes ended with different weights: {[f[:12] for f in found]}")
    return sha256


def _evaluate(bench: Bench, model: Any, seed: int, progress: Progress) -> Outcome:
    evaluation, training = bench.study.evaluation, bench.study.training
    condition = Condition(
        samples=evaluation.samples,
        temperature=evaluation.temperature,
        max_tokens=training.max_tokens,
        seed=seed,
        batch_size=evaluation.batch_size,
        dtype=str(model.dtype).removeprefix("torch."),
    )
    items = bench.partition.holdout
    done = 0

    def count(rows: int) -> None:
        nonlocal done
        done += rows
        progress("evaluation", done, len(items) * condition.samples)

    tokenizer = bench.task.tokenizer(bench.cache)
    return evaluate(model, tokenizer, items, bench.task.scorer, condition, count)


def settle(study: Study) -> None:
    """Set threads and determinism, and stop the chatter, before anything is computed."""
    import warnings

    import torch
    import transformers

    if torch.get_num_threads() != study.training.threads:
        torch.set_num_threads(study.training.threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Filling fresh memory with NaN makes no result firmer, and each update three times slower.
    torch.utils.deterministic.fill_uninitialized_memory = False
    transformers.utils.logging.set_verbosity_error()
    # transformers warns about its own use of its own old names.
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")


def _device(study: Study) -> str:
    visible = visible_gpus(study)
    if len(visible) > 1 and world_size() == 1:
        raise UsageError(
            f"{len(visible)} GPUs are visible to one process: give it one (CUDA_VISIBLE_DEVICES), "
            f"train a run on each (--workers {len(visible)}), or each run on all of them (torchrun)"
        )
    return "cuda" if visible else "cpu"


def visible_gpus(study: Study) -> list[str]:
    """Name the GPUs the study may use here, as ``CUDA_VISIBLE_DEVICES`` does."""
    import torch

    if study.training.device == "cpu" or not torch.cuda.is_available():
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = torch.cuda.device_count()
    return named.split(",")[:count] if named else [str(n) for n in range(count)]


def _lora(rank: int) -> Any:
    if rank == 0:
        return None
    from peft import LoraConfig

    # All linear layers, by PEFT's own name for them.
    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")


def _steps(progress: Progress, total: int) -> Any:
    from transformers import TrainerCallback

    class Steps(TrainerCallback):  # type: ignore[misc]  # transformers' own class is untyped here
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            progress("training", state.global_step, total)

    return Steps()
