"""What a foreign file is: one ordered table for JSON documents, one for other text and bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from audit.reading import Source

_HEAD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file; ``name`` is what an importer for it is called, ``what`` says it in words."""

    name: str
    what: str
    fits: Callable[[Any], bool]


def sniff(document: Any) -> Kind | None:
    """Return the first kind a parsed JSON document fits."""
    return next((kind for kind in DOCUMENTS if kind.fits(document)), None)


def sniff_source(source: Source) -> Kind | None:
    """Return the first kind that bytes which are no JSON document fit."""
    return next((kind for kind in TEXTS if kind.fits(source)), None)


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda document: isinstance(document, dict) and all(key in document for key in keys)


def _schema_names(word: str) -> Callable[[Any], bool]:
    return lambda document: isinstance(document, dict) and word in str(document.get("$schema"))


def _recipe(document: Any) -> bool:
    return _has("recipe")(document) and any(key in document for key in ("arms", "whileai"))


def _lm_eval_tables(document: Any) -> bool:
    """Whether ``results`` holds one table of metrics for each task that ``versions`` names."""
    if not _has("results", "versions")(document):
        return False
    results, versions = document["results"], document["versions"]
    return isinstance(results, dict) and isinstance(versions, dict) and bool(results)


def _trainer_state(document: Any) -> bool:
    return _has("log_history", "global_step")(document)


def _per_seed(document: Any) -> bool:
    members = document.values() if isinstance(document, dict) else ()
    return any(
        isinstance(member, dict) and any(str(key).endswith("_per_seed") for key in member)
        for member in members
    )


def _one_seed(document: Any) -> bool:
    return _has("seed", "config")(document) and any(
        isinstance(value, list) and key.startswith("per_task_") for key, value in document.items()
    )


def _marl_eval(document: Any) -> bool:
    """Whether environment, task, algorithm, run and step lie inside one another."""
    for _ in range(5):
        if not isinstance(document, dict) or not document:
            return False
        document = next(iter(document.values()))
    return isinstance(document, dict) and "step_count" in document


def _samples(document: Any) -> bool:
    return _has("doc_id")(document) and any(key in document for key in ("resps", "filtered_resps"))


def _list_of_samples(document: Any) -> bool:
    return isinstance(document, list) and bool(document) and _samples(document[0])


DOCUMENTS: tuple[Kind, ...] = (
    Kind("report", "a report of audit itself", _has("report_version", "tool", "files")),
    Kind("whileai", "the results of a whileai recipe", _recipe),
    Kind("inspect", "an Inspect evaluation log", _has("version", "status", "eval")),
    Kind("lighteval", "lighteval results", _has("config_general", "results")),
    Kind("lm-eval", "lm-evaluation-harness results", _has("results", "configs", "n-shot")),
    Kind("lm-eval", "lm-evaluation-harness results of before 0.4", _lm_eval_tables),
    Kind("lm-eval", "lm-evaluation-harness samples", _list_of_samples),
    Kind("trainer-state", "a Hugging Face Trainer's training log", _trainer_state),
    Kind("vega", "a Vega chart, which holds no results", _schema_names("vega.github.io")),
    Kind("sarif", "a SARIF log", _schema_names("sarif")),
    Kind("json-schema", "a JSON Schema", _schema_names("json-schema.org")),
    Kind(
        "per-item",
        "one run's answers on one benchmark",
        _has("run_id", "benchmark", "responses"),
    ),
    Kind("marl-eval", "marl-eval output: environment, task, algorithm, run", _marl_eval),
    Kind("per-seed", "a summary with lists of one value per seed", _per_seed),
    Kind("one-seed", "the record of a single seed", _one_seed),
    Kind("list", "a JSON list", lambda document: isinstance(document, list)),
    Kind("scalar", "a single JSON value", lambda document: not isinstance(document, dict)),
)


def _inspect_archive(source: Source) -> bool:
    data = source.data
    return data.startswith(b"PK\x03\x04") and any(
        name in data[:_HEAD_BYTES] or name in data[-_HEAD_BYTES:]
        for name in (b"_journal/start.json", b"header.json")
    )


def _first_lines(source: Source) -> list[str]:
    """Return the first two lines that are not blank."""
    lines: list[str] = []
    for line in io.BytesIO(source.data):
        text = line.decode("utf-8-sig", "replace")
        if text.strip():
            lines.append(text)
        if len(lines) == 2:
            break
    return lines


def _json_lines(source: Source) -> bool:
    lines = _first_lines(source)
    return len(lines) == 2 and lines[1].lstrip().startswith("{") and _object(lines[0]) is not None


def _json_lines_of_samples(source: Source) -> bool:
    return _json_lines(source) and _samples(_object(_first_lines(source)[0]))


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _separated(source: Source) -> bool:
    """Whether the first line is a header of names with commas or tabs between them."""
    lines = _first_lines(source)
    if len(lines) < 2 or lines[0].lstrip()[:1] in ("{", "[", "<", '"'):
        return False
    separator = "\t" if "\t" in lines[0] else ","
    names = lines[0].split(separator)
    return len(names) > 1 and lines[1].count(separator) >= len(names) - 1


def _markup(source: Source) -> bool:
    return source.data.lstrip()[:1] == b"<"


TEXTS: tuple[Kind, ...] = (
    Kind("inspect", "an Inspect log in its .eval format, a zip archive", _inspect_archive),
    Kind("lm-eval", "lm-evaluation-harness samples in JSON Lines", _json_lines_of_samples),
    Kind("json-lines", "JSON Lines, one document a line", _json_lines),
    Kind("markup", "HTML or XML", _markup),
    Kind("csv", "a table in CSV", _separated),
)
