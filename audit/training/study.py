"""Arms x seeds to one results file, going on where an earlier start was cut off."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.config import key_name, located
from audit.errors import InputError, UsageError
from audit.training.arms import task_errors, task_of, trained_trl
from audit.training.checks import (
    check_arms,
    check_claims,
    check_data,
    check_machine,
    check_statements,
    check_trl,
    place,
)
from audit.training.components import component
from audit.training.disk_full import held_while_full
from audit.training.document import results_document, to_text
from audit.training.environment import code_commit, package_versions
from audit.training.executors import completed, crew_for
from audit.training.guards import check_kernels, check_sharding
from audit.training.ledger import Ledger, fingerprint_of
from audit.training.math_verifier import NAME as MATH_VERIFY
from audit.training.memory import is_out_of_memory
from audit.training.price import Sharing
from audit.training.progress import Report, Throttled
from audit.training.resuming import begun_with_others, forget, unfinished_folder
from audit.training.run import (
    ArmSource,
    Bench,
    evaluate_base,
    run,
    settle,
    visible_gpus,
    world_size,
)
from audit.training.study_file import PlannedArm, Reward, StudyFile
from audit.training.tasks.benchmarks import FurtherBenchmark, read_benchmark
from audit.training.tasks.lm_eval_task import read_lm_eval
from audit.writing import write_whole

if TYPE_CHECKING:
    from audit.training.progress import Bars
    from audit.training.tasks import Task


@dataclass(frozen=True, slots=True)
class StudyPiece:
    """One entry of the ledger: a run, or (without arm) an evaluation of the base."""

    name: str
    fingerprint: str
    arm: PlannedArm | None
    number: int


def prepare(study: StudyFile, path: str, ledger: Ledger) -> Bench:
    """Verify the data, make or load the base, and describe both.

    Raises
    ------
    AuditError
        When the study cannot be carried out as written.
    """
    for arm in study.arms:
        try:
            check_sharding(arm.training.trl)
        except UsageError as error:
            raise located(path, f"{place(study, arm)}.trl", error.message) from error
    check_arms(study, path)
    check_statements(study, path)
    check_kernels("cuda" if visible_gpus(study) else "cpu")
    check_machine(study, world_size(), path)
    if world_size() > 1:
        _process_group(study)
    check_trl(study, world_size(), path, on_cpu=not visible_gpus(study))
    settle(study)  # a base that is trained here takes several times as long on contended cores
    task = task_of(study.task, path)
    read = _benchmarks(study, path, task.benchmark)
    texts = [text for one in read for text in one.chosen.texts]
    with task_errors(path):
        partition = task.partition(texts)
    splits = [task.split, *(one.split for one in read)]
    if any("test" in split.lower() for split in splits):
        partition = partition.with_test_opened()
    cache = ledger.folder.resolve()
    shared = ArmSource(task, partition, {})
    sources = {arm.name: _source(study, arm, shared, path, texts) for arm in study.arms}
    check_data(study, partition, path, {name: one.partition for name, one in sources.items()})
    shared = replace(shared, checkpoint=_base(task, cache, path, "task"))
    for arm in study.arms:
        source = sources[arm.name]
        own = source.task is not task
        where = key_name("arms", arm.name, "task")
        base = _base(source.task, cache, path, where) if own else shared.checkpoint
        sources[arm.name] = replace(source, checkpoint=base)
    different = {name: source for name, source in sources.items() if source != shared}
    bench = Bench(study, task, partition, cache, shared.checkpoint, different, tuple(read))
    check_claims(bench, path)
    return bench


def _benchmarks(study: StudyFile, path: str, first: str) -> list[FurtherBenchmark]:
    """Read the further benchmarks; the name ``first`` is taken."""
    found: list[FurtherBenchmark] = []
    for index, setting in enumerate(study.evaluation.benchmarks):
        where = f"evaluation.benchmarks[{index}]"
        if setting.benchmark == first:
            message = f"{first!r} is the name of another benchmark"
            raise located(path, f"{where}.benchmark", message)
        with task_errors(path, where):
            read = read_lm_eval if setting.task else read_benchmark
            found.append(read(setting, Path(path).parent))
    return found


def _source(
    study: StudyFile, arm: PlannedArm, shared: ArmSource, path: str, held: Sequence[str]
) -> ArmSource:
    """Return what an arm trains on and is rewarded by; its base model is not yet looked at."""
    table = key_name("arms", arm.name)
    task, partition = shared.task, shared.partition
    if arm.task != study.task:
        task = task_of(arm.task, path, f"{table}.task")
        with task_errors(path, f"{table}.task"):
            partition = task.partition(held)
        if shared.partition.protocol.get("test_opened"):
            partition = partition.with_test_opened()
    given = study.training if arm.training.rewards == study.training.rewards else arm.training
    where = "training" if given is study.training else f"{table}.training"
    rewards = []
    settings = given.rewards
    if not settings and partition.protocol["reward"] == MATH_VERIFY:
        # Trained on as a component, so that a response it gives up on is counted and ends no run.
        settings = (Reward(MATH_VERIFY, on_error="wrong"),)
    for index, setting in enumerate(settings):
        with task_errors(path, f"{where}.rewards[{index}]"):
            rewards.append(component(Path(path).parent, setting))
            rewards[-1].load({})
    return ArmSource(task, partition, {}, tuple(rewards))


def _base(task: Task, cache: Path, path: str, where: str) -> dict[str, Any]:
    try:
        with task_errors(path, where):
            return task.prepare(cache)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(f"{where}: no memory for its base model", path=path) from error


def pieces(bench: Bench) -> list[StudyPiece]:
    """Everything the study consists of: base evaluations first, then runs, seed by seed."""
    study, partition = bench.study, bench.partition
    # All prompts are in it, so it is hashed once and not again for each piece.
    settings = {
        "packages": package_versions(),
        "world_size": world_size(),
        "dataset": partition.dataset,
        "items": [
            (i.id, i.prompt, i.answer, i.row) for i in (*partition.train, *partition.holdout)
        ],
        "components": [one.block(0) for one in bench.components],
        "protocol": partition.protocol,
        "checkpoint": bench.checkpoint,
        "evaluation": _evaluated(study),
        "benchmark": bench.task.benchmark,
        "max_tokens": study.evaluated_tokens,
        "device": study.training.device,
        "threads": study.training.threads,
    }
    if study.chat_template_kwargs:
        settings["chat_template_kwargs"] = study.chat_template_kwargs
    if bench.task.split != "validation":
        settings["split"] = bench.task.split
    if bench.further:
        asked = [(i.id, i.prompt, i.answer) for one in bench.further for i in one.chosen.items]
        settings["further"] = [asked, [one.block for one in bench.further]]
    shared = fingerprint_of(settings)
    base = [
        StudyPiece(f"base-{n + 1}", fingerprint_of({"shared": shared, "repeat": n}), None, n)
        for n in range(study.evaluation.base_repeats)
    ]
    telemetry = asdict(study.telemetry)
    runs = [
        StudyPiece(
            f"{arm.name}-seed{seed}",
            fingerprint_of(
                {
                    "shared": shared,
                    "telemetry": telemetry,
                    "arm": {**asdict(_trained(arm)), **dict.fromkeys(_SAID_OF_AN_ARM)},
                    "protocol": bench.protocol(arm),
                    "seed": seed,
                }
            ),
            arm,
            seed,
        )
        for arm, seed in study.launched
    ]
    return base + runs


def _evaluated(study: StudyFile) -> dict[str, Any]:
    """Return how the study evaluates, without how often the base is."""
    found = {**asdict(study.evaluation), "base_repeats": None}
    if not study.evaluation.benchmarks:
        del found["benchmarks"]  # so that one without them is the study it was
    return found


def _trained(arm: PlannedArm) -> PlannedArm:
    """Return the arm without what leaves its runs as they are."""
    training = replace(arm.training, save_steps=0, trl=trained_trl(arm.training))
    return replace(arm, training=training)


_DDP_TIMEOUT = 1800  # seconds; the default of transformers

# What is said of an arm and may be said otherwise later without training it again.
_SAID_OF_AN_ARM = ("role", "evaluation_tier", "limitations")


def carry_out(bench: Bench, piece: StudyPiece, report: Report) -> dict[str, Any]:
    """Make one piece, in whatever process this is, and note the commit it was made at."""
    progress = Throttled(report, piece.name)
    if piece.arm is None:
        record = evaluate_base(bench, piece.number, progress)
    else:
        record = run(bench, piece.arm, piece.number, progress, piece.fingerprint)
    commit = code_commit()
    if record.get("code_commit", commit) != commit:
        commit = None  # begun under another one, and so of neither
    return {**record, "code_commit": commit}


def run_study(
    bench: Bench,
    ledger: Ledger,
    output: Path,
    bars: Bars,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    retry_failed: bool = False,
) -> dict[str, Any]:
    """Carry out what is missing, write the results file whole, and return its content.

    A finished run is never made again, and neither is one that diverged; one that failed is where
    ``retry_failed`` says so, and its record then says how it ended before.

    Under ``torchrun`` every process calls this; they make each piece together, and the main one
    alone writes.
    """
    together = world_size() > 1
    if together and (workers > 1 or scheduler is not None):
        raise UsageError("under torchrun the processes share each run; drop --workers/--scheduler")
    if scheduler is not None and bench.asks(MATH_VERIFY):
        raise UsageError(
            f"--scheduler: {MATH_VERIFY} stops at its time limit in the main thread of a process "
            "alone, and a Dask worker computes in another; use --workers"
        )
    state = _process_group(bench.study) if together else None
    wanted = pieces(bench)
    kept = {p.name: ledger.get(p.name, p.fingerprint) for p in wanted}
    failed = {name: r for name, r in kept.items() if r is not None and r.get("status") == "failed"}
    if retry_failed:
        kept = {name: None if name in failed else r for name, r in kept.items()}
    if state is not None:
        state.wait_for_everyone()  # all have read the ledger before anyone writes to it
    missing = [p for p in wanted if kept[p.name] is None]
    for piece in wanted:
        if piece not in missing:
            bars.finished(piece.name, "kept")
    others = ledger.others({ledger.path(p.name, p.fingerprint) for p in wanted})
    if others:
        bars.note(
            f"{ledger.folder}: {len(others)} finished pieces of other settings are left as they are"
        )
    begun = (unfinished_folder(bench.cache, p.name, p.fingerprint) for p in wanted)
    for name in begun_with_others(bench.cache, begun):
        bars.note(f"{name}: checkpoints of other settings are left as they are")
    made = _make(bench, missing, bars, together, workers, scheduler)
    # Those on a cluster are counted as on a machine each.
    sharing = Sharing(len(missing), workers)
    for piece, record in made:
        shared = round(sharing.finished(time.monotonic() / 60, record["cost"]["minutes"]), 4)
        record = {**record, "cost": {**record["cost"], "runs_at_once": shared}}
        if piece.name in failed:
            record = with_attempt(record, failed[piece.name])
        if state is None or state.is_main_process:
            ledger.put(piece.name, piece.fingerprint, record)
            if record.get("status") != "failed":  # which may be tried again, from where it was
                forget(unfinished_folder(bench.cache, piece.name, piece.fingerprint))
        kept[piece.name] = record
        bars.finished(piece.name, record.get("status", "finished"))
    document = _document(bench, wanted, kept)
    if state is None or state.is_main_process:
        content = to_text(document).encode()
        held_while_full(lambda: write_whole(output, content), output, "the results file")
    if state is not None:
        state.wait_for_everyone()  # whoever calls this again reads what the main process has kept
    return document


def with_attempt(record: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return a run with how its attempt before failed, and with what that one cost."""
    cost, paid = record["cost"], before["cost"]
    # A run that went on from its checkpoints has counted the starts before already.
    counted = record["resumed"][-1]["minutes"] if record.get("resumed") else 0.0
    earlier = max(0.0, paid["minutes"] - counted)
    if earlier:
        # Each attempt shared the machine with as many runs as it did.
        share = cost["minutes"] / cost["runs_at_once"] + earlier / paid.get("runs_at_once", 1)
        minutes = cost["minutes"] + earlier
        cost = {**cost, "minutes": round(minutes, 4), "runs_at_once": round(minutes / share, 4)}
    failures = [*before.get("earlier_failures", []), before["failure"]]
    return {**record, "cost": cost, "earlier_failures": failures}


def _process_group(study: StudyFile) -> Any:
    """Start the processes' group; they wait for one another as long as TRL's own option says."""
    from accelerate import PartialState

    seconds = study.training.trl.get("ddp_timeout", _DDP_TIMEOUT)
    cpu = study.training.device == "cpu"
    return PartialState(cpu=cpu, timeout=datetime.timedelta(seconds=seconds))


def _carry_out_together(bench: Bench, piece: StudyPiece, report: Report) -> dict[str, Any]:
    """Make one piece on all processes, and return the main one's record, with its minutes."""
    from accelerate.utils import broadcast_object_list

    made = [carry_out(bench, piece, report)]
    broadcast_object_list(made, from_process=0)  # in place
    return made[0]


def _make(
    bench: Bench,
    missing: list[StudyPiece],
    bars: Bars,
    together: bool,
    workers: int,
    scheduler: str | None,
) -> Any:
    """Yield (piece, record) as they are finished."""
    if together or (workers == 1 and scheduler is None):
        make = _carry_out_together if together else carry_out
        for piece in missing:
            yield piece, make(bench, piece, bars.inside)
        return
    jobs = [(bench, piece) for piece in missing]
    with crew_for(workers, scheduler, gpus=visible_gpus(bench.study)) as crew:
        for (_, piece), record in completed(jobs, carry_out, crew, bars.inside):
            yield piece, record


def _document(bench: Bench, wanted: list[StudyPiece], kept: dict[str, Any]) -> dict[str, Any]:
    # A file whose pieces were made at several commits is of none of them.
    commits = {kept[p.name].get("code_commit") for p in wanted}
    made = {name: {k: v for k, v in r.items() if k != "code_commit"} for name, r in kept.items()}
    base = [made[p.name] for p in wanted if p.arm is None]
    runs = {arm.name: [made[p.name] for p in wanted if p.arm == arm] for arm in bench.study.arms}
    return results_document(bench, base, runs, commits.pop() if len(commits) == 1 else None)
