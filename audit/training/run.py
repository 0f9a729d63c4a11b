"""One run of a study: an arm at a seed, from a fresh model to its outcomes per task."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.errors import AuditError, UsageError
from audit.failure import described
from audit.partition import file_sha256
from audit.training.arms import lora_settings, protocol, trained_trl, trust_region
from audit.training.context_length import check_lengths
from audit.training.disk_full import held_while_full
from audit.training.environment import code_commit, device_name, environment
from audit.training.evaluation import (
    Condition,
    NothingScored,
    Outcome,
    evaluate,
    merged,
    outcome_of,
    share,
)
from audit.training.memory import is_out_of_memory
from audit.training.progress import Progress, hide_loading_bars, silent
from audit.training.resuming import TakenUp, Unfinished, unfinished_folder
from audit.training.study_file import PlannedArm, StudyFile, Training
from audit.training.tasks.benchmarks import FurtherBenchmark, HeldOut, evaluation_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from audit.training.components import Component, ComponentReward
    from audit.training.recorder import Recorder
    from audit.training.tasks import Partition, Task

# Two runs in one process would draw from one random state; threads of a Dask worker take turns.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class ArmSource:
    """What an arm trains on, starts from and is rewarded by.

    Without ``rewards`` the task's scorer is the reward.
    """

    task: Task
    partition: Partition
    checkpoint: dict[str, Any]
    rewards: tuple[Component, ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """What every run of a study shares; it travels to worker processes by pickle.

    ``sources`` has the arms whose data, base model or reward are their own. The evaluation is that
    of ``task`` and ``partition`` for all arms.
    """

    study: StudyFile
    task: Task
    partition: Partition
    cache: Path
    checkpoint: dict[str, Any]
    sources: Mapping[str, ArmSource] = field(default_factory=dict)
    further: tuple[FurtherBenchmark, ...] = ()

    def source(self, arm: PlannedArm) -> ArmSource:
        """Return what an arm trains on and starts from."""
        return self.sources.get(arm.name) or ArmSource(self.task, self.partition, self.checkpoint)

    def protocol(self, arm: PlannedArm) -> dict[str, Any]:
        """Return the ``protocol`` block of an arm's runs."""
        source, grader = self.source(arm), self.partition.protocol["reward"]
        further = {one.setting.benchmark: one.block for one in self.further}
        parts = " + ".join(f"{one.weight:g} {one.name}" for one in source.rewards)
        return {
            **protocol(arm, self.study.evaluation),
            "evaluation_max_tokens": self.study.evaluated_tokens,
            "training_data_sha256": source.partition.train_sha256,
            "base_parameters_sha256": source.checkpoint["parameters_sha256"],
            **source.partition.protocol,
            "reward": parts or grader,
            "grader": grader,
            **({"benchmarks": further} if further else {}),
        }

    def asks(self, grader: str) -> bool:
        """Whether a response is judged by this grader anywhere, in training or evaluation."""
        parts = [one.function for source in self.sources.values() for one in source.rewards]
        judges = [one.setting.grader for one in self.further]
        return grader in (self.partition.protocol["reward"], *judges, *parts)

    @property
    def splits(self) -> dict[str, str]:
        """Which split of each benchmark is asked, by the benchmark's name."""
        further = {one.setting.benchmark: one.split for one in self.further}
        return {self.task.benchmark: self.task.split, **further}

    @property
    def held(self) -> HeldOut:
        """The benchmark of the task."""
        evaluation = self.study.evaluation
        return HeldOut(
            self.task.benchmark,
            self.partition.holdout,
            self.task,
            evaluation.samples,
            self.study.evaluated_tokens,
            at_checkpoints=True,
        )

    def asked(self, tokens: Any) -> list[HeldOut]:
        """Return the further benchmarks as a model with such a tokenizer is asked them."""
        samples, most = self.study.evaluation.samples, self.study.evaluated_tokens
        return [
            HeldOut(
                one.setting.benchmark,
                one.asked(tokens),
                one.judge,
                one.setting.samples or samples,
                one.setting.max_tokens or most,
                one.setting.at_checkpoints,
                number,
            )
            for number, one in enumerate(self.further, start=1)
        ]

    @property
    def components(self) -> tuple[Component, ...]:
        """Every component of an arm's training reward that is not the grader, by name.

        Each is measured on all arms, beside what the grader says.
        """
        grader = self.partition.protocol["reward"]
        parts = [one for source in self.sources.values() for one in source.rewards]
        found = {one.name: one for one in parts if one.function != grader}
        return tuple(found[name] for name in sorted(found))


def run(
    bench: Bench, arm: PlannedArm, seed: int, progress: Progress = silent, fingerprint: str = ""
) -> dict[str, Any]:
    """Train and evaluate, and return the run as a results file carries it.

    A run that fails or diverges is returned as such, with what was recorded until then.

    Parameters
    ----------
    fingerprint : str
        Of everything the run depends on. With it and ``save_steps`` the run keeps checkpoints and
        goes on from the last whole one.

    Raises
    ------
    AuditError
        For settings that no run of the study could use.
    """
    hide_loading_bars()
    with _ONE_AT_A_TIME:
        return _Run(bench, arm, seed, progress, fingerprint).record()


def evaluate_base(bench: Bench, repeat: int, progress: Progress = silent) -> dict[str, Any]:
    """Evaluate the untrained base once more, under a seed of its own.

    Each process evaluates its share of the tasks; all return the whole, or raise alike.

    Raises
    ------
    UsageError
        When memory does not suffice, or no response could be scored.
    """
    hide_loading_bars()
    with _ONE_AT_A_TIME:
        started = time.monotonic()
        settle(bench.study)
        device = _device(bench.study)
        model = bench.task.fresh_model(bench.cache).to(device)
        seed = bench.study.evaluation.seed + repeat
        tokenizer = bench.task.tokenizer(bench.cache)
        benchmarks = [bench.held, *bench.asked(tokenizer)]
        template = bench.study.chat_template_kwargs
        for one in benchmarks:
            check_lengths(model, tokenizer, one.items, one.max_tokens, template)
        parts: list[Outcome] | None = None
        try:
            parts = [_evaluate(bench, one, model, tokenizer, seed, progress) for one in benchmarks]
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        # Also where this process had no memory: the others wait for its share.
        every = _of_all_processes(parts)
        if None in every:
            raise UsageError(
                f"no memory to generate {bench.study.evaluation.batch_size} responses at once; "
                "set evaluation.batch_size lower"
            )
        shares = zip(*(part for part in every if part is not None), strict=True)
        try:
            outcome, *further = (
                _whole(bench, one, share, model, tokenizer, seed).checked()
                for one, share in zip(benchmarks, shares, strict=True)
            )
        except NothingScored as error:
            raise UsageError(f"evaluation of the base: {error}") from error
    benchmark, split = bench.task.benchmark, bench.task.split
    others = [
        *outcome.component_blocks(benchmark, split, 0),
        *_further_blocks(bench, further, 0),
    ]
    return {
        "run": repeat + 1,
        "evaluation": outcome.block(benchmark, split, 0),
        **({"evaluations": others} if others else {}),
        **{k: v for k, v in outcome.metrics().items() if not k.startswith("pass_at")},
        "cost": _cost((time.monotonic() - started) / 60, device),
    }


class _Run:
    """The steps of one run and what they leave behind."""

    def __init__(
        self, bench: Bench, arm: PlannedArm, seed: int, progress: Progress, fingerprint: str
    ) -> None:
        self.bench, self.arm, self.seed, self.progress = bench, arm, seed, progress
        self.fingerprint = fingerprint if arm.training.save_steps else ""
        self.started = time.monotonic()
        self.unfinished: Unfinished | None = None
        self.commit: dict[str, str | None] = {}  # of the code that made what was taken up
        self.training, self.source = arm.training, bench.source(arm)
        self.rewards: list[ComponentReward] = []
        self.errored: list[int] = []
        self.asked: list[HeldOut] = []
        self.earlier: dict[int, dict[str, Outcome]] = {}  # by step and benchmark
        self.kept: dict[str, Any] = {}
        self.device = _device(bench.study)
        self.trainer: Any = None
        self.recorder: Recorder | None = None
        self.outcome: Outcome | None = None
        self.further: list[Outcome] = []
        self.baseline: Outcome | None = None
        self.final_sha256: str | None = None

    def record(self) -> dict[str, Any]:
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
        minutes = (time.monotonic() - self.started) / 60
        resumed: list[dict[str, Any]] = []
        if self.unfinished is not None:
            minutes, resumed = self.unfinished.minutes, self.unfinished.resumed
        return {
            "run_id": f"{self.arm.name}-seed{self.seed}",
            "method": self.arm.name,
            "seed": self.seed,
            **status,
            **({"resumed": resumed} if resumed else {}),
            **self.commit,
            "device": self.device,
            "dataset": self.source.partition.dataset,
            "checkpoint": self.source.checkpoint,
            **self._weights(),
            **self._outcomes(),
            **({} if self.trainer is None else self.trainer.record()),
            **self._reward_block(),
            "protocol": {**self.bench.protocol(self.arm), **self._configuration()},
            "cost": {**_cost(minutes, self.device), **self._tokens()},
            "environment": self._environment(),
        }

    def _train(self) -> None:
        import torch

        from audit.training.parameters import parameters_sha256

        settle(self.bench.study)
        torch.manual_seed(self.seed)
        model = self.source.task.fresh_model(self.bench.cache)
        found, wanted = parameters_sha256(model), self.source.checkpoint["parameters_sha256"]
        if found != wanted:
            raise UsageError(
                f"the base model of this worker has parameters {found[:12]}, that of the study "
                f"{wanted[:12]}: let the workers see the same "
                "files as the process that started them"
            )
        tokenizer = self.source.task.tokenizer(self.bench.cache)
        template = self.bench.study.chat_template_kwargs
        train = self.source.partition.train
        check_lengths(model, tokenizer, train, self.training.max_tokens, template)
        self.asked = self.bench.asked(tokenizer)
        for one in (self.bench.held, *self.asked):
            check_lengths(model, tokenizer, one.items, one.max_tokens, template)
        with self._folder() as folder:
            self.trainer = self._trainer(model, folder)
            self.recorder = self.trainer.recorder
            before = self._taken_up()
            if before is None and self.bench.study.evaluation.baseline:
                self.baseline = self._evaluated(_BEFORE)
            self.trainer.train(resume_from_checkpoint=before)
        trained = self.trainer.accelerator.unwrap_model(self.trainer.model)
        self.final_sha256 = _agreed(parameters_sha256(trained))
        self.errored = _summed([reward.errored for reward in self.rewards])
        self.kept = self._kept_weights()
        self.outcome = self._evaluated(0)
        further = [self._evaluated(0, one) for one in self.asked]
        self.further = [one for one in further if one is not None]

    def _tell(self, what: str, done: int, total: int) -> None:
        """Pass progress on, and keep the clock of a run that may be cut off."""
        if self.unfinished is not None and is_main_process():
            self.unfinished.tick()
        self.progress(what, done, total)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """Yield where the trainer writes; what survives this process is an unfinished run."""
        if not self.fingerprint:
            with tempfile.TemporaryDirectory() as name:
                yield Path(name)
            return
        name = f"{self.arm.name}-seed{self.seed}"
        folder = unfinished_folder(self.bench.cache, name, self.fingerprint)
        machine = self._environment()
        if self.device == "cuda":  # where the processor computes nothing
            machine["processor"] = device_name(self.device)
        self.unfinished = Unfinished(folder, self.fingerprint, machine, self.started)
        yield folder

    def _taken_up(self) -> Path | None:
        """Take up what an earlier start left, and return its checkpoint where there is one."""
        from accelerate.utils import broadcast_object_list

        if self.unfinished is None:
            return None
        found: TakenUp | None = None
        if is_main_process():
            found = self.unfinished.take_up()
        if world_size() > 1:
            (found,) = broadcast_object_list([found])
        if found is None:
            return None
        kept = found.kept
        own = kept["errored"][self.trainer.accelerator.process_index]
        for reward, errored in zip(self.rewards, own, strict=True):
            reward.errored = errored
        self.earlier = {
            int(step): {name: outcome_of(one) for name, one in found.items()}
            for step, found in kept["earlier"].items()
        }
        self.baseline = outcome_of(kept["baseline"]) if kept["baseline"] else None
        self.commit = {"code_commit": kept["code_commit"]}
        return found.folder

    def _checkpointed(self, folder: Path) -> None:
        """Keep beside a checkpoint what the run itself has so far, and declare it whole."""
        errored = _of_all_processes([reward.errored for reward in self.rewards])
        if self.unfinished is None or not is_main_process():
            return
        kept = {
            "errored": errored,
            "earlier": {
                step: {name: asdict(one) for name, one in found.items()}
                for step, found in self.earlier.items()
            },
            "baseline": asdict(self.baseline) if self.baseline else None,
            "code_commit": code_commit(),
        }
        step = self.trainer.state.global_step // self.training.updates_per_step
        self.unfinished.add(folder, step, kept)

    def _kept_weights(self) -> dict[str, Any]:
        """Keep what was trained beside the finished runs, and say where and what it is.

        It is written under another name first, so that a folder of the name is whole.
        """
        training = self.training
        kind = "adapter" if training.lora_rank else "weights"
        wanted = training.keep_adapter if training.lora_rank else training.keep_weights
        if not (wanted and is_main_process()):
            return {}
        name = f"{kind}-{self.arm.name}-seed{self.seed}-{str(self.final_sha256)[:12]}"
        folder = self.bench.cache / name
        part = folder.with_name(f".{name}.part")
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)

        def write() -> None:
            for old in (part, folder):
                shutil.rmtree(old, ignore_errors=True)
            model.save_pretrained(str(part))
            if training.lora_rank:
                _sort_targets(part / "adapter_config.json")
            part.rename(folder)

        held_while_full(write, folder, f"run {self.arm.name}-seed{self.seed}")
        files = {p.name: file_sha256(p) for p in sorted(folder.iterdir()) if p.is_file()}
        return {kind: {"folder": name, "file_sha256": files}}

    def _evaluated(self, step: int, held: HeldOut | None = None) -> Outcome | None:
        """Evaluate what is trained so far: after a step, after the last (0), or before the first.

        Each process evaluates its share of the tasks, and the first has the whole.
        """
        bench = self.bench
        held = held or bench.held
        # A seed no arm shares with another seed's run, so evaluation noise is independent.
        seed = bench.study.evaluation.seed + _RUN_SEEDS * (1 + step) + self.seed
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)
        tokenizer = self.source.task.tokenizer(bench.cache)
        parts = _of_all_processes(_evaluate(bench, held, model, tokenizer, seed, self._tell))
        if not is_main_process():
            return None
        return _whole(bench, held, parts, model, tokenizer, seed).checked()

    def _at_checkpoints(self) -> Any:
        from transformers import TrainerCallback

        run = self
        wanted = set(self.bench.study.evaluation.checkpoints) - {self.training.steps}
        often = [one for one in (self.bench.held, *self.asked) if one.at_checkpoints]

        class Checkpoints(TrainerCallback):  # type: ignore[misc]  # untyped here
            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                step, rest = divmod(state.global_step, run.training.updates_per_step)
                if rest or step not in wanted:
                    return
                found = [(one.name, run._evaluated(step, one)) for one in often]
                run.earlier[step] = {name: out for name, out in found if out is not None}

        return Checkpoints()

    def _trainer(self, model: PreTrainedModel, folder: Path) -> Any:
        from datasets import Dataset
        from transformers import PrinterCallback

        from audit.training.arguments import grpo_arguments
        from audit.training.components import target_reward
        from audit.training.recorder import Recorder
        from audit.training.rewards import ScoreReward
        from audit.training.trainer import AuditedGRPOTrainer

        region, telemetry = trust_region(self.arm), self.bench.study.telemetry
        items = self.source.partition.train
        rows = [{"prompt": i.prompt, "answer": i.answer, "row": i.row} for i in items]
        functions: list[Any] = [ScoreReward(self.bench.task.scorer)]
        if self.source.rewards:
            # The grader is watched beside what is trained on: the first reward tells who is right.
            columns = {item.row: item.columns for item in items}
            self.rewards = [one.load(columns) for one in self.source.rewards]
            functions = [target_reward(self.bench.task.scorer), *self.rewards]
        trainer = AuditedGRPOTrainer(
            model,
            functions,
            grpo_arguments(
                self.training,
                seed=self.seed,
                folder=folder,
                world_size=world_size(),
                on_cpu=self.device == "cpu",
                reward_weights=[0.0, *(one.weight for one in self.source.rewards)],
                shuffled=not self.source.task.order,
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
            zero_groups=self.training.zero_groups,
            allow_unreachable_clip=self.training.allow_unreachable_clip,
            train_dataset=Dataset.from_list(rows),
            processing_class=self.source.task.tokenizer(self.bench.cache),
            peft_config=_lora(self.training),
        )
        trainer.remove_callback(PrinterCallback)  # stdout is for results
        trainer.add_callback(_steps(self._tell, self.training.updates))
        trainer.add_callback(self._at_checkpoints())
        if self.unfinished is not None:
            trainer.add_callback(_on_save(self._checkpointed))
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
            **self.kept,
            "final_parameters_sha256": self.final_sha256,
            "parameters_changed": self.final_sha256 != start,
        }

    def _outcomes(self) -> dict[str, Any]:
        if self.outcome is None:
            return {}
        benchmark, steps = self.bench.task.benchmark, self.training.steps
        splits = self.bench.splits
        further = [
            outcome.block(name, splits[name], step)
            for step, found in self.earlier.items()
            for name, outcome in found.items()
        ]
        along = {step: found[benchmark] for step, found in self.earlier.items()}
        for step, outcome in {**along, steps: self.outcome}.items():
            further += outcome.component_blocks(benchmark, splits[benchmark], step)
        further += _further_blocks(self.bench, self.further, steps)
        return {
            **({"baseline": self.baseline.metrics()} if self.baseline is not None else {}),
            "method_metrics": self.outcome.metrics(),
            "evaluation": self.outcome.block(benchmark, splits[benchmark], steps),
            **({"evaluations": further} if further else {}),
        }

    def _configuration(self) -> dict[str, Any]:
        """Return what the study leaves to TRL, as TRL resolved it."""
        from audit.training.arguments import configuration

        if self.trainer is None:
            return {}
        arms = self.bench.study.arms
        named = {name for arm in arms for name in trained_trl(arm.training)}
        return configuration(self.trainer.args, named)

    def _reward_block(self) -> dict[str, Any]:
        """Return the components of the training reward, where it is not the grader itself."""
        if not self.source.rewards:
            return {}
        errored = self.errored or [reward.errored for reward in self.rewards]
        counts = errored or [0] * len(self.source.rewards)
        blocks = zip(self.source.rewards, counts, strict=True)
        return {"rewards": [one.block(count) for one, count in blocks]}

    def _tokens(self) -> dict[str, int]:
        if self.recorder is None:
            return {}
        return {
            "generated_tokens": self.recorder.generated_tokens,
            "trained_tokens": self.recorder.trained_tokens,
        }

    def _environment(self) -> dict[str, Any]:
        return environment(self.device, world_size())


_BEFORE = 2_000_000  # beyond the steps of any run
_RUN_SEEDS = 1_000_000  # evaluation seeds of runs start here; those of the base lie below
_PROCESS_SEEDS = 2**40  # far above the seeds of any run at any step
_BENCHMARK_SEEDS = 2**48  # far above those of any process; of 16 benchmarks JSON holds them exactly


def world_size() -> int:
    """How many processes train together, as ``torchrun`` and ``accelerate launch`` say it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def machines() -> int:
    """On how many machines they are."""
    return max(1, world_size() // int(os.environ.get("LOCAL_WORLD_SIZE", world_size())))


def is_main_process() -> bool:
    """Whether this process writes and speaks."""
    return _process() == 0


def _process() -> int:
    """Return the number of this process among those that train together."""
    return int(os.environ.get("RANK", "0"))


def _of_all_processes(own: Any) -> list[Any]:
    """Return what every process hands over here, by its number; each waits for the others."""
    from accelerate.utils import gather_object

    if world_size() == 1:
        return [own]
    found: list[Any] = gather_object([own])
    return found


def _cost(minutes: float, device: str) -> dict[str, Any]:
    """Return the ``cost`` block of what took so long."""
    return {
        "minutes": round(minutes, 4),
        "device": device_name(device),
        "devices": world_size(),
        **({"machines": machines()} if machines() > 1 else {}),
    }


def _agreed(sha256: str) -> str:
    """Return the hash, once all processes of the run have the same one."""
    found = sorted(set(_of_all_processes(sha256)))
    if len(found) > 1:
        raise RuntimeError(f"processes ended with different weights: {[f[:12] for f in found]}")
    return sha256


def _summed(counts: list[int]) -> list[int]:
    """Add up the counts of all processes of the run."""
    return [sum(each) for each in zip(*_of_all_processes(counts), strict=True)]


def _condition(bench: Bench, held: HeldOut, model: Any, seed: int) -> Condition:
    evaluation = bench.study.evaluation
    return Condition(
        samples=held.samples,
        temperature=evaluation.temperature,
        max_tokens=held.max_tokens,
        seed=seed + held.number * _BENCHMARK_SEEDS,
        batch_size=evaluation.batch_size,
        dtype=str(model.dtype).removeprefix("torch."),
        chat_template_kwargs=bench.study.chat_template_kwargs,
    )


def _evaluate(
    bench: Bench,
    held: HeldOut,
    model: Any,
    tokenizer: Any,
    seed: int,
    progress: Progress,
) -> Outcome:
    """Evaluate the share of this process, under a seed of its own."""
    condition = _condition(bench, held, model, seed + _process() * _PROCESS_SEEDS)
    items = share(held.items, _process(), world_size())
    what = evaluation_of(held.name, held.number)
    done = 0

    def count(rows: int) -> None:
        nonlocal done
        done += rows
        progress(what, done, len(items) * condition.samples)

    columns = {item.row: item.columns for item in items}
    # Components are measured on the task they are trained on.
    measured = () if held.number else bench.components
    components = [one.load(columns, measuring=True) for one in measured]
    return evaluate(model, tokenizer, items, held.judge.scorer, condition, count, components)


def _whole(
    bench: Bench,
    held: HeldOut,
    parts: Sequence[Outcome],
    model: Any,
    tokenizer: Any,
    seed: int,
) -> Outcome:
    """Put the shares of all processes together."""
    if len(parts) == 1:
        return parts[0]
    return merged(parts, held.items, tokenizer, _condition(bench, held, model, seed))


def _further_blocks(bench: Bench, outcomes: Sequence[Outcome], step: int) -> list[dict[str, Any]]:
    """Return the outcomes on the further benchmarks."""
    return [
        outcome.block(one.setting.benchmark, one.split, step)
        for one, outcome in zip(bench.further, outcomes, strict=False)
    ]


def settle(study: StudyFile) -> None:
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


def _device(study: StudyFile) -> str:
    visible = visible_gpus(study)
    if len(visible) > 1 and world_size() == 1:
        raise UsageError(
            f"{len(visible)} GPUs are visible to one process: give it one (CUDA_VISIBLE_DEVICES), "
            f"train a run on each (--workers {len(visible)}), or each run on all of them (torchrun)"
        )
    return "cuda" if visible else "cpu"


def visible_gpus(study: StudyFile) -> list[str]:
    """Name the GPUs the study may use here, as ``CUDA_VISIBLE_DEVICES`` does."""
    import torch

    if study.training.device == "cpu" or not torch.cuda.is_available():
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = torch.cuda.device_count()
    return named.split(",")[:count] if named else [str(n) for n in range(count)]


def _lora(training: Training) -> Any:
    if training.lora_rank == 0:
        return None
    from peft import LoraConfig

    settings = lora_settings(training)
    return LoraConfig(
        r=training.lora_rank,
        lora_alpha=settings["lora_alpha"],
        lora_dropout=settings["lora_dropout"],
        target_modules=settings["lora_targets"],
    )


def _steps(progress: Progress, total: int) -> Any:
    from transformers import TrainerCallback

    class Steps(TrainerCallback):  # type: ignore[misc]  # transformers' own class is untyped here
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            progress("training", state.global_step, total)

    return Steps()


def _on_save(kept: Callable[[Path], None]) -> Any:
    from transformers import TrainerCallback

    class OnSave(TrainerCallback):  # type: ignore[misc]  # transformers' own class is untyped here
        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            kept(Path(args.output_dir, f"checkpoint-{state.global_step}"))

    return OnSave()


def _sort_targets(path: Path) -> None:
    """Sort the set of target modules, which PEFT writes in the order of this process's hashes."""
    config = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(config.get("target_modules"), list):
        config["target_modules"] = sorted(config["target_modules"])
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
