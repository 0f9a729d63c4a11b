from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from bringing import bring, runs, scores
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.errors import ImportRefused, InputError, UsageError
from audit.importers.study import Layout

LONG = ("arm", "seed", "task", "sample", "value")


def table(path: Path, header: Any, rows: Any) -> Path:
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def made(tmp_path: Path, text: str, name: str = "table.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


ROWS = [
    (arm, seed, task, sample, int((seed + task * 3 + sample + len(arm)) % 3 == 0))
    for arm in ("control", "tuned")
    for seed in (1, 2)
    for task in (1, 2, 10)
    for sample in (0, 1)
]


def without_provenance(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "provenance"}


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(order=st.permutations(range(len(ROWS))), columns=st.permutations(range(len(LONG))))
def test_the_order_of_rows_and_columns_changes_nothing(
    order: list[int], columns: list[int], tmp_path: Path
) -> None:
    plain, plain_notes = bring(table(tmp_path / "long.csv", LONG, ROWS))
    rows = [[ROWS[i][c] for c in columns] for i in order]
    other, notes = bring(table(tmp_path / "long.csv", [LONG[c] for c in columns], rows))
    assert without_provenance(other) == without_provenance(plain)
    assert notes == plain_notes


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    order=st.permutations(range(3)),
    values=st.lists(
        st.integers(0, 1000).map(lambda n: n / 1000), min_size=9, max_size=9, unique=True
    ),
)
def test_the_order_of_wide_rows_changes_nothing(
    order: list[int], values: list[float], tmp_path: Path
) -> None:
    header = ("arm", "seed_7", "seed_8", "seed_9")
    rows = [(f"arm-{i}", *values[3 * i : 3 * i + 3]) for i in range(3)]
    top = Layout(method="arm-0")
    plain, _ = bring(table(tmp_path / "wide.csv", header, rows), layout=top)
    other, _ = bring(table(tmp_path / "wide.csv", header, [rows[i] for i in order]), layout=top)
    assert without_provenance(other) == without_provenance(plain)


def test_outcomes_are_grouped_by_arm_seed_and_task(tmp_path: Path) -> None:
    document, _ = bring(table(tmp_path / "long.csv", LONG, ROWS))
    assert [run["seed"] for run in runs(document)] == [1, 2]
    block = runs(document)[0]["evaluation"]
    assert block["task_ids"] == ["1", "2", "10"]
    assert block["samples"] == [2, 2, 2]
    expected = [
        sum(v for a, s, t, _, v in ROWS if (a, s, str(t)) == (document["method"], 1, task))
        for task in block["task_ids"]
    ]
    assert block["correct"] == expected


def test_parquet_and_json_lines_say_the_same_as_csv(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra for Parquet is not installed")
    import pandas

    plain, _ = bring(table(tmp_path / "long.csv", LONG, ROWS))
    pandas.DataFrame(ROWS, columns=list(LONG)).to_parquet(tmp_path / "long.parquet")
    lines = "".join(json.dumps(dict(zip(LONG, row, strict=True))) + "\n" for row in ROWS)
    for path in (tmp_path / "long.parquet", made(tmp_path, lines, "long.jsonl")):
        other, _ = bring(path)
        assert without_provenance(other) == without_provenance(plain)


def test_columns_are_found_by_what_the_user_says(tmp_path: Path) -> None:
    path = table(
        tmp_path / "t.csv", ("who", "init", "what", "ok"), [("a", 1, "x", 1), ("a", 2, "x", 0)]
    )
    columns = {"arm": "who", "seed": "init", "task": "what", "value": "ok"}
    document, _ = bring(path, format="long-table", columns=columns)
    assert [run["seed"] for run in runs(document)] == [1, 2]
    with pytest.raises(UsageError, match="no column 'nope' for seed"):
        bring(path, format="long-table", columns=columns | {"seed": "nope"})


def test_rows_without_a_seed_or_run_column_are_runs_of_unknown_standing(tmp_path: Path) -> None:
    path = made(tmp_path, "arm,accuracy\na,0.5\na,0.6\na,0.7\n")
    document, notes = bring(path)
    assert [(run["seed"], run["identified_by"]) for run in runs(document)] == [(None, "none")] * 3
    assert any("nothing says that the 3 runs of a are trainings" in note for note in notes)
    document, _ = bring(path, seed_is="training")
    assert {run["identified_by"] for run in runs(document)} == {"user"}
    assert document["runs_are"] == {"a": "trainings"}
    document, _ = bring(path, seed_is="decoding")
    assert scores(document) == [pytest.approx(0.6)]
    assert document["runs_are"] == {"a": "evaluations"}


def test_outcomes_without_a_seed_or_run_column_are_one_run(tmp_path: Path) -> None:
    document, _ = bring(made(tmp_path, "arm,task,correct\na,t1,1\na,t2,0\n"))
    assert [run["seed"] for run in runs(document)] == [None]


def test_a_run_column_tells_runs_apart_but_numbers_no_seed(tmp_path: Path) -> None:
    document, _ = bring(made(tmp_path, "arm,run,accuracy\na,r2,0.6\na,r1,0.5\n"))
    assert [(run["seed"], run["run_id"]) for run in runs(document)] == [(None, "r1"), (None, "r2")]


def test_seeds_written_as_decimals_are_whole_numbers(tmp_path: Path) -> None:
    document, _ = bring(made(tmp_path, "arm,seed,accuracy\na,42.0,0.5\na,,0.6\n"))
    assert [run["seed"] for run in runs(document)] == [42, None]


@pytest.mark.parametrize(
    "text",
    [
        "arm,seed,accuracy\na,0,0.764\na,0,0.7708\na,1,0.7664\n",
        "arm,seed,task,sample,correct\na,0,t,0,1\na,0,t,0,0\n",
        "arm,seed,task,correct\na,0,t,1\na,0,t,1\n",
    ],
)
def test_a_seed_or_an_outcome_twice_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="is there twice"):
        bring(made(tmp_path, text))


@pytest.mark.parametrize("cell", ["", "NaN", "N/A", "[]", "about half", "inf", "1_0"])
def test_a_cell_without_a_number_is_an_errored_answer(cell: str, tmp_path: Path) -> None:
    text = f"arm,seed,task,correct\na,0,t1,{cell}\na,0,t2,1\n"
    document, notes = bring(made(tmp_path, text))
    block = runs(document)[0]["evaluation"]
    assert (block["task_ids"], block["correct"]) == (["t1", "t2"], [0, 1])
    assert (block["samples"], block["errored"]) == ([1, 1], [1, 0])
    words = "1 answer has no value: counted as errored, and as wrong"
    assert f"arm a, seed 0: {words}" in notes


def test_unequal_repeats_are_averaged_aloud(tmp_path: Path) -> None:
    text = "arm,seed,task,sample,correct\na,0,t1,0,1\na,0,t1,1,0\na,0,t2,0,1\n"
    document, notes = bring(made(tmp_path, text))
    assert runs(document)[0]["evaluation"]["samples"] == [2, 1]
    assert any("1 to 2 samples per task" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "scale", "expected"),
    [
        ("arm,seed,accuracy\na,0,57.3\n", (0, 100), 0.573),
        ("arm,seed,accuracy\na,0,57.3%\n", None, 0.573),
        ("arm,seed,accuracy\na,0,0.573\n", None, 0.573),
        ("arm,seed,accuracy\na,0,12.7\n", (0, 100), 0.127),
        ("arm,seed,value\na,0,0.573\n", None, 0.573),
    ],
)
def test_accuracy_is_brought_to_a_fraction_exactly(
    text: str, scale: Any, expected: float, tmp_path: Path
) -> None:
    document, _ = bring(made(tmp_path, text), scale=scale)
    assert scores(document) == [expected]


def test_a_percentage_that_nothing_says_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="--scale 0-100"):
        bring(made(tmp_path, "arm,seed,accuracy\na,0,57.3\n"))


def test_another_metric_keeps_its_scale_and_direction_as_fields(tmp_path: Path) -> None:
    path = made(tmp_path, "arm,seed,bleu\na,0,27.5\n")
    columns = {"value": "bleu"}
    document, _ = bring(path, format="long-table", columns=columns, scale=(0, 100))
    assert scores(document, metric="bleu") == [27.5]
    assert document["metrics"]["bleu"] == {"scale": [0, 100]}
    loss = made(tmp_path, "arm,seed,loss\na,0,2.5\n")
    document, _ = bring(loss, format="long-table", columns={"value": "loss"})
    assert document["metrics"]["loss"] == {"scale": [0, None], "higher_is_better": False}


def test_a_metric_of_unknown_scale_gets_no_bounds(tmp_path: Path) -> None:
    document, notes = bring(made(tmp_path, "arm,seed,reward\na,0,27.5\n"))
    assert document["metrics"]["reward"] == {"scale": [None, None]}
    assert any("its scale is not said" in note for note in notes)


def test_several_value_columns_are_refused_until_one_is_named(tmp_path: Path) -> None:
    path = made(tmp_path, "arm,seed,accuracy,score\na,0,0.5,3\n")
    with pytest.raises(ImportRefused, match="accuracy, score could each be the value"):
        bring(path)
    document, _ = bring(path, columns={"value": "accuracy"})
    assert scores(document) == [0.5]


def test_seed_columns_label_runs_and_run_columns_do_not(tmp_path: Path) -> None:
    document, _ = bring(made(tmp_path, "arm,seed_7,seed_8\na,0.5,0.6\n"))
    assert [run["seed"] for run in runs(document)] == [7, 8]
    document, _ = bring(made(tmp_path, "arm,run_1,run_2\na,0.5,0.6\n"))
    assert [(run["seed"], run["run_id"]) for run in runs(document)] == [
        (None, "run_1"),
        (None, "run_2"),
    ]


def test_a_list_in_a_cell_is_that_many_unnumbered_runs(tmp_path: Path) -> None:
    text = 'arm,n_seeds,mean,std,values\na,3,0.767,0.00282,"0.764,0.7708,0.7664"\n'
    document, notes = bring(made(tmp_path, text))
    assert [run["seed"] for run in runs(document)] == [None] * 3
    assert scores(document) == [0.764, 0.7708, 0.7664]
    assert (
        "arm a: the printed deviation 0.00282 divides by n; over n - 1 it is 0.00345 (3 runs)"
        in notes
    )


def test_a_list_shorter_than_it_says_is_named(tmp_path: Path) -> None:
    text = 'arm,n_seeds,values\na,3,"0.5,0.6"\n'
    _, notes = bring(made(tmp_path, text))
    assert "arm a: n_seeds says 3, there are 2 scores" in notes


def test_arms_as_columns_are_read_by_seed(tmp_path: Path) -> None:
    document, _ = bring(
        made(tmp_path, "seed,baseline,recipe\n2,0.4,0.5\n1,0.3,0.6\n"),
        layout=Layout(controls=("baseline",)),
    )
    assert [run["seed"] for run in runs(document)] == [1, 2]
    assert scores(document) == [0.6, 0.5]
    assert scores(document, "baseline") == [0.3, 0.4]


def test_seed_lists_of_several_benchmarks_are_not_joined(tmp_path: Path) -> None:
    text = 'arm,benchmark,values\na,x,"0.5,0.6"\na,y,"0.1,0.2"\n'
    with pytest.raises(ImportRefused, match=r"arm a has 2 rows.*--where benchmark=x"):
        bring(made(tmp_path, text))
    document, _ = bring(made(tmp_path, text), where={"benchmark": "y"})
    assert scores(document) == [0.1, 0.2]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("arm,seed,value\na,0\n", "2 cells where the header has 3"),
        ('arm,seed,value\na,0,"1\n', "not CSV"),
        ("one column\n1\n", "not a table"),
    ],
)
def test_a_broken_table_names_its_line(text: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=error):
        bring(made(tmp_path, text))


def test_a_column_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="the column 'value' is there twice"):
        bring(made(tmp_path, "arm,value,value\na,1,0\n"))


def test_other_separators_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffarm;seed;accuracy\r\nä;1;0.5\r\n".encode())
    document, _ = bring(path)
    assert document["method"] == "ä"


def test_a_standard_error_is_never_a_score(tmp_path: Path) -> None:
    path = made(tmp_path, "arm,seed,acc,acc_stderr\na,0,0.5,0.01\n")
    document, _ = bring(path)
    assert scores(document) == [0.5]
    with pytest.raises(ImportRefused, match="acc_stderr is a standard error"):
        bring(path, format="long-table", columns={"value": "acc_stderr"})


def test_a_number_beyond_any_float_is_missing(tmp_path: Path) -> None:
    text = "arm,seed,accuracy\na,1e300000000,0.5\na,2,1e300000000\na,3,0.25\n"
    document, notes = bring(made(tmp_path, text))
    assert [run["seed"] for run in runs(document)] == [2, 3, None]
    assert runs(document)[0]["status"] == "failed"
    assert [run["method_metrics"]["accuracy"] for run in runs(document)[1:]] == [0.25, 0.5]
    assert any("1 missing value in" in note and "accuracy" in note for note in notes)


def test_seeds_that_are_no_whole_numbers_are_counted(tmp_path: Path) -> None:
    path = made(tmp_path, "arm,seed,accuracy\na,first,0.5\na,second,0.25\na,3,0.5\n")
    document, notes = bring(path)
    assert [run["seed"] for run in runs(document)] == [3, None, None]
    assert f"2 missing values in {path}, seed (no whole number)" in notes


@pytest.mark.parametrize("index", ["", "Unnamed: 0", "index"])
def test_row_numbers_that_pandas_wrote_are_no_arm(index: str, tmp_path: Path) -> None:
    text = f"{index},seed,old,new\n0,1,0.4,0.5\n1,2,0.3,0.6\n"
    document, _ = bring(made(tmp_path, text), layout=Layout(controls=("old",)))
    assert (document["method"], list(document["controls"])) == ("new", ["old"])
    document, _ = bring(made(tmp_path, f"{index},seed,acc\n0,1,0.5\n1,2,0.6\n"))
    assert scores(document) == [0.5, 0.6]


def test_a_row_without_its_arm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="a row has no method"):
        bring(made(tmp_path, "method,seed,accuracy\na,1,0.5\n,2,0.25\n"))


@pytest.mark.parametrize(
    ("rows", "answers"), [("a,1,t,N/A\nb,1,t,1\n", 1), ("b,1,t,1\na,1,t,\na,1,u,[]\n", 2)]
)
def test_a_run_of_which_every_answer_errored_is_there_with_them(
    rows: str, answers: int, tmp_path: Path
) -> None:
    path = made(tmp_path, "arm,seed,task_id,value\n" + rows)
    document, _ = bring(path, columns={"task": "task_id"}, layout=Layout(method="b"))
    block = runs(document, "a")[0]["evaluation"]
    assert block["correct"] == [0] * answers
    assert block["errored"] == block["samples"] == [1] * answers


def test_a_table_without_any_number_is_refused(tmp_path: Path) -> None:
    for text in ("arm,seed,task,value\na,1,t,N/A\n", "arm,seed,accuracy\na,1,NaN\n"):
        with pytest.raises(ImportRefused, match="holds no finite number"):
            bring(made(tmp_path, text))


def test_pass_at_10_of_one_sample_a_task_is_refused(tmp_path: Path) -> None:
    rows = [f"a,{seed},pass@10,t,0,1\n" for seed in (1, 2)]
    text = "arm,seed,metric,task,sample,value\n" + "".join(rows)
    with pytest.raises(ImportRefused, match="pass@10 needs at least 10 samples a problem"):
        bring(made(tmp_path, text))
    estimates = text.replace(",t,0,1\n", ",t,0,0.25\n")
    assert runs(bring(made(tmp_path, estimates))[0])[0]["evaluation"]["scores"] == [0.25]


def test_a_list_of_seeds_beside_a_list_of_scores_labels_it(tmp_path: Path) -> None:
    path = made(tmp_path, 'arm,seeds,values\na,"5,3","0.5,0.6"\n')
    document, notes = bring(path)
    assert [(r["seed"], r["method_metrics"]["accuracy"]) for r in runs(document)] == [
        (3, 0.6),
        (5, 0.5),
    ]
    assert "arm a: its scores are labelled by seeds, in order" in notes


@pytest.mark.parametrize("seeds", ["3", "1,2", "x,y,z"])
def test_what_is_no_seed_for_every_score_labels_none(seeds: str, tmp_path: Path) -> None:
    path = made(tmp_path, f'arm,seeds,values\na,"{seeds}","0.5,0.6,0.7"\n')
    assert [run["seed"] for run in runs(bring(path)[0])] == [None] * 3


def test_a_list_that_names_a_seed_twice_is_refused(tmp_path: Path) -> None:
    text = 'arm,seeds,values\na,"0,0,1","0.764,0.7708,0.7664"\n'
    with pytest.raises(ImportRefused, match="arm a: seeds names a seed twice, 0,0,1"):
        bring(made(tmp_path, text))


def test_more_accuracy_is_better_whatever_is_said(tmp_path: Path) -> None:
    path = made(tmp_path, "arm,seed,accuracy\na,1,0.5\n")
    with pytest.raises(UsageError, match="--lower-is-better"):
        bring(path, higher_is_better=False)


def test_the_seed_of_the_settings_is_a_column_by_its_name(tmp_path: Path) -> None:
    rows = [(arm, seed, 7, 0.5) for arm in ("control", "tuned") for seed in (1, 2)]
    path = table(tmp_path / "runs.csv", ("arm", "config.seed", "eval.seed", "accuracy"), rows)
    document, _ = bring(path, seed_key="config")
    assert [run["seed"] for run in runs(document)] == [1, 2]
    without = [(arm, decoding, value) for arm, _, decoding, value in rows]
    path = table(tmp_path / "none.csv", ("arm", "eval.seed", "accuracy"), without)
    with pytest.raises(UsageError, match="no column is a training seed; name one of arm, eval"):
        bring(path, seed_key="config")
    path = table(tmp_path / "two.csv", ("arm", "seed", "config.seed", "accuracy"), rows)
    with pytest.raises(UsageError, match="several columns are seeds; name one of seed, config"):
        bring(path, seed_key="config")
