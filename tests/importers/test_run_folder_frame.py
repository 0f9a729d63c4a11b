"""What every reader of run folders rests on: files looked at by name and head, names of figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.errors import InputError
from audit.importers.readers import READERS, readers_named
from audit.importers.readers.found import Found
from audit.importers.readers.logged import evaluations_of, measured
from audit.importers.readers.settings import flat, whole_number, yaml_document
from audit.importers.readers.tally import AnswerTally
from audit.importers.readers.verl_log import console_line


def found(folder: Path, name: str, data: bytes) -> Found:
    path = folder / name
    path.write_bytes(data)
    return Found(path, name, name, len(data))


@pytest.mark.parametrize(
    ("name", "benchmark", "metric"),
    [
        ("val-core/openai/gsm8k/acc/mean@4", "openai/gsm8k", "accuracy"),
        ("val-core/openai/gsm8k/acc/mean_at_4", "openai/gsm8k", "accuracy"),
        ("val-core/crates/reward/mean@2", "crates", "reward"),
        ("eval/gsm8k/accuracy", "gsm8k", "accuracy"),
        ("eval_gsm8k_accuracy", "gsm8k", "accuracy"),
        ("test/accuracy", None, "accuracy"),
        ("eval_reward", None, "reward"),
        ("eval/eval_aime24_pass1", "aime24", "reward"),
        ("test/env/all/correct", None, "accuracy"),
    ],
)
def test_the_name_of_a_figure_says_benchmark_and_metric(
    name: str, benchmark: str | None, metric: str
) -> None:
    known = measured(name)
    assert known is not None
    assert (known.benchmark, known.metric) == (benchmark, metric)


@pytest.mark.parametrize(
    "name",
    [
        "val-core/openai/gsm8k/acc/best@4/mean",
        "val-core/openai/gsm8k/acc/std@4",
        "val-aux/openai/gsm8k/response_length/mean@4",
        "eval/eval_aime24_pass4",
        "eval/num_samples",
        "eval_loss",
        "train/reward",
        "accuracy",
    ],
)
def test_spreads_best_of_n_and_training_figures_are_no_evaluation(name: str) -> None:
    assert measured(name) is None


def test_an_average_over_benchmarks_is_never_judged() -> None:
    known = measured("eval/all/accuracy")
    assert known is not None
    assert not known.counts


def test_pass1_of_openrlhf_is_an_accuracy_only_where_it_fits_a_count() -> None:
    row = {"eval/eval_aime24_pass1": 0.3333333432674408, "eval/eval_num_samples": 48}
    assert [e.metric for e in evaluations_of({100: row})] == ["accuracy"]
    assert [e.metric for e in evaluations_of({100: row | {"eval/eval_aime24_pass1": 0.35}})] == [
        "reward"
    ]


def test_the_number_of_answers_logged_beside_a_share_is_its_examples() -> None:
    (evaluation,) = evaluations_of({50: {"eval/gsm8k/accuracy": 0.25, "eval/num_samples": 48}})
    assert (evaluation.value, evaluation.examples, evaluation.step) == (0.25, 48, 50)


@pytest.mark.parametrize(
    "line",
    [
        "step:100 - val-core/openai/gsm8k/acc/mean@8:0.75 - actor/lr:1e-06",
        "\x1b[36m(TaskRunner pid=71)\x1b[0m step:100 - "
        "val-core/openai/gsm8k/acc/mean@8:np.float64(0.75) - actor/lr:np.float64(1e-06)",
    ],
)
def test_a_console_line_of_verl_is_read_with_colours_and_numpy_values(line: str) -> None:
    assert console_line(line) == (
        100,
        {"val-core/openai/gsm8k/acc/mean@8": 0.75, "actor/lr": 1e-06},
    )


def test_yaml_keeps_words_and_reads_exponents() -> None:
    text = "a: no\nb: 1e-6\nc: 012\nd: 1:30\ne: true\nf: ~\ng: !!python/tuple [1, 2]\nh: 7\n"
    assert yaml_document(text, "x.yaml") == {
        "a": "no",
        "b": 1e-6,
        "c": "012",
        "d": "1:30",
        "e": True,
        "f": None,
        "g": [1, 2],
        "h": 7,
    }


def test_yaml_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    yaml_document(f"x: !!python/object/apply:os.mkdir ['{mark}']\n", "x.yaml")
    assert not mark.exists()


def test_aliases_cannot_grow_without_bound() -> None:
    text = "a0: &a0 {x: 1}\n" + "".join(
        f"a{n}: &a{n} {{{', '.join(f'k{i}: *a{n - 1}' for i in range(10))}}}\n" for n in range(1, 8)
    )
    with pytest.raises(InputError, match="100,000"):
        flat(yaml_document(text, "x.yaml"))


@pytest.mark.parametrize(
    ("value", "number"),
    [(7, 7), ("7", 7), (7.0, 7), ("7.0", 7), (True, None), ("a", None), (0.5, None), (None, None)],
)
def test_a_seed_written_as_text_is_a_whole_number(value: object, number: int | None) -> None:
    assert whole_number(value) == number


def test_a_torn_last_line_is_dropped_and_said(tmp_path: Path) -> None:
    file = found(tmp_path, "a.jsonl", b'{"a": 1}\n{"a": 2}\n{"a": ')
    assert [row["a"] for _, row in file.lines()] == [1, 2]
    assert file.notes == ["a.jsonl: its last line is cut off and is dropped"]


def test_another_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    file = found(tmp_path, "a.jsonl", b'{"a": 1}\n{"a": \n{"a": 3}\n')
    with pytest.raises(InputError, match="not JSON") as raised:
        list(file.lines())
    assert raised.value.line == 2


def test_the_order_of_rows_changes_nothing() -> None:
    rows = [("b", 0.1), ("a", 1.0), ("b", 0.7), ("b", 0.2), ("a", 0.3)]
    first, second = AnswerTally(), AnswerTally()
    for task, value in rows:
        first.answer(task, value)
    for task, value in reversed(rows):
        second.answer(task, value)
    assert first.block("reward") == second.block("reward")
    assert first.mean == second.mean


def test_no_reader_is_there_twice() -> None:
    names = [reader.name for reader in READERS]
    assert len(names) == len(set(names))
    assert {reader.name for reader in readers_named("verl")} >= {"verl-console", "verl-file"}
