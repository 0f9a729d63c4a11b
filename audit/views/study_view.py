"""A study in a few words: its name, its seeds and arms, its data and model."""

from __future__ import annotations

from audit.results import Results, Run

TIMES = "\N{MULTIPLICATION SIGN}"


def study_in_words(results: Results) -> str:
    """Return the study in a few words, its size as seeds times arms."""
    words = [results.method, _replication(results), _tasks(results), _model(results)]
    return ", ".join(word for word in words if word)


def _replication(results: Results) -> str:
    counts = [len(arm.runs) for arm in results.arms]
    if not counts:
        return ""
    labelled = all(run.seed is not None for run in results.runs)
    unit = "seed" if labelled else "run"
    arms = "1 arm" if len(counts) == 1 else f"{len(counts)} arms"
    if len(set(counts)) > 1:
        return f"{' and '.join(str(count) for count in counts)} {unit}s in {arms}"
    return f"{counts[0]} {unit if counts[0] == 1 else unit + 's'} {TIMES} {arms}"


def _tasks(results: Results) -> str:
    source = results.block("dataset").get("source_id") or ""
    name = source.rpartition("/")[2]
    count = None
    for run in results.runs:
        benchmark, count = _evaluated(run)
        name = benchmark or name
        if count is not None:
            break
    else:
        count = _examples(results)
    if count is None:
        return name
    return f"{name} {count} {'task' if count == 1 else 'tasks'}".strip()


def _evaluated(run: Run) -> tuple[str | None, int | None]:
    for evaluation in run.evaluations:
        for outcomes in (evaluation.task_ids, evaluation.counts, evaluation.scores):
            if outcomes is not None:
                return evaluation.benchmark, len(outcomes)
    return None, None


def _examples(results: Results) -> int | None:
    """Tasks held out where that is recorded, else answers scored, of which each may be a task."""
    held_out = results.block("holdout").get("holdout_rows")
    scored = next(
        (run.metrics["examples"] for run in results.runs if run.metrics.get("examples")), None
    )
    return held_out if scored is None or (held_out and held_out < scored) else scored


def _model(results: Results) -> str:
    name: str = results.block("checkpoint").get("public_id") or ""
    return name.rpartition("/")[2]
