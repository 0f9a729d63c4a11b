"""Inspect evaluation logs: ``.json`` and ``.eval`` (a zip archive), epochs reduced per item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused, InputError
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Archive, Foreign
from audit.importers.liveness import Liveness
from audit.importers.metric_names import ACCURACY, is_accuracy, reading_of
from audit.importers.notes import Notes
from audit.importers.numbers import integer, number, on_lattice, outcome, standard_error_note, whole
from audit.importers.outcomes import OutcomesByTask
from audit.importers.weights import loaded_weights

# Inspect's own letters for right, wrong, partly right and no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
# Providers that load weights in this process, so that the rest of a model's name is theirs.
_LOADERS = frozenset({"hf", "vllm", "sglang", "transformer_lens", "nnterp"})
_STATUS = {"success": "finished", "started": "running"}


def sniff(document: Any, name: str) -> bool:
    """Whether content is an evaluation log."""
    if isinstance(document, Archive):
        return any(member in document.names for member in ("header.json", "_journal/start.json"))
    return (
        isinstance(document, dict)
        and isinstance(document.get("eval"), dict)
        and "task" in document["eval"]
        and "model" in document["eval"]
    )


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read logs; each is the evaluation of one model on one task.

    Raises
    ------
    ImportRefused
        When a finished log holds no score.
    """
    notes = Notes()
    logs = [_Log(file, options, notes) for file in files]
    metrics: dict[str, dict[str, Any]] = {}
    runs = []
    for log in logs:
        runs.append(log.draft())
        metrics |= log.metrics
    return Draft(
        tool="inspect_ai",
        version=next((log.version for log in logs if log.version), None),
        runs=tuple(runs),
        metrics=dict(sorted(metrics.items())),
        notes=notes.lines,
    )


def _whole_log(content: Any, path: str) -> dict[str, Any]:
    """Return a log as one document, put together from the members of an archive."""
    if not isinstance(content, Archive):
        return dict(content)
    finished = "header.json" in content.names
    log = content.document("header.json" if finished else "_journal/start.json")
    if not isinstance(log, dict):
        raise InputError("its header is no JSON object", path=path)
    if not sniff(log, path):
        raise InputError("its header names no task and model under eval", path=path)
    members = [n for n in content.names if n.startswith("samples/") and n.endswith(".json")]
    log = {"status": "started"} | log | {"samples": [content.document(n) for n in members]}
    if "reductions.json" in content.names:
        log["reductions"] = content.document("reductions.json")
    return log


class _Log:
    """One log while it is read."""

    def __init__(self, file: Foreign, options: Options, notes: Notes) -> None:
        self.path = file.name
        self.options = options
        self.notes = notes
        for note in file.notes:
            notes.say(note)
        self.log = _whole_log(file.content, file.name)
        self.eval: dict[str, Any] = self.log["eval"]
        self.metrics: dict[str, dict[str, Any]] = {}
        self.version = _text(_mapping(self.eval.get("packages")).get("inspect_ai"))
        config = _mapping(self.eval.get("config"))
        self.epochs = integer(config.get("epochs")) or 1
        self.task = str(self.eval["task"])
        listed = self.log.get("samples")
        entries = listed if isinstance(listed, list) else []
        self.samples = [s for s in entries if isinstance(s, dict) and "id" in s]
        limit, total = config.get("limit"), _mapping(self.eval.get("dataset")).get("samples")
        if limit is not None and limit != total:
            notes.say(f"{self.path}: limit {limit}, the data set has {total} samples")

    def draft(self) -> DraftRun:
        status = str(self.log.get("status"))
        self._refuse_dead()
        blocks, scores = self._blocks()
        run: dict[str, Any] = {}
        if status != "success":
            run |= {"status": _STATUS.get(status, "failed"), "failure": self._failure(status)}
            self.notes.say(f"{self.path}: status {status}, not a finished run")
        elif not blocks:
            raise ImportRefused(self._unscored(), path=self.path)
        if scores:
            run["method_metrics"] = scores
        if blocks:
            run["evaluation"] = blocks[0]
        if len(blocks) > 1:
            run["evaluations"] = blocks[1:]
        if self.version:
            run["environment"] = {"packages": {"inspect_ai": self.version}}
        identity = {k: self.eval.get(k) for k in ("model", "model_args", "model_base_url")}
        name = str(self.eval.get("model"))
        return DraftRun(run, name=name, identity=str(identity), model=self._weights())

    def _weights(self) -> str | None:
        """Return the weights that were loaded here; what a server offers has only a name."""
        found = loaded_weights(_mapping(self.eval.get("model_args")))
        loader, _, name = str(self.eval.get("model")).partition("/")
        if found is None and loader in _LOADERS and not self.eval.get("model_base_url"):
            return name or None
        return found

    def _refuse_dead(self) -> None:
        live = Liveness(self.path)
        for sample in self.samples:
            output = _mapping(sample.get("output"))
            choices = output.get("choices")
            if sample.get("error") or not isinstance(choices, list):
                continue
            message = [_mapping(choice).get("message") for choice in choices]
            tokens = number(_mapping(output.get("usage")).get("output_tokens"))
            live.see(text=message, tokens=tokens)
        live.refuse_dead()

    def _failure(self, status: str) -> str:
        message = _mapping(self.log.get("error")).get("message")
        return f"evaluation {status}" + (f": {str(message)[:200]}" if message else "")

    def _unscored(self) -> str:
        count = len(self.samples)
        errors = sum(1 for sample in self.samples if sample.get("error"))
        return f"no score in the log: {count} samples, {errors} of them ended in an error"

    # ---- outcomes -----------------------------------------------------------------------

    def _blocks(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        found = self._of_samples() or self._of_reductions()
        wanted = self.options.metric
        if wanted not in (None, ACCURACY):
            found = {name: outcomes for name, outcomes in found.items() if name == wanted}
        right = [name for name in found if self._is_accuracy(name, found[name])]
        blocks = []
        for name, outcomes in found.items():
            label = ACCURACY if right == [name] else name
            blocks.append(self._block(outcomes, label))
            self.metrics[label] = reading_of(ACCURACY if name in right else name)
        if len(right) > 1:
            self.notes.say(
                f"{self.path}: {', '.join(right)} all count right answers; none is taken as "
                "accuracy (choose with --metric)"
            )
        self.metrics = {name: reading for name, reading in self.metrics.items() if reading}
        blocks.sort(key=lambda block: (block["metric"] != ACCURACY, block["metric"]))
        return (blocks, {}) if blocks else self._aggregate()

    def _of_samples(self) -> dict[str, OutcomesByTask]:
        found: dict[str, OutcomesByTask] = {}
        names = self._scorers()
        for sample in self.samples:
            scores = _mapping(sample.get("scores"))
            for name in names:
                outcomes = found.setdefault(name, OutcomesByTask(self.path, f"{self.task}, {name}"))
                self._add(outcomes, sample, _value(scores, name))
        for name, outcomes in found.items():
            if not outcomes and outcomes.lost:
                self.notes.missing(f"{self.task}, {name}", outcomes.lost)
        return {name: outcomes for name, outcomes in found.items() if outcomes}

    def _scorers(self) -> list[str]:
        """Return scorer names, one for each member where a scorer gives a table."""
        names: dict[str, None] = {}
        for sample in self.samples:
            for name, score in _mapping(sample.get("scores")).items():
                value = _mapping(score).get("value")
                members = [f"{name}/{key}" for key in value] if isinstance(value, dict) else [name]
                names |= dict.fromkeys(members)
        return sorted(names)

    def _add(self, outcomes: OutcomesByTask, sample: Mapping[str, Any], value: Any) -> None:
        task = sample["id"] if isinstance(sample["id"], int | str) else str(sample["id"])
        epoch = sample.get("epoch")
        if sample.get("error"):
            outcomes.error(task, epoch)
            return
        outcomes.add(task, epoch, _score(value))
        output = _mapping(sample.get("output"))
        tokens = number(_mapping(output.get("usage")).get("output_tokens"))
        if tokens is not None:
            outcomes.tokens(task, tokens)
        choices = output.get("choices")
        first = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
        if first.get("stop_reason") in ("max_tokens", "model_length"):
            outcomes.truncated(task)

    def _of_reductions(self) -> dict[str, OutcomesByTask]:
        """Read the reduced scores, which hold one value an item where samples were not logged."""
        reducers = _mapping(self.eval.get("config")).get("epochs_reducer") or ["mean"]
        if reducers != ["mean"]:
            return {}
        found: dict[str, OutcomesByTask] = {}
        reductions = self.log.get("reductions")
        for reduction in reductions if isinstance(reductions, list) else ():
            name = str(_mapping(reduction).get("scorer"))
            outcomes = OutcomesByTask(self.path, f"{self.task}, {name}")
            items = _mapping(reduction).get("samples")
            for item in items if isinstance(items, list) else ():
                self._add_reduced(outcomes, _mapping(item))
            if outcomes:
                found[name] = outcomes
        return found

    def _add_reduced(self, outcomes: OutcomesByTask, item: Mapping[str, Any]) -> None:
        value, task = _score(item.get("value")), item.get("sample_id")
        if not isinstance(task, int | str):
            raise ImportRefused("a reduced score has no sample_id", path=self.path)
        right = None if value is None else whole(value * self.epochs)
        if self.epochs == 1 or right is None:
            outcomes.add(task, None, value)
            return
        for epoch in range(self.epochs):
            outcomes.add(task, epoch, float(epoch < right))

    def _is_accuracy(self, name: str, outcomes: OutcomesByTask) -> bool:
        scorers = self.eval.get("scorers")
        for scorer in scorers if isinstance(scorers, list) else ():
            if _mapping(scorer).get("name") == name and isinstance(scorer.get("metrics"), list):
                names = [str(_mapping(metric).get("name")) for metric in scorer["metrics"]]
                return any(is_accuracy(metric) for metric in names) and outcomes.binary
        return outcomes.binary

    def _block(self, outcomes: OutcomesByTask, label: str) -> dict[str, Any]:
        block = outcomes.block(self.task, label, self.notes)
        condition = self._condition()
        errors = sum(block.get("errored", ()))
        if errors:
            self.notes.say(f"{self.path}: {errors} samples ended in an error, and count as wrong")
        return block | ({"condition": condition} if condition else {})

    def _aggregate(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the printed score where no item has one of its own."""
        scores = _mapping(self.log.get("results")).get("scores")
        entries = [s for s in scores if isinstance(s, dict)] if isinstance(scores, list) else []
        for entry in entries:
            printed = _mapping(entry.get("metrics"))
            for metric in printed.values():
                value = number(_mapping(metric).get("value"))
                if is_accuracy(str(_mapping(metric).get("name"))) and value is not None:
                    error = number(_mapping(printed.get("stderr")).get("value"))
                    return self._printed(str(entry.get("name")), value, error)
        return [], {}

    def _printed(
        self, name: str, value: float, error: float | None
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        self.notes.say(f"{self.path}: no item has a score of its own; the printed {name} is read")
        total = integer(_mapping(self.log.get("results")).get("completed_samples"))
        scores: dict[str, Any] = {ACCURACY: value}
        if total and on_lattice(value, total):
            scores["examples"] = total
        note = standard_error_note(name, value, error, scores.get("examples")) if error else None
        if note:
            self.notes.say(note)
        block = {"benchmark": self.task, "metric": ACCURACY}
        condition = self._condition()
        self.metrics[ACCURACY] = reading_of(ACCURACY)
        return [block | ({"condition": condition} if condition else {})], scores

    def _condition(self) -> dict[str, Any]:
        given = _mapping(self.eval.get("model_generate_config"))
        config = given | _mapping(_mapping(self.log.get("plan")).get("config"))
        engine = str(self.eval.get("model", "")).partition("/")[0]
        fields = {
            "temperature": number(config.get("temperature")),
            "top_p": number(config.get("top_p")),
            "top_k": integer(config.get("top_k")),
            "max_tokens": integer(config.get("max_tokens")),
            "seed": integer(config.get("seed")),
            "engine": engine or None,
        }
        return {key: value for key, value in fields.items() if value is not None}


def _value(scores: Mapping[str, Any], name: str) -> Any:
    if name in scores:
        return _mapping(scores[name]).get("value")
    scorer, _, member = name.rpartition("/")
    return _mapping(_mapping(scores.get(scorer)).get("value")).get(member)


def _score(value: Any) -> float | None:
    return _LETTERS.get(value) if isinstance(value, str) else outcome(value)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
