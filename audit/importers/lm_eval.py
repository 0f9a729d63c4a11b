"""lm-evaluation-harness: results of 0.2 to 0.4, with the samples of ``--log_samples`` beside them.

In results up to 0.3 a metric's key is bare (``acc``), since 0.4 it carries the name of the answer
extraction (``exact_match,strict-match``). A sample is known by ``doc_id`` and ``filter``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from audit.errors import ImportRefused, InputError
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign, JsonLines
from audit.importers.liveness import Liveness
from audit.importers.metric_names import (
    ACCURACY,
    is_accuracy,
    reading_of,
    refuse_impossible_pass_at_k,
)
from audit.importers.notes import Notes
from audit.importers.numbers import integer, number, outcome, standard_error_note
from audit.importers.outcomes import OutcomesByTask
from audit.importers.weights import loaded_weights

NO_FILTER = "none"
_SAMPLES_NAME = re.compile(r"^samples_(.+?)(_\d{4}-\d{2}-\d{2}.*)?\.jsonl?$")
_RESULTS_NAME = re.compile(r"^results(_\d{4}-\d{2}-\d{2}.*)\.json$")
_NOT_METRICS = frozenset(
    [
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
    ]
)

Key = tuple[str, str]  # metric, filter


def sniff(document: Any, name: str) -> bool:
    """Whether content is a results document or logged samples."""
    if isinstance(document, JsonLines):
        return bool(document.rows) and _is_sample(document.rows[0])
    if isinstance(document, list):
        return bool(document) and _is_sample(document[0])
    if not isinstance(document, dict) or not isinstance(document.get("results"), dict):
        return False
    if "config_general" in document:  # lighteval
        return False
    if not any(isinstance(document.get(key), dict) for key in ("versions", "configs", "n-shot")):
        return False
    return all(isinstance(block, dict) for block in document["results"].values())


def _is_sample(row: Any) -> bool:
    return isinstance(row, dict) and "doc_id" in row and ("resps" in row or "filtered_resps" in row)


@dataclass
class _Task:
    """One benchmark of one model while it is read."""

    name: str
    scores: dict[Key, float] = field(default_factory=dict)
    errors: dict[Key, float] = field(default_factory=dict)
    samples: dict[Key, OutcomesByTask] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    examples: int | None = None
    higher: dict[str, bool] = field(default_factory=dict)

    @property
    def keys(self) -> list[Key]:
        return sorted({*self.scores, *self.samples})


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read results with their samples; each results file is one model's evaluation.

    Raises
    ------
    InputError
        When samples cannot be assigned to one of several results files.
    ImportRefused
        When samples are doubled, cut off, or contradict the results.
    """
    results = [f for f in files if isinstance(f.content, dict)]
    samples = [f for f in files if not isinstance(f.content, dict)]
    notes = Notes()
    runs: list[DraftRun] = []
    metrics: dict[str, dict[str, Any]] = {}
    groups = [(file, _beside(file, samples, len(results))) for file in results]
    used = {id(s) for _, beside in groups for s in beside}
    alone = [s for s in samples if id(s) not in used]
    if alone and results:
        raise InputError("belongs to none of the results files given", path=alone[0].name)
    for result, beside in [*groups, *([(None, alone)] if alone else [])]:
        run = _Model(result, beside, options, notes)
        runs.append(run.draft())
        metrics |= run.metrics
    version = next((_text(f.content.get("lm_eval_version")) for f in results), None)
    return Draft(
        tool="lm-evaluation-harness",
        version=version,
        runs=tuple(runs),
        metrics=dict(sorted(metrics.items())),
        notes=notes.lines,
    )


def _beside(result: Foreign, samples: Sequence[Foreign], results: int) -> list[Foreign]:
    """Return a results file's samples: of its folder and time stamp, or all for the only one."""
    if results == 1:
        return list(samples)
    here = _path(result)
    stamp = _RESULTS_NAME.match(here.name)
    return [
        sample
        for sample in samples
        if _path(sample).parent == here.parent
        and stamp
        and _path(sample).name.rsplit(".", 1)[0].endswith(stamp[1])
    ]


def _path(file: Foreign) -> PurePosixPath:
    return PurePosixPath(file.name.replace("\\", "/"))


class _Model:
    """One model's evaluation while it is read."""

    def __init__(
        self, result: Foreign | None, samples: Sequence[Foreign], options: Options, notes: Notes
    ) -> None:
        self.options = options
        self.notes = notes
        self.document: dict[str, Any] = {} if result is None else result.content
        self.path = result.name if result else samples[0].name
        self.tasks: dict[str, _Task] = {}
        self.metrics: dict[str, dict[str, Any]] = {}
        for file in (*([result] if result else []), *samples):
            for note in file.notes:
                notes.say(note)
        self._read_results()
        embedded = self.document.get("samples")
        for task, rows in embedded.items() if isinstance(embedded, dict) else ():
            self._read_samples(task, rows, self.path)
        for file in samples:
            rows = file.content.rows if isinstance(file.content, JsonLines) else file.content
            self._read_samples(self._task_name(file), rows, file.name)
        self._choose()

    # ---- results ------------------------------------------------------------------------

    def _read_results(self) -> None:
        groups = self.document.get("group_subtasks")
        for name, block in (self.document.get("results") or {}).items():
            task = self.tasks.setdefault(name, _Task(name))
            task.examples = self._examples(name)
            task.higher = {
                metric: better
                for metric, better in _mapping(self.document.get("higher_is_better"), name).items()
                if isinstance(better, bool)
            }
            self._read_scores(task, block)
            members = groups.get(name) if isinstance(groups, dict) else None
            if isinstance(members, list) and members:
                self.notes.say(f"{name}: a group's own mean over {len(members)} tasks")

    def _examples(self, name: str) -> int | None:
        return integer(_mapping(self.document.get("n-samples"), name).get("effective"))

    def _read_scores(self, task: _Task, block: Mapping[str, Any]) -> None:
        filtered = any("," in key for key in block)
        for key, value in block.items():
            if ("," in key) is not filtered or key in ("alias", "name"):
                continue
            metric, _, chosen = key.partition(",")
            target = task.scores
            if metric.endswith("_stderr"):
                metric, target = metric.removesuffix("_stderr"), task.errors
            found = number(value)
            if found is not None:
                target[metric, chosen or NO_FILTER] = found
            elif target is task.scores:
                self.notes.missing(f"the scores of {task.name}")
        for (metric, chosen), printed in task.errors.items():
            share = task.scores.get((metric, chosen))
            if share is not None and is_accuracy(metric):
                note = standard_error_note(f"{task.name} {metric}", share, printed, task.examples)
                if note:
                    self.notes.say(note)

    # ---- samples ------------------------------------------------------------------------

    def _task_name(self, file: Foreign) -> str:
        match = _SAMPLES_NAME.match(_path(file).name)
        name = match[1] if match else _path(file).stem
        if self.tasks and name not in self.tasks:
            self.notes.say(f"{file.name}: the results file has no task {name}")
        return name

    def _read_samples(self, name: str, rows: Sequence[Any], path: str) -> None:
        task = self.tasks.setdefault(name, _Task(name))
        if task.samples:
            raise ImportRefused(f"samples of {name} are there twice", path=path)
        live = Liveness(path)
        for row in rows:
            if not _is_sample(row):
                raise InputError("a row is no lm-eval sample: doc_id or resps missing", path=path)
            self._read_sample(task, row, path)
            live.see(text=_responses(row))
        live.refuse_dead()

    def _read_sample(self, task: _Task, row: Mapping[str, Any], path: str) -> None:
        doc = str(row["doc_id"])
        chosen = str(row.get("filter") or NO_FILTER)
        seen = task.hashes.setdefault(doc, str(row.get("doc_hash") or ""))
        if seen != str(row.get("doc_hash") or ""):
            raise ImportRefused(
                f"doc_id {doc} of {task.name} stands for two questions: doc_hash {seen[:12]} and "
                f"{str(row.get('doc_hash'))[:12]}",
                path=path,
            )
        listed = row.get("metrics")
        names = listed if isinstance(listed, list) else sorted(set(row) - _NOT_METRICS)
        for metric in map(str, names):
            value = outcome(row.get(metric))
            if value is None and not isinstance(listed, list):
                continue
            what = f"{task.name}, {metric},{chosen}"
            samples = task.samples.setdefault((metric, chosen), OutcomesByTask(path, what))
            samples.add(row["doc_id"] if isinstance(row["doc_id"], int) else doc, None, value)

    # ---- choosing -----------------------------------------------------------------------

    def _choose(self) -> None:
        wanted = self.options.benchmark
        if wanted is not None:
            if wanted not in self.tasks:
                have = ", ".join(sorted(self.tasks)[:8])
                raise ImportRefused(f"no benchmark {wanted}; there are {have}", path=self.path)
            self.tasks = {wanted: self.tasks[wanted]}
        for task in self.tasks.values():
            self._check(task)
        if not any(list(self._keys(task)) for task in self.tasks.values()):
            raise ImportRefused("no score of the metric and filter asked for", path=self.path)

    def _check(self, task: _Task) -> None:
        repeats = integer(_mapping(self.document.get("configs"), task.name).get("repeats"))
        for metric, chosen in task.keys:
            refuse_impossible_pass_at_k(metric, repeats, self.path)
            samples, score = task.samples.get((metric, chosen)), task.scores.get((metric, chosen))
            if samples is None or score is None:
                continue
            values = samples.all_values()
            if task.examples is not None and len(values) + samples.lost != task.examples:
                raise ImportRefused(
                    f"{task.name}: {len(values)} samples where the results say {task.examples}; "
                    "cut off? import the results or the samples alone",
                    path=self.path,
                )
            mean = sum(sorted(values)) / len(values) if values else None
            if mean is not None and is_accuracy(metric) and abs(mean - score) > 1e-6:
                raise ImportRefused(
                    f"{task.name} {metric}: the results say {score:g}, the samples give {mean:g}",
                    path=self.path,
                )

    def _keys(self, task: _Task) -> Iterator[tuple[Key, str]]:
        """Yield what is brought over of a task, with the name it gets."""
        keys = [
            key
            for key in task.keys
            if self.options.metric in (None, ACCURACY, key[0], ",".join(key))
            and self.options.filter in (None, key[1])
        ]
        right = [key for key in keys if is_accuracy(key[0])]
        if len(right) > 1:
            choices = ", ".join(",".join(key) for key in right)
            self.notes.say(
                f"{task.name}: {choices} all count right answers; none is taken as accuracy "
                "(choose with --metric or --filter)"
            )
        for metric, chosen in keys:
            filters = [key for key in keys if key[0] == metric]
            label = metric if len(filters) == 1 else f"{metric},{chosen}"
            yield (metric, chosen), ACCURACY if right == [(metric, chosen)] else label

    # ---- the run ------------------------------------------------------------------------

    def draft(self) -> DraftRun:
        single = len(self.tasks) == 1
        blocks: list[dict[str, Any]] = []
        scores: dict[str, Any] = {}
        counts: set[int | None] = set()
        for name in sorted(self.tasks):
            task = self.tasks[name]
            for key, label in self._keys(task):
                full = label if single else f"{name}/{key[0] if label == ACCURACY else label}"
                known = label if key in task.samples else full
                blocks.append(self._block(task, key, known))
                self._describe(task, key, known)
                if key in task.scores and key not in task.samples:
                    scores[full] = task.scores[key]
                    counts.add(task.examples)
        # A run has one number of answers: beside outcomes by task it would be taken for theirs.
        tasked = any("task_ids" in block for block in blocks)
        if len(counts) == 1 and None not in counts and not tasked:
            scores["examples"] = counts.pop()
        blocks.sort(key=lambda block: block["metric"] != ACCURACY)
        return DraftRun(
            self._run(blocks, scores),
            name=_text(self.document.get("model_name")),
            identity=self._identity(),
            tasks=self._hashes(),
            model=loaded_weights(_mapping(self.document, "config").get("model_args")),
        )

    def _block(self, task: _Task, key: Key, label: str) -> dict[str, Any]:
        samples = task.samples.get(key)
        if samples is not None:
            block = samples.block(task.name, label, self.notes)
        else:
            block = {"benchmark": task.name, "metric": label}
        condition = self._condition(task)
        return block | ({"condition": condition} if condition else {})

    def _describe(self, task: _Task, key: Key, label: str) -> None:
        reading = reading_of(key[0])
        if key[0] in task.higher:
            reading["higher_is_better"] = task.higher[key[0]]
        if reading:
            self.metrics[label] = reading

    def _condition(self, task: _Task) -> dict[str, Any]:
        config = _mapping(self.document, "config")
        own = _mapping(self.document.get("configs"), task.name)
        generation = _mapping(own, "generation_kwargs")
        size = config.get("batch_size")
        fields = {
            "temperature": number(generation.get("temperature")),
            "top_p": number(generation.get("top_p")),
            "max_tokens": integer(generation.get("max_gen_toks")),
            "seed": integer(config.get("random_seed")),
            "batch_size": int(str(size)) or None if str(size).isdecimal() else None,
            "engine": _text(config.get("model")),
            "dtype": _text(config.get("model_dtype")),
        }
        return {key: value for key, value in fields.items() if value is not None}

    def _run(self, blocks: list[dict[str, Any]], scores: dict[str, Any]) -> dict[str, Any]:
        run: dict[str, Any] = {}
        if scores:
            run["method_metrics"] = scores
        run["evaluation"] = blocks[0]
        if len(blocks) > 1:
            run["evaluations"] = blocks[1:]
        versions = {
            "lm_eval": _text(self.document.get("lm_eval_version")),
            "transformers": _text(self.document.get("transformers_version")),
        }
        packages = {name: v for name, v in versions.items() if v and v != "N/A"}
        if packages:
            run["environment"] = {"packages": packages}
        return run

    def _identity(self) -> str | None:
        config = _mapping(self.document, "config")
        parts = [config.get(key) for key in ("model", "model_args", "model_sha", "model_revision")]
        parts.append(self.document.get("model_name"))
        return None if not any(parts) else " ".join(str(part) for part in parts if part)

    def _hashes(self) -> dict[tuple[str, str], str]:
        return {
            (task.name, doc): digest
            for task in self.tasks.values()
            for doc, digest in task.hashes.items()
            if digest
        }


def _responses(row: Mapping[str, Any]) -> Any:
    """Return what the model gave to a sample: text, or numbers where choices were weighed."""
    return row.get("resps", row.get("filtered_resps"))


def _mapping(outer: Any, key: str) -> dict[str, Any]:
    inner = outer.get(key) if isinstance(outer, dict) else None
    return inner if isinstance(inner, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
