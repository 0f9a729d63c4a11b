"""Which records are one training run, and what a run holds that several records tell of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from audit.errors import ImportRefused
from audit.importers.draft import EVIDENCE, DraftRun, Options
from audit.importers.metric_names import ACCURACY
from audit.importers.pooling import pooled_block, pooled_score
from audit.run_names import run_of

# Members of a run's figures that are no metric.
COUNTS = frozenset({"examples", "generated_tokens", "truncated_responses"})
# The options that settle what records of unknown meaning are.
SETTLE = (
    "--seed-is training if each is a training of its own, --seed-is decoding if they are "
    "evaluations of one training, --seed-from path if the paths name the training seeds"
)
_OUTCOMES = ("task_ids", "correct", "scores")

Place = tuple[str | None, str, int | None]  # benchmark, metric, step


@dataclass(frozen=True, slots=True)
class ArmRun:
    """A record with its arm and seed settled.

    Attributes
    ----------
    arm : str
        The arm.
    seed : int or None
        The training seed.
    draft : DraftRun
        What the source says.
    untrained : bool
        Whether it is, or may be, an evaluation of the untrained model.
    """

    arm: str
    seed: int | None
    draft: DraftRun
    untrained: bool = False

    @property
    def label(self) -> str:
        """The arm, and the seed or the name of the run."""
        if self.seed is not None:
            return f"{self.arm}, seed {self.seed}"
        name = self.draft.document.get("run_id")
        return f"{self.arm}, run {name}" if name else self.arm


@dataclass(frozen=True, slots=True)
class _Part:
    """One evaluation of a run: its outcomes by task, or its score."""

    benchmark: str | None
    metric: str
    step: int | None
    block: dict[str, Any]
    score: float | None = None
    counts: Mapping[str, Any] | None = None
    pooled: int = 1

    @property
    def place(self) -> Place:
        return self.benchmark, self.metric, self.step


def joined(records: Iterable[ArmRun], options: Options) -> tuple[list[ArmRun], list[str]]:
    """Return the runs that records tell of, and what was decided on the way.

    Records of one arm are one run where they have the same training seed, where the source gives
    them as one, where the names of their weights speak of steps of one run, or, without any seed,
    where the user says that they are evaluations of one training.

    Parameters
    ----------
    records : iterable of ArmRun
        In the order of the sources.
    options : Options
        ``seed_is`` settles what records without a seed are.

    Raises
    ------
    ImportRefused
        When two records say the same thing of one run, when one model stands under two seeds, or
        a training log belongs to no run.
    """
    groups: list[list[ArmRun]] = []
    logs: list[ArmRun] = []
    for record in records:
        if not record.draft.evaluated:
            if "telemetry" not in record.draft.document:
                raise ImportRefused(f"{record.label}: no finite value in it")
            logs.append(record)
            continue
        mine = next((group for group in groups if _same_training(record, group, options)), None)
        if mine is None:
            groups.append([record])
        else:
            mine.append(record)
    _refuse_one_model_twice(groups, options)
    parts = [[list(_parts(record)) for record in group] for group in groups]
    last = _common_steps(groups, parts)
    notes = list(_said_of_steps(groups, parts, last))
    renamed = _of_several_benchmarks(parts)
    runs = [
        _merged(group, below, last, renamed, options)
        for group, below in zip(groups, parts, strict=True)
    ]
    return _with_logs(runs, logs, notes), notes


def blocks_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the evaluation blocks of a run, the first one first."""
    first = document.get("evaluation")
    return [*([first] if first else []), *(document.get("evaluations") or ())]


def with_blocks(document: dict[str, Any], blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a run with these evaluation blocks in place of its own."""
    rest = {k: v for k, v in document.items() if k not in ("evaluation", "evaluations")}
    if blocks:
        rest["evaluation"] = blocks[0]
    if len(blocks) > 1:
        rest["evaluations"] = list(blocks[1:])
    return rest


# ---- what is one run ------------------------------------------------------------------------


def _same_training(record: ArmRun, group: Sequence[ArmRun], options: Options) -> bool:
    other = group[0]
    if record.arm != other.arm:
        return False
    if record.draft.base or other.draft.base or record.untrained:
        same = record.draft.identity is not None and record.draft.identity == other.draft.identity
        taken = {place for member in group for place in _places(member)}
        return same and record.seed == other.seed and not taken & _places(record)
    if any(_equal(record.draft.run_key, member.draft.run_key) for member in group):
        return True
    if record.seed is not None or other.seed is not None:
        return record.seed == other.seed
    named = record.draft.document.get("run_id")
    if any(_equal(named, member.draft.document.get("run_id")) for member in group):
        return True
    if options.seed_is == "decoding":
        return True
    weights = _weights(record)
    if any(_equal(weights, _weights(member)) for member in group):
        return True
    taken = {place for member in group for place in _places(member)}
    same = any(_equal(record.draft.identity, member.draft.identity) for member in group)
    return same and not taken & _places(record)


def _equal(name: Any, other: Any) -> bool:
    return name is not None and name == other


def _weights(record: ArmRun) -> str | None:
    """Return the run that the name of the weights speaks of."""
    return (run_of(record.draft.model).run or None) if record.draft.model else None


def _places(record: ArmRun) -> set[Place]:
    return {part.place for part in _parts(record)}


def _refuse_one_model_twice(groups: Sequence[Sequence[ArmRun]], options: Options) -> None:
    seen: dict[tuple[str, str], ArmRun] = {}
    served: dict[tuple[str, str], ArmRun] = {}
    for group in groups:
        first = group[0]
        if first.untrained or first.draft.base:
            continue
        weights = next((name for name in map(_weights, group) if name), None)
        if weights is not None:
            other = seen.setdefault((first.arm, weights), first)
            if other is not first:
                raise ImportRefused(
                    f"{first.label} and {other.label} are evaluations of one model, {weights}: "
                    "no two trainings"
                )
        if first.seed is not None or first.draft.identity is None or options.seed_is == "training":
            continue
        twin = served.setdefault((first.arm, first.draft.identity), first)
        if twin is not first:
            raise ImportRefused(
                f"{first.arm}: two files evaluate the same model, and no seed tells training runs "
                f"apart: {SETTLE}"
            )


# ---- what a run holds -----------------------------------------------------------------------


def _parts(record: ArmRun) -> Iterator[_Part]:
    document = record.draft.document
    scores = dict(document.get("method_metrics", {}))
    counts = {name: scores.pop(name) for name in sorted(COUNTS & scores.keys())}
    for block in blocks_of(document):
        metric = str(block.get("metric") or ACCURACY)
        place = (block.get("benchmark"), metric, block.get("checkpoint_step"))
        if any(key in block for key in _OUTCOMES):
            yield _Part(*place, block)
        else:
            yield _Part(*place, block, scores.pop(metric, None), counts)
    for metric, score in scores.items():
        yield _Part(None, metric, None, {}, score, counts)


def _common_steps(
    groups: Sequence[Sequence[ArmRun]], parts: Sequence[Sequence[Sequence[_Part]]]
) -> dict[tuple[str | None, str], int]:
    """Return the last step that every run has, by benchmark and metric.

    Empty for what only one step was evaluated of, so that such files stay as they are.
    """
    steps: dict[tuple[str | None, str], list[set[int | None]]] = {}
    for group, below in zip(groups, parts, strict=True):
        if group[0].untrained or group[0].draft.base or _unfinished(group):
            continue
        mine: dict[tuple[str | None, str], set[int | None]] = {}
        for part in (part for record in below for part in record):
            mine.setdefault((part.benchmark, part.metric), set()).add(part.step)
        for key, found in mine.items():
            steps.setdefault(key, []).append(found)
    common = {}
    for key, every in steps.items():
        shared = {step for step in set.intersection(*every) if step is not None}
        if shared and any(len(mine) > 1 for mine in every):
            common[key] = max(shared)
    return common


def _unfinished(group: Sequence[ArmRun]) -> bool:
    return all(record.draft.document.get("status", "finished") != "finished" for record in group)


def _said_of_steps(
    groups: Sequence[Sequence[ArmRun]],
    parts: Sequence[Sequence[Sequence[_Part]]],
    last: Mapping[tuple[str | None, str], int],
) -> Iterator[str]:
    """Yield sentences on the arms of which runs were evaluated at several steps."""
    arms: dict[str, tuple[set[int], set[int | None], list[bool]]] = {}
    for group, below in zip(groups, parts, strict=True):
        every = [part for record in below for part in record]
        steps = {part.step for part in every if part.step is not None}
        if len(steps) < 2 or group[0].untrained or group[0].draft.base:
            continue
        weights = _weights(group[0])
        if len(group) > 1 and weights is not None and group[0].seed is None:
            yield f"{group[0].arm}: {len(group)} records are checkpoints of one run, {weights}"
        seen, shared, scored = arms.setdefault(group[0].arm, (set(), set(), []))
        seen |= steps
        shared |= {last.get((part.benchmark, part.metric)) for part in every}
        scored += [part.score is not None for part in every]
    for arm, (seen, shared, scored) in arms.items():
        chosen = sorted(step for step in shared if step is not None)
        which = (
            f"step {', '.join(map(str, chosen))} is the last that all runs share"
            if chosen
            else "the runs share no step, so the last of each is taken"
        )
        kept = "a run has one score, so the others are left out" if any(scored) else "all are kept"
        listed = ", ".join(map(str, sorted(seen)))
        yield f"{arm}: its runs were evaluated at steps {listed}; {which}; {kept}"


def _of_several_benchmarks(parts: Sequence[Sequence[Sequence[_Part]]]) -> frozenset[str]:
    """Return the metrics that stand as single scores of several benchmarks of the study."""
    found: dict[str, set[str]] = {}
    for part in (part for group in parts for record in group for part in record):
        if part.score is not None and part.benchmark is not None:
            prefix = f"{part.benchmark}/"
            found.setdefault(part.metric.removeprefix(prefix), set()).add(part.benchmark)
    return frozenset(metric for metric, benchmarks in found.items() if len(benchmarks) > 1)


def _merged(
    group: Sequence[ArmRun],
    parts: Sequence[Sequence[_Part]],
    last: Mapping[tuple[str | None, str], int],
    renamed: frozenset[str],
    options: Options,
) -> ArmRun:
    first = group[0]
    every = [part for record in parts for part in record]
    untouched = len(group) == 1 and not any(
        (part.score is not None and part.metric in renamed) or (part.benchmark, part.metric) in last
        for part in every
    )
    if untouched:
        return first
    kept: dict[Place, _Part] = {}
    for part in every:
        other = kept.get(part.place)
        if other is not None and options.seed_is != "decoding":
            name = part.benchmark or part.metric
            raise ImportRefused(_twice(first, name))
        kept[part.place] = part if other is None else _pooled(other, part, first.label)
    tasked = [part for part in kept.values() if part.score is None]
    scored = _one_step([part for part in kept.values() if part.score is not None], last)
    document = _document(group, tasked, scored, last, renamed)
    drafts = [record.draft for record in group]
    evidence = max((draft.identified_by for draft in drafts), key=EVIDENCE.index)
    tasks = {task: digest for draft in drafts for task, digest in draft.tasks.items()}
    printed = {name: score for draft in drafts for name, score in draft.printed.items()}
    return replace(
        first,
        draft=replace(
            first.draft,
            document=document,
            identified_by=evidence,
            tasks=tasks,
            printed=printed if len(group) == 1 else {},
        ),
    )


def _twice(record: ArmRun, what: str) -> str:
    if record.seed is not None:
        return f"{record.label} is there twice ({what})"
    weights = _weights(record)
    model = f", {weights}," if weights else ""
    return (
        f"{record.label}: two files evaluate the same model{model} on {what}, and no seed tells "
        f"training runs apart: {SETTLE}"
    )


def _pooled(one: _Part, other: _Part, label: str) -> _Part:
    """Return two evaluations of one run as one: more answers, or the mean of two scores."""
    if one.score is not None and other.score is not None:
        score, counts = pooled_score(
            (one.score, one.counts or {}, one.pooled), (other.score, other.counts or {}, 1)
        )
        return replace(one, score=score, counts=counts, pooled=one.pooled + 1)
    if one.score is not None or other.score is not None:
        raise ImportRefused(f"{label}: one evaluation has outcomes by task, another a score alone")
    if "task_ids" not in one.block or "task_ids" not in other.block:
        raise ImportRefused(f"{label}: its tasks have no ids, so its evaluations cannot be joined")
    return replace(one, block=pooled_block(one.block, other.block), pooled=one.pooled + 1)


def _one_step(parts: Sequence[_Part], last: Mapping[tuple[str | None, str], int]) -> list[_Part]:
    """Keep of each score the step that all runs share, else the last: a run has one score each."""
    found: dict[tuple[str | None, str], _Part] = {}
    for part in parts:
        key = part.benchmark, part.metric
        other = found.get(key)
        if other is None or _rank(part, last) > _rank(other, last):
            found[key] = part
    return list(found.values())


def _rank(part: _Part, last: Mapping[tuple[str | None, str], int]) -> tuple[bool, int]:
    step = -1 if part.step is None else part.step
    return last.get((part.benchmark, part.metric)) == part.step, step


def _document(
    group: Sequence[ArmRun],
    tasked: Sequence[_Part],
    scored: Sequence[_Part],
    last: Mapping[tuple[str | None, str], int],
    renamed: frozenset[str],
) -> dict[str, Any]:
    documents = [record.draft.document for record in group]
    document: dict[str, Any] = {}
    for other in reversed(documents):
        document |= other
    if any(other.get("status", "finished") == "finished" for other in documents):
        document.pop("status", None)
        document.pop("failure", None)
    scores: dict[str, Any] = {}
    blocks = []
    ordered = sorted(tasked, key=lambda part: _rank(part, last), reverse=True)
    blocks += [part.block for part in ordered]
    for part in scored:
        name = part.metric
        if name in renamed and part.benchmark is not None:
            name = f"{part.benchmark}/{name}"
        scores[name] = part.score
        if part.block or name != ACCURACY:
            blocks.append(part.block | {"metric": name})
    counts = [part.counts or {} for part in scored]
    alike = bool(counts) and all(other == counts[0] for other in counts)
    shared = counts[0] if alike and not tasked else {}
    document.pop("method_metrics", None)
    if scores:
        document["method_metrics"] = scores | dict(shared)
    return with_blocks(document, blocks)


# ---- training logs --------------------------------------------------------------------------


def _with_logs(runs: list[ArmRun], logs: Sequence[ArmRun], notes: list[str]) -> list[ArmRun]:
    found = list(runs)
    for log in _longest(logs, notes):
        mine = [i for i, run in enumerate(found) if run.arm == log.arm and run.seed == log.seed]
        if len(mine) != 1:
            raise ImportRefused(
                f"{log.label}: a training log without an evaluation is no result; give the "
                "evaluation's file of the same arm and seed beside it"
                if not mine
                else f"{log.label}: {len(mine)} runs this training log could be of; use --seed-from"
            )
        run = found[mine[0]]
        if "training" in run.draft.document:
            raise ImportRefused(f"{log.label} is there twice (training)")
        document = log.draft.document | run.draft.document
        found[mine[0]] = replace(run, draft=replace(run.draft, document=document))
    return found


def _longest(logs: Sequence[ArmRun], notes: list[str]) -> list[ArmRun]:
    """Keep of logs of which one begins with the whole of another the longest: one run's states."""
    kept: dict[tuple[str, int | None], ArmRun] = {}
    for log in logs:
        key = log.arm, log.seed
        other = kept.get(key)
        if other is None:
            kept[key] = log
            continue
        long, short = sorted((log, other), key=lambda r: len(_steps(r)), reverse=True)
        if _steps(long)[: len(_steps(short))] != _steps(short):
            raise ImportRefused(f"{log.label} is there twice (training)")
        notes.append(f"{log.label}: several states of one training log; the longest is read")
        kept[key] = long
    return list(kept.values())


def _steps(log: ArmRun) -> list[Any]:
    steps: list[Any] = log.draft.document["training"]
    return steps
