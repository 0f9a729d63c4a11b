"""promptfoo evaluations: one model and prompt is an arm, one test an item, repeats its samples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign, JsonLines
from audit.importers.liveness import Liveness
from audit.importers.metric_names import ACCURACY, reading_of
from audit.importers.notes import Notes
from audit.importers.numbers import number, outcome
from audit.importers.outcomes import OutcomesByTask

_ERROR = 2  # failureReason: 0 none, 1 an assertion failed, 2 the call itself failed


def sniff(document: Any, name: str) -> bool:
    """Whether content is an evaluation's JSON or JSON Lines output."""
    if isinstance(document, JsonLines):
        return bool(document.rows) and _is_result(document.rows[0])
    return any(True for _ in _results(document))


def _is_result(row: Any) -> bool:
    return isinstance(row, dict) and "success" in row and "provider" in row and "prompt" in row


def _results(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the results: nested under ``results`` since version 2, else the top list itself."""
    if isinstance(document, JsonLines):
        yield from (row for row in document.rows if _is_result(row))
        return
    for _ in range(2):
        inner = document.get("results") if isinstance(document, dict) else None
        if isinstance(inner, list):
            yield from (row for row in inner if _is_result(row))
            return
        document = inner


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read evaluations; success is right, a failed assertion wrong, a failed call an error.

    With ``--metric NAME`` a named score is read in place of success.

    Raises
    ------
    ImportRefused
        When no result has the metric asked for.
    """
    notes = Notes()
    runs: list[DraftRun] = []
    versions = []
    label = ACCURACY if options.metric in (None, ACCURACY) else str(options.metric)
    for file in files:
        for note in file.notes:
            notes.say(note)
        content = file.content
        metadata = content.get("metadata") if isinstance(content, dict) else None
        if isinstance(metadata, dict):
            versions.append(metadata.get("promptfooVersion"))
        runs += _file_runs(file, label, notes)
    if not runs:
        raise ImportRefused(f"no result has the metric {label}", path=files[0].name)
    reading = reading_of(label)
    version = next((v for v in versions if isinstance(v, str)), None)
    return Draft(
        tool="promptfoo",
        version=version,
        runs=tuple(runs),
        metrics={label: reading} if reading else {},
        notes=notes.lines,
    )


def _file_runs(file: Foreign, label: str, notes: Notes) -> Iterator[DraftRun]:
    rows = list(_results(file.content))
    tasks = _task_names(rows)
    prompts = {_prompt(row) for row in rows}
    found: dict[str, OutcomesByTask] = {}
    hashes: dict[tuple[str, str], str] = {}
    benchmark = _benchmark(file.content)
    live = Liveness(file.name)
    for row in rows:
        arm = _provider(row) + (f" | {_prompt(row)}" if len(prompts) > 1 else "")
        key = _test_key(row)
        hashes[benchmark or "", tasks[key]] = key
        outcomes = found.setdefault(arm, OutcomesByTask(file.name, f"{file.name}, {arm}"))
        if row.get("failureReason") == _ERROR:
            outcomes.error(tasks[key], row.get("testIdx"))
            continue
        outcomes.add(tasks[key], row.get("testIdx"), _value(row, label))
        response = row.get("response")
        if isinstance(response, dict) and "output" in response:
            usage = response.get("tokenUsage")
            tokens = number(usage.get("completion")) if isinstance(usage, dict) else None
            # A cached answer has a text, and no tokens of its own.
            live.see(text=response["output"], tokens=tokens or None)
            if tokens:
                outcomes.tokens(tasks[key], tokens)
    live.refuse_dead()
    for arm in found:
        if found[arm]:
            block = found[arm].block(benchmark, label, notes)
            errors = sum(block.get("errored", ()))
            if errors:
                notes.say(
                    f"{file.name}: {arm}: {errors} calls ended in an error, and count as wrong"
                )
            yield DraftRun({"evaluation": block}, arm, identity=arm, tasks=dict(hashes))


def _value(row: dict[str, Any], label: str) -> float | None:
    if label == ACCURACY:
        return outcome(row.get("success"))
    if label == "score":
        return number(row.get("score"))
    named = row.get("namedScores")
    return number(named.get(label)) if isinstance(named, dict) else None


def _benchmark(content: Any) -> str | None:
    config = content.get("config") if isinstance(content, dict) else None
    described = config.get("description") if isinstance(config, dict) else None
    return described if isinstance(described, str) and described else None


def _provider(row: dict[str, Any]) -> str:
    provider = row["provider"]
    if isinstance(provider, dict):
        return str(provider.get("label") or provider.get("id"))
    return str(provider)


def _prompt(row: dict[str, Any]) -> str:
    prompt = row["prompt"]
    return (
        str(prompt.get("label") or prompt.get("raw")) if isinstance(prompt, dict) else str(prompt)
    )


def _test(row: dict[str, Any]) -> dict[str, Any]:
    test = row.get("testCase")
    return test if isinstance(test, dict) else {}


def _test_key(row: dict[str, Any]) -> str:
    """Return a hash of what a test asks; repeats get a testIdx of their own but ask the same."""
    test = _test(row)
    asked = [test.get("description"), test.get("vars", row.get("vars")), test.get("assert")]
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _task_names(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Name each test by its description where that is its own, else by its hash."""
    described = {_test_key(row): _test(row).get("description") for row in rows}
    names = list(described.values())
    return {
        key: name if isinstance(name, str) and names.count(name) == 1 else key[:12]
        for key, name in described.items()
    }
