"""GRPOConfig of one run of a study, with the defaults that bite set out of the way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from audit.errors import did_you_mean
from audit.recording.plain_values import settings

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import TrainingArguments
    from trl import GRPOConfig

    from audit.config import Fault
    from audit.training.study_file import Training

# Places and accounts: they tell the machine and not the training. One run's differ from another's.
_PLACES = re.compile(r"(output_dir|logging_dir|run_name|project|_n_gpu|local_rank|hub_.*|push_.*)$")


def grpo_arguments(
    training: Training,
    *,
    seed: int,
    folder: Path,
    world_size: int,
    on_cpu: bool,
    reward_weights: Sequence[float] = (),
    shuffled: bool = True,
) -> GRPOConfig:
    """Arguments of one run; what TRL would choose by machine or release is given explicitly.

    Parameters
    ----------
    reward_weights : sequence of float
        Weights of the reward functions where there are several.
    shuffled : bool
        Whether the seed shuffles the prompts, or they stay in their order.
    """
    from trl import GRPOConfig

    sequences = training.prompts_per_round * training.group_size
    backend = {"ddp_backend": "gloo"} if on_cpu and world_size > 1 else {}
    return GRPOConfig(
        output_dir=str(folder),
        seed=seed,
        per_device_train_batch_size=sequences // (world_size * training.steps_per_generation),
        steps_per_generation=training.steps_per_generation,
        gradient_accumulation_steps=training.accumulation,
        num_iterations=training.iterations,
        num_generations=training.group_size,
        max_steps=training.updates,
        max_completion_length=training.max_tokens,
        temperature=training.temperature,
        learning_rate=training.learning_rate,
        lr_scheduler_type=training.lr_scheduler_type,
        warmup_steps=training.warmup_updates,
        max_grad_norm=training.max_grad_norm,
        loss_type=training.loss_type,
        scale_rewards="none" if training.advantage == "unscaled" else "group",
        beta=training.beta,
        importance_sampling_level=training.importance_sampling_level,
        use_vllm=training.use_vllm,
        **{f"vllm_{name}": value for name, value in training.vllm.items()},
        bf16=training.dtype == "bfloat16",
        use_cpu=on_cpu,
        logging_steps=1,
        logging_strategy="steps",
        save_strategy="steps" if training.save_steps else "no",
        save_steps=max(1, training.save_steps) * training.updates_per_step,
        report_to="none",
        disable_tqdm=True,
        shuffle_dataset=shuffled,
        reward_weights=list(reward_weights) if len(reward_weights) > 1 else None,
        **backend,
        **activation_checkpointing(training.activation_checkpointing),
        **{**_DEFAULTS, **training.trl},
    )


# What [training.trl] may set otherwise. Threads of a loader would be one more source of order.
_DEFAULTS = {"top_p": 1.0, "top_k": 0, "dataloader_num_workers": 0}

SET_ELSEWHERE = {
    "seed": "seeds",
    "max_steps": "rounds",
    "num_generations": "group_size",
    "num_iterations": "iterations",
    "steps_per_generation": "steps_per_generation",
    "gradient_accumulation_steps": "accumulation",
    "per_device_train_batch_size": "prompts_per_round",
    "generation_batch_size": "prompts_per_round",
    "max_completion_length": "max_tokens",
    "temperature": "temperature",
    "learning_rate": "learning_rate",
    "lr_scheduler_type": "lr_scheduler_type",
    "warmup_steps": "warmup_updates",
    "max_grad_norm": "max_grad_norm",
    "loss_type": "loss_type",
    "scale_rewards": "advantage",
    "beta": "beta",
    "importance_sampling_level": "importance_sampling_level",
    "use_vllm": "use_vllm",
    "bf16": "dtype",
    "use_cpu": "device",
    "shuffle_dataset": "order in [task]",
    "reward_weights": "rewards",
    "epsilon": "the arm's epsilon_low",
    "epsilon_high": "the arm's epsilon_high",
    "save_steps": "save_steps",
    "activation_checkpointing": "activation_checkpointing",
    "gradient_checkpointing": "activation_checkpointing",
    **dict.fromkeys(
        ("output_dir", "logging_steps", "logging_strategy", "save_strategy", "report_to"), ""
    ),
    **dict.fromkeys(("disable_tqdm", "ddp_backend", "num_train_epochs", "data_seed"), ""),
    **dict.fromkeys(("save_only_model", "save_total_limit", "load_best_model_at_end"), ""),
    # What the reward reads would be dropped; TRL's own evaluation has no data here.
    **dict.fromkeys(("remove_unused_columns", "eval_strategy", "eval_on_start"), ""),
    **dict.fromkeys(("resume_from_checkpoint", "ignore_data_skip", "save_on_each_node"), ""),
}
"""Fields of ``GRPOConfig`` that a study sets by a key of its own; empty where by none."""


def resolved(arguments: TrainingArguments) -> dict[str, Any]:
    """Return every field as the trainer took it, defaults included; no places and accounts."""
    every = arguments.to_dict().items()
    return {name: value for name, value in every if value is not None and not _PLACES.match(name)}


def configuration(arguments: GRPOConfig, named: Iterable[str]) -> dict[str, Any]:
    """Return what the protocol of a run says of the fields that the study has no key for.

    Parameters
    ----------
    arguments : GRPOConfig
        Of the run.
    named : iterable of str
        Fields that an arm of the study sets: they stand under their own names in all arms.

    Returns
    -------
    dict
        Such fields, the optimizer's and the form of the KL term by name; all others in
        ``grpo_config``.
    """
    found = settings(resolved(arguments))
    own = {*_BY_NAME, *named}
    rest = {
        name: value
        for name, value in sorted(found.items())
        if name not in {*own, *SET_ELSEWHERE, *_APART} and not name.startswith("vllm_")
    }
    stated = {name: found[name] for name in sorted(own) if name in found}
    return {**stated, "optimizer": found["optim"], "grpo_config": rest}


# The optimizer's name, which is `optimizer`, and how long processes wait, which trains nothing.
_APART = ("optim", "ddp_timeout")
_BY_NAME = ("weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "use_bias_correction_kl")


def trl_faults(given: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the fields of ``[training.trl]`` that TRL lacks, the study sets, or of another type."""
    if not given:
        return  # so that a study without them is checked where TRL is not installed

    from trl import GRPOConfig

    hints = get_type_hints(GRPOConfig)
    for name, value in given.items():
        if name not in hints:
            yield name, f"TRL has no such field{did_you_mean(name, hints)}"
        elif name in SET_ELSEWHERE or name.startswith("vllm_"):
            key = "vllm" if name.startswith("vllm_") else SET_ELSEWHERE[name]
            yield name, f"is set by {key}" if key else "is set by the program"
        elif name.startswith(("push_to_hub", "hub_")):
            yield name, "is refused: a study writes nothing to the Hub"
        elif not _is_of(value, hints[name]):
            wanted = getattr(hints[name], "__name__", str(hints[name])).replace("typing.", "")
            yield name, f"expected {wanted}, found {value!r}"


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value of TOML is of a type; in doubt it is."""
    kinds = [get_origin(kind) or kind for kind in get_args(hint) or (hint,)]
    plain = [kind for kind in kinds if kind in (bool, int, float, str, list, dict)]
    if len(plain) < len([kind for kind in kinds if kind is not type(None)]) or not plain:
        return True
    if isinstance(value, bool):
        return bool in plain
    return isinstance(value, tuple(plain)) or (isinstance(value, int) and float in plain)


def activation_checkpointing(on: bool) -> dict[str, Any]:
    """Name the setting as this release of transformers does (TRL turns it on)."""
    from transformers import TrainingArguments

    renamed = "activation_checkpointing" in TrainingArguments.__dataclass_fields__
    return {"activation_checkpointing" if renamed else "gradient_checkpointing": on}
