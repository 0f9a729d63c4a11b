"""Read a study file: TOML in, one frozen and validated ``StudyFile`` out, or all its faults.

What a key may hold is said by ``schemas/study.schema.json``; here is what several keys must make
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from audit.config import Config, Fault, build, key_name, read_config
from audit.training.guards import clip_reachable
from audit.training.recorder import Level

Role = Literal["method", "control", "ablation", "other"]
TaskName = Literal["addition", "gsm8k", "jsonl"]
Clip = Literal["fixed", "adaptive", "region"]
OnError = Literal["fail", "wrong"]

_CLIP_KEYS: dict[str, tuple[str, ...]] = {
    "fixed": ("epsilon_low", "epsilon_high"),
    "adaptive": ("epsilon_low", "epsilon_high_max"),
    "region": ("divergence", "topology", "radius"),
}
_FILE_KEYS = (
    *("holdout", "grader", "prompt", "answer", "id"),
    *("prompt_template", "instruction", "split"),
)
_HARNESS_KEYS = ("include_path", "filter")


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """``[task]``: which task, and its own settings."""

    name: TaskName
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reward:
    """``[[training.rewards]]``: one component of a training reward, by the name of its program."""

    function: str
    weight: float = 1.0
    name: str = ""
    on_error: OnError = "fail"

    @property
    def called(self) -> str:
        """Its name, else that of its function."""
        return self.name or self.function.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class Training:
    """``[training]``: what the arms share, save what ``[arms.NAME.training]`` sets otherwise.

    ``vllm`` holds TRL's options for generating with vLLM, without their prefix ``vllm_``, and
    ``trl`` further fields of ``GRPOConfig``. ``lora_alpha`` 0 stands for twice the rank, and no
    ``lora_targets`` for all linear layers. Without ``rewards`` the task's own is trained on.
    With ``save_steps`` a checkpoint is kept after so many steps of the record each, from which a
    run that is cut off goes on.
    """

    rounds: int = 100
    prompts_per_round: int = 16
    group_size: int = 8
    iterations: int = 2
    steps_per_generation: int = 1
    accumulation: int = 1
    learning_rate: float = 5e-4
    lr_scheduler_type: str = "constant_with_warmup"
    warmup_updates: int = 0
    max_grad_norm: float = 1.0
    loss_type: str = "grpo"
    importance_sampling_level: Literal["token", "sequence"] = "token"
    beta: float = 0.0
    temperature: float = 1.0
    max_tokens: int = 4
    advantage: Literal["trl", "population", "unscaled"] = "trl"
    zero_groups: Literal["keep", "reject"] = "keep"
    dtype: Literal["float32", "bfloat16"] = "float32"
    device: Literal["cpu", "auto"] = "cpu"
    threads: int = 1
    lora_rank: int = 0
    lora_alpha: float = 0.0
    lora_dropout: float = 0.0
    lora_targets: tuple[str, ...] = ()
    keep_adapter: bool = True
    keep_weights: bool = False
    save_steps: int = 0
    use_vllm: bool = False
    vllm: Mapping[str, Any] = field(default_factory=dict)
    rewards: tuple[Reward, ...] = ()
    trl: Mapping[str, Any] = field(default_factory=dict)
    activation_checkpointing: bool = False
    allow_unreachable_clip: bool = False

    @property
    def passes(self) -> int:
        """Backward passes over one batch of rollouts."""
        return self.steps_per_generation * self.iterations

    @property
    def inner_updates(self) -> int:
        """Optimizer steps that a batch of rollouts takes part in."""
        return max(1, self.passes // self.accumulation)

    @property
    def batches_per_step(self) -> int:
        """Batches of rollouts in one step of the record: more where one update takes in several."""
        return max(1, self.accumulation // self.passes)

    @property
    def steps(self) -> int:
        """Steps of the record of a run."""
        return self.rounds // self.batches_per_step

    @property
    def updates(self) -> int:
        """Optimizer steps of a run."""
        return self.rounds * self.passes // self.accumulation

    @property
    def updates_per_step(self) -> int:
        """Optimizer steps in one step of the record."""
        return self.updates // self.steps


@dataclass(frozen=True, slots=True)
class BenchmarkSettings:
    """``[[evaluation.benchmarks]]``: tasks of a file, evaluated beside those of the task.

    Or a ``task`` of another tool, ``lm_eval:NAME``, which has its own data, split, prompts and
    grader.
    ``samples`` and ``max_tokens`` 0 stand for those of ``[evaluation]``. With ``at_checkpoints``
    runs are evaluated on it after each of the study's ``checkpoints`` too.
    """

    benchmark: str
    holdout: str = ""
    grader: str = ""
    task: str = ""
    include_path: str = ""
    filter: str = ""
    prompt: str = "question"
    answer: str = "answer"
    id: str = ""
    instruction: str = ""
    prompt_template: str = "{prompt}"
    split: str = "validation"
    holdout_tasks: int = 0
    samples: int = 0
    max_tokens: int = 0
    at_checkpoints: bool = False


@dataclass(frozen=True, slots=True)
class Evaluating:
    """``[evaluation]``: how the base and every run are evaluated.

    ``max_tokens`` 0 stands for that of ``[training]``. With ``baseline`` each run evaluates its
    model before the first update too. A run is evaluated after each of the steps
    ``checkpoints`` too, counted as the record counts them; after the last step it always is. The
    further ``benchmarks`` are evaluated after the last step, and by the base; those that say so at
    the checkpoints too.
    """

    samples: int = 4
    temperature: float = 1.0
    max_tokens: int = 0
    batch_size: int = 1200
    seed: int = 0
    base_repeats: int = 3
    checkpoints: tuple[int, ...] = ()
    baseline: bool = False
    benchmarks: tuple[BenchmarkSettings, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedArm:
    """``[arms.NAME]``: the clip, and training and task with what this arm sets otherwise.

    ``evaluation_tier`` and ``limitations`` go into its runs as they are.
    """

    name: str
    role: Role
    clip: Clip
    training: Training
    task: TaskSettings
    epsilon_low: float | None = None
    epsilon_high: float | None = None
    epsilon_high_max: float | None = None
    divergence: Literal["tv", "chi2", "kl"] | None = None
    topology: Literal["mc", "atomic"] | None = None
    radius: float | None = None
    evaluation_tier: str | None = None
    limitations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Telemetry:
    """``[telemetry]``: how much of the training is written down.

    Below level full only every ``every``-th round is kept, and the first and the last. At level
    sparse ``edge_rounds`` rounds at each end are kept response by response, with audits of the
    first ``audited_groups`` groups (0: of all).
    """

    level: Level = "sparse"
    every: int = 1
    edge_rounds: int = 1
    audited_groups: int = 1


@dataclass(frozen=True, slots=True)
class Change:
    """``[change]``: what the method changes, in words, and the mechanism it acts through.

    A mechanism left out is told from the settings in which the arms differ.
    """

    summary: str
    mechanism: Literal["clip", "reward", "data", "other"] | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """``[cost]``: the price of an hour of a machine or of a device, if the file should carry it."""

    usd_per_hour: float
    per: Literal["machine", "device"] = "machine"


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study: arms x seeds of one training on one task.

    ``stated`` has what only its author knows of it, as the results file names it.
    """

    seeds: tuple[int, ...]
    task: TaskSettings
    training: Training
    evaluation: Evaluating
    telemetry: Telemetry
    arms: tuple[PlannedArm, ...]
    change: Change | None
    cost: Cost | None
    claims: tuple[Mapping[str, Any], ...]
    verified: Mapping[str, Any] | None
    limitations: tuple[str, ...]
    plan: Mapping[str, Any] | None = None
    stated: Mapping[str, Any] = field(default_factory=dict)
    source_sha256: str = field(default="", compare=False)

    @property
    def method(self) -> PlannedArm:
        """The arm under test."""
        return next(arm for arm in self.arms if arm.role == "method")

    @property
    def evaluated_tokens(self) -> int:
        """Most tokens of a response in the evaluation, which is one for all arms."""
        return self.evaluation.max_tokens or self.training.max_tokens

    @property
    def chat_template_kwargs(self) -> Mapping[str, Any]:
        """What the chat template is given besides the messages, one for all arms."""
        given: Mapping[str, Any] = self.arms[0].training.trl.get(_TEMPLATE) or {}
        return given

    @property
    def launched(self) -> list[tuple[PlannedArm, int]]:
        """Every run, seeds outermost, so that a study cut short still holds pairs."""
        return [(arm, seed) for seed in self.seeds for arm in self.arms]


def read_study(path: str | Path) -> StudyFile:
    """Read and validate a study file.

    Raises
    ------
    InputError
        Naming the file and, for every fault, the line and the key.
    """
    config = read_config(path, "study")
    config.refuse(_faults(config.content))
    return _study(config)


def _study(config: Config) -> StudyFile:
    content = config.content
    shared, task = content.get("training", {}), content["task"]
    optional: dict[str, type[Any]] = {"change": Change, "cost": Cost}
    return build(
        StudyFile,
        {**content, "claims": content.get("claims", []), "verified": content.get("verified")},
        task=_task(task),
        training=_training(shared),
        evaluation=_evaluation(content.get("evaluation", {})),
        telemetry=build(Telemetry, content.get("telemetry", {})),
        arms=tuple(_arm(name, table, shared, task) for name, table in content["arms"].items()),
        limitations=tuple(content.get("limitations", ())),
        stated={key: content[key] for key in _STATED if key in content},
        source_sha256=config.sha256,
        **{k: build(v, content[k]) if k in content else None for k, v in optional.items()},
    )


def _task(table: Mapping[str, Any]) -> TaskSettings:
    return TaskSettings(table["name"], {k: v for k, v in table.items() if k != "name"})


def _training(table: Mapping[str, Any]) -> Training:
    rewards = tuple(build(Reward, one) for one in table.get("rewards", ()))
    return build(Training, table, rewards=rewards)


def _evaluation(table: Mapping[str, Any]) -> Evaluating:
    benchmarks = tuple(build(BenchmarkSettings, one) for one in table.get("benchmarks", ()))
    return build(Evaluating, table, benchmarks=benchmarks)


def _arm(
    name: str, table: Mapping[str, Any], shared: Mapping[str, Any], task: Mapping[str, Any]
) -> PlannedArm:
    """Build an arm: training and task are the shared ones with its own settings on top."""
    training = _training({**shared, **table.get("training", {})})
    own = _task({**task, **table.get("task", {})})
    limitations = tuple(table.get("limitations", ()))
    return build(PlannedArm, table, name=name, training=training, task=own, limitations=limitations)


def _faults(content: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield what a study that keeps its schema still gets wrong."""
    shared = content.get("training", {})
    yield from _training_faults(_training(shared), "training")
    steps = content.get("evaluation", {}).get("checkpoints", ())
    names = [one["benchmark"] for one in content.get("evaluation", {}).get("benchmarks", ())]
    for index, table in enumerate(content.get("evaluation", {}).get("benchmarks", ())):
        yield from _benchmark_faults(table, f"evaluation.benchmarks[{index}]")
        if table.get("at_checkpoints") and not steps:
            where = f"evaluation.benchmarks[{index}].at_checkpoints"
            yield where, "means nothing without evaluation.checkpoints"
    for index, name in enumerate(names):
        if name in (*names[:index], content["task"].get("benchmark")):
            where = f"evaluation.benchmarks[{index}].benchmark"
            yield where, f"{name!r} is the name of another benchmark"
    arms = content["arms"]
    methods = sum(table["role"] == "method" for table in arms.values())
    if methods != 1:
        yield "arms", f"exactly one arm has the role 'method', not {methods}"
    asked: dict[str, Any] = {}
    for name, table in arms.items():
        where, own = key_name("arms", name), table.get("training", {})
        yield from _clip_faults(table, where)
        for key in _SAME_FOR_ALL:
            if key in own:
                yield f"{where}.training.{key}", "is one for all arms; set it in [training]"
        if "ddp_timeout" in own.get("trl", {}):
            yield f"{where}.training.trl.ddp_timeout", "is one for all arms; set it in [training]"
        training = _training({**shared, **own})
        asked[name] = training.trl.get(_TEMPLATE)
        first = next(iter(asked))
        if asked[name] != asked[first]:
            yield (
                f"{where}.training.trl.{_TEMPLATE}",
                f"differs from that of {first}; one evaluation asks all arms alike",
            )
        if own:
            yield from _training_faults(training, f"{where}.training")
        if steps and max(steps) > training.steps:
            yield (
                "evaluation.checkpoints",
                f"{max(steps)} is after the last of the {training.steps} steps of {name}",
            )
        for key in table.get("task", {}):
            if key not in OWN_TASK_KEYS[content["task"]["name"]]:
                yield f"{where}.task.{key}", f"no arm's own in task {content['task']['name']!r}"
    yield from _reward_name_faults(shared, arms)


def _reward_name_faults(shared: Mapping[str, Any], arms: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield components that have the name of another in an arm: each is measured in all arms."""
    tables = {key_name("arms", name, "training"): t.get("training", {}) for name, t in arms.items()}
    if not all("rewards" in table for table in tables.values()):
        tables = {"training": shared, **tables}
    functions: dict[str, str] = {}
    for where, table in tables.items():
        rewards = _training(table).rewards
        for index, one in enumerate(rewards):
            other = functions.get(one.called, one.function)
            if other != one.function:
                yield (
                    f"{where}.rewards[{index}].function",
                    f"{one.called!r} is the name of {other} in another arm; set name",
                )
        functions = {**{one.called: one.function for one in rewards}, **functions}


def _benchmark_faults(table: Mapping[str, Any], where: str) -> Iterator[Fault]:
    for key in ("holdout", "grader"):
        if "task" not in table and key not in table:
            yield f"{where}.{key}", "missing; a benchmark has a holdout and a grader, or a task"
    unused = _FILE_KEYS if "task" in table else _HARNESS_KEYS
    for key in unused:
        if key in table:
            yield f"{where}.{key}", f"means nothing with{'' if 'task' in table else 'out'} a task"


def _clip_faults(table: Mapping[str, Any], where: str) -> Iterator[Fault]:
    wanted = _CLIP_KEYS[table["clip"]]
    for key in dict.fromkeys(key for keys in _CLIP_KEYS.values() for key in keys):
        if key in table and key not in wanted:
            yield f"{where}.{key}", f"means nothing with clip {table['clip']!r}"
        if key not in table and key in wanted:
            yield f"{where}.{key}", f"missing; clip {table['clip']!r} needs it"


def _training_faults(training: Training, where: str) -> Iterator[Fault]:
    if training.dtype == "bfloat16" and training.device == "cpu":
        yield f"{where}.dtype", "bfloat16 needs a GPU: device = 'auto', or use 'float32'"
    if training.beta and not training.lora_rank:
        # TRL would load the reference again, by a name that pins neither revision nor type.
        yield (
            f"{where}.beta",
            "needs a lora_rank: with an adapter the base itself is the reference, without one no "
            "reference is kept",
        )
    if isinstance(training.trl.get(_TEMPLATE), str):
        yield f"{where}.trl.{_TEMPLATE}", "expected a table"
    names = [one.called for one in training.rewards]
    for index, name in enumerate(names):
        if name in (*names[:index], *_NAMES_TAKEN):
            yield f"{where}.rewards[{index}].name", f"{name!r} is the name of another metric"
    if training.zero_groups == "reject" and training.use_vllm:
        yield f"{where}.zero_groups", "'reject' generates with transformers alone; use_vllm = false"
    if training.save_steps and training.use_vllm:
        yield (
            f"{where}.save_steps",
            "vLLM keeps a random state of its own, which no checkpoint holds; leave it out, and a "
            "run that is cut off is trained again",
        )
    if training.keep_weights and training.lora_rank:
        yield f"{where}.keep_weights", "an adapter is trained; keep_adapter keeps it"
    for key in ("lora_alpha", "lora_dropout", "lora_targets"):
        if getattr(training, key) and not training.lora_rank:
            yield f"{where}.{key}", "means nothing without a lora_rank"
    if training.warmup_updates >= max(1, training.updates):
        # TRL's schedules begin the warm-up at 0, so that the first update trains nothing.
        yield (
            f"{where}.warmup_updates",
            f"the learning rate would rise from 0 over all {training.updates} updates of the run",
        )
    if training.vllm and not training.use_vllm:
        yield f"{where}.vllm", "means nothing without use_vllm = true"
    accumulation, passes = training.accumulation, training.passes
    if (training.prompts_per_round * training.group_size) % training.steps_per_generation:
        yield f"{where}.steps_per_generation", "must divide the responses of a round"
    if training.rounds * passes % accumulation:
        yield f"{where}.accumulation", "the last update would be cut short"
    product = (
        f"steps_per_generation {training.steps_per_generation} x iterations {training.iterations}"
    )
    if not clip_reachable(accumulation, training.steps_per_generation, training.iterations):
        if not training.allow_unreachable_clip:
            yield (
                f"{where}.accumulation",
                f"the clip cannot be reached: all {passes} passes over a round ({product}) fall "
                f"into one update of {accumulation}, so every ratio is 1; lower it, raise "
                "iterations, or set allow_unreachable_clip = true",
            )
    elif passes % accumulation:
        yield (
            f"{where}.accumulation",
            f"{accumulation} does not divide the {passes} passes over a round ({product}), so some "
            "updates would mix two rounds",
        )


_STATED = ("adapter_key", "manifest_ref", "diagnostic_only", "evaluation_protocol", "provenance")
# The process rests on them, and where a checkpoint is taken says nothing of an arm.
_SAME_FOR_ALL = ("device", "threads", "save_steps")
_TEMPLATE = "chat_template_kwargs"
_NAMES_TAKEN = ("accuracy", "target")
_DATA_KEYS = ("train_prompts", "where", "order", "model", "revision", "dtype")
OWN_TASK_KEYS: dict[str, tuple[str, ...]] = {
    "addition": (
        *("where", "order", "base_seed", "hidden_size", "layers", "heads", "intermediate_size"),
        *("warm_up_steps", "warm_up_schedule", "warm_up_batch", "warm_up_learning_rate"),
    ),
    "gsm8k": _DATA_KEYS,
    "jsonl": (*_DATA_KEYS, "train", "mixture", "prompt_template", "instruction"),
}
"""Keys of ``[task]`` that ``[arms.NAME.task]`` may set: the others make the evaluation."""
