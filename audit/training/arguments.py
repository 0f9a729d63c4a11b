"""GRPOConfig of one run of a study, with the defaults that bite set out of the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from trl import GRPOConfig

    from audit.training.study_file import Training


def grpo_arguments(
    training: Training, *, seed: int, folder: Path, world_size: int, on_cpu: bool
) -> GRPOConfig:
    """Arguments of one run; what TRL would choose by machine or release is given explicitly."""
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
        top_p=1.0,
        top_k=0,
        learning_rate=training.learning_rate,
        lr_scheduler_type="constant_with_warmup",
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
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        # Threads of a loader would be one more source of order; the prompts are short strings.
        dataloader_num_workers=0,
        **backend,
        **activation_checkpointing(training.activation_checkpointing),
    )


def activation_checkpointing(on: bool) -> dict[str, Any]:
    """Name the setting as this release of transformers does (TRL turns it on)."""
    from transformers import TrainingArguments

    renamed = "activation_checkpointing" in TrainingArguments.__dataclass_fields__
    return {"activation_checkpointing" if renamed else "gradient_checkpointing": on}
