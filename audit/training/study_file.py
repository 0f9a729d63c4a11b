"""Read a study file: TOML in, one frozen and validated ``Study`` out, or one clear line."""

from __future__ import annotations

import datetime
import difflib
import hashlib
import math
import re
import reprlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from audit.errors import InputError
from audit.reading import DEEPEST, LARGEST_INTEGER
from audit.training.guards import CLAMPED_LOSSES, clip_reachable
from audit.training.recorder import Level

Role = Literal["method", "control", "ablation", "other"]
TaskName = Literal["addition", "gsm8k", "jsonl"]
Clip = Literal["fixed", "adaptive", "region"]

_CLIP_KEYS: dict[str, tuple[str, ...]] = {
    "fixed": ("epsilon_low", "epsilon_high"),
    "adaptive": ("epsilon_low", "epsilon_high_max"),
    "region": ("divergence", "topology", "radius"),
}


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """``[task]``: which task, and its own settings, checked by the task."""

    name: TaskName
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Training:
    """``[training]``: what the arms share, save what ``[arms.NAME.training]`` sets otherwise.

    ``vllm`` holds TRL's options for generating with vLLM, without their prefix ``vllm_``.
    """

    rounds: int = 100
    prompts_per_round: int = 16
    group_size: int = 8
    iterations: int = 2
    steps_per_generation: int = 1
    accumulation: int = 1
    learning_rate: float = 5e-4
    warmup_updates: int = 0
    max_grad_norm: float = 1.0
    loss_type: str = "grpo"
    importance_sampling_level: Literal["token", "sequence"] = "token"
    beta: float = 0.0
    temperature: float = 1.0
    max_tokens: int = 4
    advantage: Literal["trl", "population", "unscaled"] = "trl"
    dtype: Literal["float32", "bfloat16"] = "float32"
    device: Literal["cpu", "auto"] = "cpu"
    threads: int = 1
    lora_rank: int = 0
    use_vllm: bool = False
    vllm: Mapping[str, Any] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class Evaluating:
    """``[evaluation]``: how the base and every run are evaluated."""

    samples: int = 4
    temperature: float = 1.0
    batch_size: int = 1200
    seed: int = 0
    base_repeats: int = 3


@dataclass(frozen=True, slots=True)
class Arm:
    """``[arms.NAME]``: the clip, and the training with what this arm sets otherwise."""

    name: str
    role: Role
    clip: Clip
    training: Training
    epsilon_low: float | None = None
    epsilon_high: float | None = None
    epsilon_high_max: float | None = None
    divergence: Literal["tv", "chi2", "kl"] | None = None
    topology: Literal["mc", "atomic"] | None = None
    radius: float | None = None


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
    """``[change]``: what the method changes, in words, and the mechanism it acts through."""

    summary: str
    mechanism: Literal["clip", "reward", "data", "other"] = "clip"


@dataclass(frozen=True, slots=True)
class Cost:
    """``[cost]``: the price of the machine, if the file should carry dollars."""

    usd_per_hour: float


@dataclass(frozen=True, slots=True)
class Study:
    """A study: arms x seeds of one training on one task."""

    seeds: tuple[int, ...]
    task: TaskSettings
    training: Training
    evaluation: Evaluating
    telemetry: Telemetry
    arms: tuple[Arm, ...]
    change: Change | None
    cost: Cost | None
    claims: tuple[Mapping[str, Any], ...]
    verified: Mapping[str, Any] | None
    limitations: tuple[str, ...]
    source_sha256: str = field(default="", compare=False)

    @property
    def method(self) -> Arm:
        """The arm under test."""
        return next(arm for arm in self.arms if arm.role == "method")

    @property
    def launched(self) -> list[tuple[Arm, int]]:
        """Every run, seeds outermost, so that a study cut short still holds pairs."""
        return [(arm, seed) for seed in self.seeds for arm in self.arms]


def read_study(path: str | Path) -> Study:
    """Read and validate a study file.

    Raises
    ------
    InputError
        Naming the file, the table and the key.
    """
    name = str(path)
    try:
        data = Path(path).read_bytes()
        document = tomllib.loads(data.decode("utf-8-sig"))  # some editors put a mark in front
        return _Reader(name).study(document, hashlib.sha256(data).hexdigest())
    except OSError as error:
        raise InputError(error.strerror or str(error), path=name) from error
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise InputError(f"not TOML: {error}", path=name) from error
    except RecursionError as error:
        raise InputError("not TOML: nested too deeply", path=name) from error


def read_record(kind: type[Any], table: Any, where: str, path: str) -> Any:
    """Build a dataclass from a table of a study file, checking names and types.

    Raises
    ------
    InputError
        Naming the file, the table and the key.
    """
    return _Reader(path).record(kind, table, where)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name that is nearest, to end a message with; empty for none."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


class _Reader:
    """Turns tables into records; every complaint names the file and the key."""

    def __init__(self, path: str) -> None:
        self.path = path

    def study(self, document: dict[str, Any], sha256: str) -> Study:
        tables = ("task", "training", "evaluation", "telemetry", "arms", "change", "cost")
        others = ("seeds", "claims", "verified", "limitations")
        self._known(document, (*tables, *others), "")
        for required in ("seeds", "task", "arms"):
            if required not in document:
                self.fail(required, "missing")
        document = {key: self._plain(value, key) for key, value in document.items()}
        shared = document.get("training", {})
        study = Study(
            seeds=self._seeds(document["seeds"]),
            task=self._task(document["task"]),
            training=self._training(shared),
            evaluation=self.record(Evaluating, document.get("evaluation", {}), "evaluation"),
            telemetry=self.record(Telemetry, document.get("telemetry", {}), "telemetry"),
            arms=self._arms(document["arms"], shared),
            change=self._optional(Change, document, "change"),
            cost=self._optional(Cost, document, "cost"),
            claims=tuple(self._claims(document.get("claims", []))),
            verified=self._table(document, "verified"),
            limitations=self._texts(document.get("limitations", []), "limitations"),
            source_sha256=sha256,
        )
        self._numbers(study)
        return study

    def fail(self, where: str, message: str) -> NoReturn:
        raise InputError(f"{where}: {message}" if where else message, path=self.path)

    def record(self, kind: type[Any], table: Any, where: str) -> Any:
        """Build a dataclass from a table, checking names and types."""
        if not isinstance(table, dict):
            self.fail(where, "must be a table")
        self._known(table, [f.name for f in fields(kind)], where)
        hints = get_type_hints(kind)
        values = {}
        for f in fields(kind):
            if f.name in table:
                values[f.name] = self._typed(table[f.name], hints[f.name], f"{where}.{f.name}")
            elif f.default is MISSING and f.default_factory is MISSING:
                self.fail(f"{where}.{f.name}", "missing")
        return kind(**values)

    def _optional(self, kind: type[Any], document: dict[str, Any], name: str) -> Any:
        return self.record(kind, document[name], name) if name in document else None

    def _table(self, document: dict[str, Any], name: str) -> dict[str, Any] | None:
        table = document.get(name)
        if table is not None and not isinstance(table, dict):
            self.fail(name, "must be a table")
        return table

    def _plain(self, value: Any, where: str, depth: int = 0) -> Any:
        """Turn dates into their ISO text, and refuse what the results file could not carry."""
        if depth > _DEEPEST:
            self.fail(where[:_SHOWN], "nested too deeply")
        if isinstance(value, dict):
            return {k: self._plain(v, f"{where}.{k}", depth + 1) for k, v in value.items()}
        if isinstance(value, list):
            return [self._plain(v, f"{where}[{n}]", depth + 1) for n, v in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            self.fail(where, f"must be a finite number, not {value}")
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            self.fail(where, "a whole number beyond 2^53, which JSON does not carry")
        # The separator of str() is a space, as a person writes it.
        return str(value) if isinstance(value, _MOMENTS) else value

    def _known(self, table: dict[str, Any], names: Any, where: str) -> None:
        for key in table:
            if key not in names:
                hint = did_you_mean(key, names)
                self.fail(f"{where}.{key[:_SHOWN]}".lstrip("."), f"unknown key{hint}")

    def _typed(self, value: Any, hint: Any, where: str) -> Any:
        if get_origin(hint) in (Union, UnionType):
            hint = next(h for h in get_args(hint) if h is not type(None))
        if get_origin(hint) is Mapping:
            hint = dict
        if get_origin(hint) is Literal:
            if value not in get_args(hint):
                wanted = ", ".join(get_args(hint))
                self.fail(where, f"must be one of {wanted}, not {reprlib.repr(value)}")
            return value
        if hint is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
            self.fail(where, f"must be {_WORDS[hint]}, not {reprlib.repr(value)}")
        return value

    def _texts(self, value: Any, where: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self.fail(where, "must be a list of texts")
        return tuple(value)

    def _claims(self, value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            self.fail("claims", "must be an array of tables")
        return list(value)

    def _seeds(self, value: Any) -> tuple[int, ...]:
        whole = isinstance(value, list) and all(type(v) is int and v >= 0 for v in value)
        if not whole or not value:
            self.fail("seeds", "must be a list of whole numbers, at least one")
        if len(set(value)) < len(value):
            self.fail("seeds", "a seed is listed twice")
        if max(value) >= _SEED_END:
            self.fail("seeds", f"must be below {_SEED_END}, not {max(value)}")
        return tuple(value)

    def _task(self, table: Any) -> TaskSettings:
        if not isinstance(table, dict) or "name" not in table:
            self.fail("task.name", "missing")
        name = self._typed(table["name"], TaskName, "task.name")
        return TaskSettings(name, {k: v for k, v in table.items() if k != "name"})

    def _arms(self, tables: Any, shared: dict[str, Any]) -> tuple[Arm, ...]:
        if not isinstance(tables, dict) or not tables:
            self.fail("arms", "must hold one table per arm")
        arms = tuple(self._arm(name, table, shared) for name, table in tables.items())
        methods = [arm.name for arm in arms if arm.role == "method"]
        if len(methods) != 1:
            self.fail("arms", f"exactly one arm has role 'method', not {len(methods)}")
        return arms

    def _arm(self, name: str, table: Any, shared: dict[str, Any]) -> Arm:
        where = f"arms.{name}"
        if not _ARM_NAME.fullmatch(name):
            # Each run is a file of this name.
            self.fail(
                "arms",
                f"{name[:80]!r}: a name is up to 100 letters, digits, '.', '_' and '-', "
                "and begins with a letter or digit",
            )
        if not isinstance(table, dict):
            self.fail(where, "must be a table")
        if "name" in table:
            self.fail(f"{where}.name", "the table's key is the name")
        training = self._training_of(table.get("training", {}), shared, f"{where}.training")
        arm: Arm = self.record(Arm, {**table, "name": name, "training": training}, where)
        wanted = _CLIP_KEYS[arm.clip]
        for key in dict.fromkeys(k for keys in _CLIP_KEYS.values() for k in keys):
            given = getattr(arm, key) is not None
            if given and key not in wanted:
                self.fail(f"{where}.{key}", f"means nothing with clip {arm.clip!r}")
            if not given and key in wanted:
                self.fail(f"{where}.{key}", f"missing; clip {arm.clip!r} needs it")
        return arm

    def _training_of(self, own: Any, shared: dict[str, Any], where: str) -> Training:
        """Read the training of an arm: the shared one with the arm's own settings on top."""
        if not isinstance(own, dict):
            self.fail(where, "must be a table")
        for name in _SAME_FOR_ALL:
            if name in own:
                self.fail(f"{where}.{name}", "is one for all arms; set it in [training]")
        return self._training({**shared, **own}, where) if own else self._training(shared)

    def _training(self, table: Any, where: str = "training") -> Training:
        training: Training = self.record(Training, table, where)
        self._signs(training, where)
        if training.threads > _MOST_THREADS:
            self.fail(f"{where}.threads", f"must be {_MOST_THREADS} or fewer")
        if training.dtype == "bfloat16" and training.device == "cpu":
            self.fail(f"{where}.dtype", "bfloat16 needs a GPU: device = 'auto', or use 'float32'")
        if training.loss_type not in CLAMPED_LOSSES:
            self.fail(
                f"{where}.loss_type",
                f"{training.loss_type!r} has no clamp of the form [1 - low, 1 + high]; "
                f"use one of {', '.join(CLAMPED_LOSSES)}",
            )
        if training.beta and not training.lora_rank:
            # TRL would load the reference anew, by a name that pins neither revision nor type.
            self.fail(
                f"{where}.beta",
                "needs a lora_rank: with an adapter the base itself is the reference, without one "
                "no reference is kept",
            )
        if training.vllm and not training.use_vllm:
            self.fail(f"{where}.vllm", "means nothing without use_vllm = true")
        self._rounds(training, where)
        return training

    def _rounds(self, training: Training, where: str) -> None:
        accumulation, passes = training.accumulation, training.passes
        if training.group_size < 2:
            self.fail(f"{where}.group_size", "a group needs two responses to compare")
        if (training.prompts_per_round * training.group_size) % training.steps_per_generation:
            self.fail(f"{where}.steps_per_generation", "must divide the responses of a round")
        if training.rounds * passes % accumulation:
            self.fail(f"{where}.accumulation", "the last update would be cut short")
        product = (
            f"steps_per_generation {training.steps_per_generation} x iterations "
            f"{training.iterations}"
        )
        if not clip_reachable(accumulation, training.steps_per_generation, training.iterations):
            if not training.allow_unreachable_clip:
                self.fail(
                    f"{where}.accumulation",
                    f"the clip cannot be reached: all {passes} passes over a round ({product}) "
                    f"fall into one update of {accumulation}, so every ratio is 1; lower it, raise "
                    "iterations, or set allow_unreachable_clip = true",
                )
        elif passes % accumulation:
            self.fail(
                f"{where}.accumulation",
                f"{accumulation} does not divide the {passes} passes over a round ({product}), so "
                "some updates would mix two rounds",
            )

    def _signs(self, record: Any, where: str) -> None:
        for f in fields(record):
            value = getattr(record, f.name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            may_be_zero = (type(record), f.name) in _MAY_BE_ZERO
            if value < 0 or (value == 0 and not may_be_zero):
                least = "0 or more" if may_be_zero else "above 0"
                self.fail(f"{where}.{f.name}", f"must be {least}, not {value}")
            if isinstance(value, int) and value > _MOST and f.name != "seed":
                self.fail(f"{where}.{f.name}", f"must be {_MOST} or fewer, not {value}")

    def _numbers(self, study: Study) -> None:
        evaluation = study.evaluation
        self._signs(evaluation, "evaluation")
        self._signs(study.telemetry, "telemetry")
        if evaluation.base_repeats < _FEWEST_REPEATS:
            self.fail(
                "evaluation.base_repeats",
                f"must be {_FEWEST_REPEATS} or more, not {evaluation.base_repeats}: the noise of "
                "the evaluation is measured from them",
            )
        if study.cost and study.cost.usd_per_hour < 0:
            self.fail("cost.usd_per_hour", f"must be 0 or more, not {study.cost.usd_per_hour}")
        if evaluation.seed >= _SEED_END:
            self.fail("evaluation.seed", f"must be below {_SEED_END}, not {evaluation.seed}")


_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    dict: "a table",
}
_MAY_BE_ZERO = (
    (Telemetry, "audited_groups"),
    (Training, "warmup_updates"),
    (Training, "beta"),
    (Training, "lora_rank"),
    (Training, "max_grad_norm"),
    (Evaluating, "seed"),
    (Evaluating, "temperature"),
)
_SAME_FOR_ALL = ("max_tokens", "device", "threads")  # the evaluation and the process rest on them
_MOST = 1_000_000  # of anything counted; what is beyond it fills memory, or takes months
_DEEPEST = DEEPEST // 2  # the results file wraps it in more
_SHOWN = 80  # characters of a key that a message repeats
_FEWEST_REPEATS = 3  # two give a spread of one degree of freedom, which bounds nothing
_MOMENTS = (datetime.date, datetime.time)  # a datetime is a date
_ARM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SEED_END = 2**32  # numpy's random state, which transformers seeds too, takes no more
_MOST_THREADS = 1024  # far above it torch crashes the process
