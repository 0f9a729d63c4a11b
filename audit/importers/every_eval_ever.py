"""Every Eval Ever: aggregate JSON, one record or a list of them, with instance-level JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from audit.errors import ImportRefused, InputError
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign, JsonLines
from audit.importers.metric_names import ACCURACY, is_accuracy, reading_of
from audit.importers.notes import Notes
from audit.importers.numbers import (
    fraction_of_percent,
    integer,
    number,
    outcome,
    standard_error_note,
    whole_cell,
)
from audit.importers.outcomes import OutcomesByTask

_INSTANCE = frozenset({"evaluation_id", "model_id", "sample_id"})
_INFINITE = {"Infinity": None, "-Infinity": None}


def sniff(document: Any, name: str) -> bool:
    """Whether content is an aggregate record or instance-level rows."""
    if isinstance(document, JsonLines):
        return bool(document.rows) and set(document.rows[0]) >= _INSTANCE
    listed = document if isinstance(document, list) else [document]
    return bool(listed) and all(map(_is_record, listed))


def _is_record(document: Any) -> bool:
    return isinstance(document, dict) and {"evaluation_results", "model_info"} <= set(document)


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read aggregate records, each one model's run, with their instance-level rows.

    Raises
    ------
    InputError
        When an instance-level row lacks an id.
    ImportRefused
        When instance-level rows are doubled, changed since, or contradict the score.
    """
    notes = Notes()
    records = [record for f in files for record in _records(f)]
    rows = [f for f in files if isinstance(f.content, JsonLines)]
    for part in rows:
        if not all(set(row) >= _INSTANCE for row in part.content.rows):
            raise InputError("a row has no evaluation_id, model_id or sample_id", path=part.name)
    runs: list[DraftRun] = []
    metrics: dict[str, dict[str, Any]] = {}
    for file in files:
        for note in file.notes:
            notes.say(note)
    claimed: set[int] = set()
    for record in records:
        beside = [f for f in rows if _belongs(f, record.content)]
        claimed |= {id(f) for f in beside}
        reader = _Record(record, beside, options, notes)
        runs.append(reader.draft())
        metrics |= reader.metrics
    for file in rows:
        if id(file) not in claimed:
            runs += _instances_alone(file, metrics, notes)
    libraries = [r.content.get("eval_library") for r in records]
    versions = [lib.get("version") for lib in libraries if isinstance(lib, dict)]
    return Draft(
        tool="every_eval_ever",
        version=next((v for v in versions if isinstance(v, str)), None),
        runs=tuple(runs),
        metrics={name: known for name, known in sorted(metrics.items()) if known},
        notes=notes.lines,
    )


def _records(file: Foreign) -> Iterator[Foreign]:
    """Yield the aggregate records of a file, each as a file of its own."""
    if isinstance(file.content, dict):
        yield file
    elif isinstance(file.content, list):
        yield from (replace(file, content=record) for record in file.content)


def _belongs(rows: Foreign, record: Mapping[str, Any]) -> bool:
    return bool(rows.content.rows[0].get("evaluation_id") == record.get("evaluation_id"))


def _add_instance(outcomes: OutcomesByTask, row: Mapping[str, Any]) -> None:
    task = str(row["sample_id"])
    if row.get("error"):
        outcomes.error(task, None)
        return
    graded = _mapping(row.get("evaluation"))
    score = outcome(graded.get("score"))
    outcomes.add(task, None, outcome(graded.get("is_correct")) if score is None else score)
    tokens = number(_mapping(row.get("token_usage")).get("output_tokens"))
    if tokens is not None:
        outcomes.tokens(task, tokens)


def _instances_alone(
    file: Foreign, metrics: dict[str, dict[str, Any]], notes: Notes
) -> Iterator[DraftRun]:
    found: dict[str, dict[str, OutcomesByTask]] = {}
    hashes: dict[tuple[str, str], str] = {}
    for row in file.content.rows:
        model, name = str(row["model_id"]), str(row.get("evaluation_name"))
        what = f"{file.name}, {model}, {name}"
        tasks = found.setdefault(model, {})
        _add_instance(tasks.setdefault(name, OutcomesByTask(file.name, what)), row)
        if row.get("sample_hash"):
            hashes[name, str(row["sample_id"])] = str(row["sample_hash"])
    for model in found:
        blocks = []
        for name, outcomes in sorted(found[model].items()):
            if outcomes:
                label = ACCURACY if outcomes.binary else "score"
                metrics[label] = reading_of(label)
                blocks.append(outcomes.block(name, label, notes))
        if not blocks:
            raise ImportRefused(f"no score for {model}", path=file.name)
        run: dict[str, Any] = {"evaluation": blocks[0]}
        if len(blocks) > 1:
            run["evaluations"] = blocks[1:]
        yield DraftRun(run, name=model, identity=model, tasks=hashes)


class _Record:
    """One aggregate record while it is read."""

    def __init__(
        self, file: Foreign, rows: Sequence[Foreign], options: Options, notes: Notes
    ) -> None:
        self.path, self.options, self.notes = file.name, options, notes
        self.record: dict[str, Any] = file.content
        self.rows = [row for part in rows for row in part.content.rows]
        self.metrics: dict[str, dict[str, Any]] = {}
        detailed = _mapping(self.record.get("detailed_evaluation_results"))
        checksum, algorithm = detailed.get("checksum"), detailed.get("hash_algorithm", "sha256")
        for part in rows:
            if checksum and algorithm == "sha256" and checksum != part.source.sha256:
                raise ImportRefused(
                    "its SHA-256 is not the checksum its record names", path=part.name
                )
        listed = self.record["evaluation_results"]
        given = listed if isinstance(listed, list) else []
        entries = [entry for entry in given if isinstance(entry, dict)]
        wanted = options.benchmark
        self.entries = [e for e in entries if wanted in (None, self._benchmark(e))]
        if not self.entries:
            raise ImportRefused("no evaluation result of that benchmark", path=self.path)

    def draft(self) -> DraftRun:
        info = _mapping(self.record.get("model_info"))
        model = str(info.get("id") or info.get("name"))
        blocks: list[dict[str, Any]] = []
        scores: dict[str, Any] = {}
        counts: set[int | None] = set()
        single = len({self._benchmark(entry) for entry in self.entries}) == 1
        for entry in self.entries:
            block, figures = self._entry(entry, single)
            if set(figures) & set(scores) - {"examples"}:
                raise ImportRefused(f"{next(iter(figures))} is there twice", path=self.path)
            blocks.append(block)
            counts.add(figures.pop("examples", None) if figures else None)
            scores |= figures
        if scores and len(counts) == 1 and None not in counts:
            scores["examples"] = counts.pop()
        run: dict[str, Any] = {}
        if scores:
            run["method_metrics"] = scores
        run["evaluation"] = blocks[0]
        if len(blocks) > 1:
            run["evaluations"] = blocks[1:]
        details = _mapping(info.get("additional_details"))
        seed, arm = whole_cell(details.get("training_seed")), details.get("arm")
        return DraftRun(
            run,
            arm=arm if isinstance(arm, str) else None,
            name=model if info else None,
            seed=seed,
            identity=model if info else None,
            tasks=self._hashes(),
            identified_by="none" if seed is None else "user",
        )

    def _benchmark(self, entry: Mapping[str, Any]) -> str:
        source = _mapping(entry.get("source_data"))
        return str(source.get("dataset_name") or entry.get("evaluation_name"))

    def _metric(self, entry: Mapping[str, Any]) -> str:
        config = _mapping(entry.get("metric_config"))
        keys = ("metric_id", "metric_name", "metric_kind", "evaluation_description")
        names = [str(config[key]) for key in keys if config.get(key)]
        names.append(str(entry.get("evaluation_name")))
        if any(is_accuracy(name) for name in names):
            return ACCURACY
        return names[0] if len(names) > 1 and config.get("metric_id") else names[-1]

    def _entry(
        self, entry: Mapping[str, Any], single: bool
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        benchmark, metric = self._benchmark(entry), self._metric(entry)
        outcomes = self._outcomes(entry, benchmark)
        score = self._score(entry, metric)
        condition = self._condition(entry)
        if outcomes:
            self._check(outcomes, score, benchmark, metric)
            self.metrics[metric] = self._reading(entry, metric)
            block = outcomes.block(benchmark, metric, self.notes)
            return block | condition, {}
        name = metric if single else f"{benchmark}/{metric}"
        block = {"benchmark": benchmark, "metric": name} | condition
        if score is None:
            self.notes.missing(f"the scores of {benchmark}")
            return block, {}
        self.metrics[name] = self._reading(entry, metric)
        figures: dict[str, Any] = {name: score}
        examples = self._examples(entry)
        if examples:
            figures["examples"] = examples
        self._check_error(entry, benchmark, metric, score, examples)
        return block, figures

    def _outcomes(self, entry: Mapping[str, Any], benchmark: str) -> OutcomesByTask | None:
        outcomes = OutcomesByTask(self.path, f"{self.path}, {benchmark}")
        names = {str(entry.get("evaluation_name")), benchmark}
        result = entry.get("evaluation_result_id")
        for row in self.rows:
            linked = row.get("evaluation_result_id")
            mine = (
                linked == result if linked and result else str(row.get("evaluation_name")) in names
            )
            if mine or len(self.entries) == 1:
                _add_instance(outcomes, row)
        return outcomes if outcomes else None

    def _score(self, entry: Mapping[str, Any], metric: str) -> float | None:
        score = number(_mapping(entry.get("score_details")).get("score"))
        if score is None or metric != ACCURACY:
            return score
        config = _mapping(entry.get("metric_config"))
        if config.get("metric_unit") == "percent" or number(config.get("max_score")) == 100:
            score = fraction_of_percent(score)
        if not 0 <= score <= 1:
            raise ImportRefused(f"accuracy is {score:g} and no percent is said", path=self.path)
        return score

    def _check(
        self, outcomes: OutcomesByTask, score: float | None, benchmark: str, metric: str
    ) -> None:
        values = outcomes.all_values()
        mean = sum(sorted(values)) / len(values)
        if metric == ACCURACY and score is not None and abs(mean - score) > 5e-4:
            raise ImportRefused(
                f"{benchmark}: the record says {score:g}, its instances give {mean:g}",
                path=self.path,
            )

    def _examples(self, entry: Mapping[str, Any]) -> int | None:
        uncertainty = _mapping(_mapping(entry.get("score_details")).get("uncertainty"))
        listed = _mapping(entry.get("source_data")).get("sample_ids")
        return integer(uncertainty.get("num_samples")) or (
            len(listed) if isinstance(listed, list) and listed else None
        )

    def _check_error(
        self,
        entry: Mapping[str, Any],
        benchmark: str,
        metric: str,
        score: float,
        examples: int | None,
    ) -> None:
        uncertainty = _mapping(_mapping(entry.get("score_details")).get("uncertainty"))
        printed = number(_mapping(uncertainty.get("standard_error")).get("value"))
        if metric == ACCURACY and printed is not None:
            note = standard_error_note(benchmark, score, printed, examples)
            if note:
                self.notes.say(note)

    def _reading(self, entry: Mapping[str, Any], metric: str) -> dict[str, Any]:
        if metric == ACCURACY:
            return reading_of(ACCURACY)
        config = _mapping(entry.get("metric_config"))
        reading: dict[str, Any] = {}
        ends = [config.get("min_score"), config.get("max_score")]
        if any(end is not None for end in ends):
            reading["scale"] = [
                _INFINITE.get(end) if isinstance(end, str) else number(end) for end in ends
            ]
        if isinstance(config.get("lower_is_better"), bool):
            reading["higher_is_better"] = not config["lower_is_better"]
        return reading

    def _condition(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        given = _mapping(_mapping(entry.get("generation_config")).get("generation_args"))
        engine = _mapping(_mapping(self.record.get("model_info")).get("inference_engine"))
        fields = {
            "temperature": number(given.get("temperature")),
            "top_p": number(given.get("top_p")),
            "max_tokens": integer(given.get("max_tokens")),
            "engine": engine.get("name") if isinstance(engine.get("name"), str) else None,
        }
        condition = {key: value for key, value in fields.items() if value is not None}
        return {"condition": condition} if condition else {}

    def _hashes(self) -> dict[tuple[str, str], str]:
        return {
            (str(row.get("evaluation_name")), str(row["sample_id"])): str(row["sample_hash"])
            for row in self.rows
            if row.get("sample_hash")
        }


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
