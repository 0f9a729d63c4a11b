"""Per-item JSON of RL evaluation scripts: one model on one benchmark a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign
from audit.importers.liveness import Liveness
from audit.importers.metric_names import (
    ACCURACY,
    is_accuracy,
    plain,
    reading_of,
    refuse_impossible_pass_at_k,
)
from audit.importers.notes import Notes
from audit.importers.numbers import fits_count, integer, number, outcome, whole, whole_cell
from audit.importers.outcomes import OutcomesByTask
from audit.importers.scaled import lowest
from audit.importers.summary_rows import summary_of

# Lists of items, the usual names first; any other list of such records is read too.
_LISTS = (
    "items",
    "results",
    "samples",
    "records",
    "predictions",
    "per_item",
    "per_q",
    "per_question",
    "details",
    "examples",
    "rows",
    "outputs",
)
_IDS = (
    "id",
    "task_id",
    "item_id",
    "question_id",
    "problem_id",
    "example_id",
    "doc_id",
    "qid",
    "uid",
)
_MORE_IDS = ("prompt_id", "idx", "index", "i")
_VALUES = ("correct", "is_correct", "passed", "pass", "success", "acc", "accuracy", "exact_match")
_SCORES = ("score", "reward")
_SAMPLES = ("sample", "sample_id", "sample_idx", "epoch", "attempt", "rollout", "trial", "repeat")
_TEXTS = ("responses", "completions", "generations", "outputs")
_TEXT = ("response", "completion", "generation", "output")
_TOKENS = ("output_tokens", "completion_tokens", "response_tokens", "n_tokens", "tokens")
_ERRORS = ("error", "errored", "exception")
_BENCHMARKS = ("benchmark", "task", "dataset", "eval_name")
_TRAINING_SEEDS = ("train_seed", "training_seed")
_AGGREGATE = re.compile(r"^(pass|maj)(?:_at)?_(\d+)$")


def sniff(document: Any, name: str) -> bool:
    """Whether a JSON object is one model's answers on one benchmark, or one seed's record."""
    if not isinstance(document, dict):
        return False
    if _task_lists(document) and integer(document.get("seed")) is not None:
        return True
    if _items(document) is not None:
        return True
    named = any(key in document for key in _BENCHMARKS)
    return named and bool(set(_TEXTS) & set(document))


def _task_lists(document: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {
        key.removeprefix("per_task_"): value
        for key, value in document.items()
        if key.startswith("per_task_") and isinstance(value, list) and value
    }


def _items(document: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    usual = [key for key in _LISTS if key in document]
    for key in dict.fromkeys([*usual, *document]):
        listed = document[key]
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            continue
        if listed and _key(listed[0], _IDS + _MORE_IDS) and _key(listed[0], _VALUES + _SCORES):
            return listed
    return None


def _key(item: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in item), None)


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read one run a file.

    Raises
    ------
    ImportRefused
        When a file holds neither outcomes nor a score, or its evaluation never ran.
    """
    notes = Notes()
    metrics: dict[str, dict[str, Any]] = {}
    runs = []
    for file in files:
        for note in file.notes:
            notes.say(note)
        reader = _Reader(file, options, notes)
        runs.append(reader.shard() if _task_lists(file.content) else reader.answers())
        metrics |= reader.metrics
    return Draft(
        tool=None,
        version=None,
        runs=tuple(runs),
        metrics={name: known for name, known in sorted(metrics.items()) if known},
        notes=notes.lines,
    )


class _Reader:
    """One file while it is read."""

    def __init__(self, file: Foreign, options: Options, notes: Notes) -> None:
        self.path, self.options, self.notes = file.name, options, notes
        self.document: dict[str, Any] = file.content
        self.metrics: dict[str, dict[str, Any]] = {}
        metadata = self.document.get("metadata") or self.document.get("config")
        self.metadata: dict[str, Any] = metadata if isinstance(metadata, dict) else {}

    def shard(self) -> DraftRun:
        """Read one seed's record with a list of one value per task."""
        run: dict[str, Any] = {}
        blocks = []
        for name, values in _task_lists(self.document).items():
            numbers = [number(value) for value in values]
            found = [value for value in numbers if value is not None]
            if len(found) < len(values):
                self.notes.missing(f"per_task_{name} of {self.path}", len(values) - len(found))
                self.notes.say(f"{self.path}: per_task_{name} has holes and is left out")
                continue
            metric = ACCURACY if is_accuracy(name) else name
            if metric == ACCURACY and not all(0 <= value <= 1 for value in found):
                raise ImportRefused(f"per_task_{name} lies outside 0 to 1", path=self.path)
            self.metrics[metric] = reading_of(metric)
            blocks.append({"metric": metric, "scores": found})
        if not blocks:
            raise ImportRefused("no complete list of outcomes", path=self.path)
        self.notes.say(f"{self.path}: its tasks have no ids, so they cannot be paired")
        blocks.sort(key=lambda block: block["metric"] != ACCURACY)
        run["evaluation"] = blocks[0]
        if len(blocks) > 1:
            run["evaluations"] = blocks[1:]
        seed, evidence = self._training_seed()
        if seed is None:
            seed = integer(self.document["seed"])
        arm = _text(self.document, "config_name")
        return DraftRun(run, arm, seed, identified_by=evidence)

    def answers(self) -> DraftRun:
        """Read one model's answers on one benchmark."""
        document = self.document
        name = self.options.benchmark or next(
            (_text(document, key) for key in _BENCHMARKS if _text(document, key)), None
        )
        items = _items(document)
        outcomes = None if items is None else self._outcomes(items)
        block: dict[str, Any] = {"benchmark": name} if name else {}
        scores: dict[str, Any] = {}
        printed: dict[str, float] = {}
        if outcomes:
            metric = self._metric(outcomes, items or [])
            low = lowest(metric, self.options)
            block = outcomes.block(name, metric, self.notes, low)
            self.metrics[metric] = reading_of(metric)
            printed = self._printed(outcomes, metric)
        else:
            scores = self._scores()
            block["metric"] = ACCURACY
        condition = self._condition()
        if condition:
            block["condition"] = condition
        run: dict[str, Any] = {}
        if _text(document, "run_id"):
            run["run_id"] = document["run_id"]
        if scores:
            run["method_metrics"] = scores
        run["evaluation"] = block
        seed, evidence = self._training_seed()
        if seed is None:
            seed = self._bare_seed()
        model = _text(self.metadata, "model_path")
        return DraftRun(
            run,
            None,
            seed,
            name=_text(document, "run_id"),
            identity=model or _text(document, "run_id"),
            identified_by=evidence,
            model=model,
            printed=printed,
        )

    def _training_seed(self) -> tuple[int | None, str]:
        """Return the seed that the file calls the training's, and whose word that is."""
        named = [self.options.seed_key] if self.options.seed_key else []
        for key in (*named, *_TRAINING_SEEDS):
            for block in (self.document, self.metadata):
                seed = whole_cell(block.get(key))
                if seed is not None:
                    return seed, "user"
        return None, "none"

    def _bare_seed(self) -> int | None:
        """Return a seed of unknown meaning where the user says that such are of trainings."""
        seed = integer(self.metadata.get("seed", self.document.get("seed")))
        if seed is None or self.options.seed_is == "training":
            return seed
        self.notes.say(
            f"{self.path}: its seed is the evaluation's, so far as anything says (--seed-is "
            "training otherwise)"
        )
        return None

    def _outcomes(self, items: list[dict[str, Any]]) -> OutcomesByTask:
        numbered = any(_key(item, _SAMPLES) for item in items)
        outcomes = OutcomesByTask(self.path, self.path, repeats=not numbered)
        live = Liveness(self.path)
        for item in items:
            task_key = _key(item, _IDS + _MORE_IDS)
            value_key = _key(item, _VALUES + _SCORES)
            if task_key is None:
                raise ImportRefused("an item has no id", path=self.path)
            task = item[task_key] if isinstance(item[task_key], int) else str(item[task_key])
            if task == "":
                raise ImportRefused(f"an item has an empty {task_key}", path=self.path)
            value = item.get(value_key) if value_key else None
            failed = any(item.get(key) for key in _ERRORS) and not isinstance(value, list)
            empty = self._see(live, item, outcome(value))
            for sample, found in self._values(item, value):
                if (failed and not found) or (empty and found == 1):
                    outcomes.error(task, sample)
                else:
                    outcomes.add(task, sample, found)
            tokens = next((number(item[key]) for key in _TOKENS if key in item), None)
            if tokens is not None:
                outcomes.tokens(task, tokens)
        live.refuse_dead()
        return outcomes

    def _see(self, live: Liveness, item: Mapping[str, Any], value: float | None) -> bool:
        text = _key(item, _TEXT)
        tokens = next((number(item[key]) for key in _TOKENS if key in item), None)
        if text is None:
            return live.see(tokens=tokens)
        return live.see(text=item[text], tokens=tokens, right=value == 1)

    def _values(self, item: Mapping[str, Any], value: Any) -> Iterator[tuple[Any, float | None]]:
        """Yield sample and outcome: of a list, of a count out of n, or of a single value."""
        drawn = integer(item.get("n_samples", item.get("n", item.get("total"))))
        right = integer(value) if not isinstance(value, bool) else None
        sample = _key(item, _SAMPLES)
        if isinstance(value, list):
            if any(isinstance(entry, list | dict) for entry in value):
                raise ImportRefused("an item's outcome is a list of lists", path=self.path)
            entries = value or [None]
            yield from ((f"answer {i}", outcome(entry)) for i, entry in enumerate(entries))
        elif drawn and right is not None and 0 <= right <= drawn and drawn > 1:
            yield from ((f"answer {i}", float(i < right)) for i in range(drawn))
        else:
            yield item[sample] if sample else None, outcome(value)

    def _metric(self, outcomes: OutcomesByTask, items: list[dict[str, Any]]) -> str:
        if self.options.metric:
            return ACCURACY if is_accuracy(self.options.metric) else self.options.metric
        key = _key(items[0], _VALUES + _SCORES) or ""
        return ACCURACY if key in _VALUES or outcomes.binary else key

    def _printed(self, outcomes: OutcomesByTask, metric: str) -> dict[str, float]:
        """Compare what the file prints of its items with them, and return the share it prints."""
        summary = summary_of(self.document) if metric == ACCURACY and outcomes.binary else None
        if summary is None:
            return {}
        note = summary.contradiction(sum(outcomes.all_values()), outcomes.drawn)
        if note is not None:
            self.notes.say(f"{self.path}: {note}")
        return {} if summary.share is None else {ACCURACY: summary.share}

    def _scores(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in self.document.items():
            match = _AGGREGATE.match(plain(key))
            score = number(value)
            if score is None or not (match or is_accuracy(key)):
                continue
            name = ACCURACY if is_accuracy(key) else f"{match[1]}@{match[2]}" if match else key
            self.metrics[name] = reading_of(name)
            found[name] = score
        if ACCURACY not in found:
            raise ImportRefused("neither outcomes by item nor a score", path=self.path)
        if not 0 <= found[ACCURACY] <= 1:
            raise ImportRefused(f"accuracy is {found[ACCURACY]:g}, outside 0 to 1", path=self.path)
        samples = integer(self.document.get("samples_per_item", self.document.get("k")))
        for name in found:
            refuse_impossible_pass_at_k(name, samples, self.path)
        self.notes.say(f"{self.path}: no item has an outcome of its own; the printed score is read")
        total = integer(self.document.get("n_samples"))
        if total:
            if not fits_count(found[ACCURACY], total, None, percent=False):
                self.notes.say(
                    f"{self.path}: {found[ACCURACY]:g} is no whole count out of the {total} "
                    "answers said"
                )
            found = {ACCURACY: found[ACCURACY], "examples": total} | found
            tokens = number(self.document.get("avg_response_tokens"))
            if tokens is not None and whole(tokens * total) is not None:
                found["generated_tokens"] = whole(tokens * total)
        return found

    def _condition(self) -> dict[str, Any]:
        blocks = self.document | self.metadata
        engine = f"vllm {blocks['vllm_version']}" if blocks.get("vllm_version") else None
        decoding = None if self.options.seed_is == "training" else integer(blocks.get("seed"))
        fields = {
            "temperature": number(blocks.get("temperature")),
            "top_p": number(blocks.get("top_p")),
            "max_tokens": integer(blocks.get("max_tokens")),
            "seed": decoding,
            "engine": engine or _text(blocks, "engine"),
        }
        return {key: value for key, value in fields.items() if value is not None}


def _text(block: Mapping[str, Any], key: str) -> str | None:
    value = block.get(key)
    return value if isinstance(value, str) and value else None
