"""What must hold of a study, its data and this machine before a step is spent on it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from audit.claims import BASE
from audit.config import faults_in_words, key_name, located, pointer_key
from audit.errors import InputError, UsageError, did_you_mean
from audit.schema import RESULTS, unknown_keys
from audit.training.arguments import trl_faults
from audit.training.arms import trust_region
from audit.training.document import metrics

if TYPE_CHECKING:
    from audit.training.run import Bench
    from audit.training.study_file import PlannedArm, StudyFile, Training
    from audit.training.tasks import Partition

# Why a claim is refused whatever the runs will say.
_FOREVER = (
    "not-measured",
    "unknown-name",
    "unknown-arm",
    "ambiguous-benchmark",
    "reserved-name",
    "look-alike-names",
    "no-direction",
    "incomplete",
    "other-checkpoints",
)


def check_arms(study: StudyFile, path: str) -> None:
    """Refuse a study of one arm, which compares nothing, and an arm that makes no region.

    Raises
    ------
    InputError
        Naming the file and the arm.
    """
    if len(study.arms) < 2:
        raise located(path, "arms", "a study compares at least two arms")
    for arm in study.arms:
        try:
            region = trust_region(arm)
        except UsageError as error:
            raise located(path, key_name("arms", arm.name), error.message) from error
        if region.per_token and arm.training.importance_sampling_level == "sequence":
            raise located(
                path,
                f"{place(study, arm)}.importance_sampling_level",
                f"'sequence' has one ratio per response, the {region.geometry}/{region.topology} "
                f"region of {arm.name} one bound per token",
            )


def check_statements(study: StudyFile, path: str) -> None:
    """Refuse a claim that could not be judged, and whatever else breaks the results file's schema.

    Such blocks go into the results file as they are, where a mistake would show only after the
    training.

    Raises
    ------
    InputError
        Naming the file and the key.
    """
    document = {
        "schema_version": 2,
        "method": study.method.name,
        "seed_results": [{"seed": 0, "status": "running"}],
        "claims": [dict(claim) for claim in study.claims],
        "verified": dict(study.verified or {}),
        "limitations": list(study.limitations),
        "plan": dict(study.plan or {}),
        **study.stated,
        "change": {"summary": study.change.summary} if study.change else {},
    }
    for key, message in faults_in_words(document, RESULTS):
        raise located(path, key, message)
    for pointer in unknown_keys({**document, "verified": {}}):
        raise located(path, pointer_key(pointer, document), "unknown key")
    ids = [claim["id"] for claim in study.claims if "id" in claim]
    for index, name in enumerate(ids):
        if name in ids[:index]:
            raise located(path, f"claims[{index}].id", f"{name!r} is the id of another claim too")
    arms = [*(arm.name for arm in study.arms), "method", BASE]
    needed = ("direction",) if len(study.arms) == 2 else ("direction", "against")
    for index, claim in enumerate(study.claims):
        for key in needed:
            if key not in claim:
                raise located(path, f"claims[{index}].{key}", "missing")
        for key in ("arm", "against"):
            if claim.get(key, BASE) not in arms:
                known = ", ".join(arms)
                raise located(
                    path, f"claims[{index}].{key}", f"no arm {claim[key]!r}; there are {known}"
                )


def check_claims(bench: Bench, path: str) -> None:
    """Refuse a claim about a metric, a benchmark or a pair of arms that the study will not have.

    The claims are judged over made-up outcomes in the shape of the study's own: what is refused
    there for want of something to compare would be after the training too.

    Raises
    ------
    InputError
        Naming the file and the claim.
    """
    from audit.analysis import analyse
    from audit.results import from_document

    if not bench.study.claims:
        return
    for index, claim in enumerate(analyse(from_document(_rehearsal(bench))).claims):
        if claim.slug in _FOREVER:
            raise located(path, f"claims[{index}]", claim.reason)


def _rehearsal(bench: Bench) -> dict[str, Any]:
    study, samples = bench.study, bench.study.evaluation.samples
    tasks = [item.id for item in bench.partition.holdout]

    further = [one.setting.benchmark for one in bench.further]
    often = [one.setting.benchmark for one in bench.further if one.setting.at_checkpoints]

    def measured(seed: int, step: int = 0) -> list[dict[str, Any]]:
        return [evaluation(seed, step, metric=one.name) for one in bench.components]

    def evaluation(
        seed: int, step: int = 0, benchmark: str = "", metric: str = "accuracy"
    ) -> dict[str, Any]:
        benchmark = benchmark or bench.task.benchmark
        # Runs whose totals or answers are alike would be refused before all else as one seed.
        right = Random(seed).choices(range(samples + 1), k=len(tasks))
        return {
            "benchmark": benchmark,
            "split": bench.splits[benchmark],
            "metric": metric,
            "checkpoint_step": step,
            "task_ids": tasks,
            **(
                {"correct": right}
                if metric == "accuracy"
                else {"scores": [count / samples for count in right]}
            ),
            "samples": [samples] * len(tasks),
        }

    def runs(arm: PlannedArm) -> list[dict[str, Any]]:
        *earlier, last = sorted({*study.evaluation.checkpoints, arm.training.steps})
        return [
            {
                "seed": seed,
                "evaluation": evaluation(seed, last),
                "evaluations": [
                    *(evaluation(seed, step, name) for step in earlier for name in ("", *often)),
                    *(block for step in (*earlier, last) for block in measured(seed, step)),
                    *(evaluation(seed, last, name) for name in further),
                ],
            }
            for seed in study.seeds
        ]

    return {
        "schema_version": 2,
        "method": study.method.name,
        "metrics": metrics(bench),
        "base_evaluations": [
            {
                "run": n,
                "evaluation": evaluation(n),
                "evaluations": [
                    *measured(n),
                    *(evaluation(n, benchmark=name) for name in further),
                ],
            }
            for n in range(study.evaluation.base_repeats)
        ],
        "seed_results": runs(study.method),
        "controls": {
            arm.name: {"role": arm.role, "seed_results": runs(arm)}
            for arm in study.arms
            if arm is not study.method
        },
        "claims": [dict(claim) for claim in study.claims],
    }


def check_data(
    study: StudyFile, partition: Partition, path: str, own: Mapping[str, Partition] | None = None
) -> None:
    """Refuse data of which no round, or no evaluation, can be made.

    Parameters
    ----------
    own : mapping, optional
        The data of the arms that train on other data, by name.

    Raises
    ------
    InputError
        Naming the file and the setting.
    """
    for arm in study.arms:
        train = (own or {}).get(arm.name, partition).train
        if not train or not partition.holdout:
            raise InputError("no training or no holdout tasks are left", path=path)
        if len(train) < arm.training.prompts_per_round:
            # TRL draws whole rounds only, and would end such a run without one update.
            raise located(
                path,
                f"{place(study, arm)}.prompts_per_round",
                f"{arm.training.prompts_per_round} is more than the {len(train)} training prompts",
            )
        batches = len(train) // arm.training.prompts_per_round
        together = arm.training.batches_per_step
        if batches % together and batches < arm.training.rounds:
            raise located(
                path,
                f"{place(study, arm)}.accumulation",
                f"an update takes in {together} rounds, and the {batches} that the training "
                "prompts suffice for do not divide into such updates; the last one before the "
                "prompts come round again would be cut short",
            )


def check_machine(study: StudyFile, world_size: int, path: str) -> None:
    """Refuse what this machine, or this many processes, cannot train as written.

    Raises
    ------
    InputError
        Naming the file and the setting.
    """
    for arm in study.arms:
        training, where = arm.training, place(study, arm)
        responses = training.prompts_per_round * training.group_size
        if responses % (world_size * training.steps_per_generation):
            raise located(
                path,
                f"{where}.prompts_per_round",
                f"{responses} responses a round do not divide over {world_size} processes x "
                f"steps_per_generation {training.steps_per_generation}",
            )
        if training.zero_groups == "reject" and world_size > 1:
            message = "'reject' draws further prompts in one process; train each run in one"
            raise located(path, f"{where}.zero_groups", message)
        for name, message in trl_faults(training.trl):
            raise located(path, f"{where}.trl.{name}", message)
        if training.use_vllm:
            _check_vllm(training, where, path)
        if training.save_steps:
            from packaging.version import Version  # TRL itself depends on it

            if Version(version("torch")) < Version(_RESUMABLE):
                message = f"going on from a checkpoint needs torch {_RESUMABLE} or newer"
                raise located(path, f"{where}.save_steps", message)


def check_trl(study: StudyFile, world_size: int, path: str, *, on_cpu: bool) -> None:
    """Refuse what TRL or the audited trainer would refuse of an arm, by making its arguments.

    Under ``torchrun`` the processes' group is there before: TRL would make one of its own.

    Raises
    ------
    InputError
        Naming the file and the setting.
    """
    from audit.training.arguments import grpo_arguments
    from audit.training.guards import check_arguments

    for arm in study.arms:
        training = arm.training
        try:
            arguments = grpo_arguments(
                training,
                seed=study.seeds[0],
                folder=Path(path).parent,  # where nothing is written yet
                world_size=world_size,
                on_cpu=on_cpu,
            )
            check_arguments(
                arguments,
                trust_region(arm),
                allow_unreachable_clip=training.allow_unreachable_clip,
            )
        except (UsageError, ValueError, TypeError, ImportError) as error:
            message = " ".join(str(error).split())
            where = place(study, arm) + (".trl" if training.trl else "")
            named = next((f".{name}" for name in training.trl if message.startswith(name)), "")
            raise located(path, where + named, message) from error


_RESUMABLE = "2.6"  # from here on transformers lets the state of an optimizer be loaded


def place(study: StudyFile, arm: PlannedArm) -> str:
    """Return the table of the study file that an arm's training was read from."""
    return "training" if arm.training == study.training else key_name("arms", arm.name, "training")


def _check_vllm(training: Training, where: str, path: str) -> None:
    from importlib.util import find_spec

    from trl import GRPOConfig

    known = {
        name.removeprefix("vllm_")
        for name in GRPOConfig.__dataclass_fields__
        if name.startswith("vllm_")
    }
    for name in training.vllm:
        if name not in known:
            hint = did_you_mean(name, sorted(known))
            raise located(path, f"{where}.vllm.{name}", f"TRL has no option vllm_{name}{hint}")
    if find_spec("vllm") is None:
        raise located(path, f"{where}.use_vllm", "vLLM is not installed: pip install vllm")
