"""What an arm of a study is to the trainer, and to the results file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from audit.config import build, located
from audit.errors import InputError, UsageError
from audit.training.study_file import OWN_TASK_KEYS

if TYPE_CHECKING:
    from audit.training.study_file import Evaluating, PlannedArm, StudyFile, TaskSettings, Training
    from audit.training.tasks import Task
    from audit.training.trust_region import TrustRegion

T = TypeVar("T")


def trust_region(arm: PlannedArm) -> TrustRegion:
    """Build the region that an arm trains in.

    Raises
    ------
    audit.errors.UsageError
        When its numbers make no region.
    """
    from audit.training.trust_region import AdaptiveClip, DivergenceRegion, FixedClip

    if arm.clip == "fixed":
        return FixedClip(_given(arm.epsilon_low), _given(arm.epsilon_high))
    if arm.clip == "adaptive":
        return AdaptiveClip(_given(arm.epsilon_low), _given(arm.epsilon_high_max))
    return DivergenceRegion(_given(arm.divergence), _given(arm.topology), _given(arm.radius))


def _given(value: T | None) -> T:
    """Narrow a setting that reading the study file has made sure of."""
    if value is None:
        raise InputError("a setting of this clip is missing")
    return value


def protocol(arm: PlannedArm, evaluation: Evaluating) -> dict[str, Any]:
    """Build the ``protocol`` block: every setting, null where only another arm sets it.

    What the task knows (the reward, what was seen) is its partition's to add.
    """
    region, training = trust_region(arm), arm.training
    return {
        "steps": training.steps,
        "group": training.group_size,
        "prompts_per_step": training.prompts_per_round * training.batches_per_step,
        "max_tokens": training.max_tokens,
        "inner_updates": training.inner_updates,
        "iterations": training.iterations,
        "steps_per_generation": training.steps_per_generation,
        "gradient_accumulation": training.accumulation,
        "learning_rate": training.learning_rate,
        "lr_scheduler_type": training.lr_scheduler_type,
        "warmup_updates": training.warmup_updates,
        "max_grad_norm": training.max_grad_norm,
        "loss_type": training.loss_type,
        "importance_sampling_level": training.importance_sampling_level,
        "beta": training.beta,
        "temperature": training.temperature,
        "dtype": training.dtype,
        "advantage": training.advantage,
        "zero_groups": training.zero_groups,
        "lora_rank": training.lora_rank,
        **(lora_settings(training) if training.lora_rank else {}),
        **({"kl_estimator": "k3"} if training.beta else {}),
        "use_vllm": training.use_vllm,
        **({"vllm": dict(training.vllm)} if training.vllm else {}),
        **trained_trl(training),
        **({"rewards": [asdict(one) for one in training.rewards]} if training.rewards else {}),
        **{f"task_{name}": value for name, value in own_task(arm).items()},
        "evaluation_samples": evaluation.samples,
        "clip": arm.clip,
        "epsilon_low": arm.epsilon_low,
        "epsilon_high": arm.epsilon_high,
        "epsilon_high_max": arm.epsilon_high_max,
        "geometry": region.geometry,
        "topology": region.topology,
        "delta": arm.radius,
    }


def lora_settings(training: Training) -> dict[str, Any]:
    """Return what a LoRA adapter is trained with; all linear layers, by PEFT's own name."""
    return {
        "lora_alpha": training.lora_alpha or 2 * training.lora_rank,
        "lora_dropout": training.lora_dropout,
        "lora_targets": list(training.lora_targets) or "all-linear",
    }


def trained_trl(training: Training) -> dict[str, Any]:
    """Return the further fields of TRL, without how long processes wait for one another."""
    return {name: value for name, value in training.trl.items() if name != "ddp_timeout"}


def own_task(arm: PlannedArm) -> dict[str, Any]:
    """Return what the study says of the data and the base model of an arm."""
    return {k: v for k, v in arm.task.settings.items() if k in OWN_TASK_KEYS[arm.task.name]}


def changed(protocols: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the fields in which the first protocol differs from another, sorted."""
    top, *others = protocols
    names = {name for one in protocols for name in one}
    return sorted(n for n in names if any(top.get(n) != other.get(n) for other in others))


def changed_fields(study: StudyFile) -> list[str]:
    """Names of the settings in which the method differs from the other arms."""
    arms = sorted(study.arms, key=lambda arm: arm is not study.method)
    return changed([protocol(arm, study.evaluation) for arm in arms])


def task_of(settings: TaskSettings, path: str, where: str = "task") -> Task:
    """Build the task that a study names in the table ``where``.

    Raises
    ------
    InputError
        For settings the task cannot work with.
    """
    from audit.training.tasks.addition import Addition
    from audit.training.tasks.gsm8k import Gsm8k
    from audit.training.tasks.jsonl import JsonlSettings

    kind = {"addition": Addition, "gsm8k": Gsm8k, "jsonl": JsonlSettings}[settings.name]
    with task_errors(path, where):
        task: Task = build(kind, settings.settings).beside(Path(path).parent)
    return task


@contextmanager
def task_errors(path: str, where: str = "task") -> Iterator[None]:
    """Name the study file and the table in what a task says about a setting of its own."""
    try:
        yield
    except UsageError as error:
        if error.path is not None:  # about a file, not a setting
            raise
        key, _, message = error.message.partition(": ")
        raise located(path, f"{where}.{key}", message) from error
