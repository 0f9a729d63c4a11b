"""Tasks of lm-evaluation-harness as further benchmarks, where it is installed.

The task says how it is asked (its template, its few-shot examples) and how a response is judged
(its stop strings, filters and `exact_match`). Responses are sampled like those of any benchmark.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.errors import UsageError, did_you_mean
from audit.failure import described
from audit.partition import file_sha256
from audit.paths import is_folder
from audit.training.rewards import Score
from audit.training.tasks import Item
from audit.training.tasks.selection import Candidates, refuse_too_many

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from audit.training.rewards import Scorer
    from audit.training.study_file import BenchmarkSettings

PREFIX = "lm_eval:"
_METRIC = "exact_match"
_EXAMPLES_SEED = 1234  # the harness's own default, so that the few-shot examples are its own too


@dataclass(frozen=True, slots=True)
class LmEvalJudge:
    """A task's own judgement; the process that asks loads the task."""

    name: str
    include_path: str
    filter: str

    @property
    def scorer(self) -> Scorer:
        """Judge of a response, for which the answer is the task's document as JSON."""
        task = _load(self.name, self.include_path)
        return partial(_score, task, _filters(task)[self.filter])


@dataclass(frozen=True, slots=True)
class LmEvalBenchmark:
    """A task of the harness as it was read, and what the record says of it."""

    setting: BenchmarkSettings
    chosen: Candidates
    judge: LmEvalJudge
    block: dict[str, Any]
    split: str

    def asked(self, tokens: PreTrainedTokenizerBase) -> tuple[Item, ...]:
        """Return its items as a model with such a tokenizer is asked them."""
        items = self.chosen.items
        if tokens.chat_template is None:
            return tuple(items)
        return tuple(
            replace(item, prompt=[{"role": "user", "content": item.prompt}]) for item in items
        )


def read_lm_eval(setting: BenchmarkSettings, folder: Path) -> LmEvalBenchmark:
    """Load a task of the harness, and refuse one that sampled responses cannot answer.

    Raises
    ------
    UsageError
        Naming the setting: the harness or the task is missing, its data cannot be read, or it is
        judged by anything but `exact_match` of one generated text.
    """
    name = setting.task.removeprefix(PREFIX)
    if setting.include_path and not is_folder(folder / setting.include_path):
        raise UsageError(f"include_path: {setting.include_path} is no folder")
    own = str((folder / setting.include_path).resolve()) if setting.include_path else ""
    task = _load(name, own)
    for fault in _faults(task):
        raise UsageError(f"task: {setting.task} {fault}")
    judge = LmEvalJudge(name, own, _filter(setting, task))
    chosen = _documents(setting, task)
    answers = "\n".join(item.answer for item in chosen.items)
    block = {
        "holdout_sha256": hashlib.sha256(answers.encode()).hexdigest(),
        "tasks": len(chosen.items),
        "grader": f"{setting.task} {judge.filter}",
        "grader_sha256": _sha256(task),
    }
    return LmEvalBenchmark(setting, chosen, judge, block, _split(task))


@lru_cache(maxsize=16)
def _load(name: str, include_path: str) -> Any:
    """Return the task as the harness makes it."""
    if find_spec("lm_eval") is None:
        raise UsageError("task: lm-eval is not installed: pip install 'recipe-audit[lm-eval]'")
    from lm_eval.tasks import TaskManager

    logging.getLogger("lm_eval").setLevel(logging.ERROR)  # its warnings are of its own defaults
    if not hasattr(TaskManager, "load"):
        raise UsageError(
            f"task: lm-eval {version('lm_eval')} is too old: pip install 'recipe-audit[lm-eval]'"
        )
    try:
        # One's own first: to index the harness's thousands of files takes half a minute.
        manager = TaskManager(include_path=include_path or None, include_defaults=False)
        if name not in manager.all_tasks:
            own, manager = manager.all_subtasks, TaskManager(include_path=include_path or None)
        if name not in manager.all_tasks:
            hint = did_you_mean(name, own or manager.all_subtasks)
            raise UsageError(f"task: lm-eval has no task {name!r}{hint}")
        found = list(manager.load(name)["tasks"].values())
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # of a template, a hub, a program
        raise UsageError(f"task: {PREFIX}{name} cannot be loaded: {described(error)}") from error
    if len(found) != 1 or name not in manager.all_subtasks:
        raise UsageError(f"task: {PREFIX}{name} stands for {len(found)} tasks; name one of them")
    return found[0]


def _faults(task: Any) -> Iterable[str]:
    """Yield why a task is not one for sampled responses."""
    config = task.config
    if config.output_type != "generate_until":
        yield f"compares likelihoods ({config.output_type}); only generate_until is sampled"
    if _METRIC not in task.aggregation():
        yield f"has no {_METRIC}, only {', '.join(sorted(map(str, task.aggregation())))}"
    if config.repeats != 1:
        yield f"judges {config.repeats} responses together; one at a time is judged here"
    if getattr(task, "MULTIMODAL", False):
        yield "shows more than text"
    if getattr(task, "UNSAFE_CODE", False):
        yield "runs what a model writes"
    if config.gen_prefix:
        yield "begins the response itself (gen_prefix)"


def _filter(setting: BenchmarkSettings, task: Any) -> str:
    """Return the name of the filter that counts."""
    names = list(_filters(task))
    if not setting.filter and len(names) > 1:
        raise UsageError(f"filter: {setting.task} has several, name one: {', '.join(names)}")
    if setting.filter and setting.filter not in names:
        hint = did_you_mean(setting.filter, names)
        raise UsageError(f"filter: {setting.task} has no {setting.filter!r}{hint}")
    return setting.filter or names[0]


def _filters(task: Any) -> dict[str, Any]:
    # The harness keeps them to itself, and applies them to all responses of a task at once.
    return {one.name: one for one in task._filters}


def _split(task: Any) -> str:
    """Return the split that the harness asks: that of the test, where the task names one."""
    config = task.config
    named = config.test_split or config.validation_split
    return str(named or ("test" if task.has_test_docs() else "validation"))


def _documents(setting: BenchmarkSettings, task: Any) -> Candidates:
    """Return the documents that are asked, each with its prompt as the harness writes it."""
    documents = list(task.eval_docs)
    name = f"documents of {setting.task}"
    refuse_too_many("holdout_tasks", setting.holdout_tasks, len(documents), name)
    task.set_fewshot_seed(_EXAMPLES_SEED)
    items, texts = [], []
    for number, document in enumerate(documents[: setting.holdout_tasks or None]):
        try:
            answer = json.dumps(document, ensure_ascii=False)
            prompt = task.fewshot_context(document, task.config.num_fewshot or 0)
            text = task.doc_to_text(document)
        except Exception as error:  # of a template, or of a field that is no text
            raise UsageError(
                f"task: document {number} of {setting.task}: {described(error)}"
            ) from error
        if not isinstance(prompt, str) or not prompt.strip():
            raise UsageError(f"task: document {number} of {setting.task} has no text to be asked")
        items.append(Item(str(number), prompt, answer, number))
        texts.append(str(text))
    return Candidates(items, texts, name)


def _score(task: Any, pipeline: Any, response: str, answer: str) -> Score:
    """Judge a response as the harness does: cut at a stop string, filtered, and compared.

    Raises
    ------
    ValueError
        When `exact_match` is neither 0 nor 1.
    """
    from lm_eval.api.instance import Instance

    document = json.loads(answer)
    until = (task.config.generation_kwargs or {}).get("until") or []
    for stop in [until] if isinstance(until, str) else until:
        response = response.partition(stop)[0] if stop else response
    instance = Instance("generate_until", document, (), 0, resps=[response])
    pipeline.apply([instance])
    found = task.process_results(document, [instance.filtered_resps[pipeline.name]])[_METRIC]
    if found not in (0, 1):
        raise ValueError(f"{_METRIC} of {task.task_name} is {found}, neither 0 nor 1")
    return Score(correct=bool(found), parsed=None)


def _sha256(task: Any) -> str:
    """Hash the task's settings, the files its functions stand in, and the harness's version."""
    settings = [version("lm_eval"), task.config.to_dict(keep_callable=True)]
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=_said).encode()).hexdigest()


def _said(value: Any) -> Any:
    """Return a setting that JSON does not have, without its address."""
    code = getattr(value, "__code__", None)
    if code is not None:
        return [value.__qualname__, file_sha256(Path(code.co_filename))]
    return repr(type(value))
