"""The Hugging Face Hub's two forms of a model's scores: .eval_results and model-index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused, UsageError
from audit.exports.arm_scores import ArmScore
from audit.results import DEFAULT_METRIC

_TASK = "text-generation"


def eval_results(
    scores: Sequence[ArmScore], datasets: Mapping[str, str]
) -> tuple[str, tuple[str, ...]]:
    """Return the YAML of a file in ``.eval_results/``: one entry per benchmark.

    Parameters
    ----------
    scores : sequence of ArmScore
        Of one arm. An entry names no metric, so only accuracy can stand there.
    datasets : mapping of str to str
        Benchmark to its id and task on the Hub, ``owner/name:task``.

    Returns
    -------
    text : str
    left_out : tuple of str
        The scores that are not in it, and why.

    Raises
    ------
    ImportRefused
        When no accuracy is on a benchmark whose id on the Hub is given.
    UsageError
        When a benchmark has an id without a task.
    """
    entries, left_out = [], []
    for score in scores:
        benchmark = score.benchmark or "unknown"
        name, _, task = datasets.get(benchmark, "").partition(":")
        if score.metric != DEFAULT_METRIC:
            left_out.append(f"{score.metric} on {benchmark}, which is no accuracy")
        elif not name:
            left_out.append(f"{benchmark}, without --dataset '{benchmark}=OWNER/NAME:TASK'")
        elif not task:
            raise UsageError(f"--dataset {benchmark}={name}: name the task, {name}:TASK")
        else:
            entries.append(
                {
                    "dataset": {"id": name, "task_id": task},
                    "value": score.mean,
                    "notes": "; ".join(score.remarks),
                }
            )
    if not entries:
        raise ImportRefused(f"nothing to write: {'; '.join(left_out)}")
    return _yaml(entries), tuple(left_out)


def model_index(name: str, scores: Sequence[ArmScore], datasets: Mapping[str, str]) -> str:
    """Return the front matter of a model card with its ``model-index``.

    Parameters
    ----------
    name : str
        Of the model.
    scores : sequence of ArmScore
        Of one arm.
    datasets : mapping of str to str
        Benchmark to its id on the Hub, where it has one.
    """
    results: dict[str, dict[str, Any]] = {}
    for score in scores:
        benchmark = score.benchmark or "unknown"
        kind = datasets.get(benchmark, benchmark).partition(":")[0]
        entry = results.setdefault(
            benchmark,
            {
                "task": {"type": _TASK},
                "dataset": {"type": kind, "name": benchmark},
                "metrics": [],
            },
        )
        entry["metrics"].append(
            {
                "type": score.metric,
                "name": score.metric,
                "value": score.mean,
                "args": {"audit": list(score.remarks)},
            }
        )
    return (
        f"---\n{_yaml({'model-index': [{'name': name, 'results': list(results.values())}]})}---\n"
    )


class _Text(str):
    """A value that is written in quotes, so that no reader takes it for a number or a date."""


def _yaml(value: Any) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    Dumper.add_representer(
        _Text, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, '"')
    )
    text = yaml.dump(_quoted(value), Dumper=Dumper, sort_keys=False, width=float("inf"))
    return str(text)


def _quoted(value: Any) -> Any:
    """Return the value with every text in it, keys left out, to be written in quotes."""
    if isinstance(value, str):
        return _Text(value)
    if isinstance(value, list):
        return [_quoted(item) for item in value]
    return {k: _quoted(v) for k, v in value.items()} if isinstance(value, dict) else value
