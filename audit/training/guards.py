"""Settings under which a run could not test its clip, or its record would say what is not so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from audit.errors import UsageError

if TYPE_CHECKING:
    from trl import GRPOConfig

    from audit.training.recorder import Recorder
    from audit.training.trust_region import TrustRegion

CLAMPED_LOSSES = ("grpo", "bnpo", "dr_grpo", "dapo", "luspo")
"""TRL losses whose ratio is clamped to ``[1 - epsilon_low, 1 + epsilon_high]``."""

_FORMULA = "the record states the advantages by this formula"
_ALL = "the record counts all tokens as trained on"
_LOSS = "the record states a loss without an entropy term"
_ONLY: dict[str, tuple[tuple[Any, ...], str]] = {
    "scale_rewards": (("group", "none"), _FORMULA),
    "multi_objective_aggregation": (("sum_then_normalize",), _FORMULA),
    "mask_truncated_completions": ((False,), _ALL),
    "top_entropy_quantile": ((1.0,), _ALL),
    "off_policy_mask_threshold": ((None,), _ALL),
    "entropy_coef": ((0.0,), _LOSS),
    "use_adaptive_entropy": ((False,), _LOSS),
}

_SHARDING = {"deepspeed": "ACCELERATE_USE_DEEPSPEED", "fsdp": "ACCELERATE_USE_FSDP"}

_TRITON_DEVICES = ("cuda", "xpu")


def clip_reachable(accumulation: int, steps_per_generation: int, iterations: int) -> bool:
    """Whether any update can see a ratio other than 1.

    ``steps_per_generation * iterations`` backward passes are made on one batch of rollouts, and
    the weights change every ``accumulation`` passes. If whole batches fit into one optimizer
    step, the policy that is trained is the policy that sampled, and no bound is ever asked.
    """
    return accumulation % (steps_per_generation * iterations) != 0


def check_arguments(
    args: GRPOConfig, region: TrustRegion, *, allow_unreachable_clip: bool = False
) -> None:
    """Refuse settings before a step is spent on them.

    Raises
    ------
    UsageError
        With the setting to change.
    """
    check_sharding({"deepspeed": args.deepspeed, "fsdp": args.fsdp})
    check_kernels(args.device.type)
    if args.loss_type not in CLAMPED_LOSSES:
        raise UsageError(
            f"loss_type {args.loss_type!r} has no clamp of the form [1 - low, 1 + high]; "
            f"use one of {', '.join(CLAMPED_LOSSES)}"
        )
    if args.importance_sampling_level != "token" and region.per_token:
        raise UsageError(
            f"a {region.geometry}/{region.topology} region has one bound per token, but "
            "importance_sampling_level='sequence' has one ratio per sequence; use 'token'"
        )
    if args.delta is not None:
        raise UsageError("delta clamps the ratio a second time, outside the region; leave it None")
    for name, (sound, reason) in _ONLY.items():
        value = getattr(args, name, sound[0])  # a release without the setting does what is asked
        if value not in sound:
            wanted = " or ".join(map(repr, sound))
            raise UsageError(f"{name} must be {wanted}, not {value!r}: {reason}")
    for name, value in vars(args).items():
        if name.startswith("use_liger") and value:
            raise UsageError(f"{name}: liger kernels may bypass the clamp; turn them off")
    if args.logging_steps != 1 or str(getattr(args.logging_strategy, "value", "")) != "steps":
        raise UsageError("logging_steps must be 1: the gradient norm is read at every update")
    if args.bf16 and args.device.type == "cpu":
        raise UsageError("bf16 is on, as TRL sets it where it is unset; on a CPU set bf16=False")
    _check_rounds(args, allow_unreachable_clip)


def sharding(given: Mapping[str, Any]) -> str | None:
    """Name what asks for DeepSpeed or FSDP, which may keep the parameters in parts.

    Parameters
    ----------
    given : mapping
        The options ``deepspeed`` and ``fsdp`` of the trainer's arguments, where they are set; the
        launcher is asked besides.
    """
    for name, variable in _SHARDING.items():
        if given.get(name):
            return name
        if os.environ.get(variable, "").lower() in ("1", "true", "yes"):
            return variable
    return None


def check_sharding(given: Mapping[str, Any]) -> None:
    """Refuse DeepSpeed and FSDP, by an option of TRL or by the launcher, before a model is loaded.

    Raises
    ------
    UsageError
        With the name of what asks for it.
    """
    asked = sharding(given)
    if asked is not None:
        raise UsageError(
            f"{asked}: not tried with the hashes and evaluations of a run, so not supported; train "
            "each run on all processes with torchrun, or a run a GPU with --workers"
        )


def check_kernels(device: str) -> None:
    """Refuse a TRL that could not compute one log-probability on this device.

    TRL 1.15.0 knows its Triton kernel alone; from 1.16 on plain torch does the same elsewhere.

    Raises
    ------
    UsageError
        With the ways out.
    """
    from packaging.version import Version  # TRL itself depends on it

    installed = version("trl")
    if Version(installed) >= Version("1.16"):
        return
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"  # Triton in NumPy, on any device
    if find_spec("triton") is None or not (device in _TRITON_DEVICES or interpreted):
        raise UsageError(
            f"trl {installed} computes log-probabilities with a Triton kernel alone, which cannot "
            f"run here (device {device!r}): use trl>=1.16, or install triton and set "
            "TRITON_INTERPRET=1, which is slow"
        )


def check_recorder(args: GRPOConfig, region: TrustRegion, recorder: Recorder) -> None:
    """Refuse a recorder made for other groups or another region, or one that was used before.

    Raises
    ------
    UsageError
        With what differs.
    """
    wanted = args.num_generations, region.geometry, region.topology
    made_for = recorder.group_size, recorder.geometry, recorder.topology
    if made_for != wanted:
        raise UsageError(
            f"the recorder was made for (group size, geometry, topology) {made_for}, the training "
            f"has {wanted}"
        )
    if recorder.rounds:
        raise UsageError("the recorder holds another training; give each trainer its own")


def check_model(model: Any, *, seed: int) -> None:
    """Refuse a model whose adapter was drawn before the trainer could seed it.

    Raises
    ------
    UsageError
        When the model already carries a PEFT adapter.
    """
    if getattr(model, "peft_config", None):
        raise UsageError(
            "the model already carries an adapter, drawn from whatever the random state was; pass "
            f"the bare model and peft_config to the trainer, which seeds with {seed} first"
        )


def _check_rounds(args: GRPOConfig, allow_unreachable_clip: bool) -> None:
    accumulation = args.gradient_accumulation_steps
    passes = args.steps_per_generation * args.num_iterations
    reachable = clip_reachable(accumulation, args.steps_per_generation, args.num_iterations)
    if reachable and passes % accumulation:
        raise UsageError(
            f"gradient_accumulation_steps {accumulation} does not divide the {passes} passes over "
            "a batch of rollouts, so some updates would mix two batches; choose a divisor"
        )
    if not reachable and not allow_unreachable_clip:
        raise UsageError(
            f"the clip cannot be reached: {passes} passes over a batch of rollouts "
            f"(steps_per_generation {args.steps_per_generation} x num_iterations "
            f"{args.num_iterations}) fall into one optimizer step "
            f"(gradient_accumulation_steps {accumulation}), so every ratio is 1. Lower the "
            "accumulation or raise num_iterations, or allow it knowingly"
        )
