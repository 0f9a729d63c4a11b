from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bringing import bring, runs, scores

from audit.errors import ImportRefused, UsageError
from audit.importers.path_seeds import seed_of
from audit.importers.study import Layout


@pytest.mark.parametrize(
    ("path", "pattern", "seed"),
    [
        ("out/tuned/seed7/results.json", "seed{seed}", 7),
        ("out/a2_vi_42_step50/x_42.json", "vi_{seed}_step", 42),
        ("out\\tuned\\seed7\\r.json", "tuned/seed{seed}", 7),
        ("out/seed7/tuned-seed7.json", "seed{seed}", 7),
        ("runs/x.17.json", r"x\.(\d+)\.json", 17),
        ("runs/s3/step50.json", r"s(?P<seed>\d+)/", 3),
        ("runs/lr1/seed12/x.json", "lr*/seed{seed}", 12),
    ],
)
def test_a_seed_is_found_in_a_path(path: str, pattern: str, seed: int) -> None:
    assert seed_of(path, pattern) == seed


@pytest.mark.parametrize(
    ("path", "pattern", "words"),
    [
        ("out/a.json", "seed{seed}", "finds nothing"),
        ("out/seed1/seed2.json", "seed{seed}", "finds 1, 2"),
        ("out/a.json", "seed", "needs {seed} or a group"),
        ("out/a.json", "(", "no regular expression"),
        ("out/seedx.json", r"seed(\w)", "finds x"),
    ],
)
def test_a_pattern_that_finds_no_single_seed_is_wrong_usage(
    path: str, pattern: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        seed_of(path, pattern)


def long_table(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_seed_in_the_path_and_another_in_the_file_are_refused(tmp_path: Path) -> None:
    path = long_table(tmp_path, "seed3.csv", "arm,seed,accuracy\na,4,0.5\n")
    with pytest.raises(ImportRefused, match="the path says seed 3, the file 4"):
        bring(path, layout=Layout(seed_from="seed{seed}"))


def test_one_seed_s_benchmarks_in_two_files_are_one_run(tmp_path: Path) -> None:
    one = long_table(tmp_path, "x.csv", "arm,seed,benchmark,task,correct\na,1,x,t,1\n")
    two = long_table(tmp_path, "y.csv", "arm,seed,benchmark,task,correct\na,1,y,t,0\n")
    document, _ = bring([(None, one), (None, two)])
    blocks = [runs(document)[0]["evaluation"], *runs(document)[0]["evaluations"]]
    assert [block["benchmark"] for block in blocks] == ["x", "y"]
    assert len(runs(document)) == 1


def test_one_seed_s_benchmark_twice_is_refused(tmp_path: Path) -> None:
    one = long_table(tmp_path, "x.csv", "arm,seed,benchmark,task,correct\na,1,x,t,1\n")
    two = long_table(tmp_path, "y.csv", "arm,seed,benchmark,task,correct\na,1,x,t,0\n")
    with pytest.raises(ImportRefused, match=r"a, seed 1 is there twice \(x\)"):
        bring([(None, one), (None, two)])


def test_the_same_file_under_two_arms_is_refused(tmp_path: Path) -> None:
    one = long_table(tmp_path, "x.csv", "seed,accuracy\n1,0.5\n")
    two = long_table(tmp_path, "y.csv", "seed,accuracy\n1,0.5\n")
    with pytest.raises(ImportRefused, match="the same bytes"):
        bring([("a", one), ("b", two)], format="long-table")


TWO_ARMS = "arm,seed,accuracy\nbase,,0.1\nnew,1,0.5\nold,1,0.4\n"


def test_the_arm_called_base_is_the_untrained_model(tmp_path: Path) -> None:
    document, notes = bring(long_table(tmp_path, "x.csv", TWO_ARMS))
    assert document["base_evaluations"] == [{"run": "base", "accuracy": 0.1}]
    assert "base is taken as the untrained model (--control base otherwise)" in notes
    layout = Layout(controls=("base",))
    document, _ = bring(long_table(tmp_path, "x.csv", TWO_ARMS), layout=layout)
    assert "base" in document["controls"]


def test_the_user_says_which_arm_is_on_top(tmp_path: Path) -> None:
    path = long_table(tmp_path, "x.csv", TWO_ARMS)
    assert bring(path, layout=Layout(controls=("new",)))[0]["method"] == "old"
    assert bring(path, layout=Layout(method="old"))[0]["method"] == "old"
    document, _ = bring(path, layout=Layout(base=("old",)))
    assert [entry["run"] for entry in document["base_evaluations"]] == ["base", "old"]
    with pytest.raises(UsageError, match="no arm 'absent'"):
        bring(path, layout=Layout(controls=("absent",)))


def test_a_control_by_its_name_needs_no_telling(tmp_path: Path) -> None:
    path = long_table(tmp_path, "x.csv", "arm,seed,accuracy\nbaseline,1,0.4\nzebra,1,0.5\n")
    document, _ = bring(path)
    assert document["method"] == "zebra"
    assert document["controls"]["baseline"]["role"] == "control"
    assert scores(document) == [0.5]


def test_where_every_file_came_from_is_recorded(tmp_path: Path) -> None:
    path = long_table(tmp_path, "x.csv", TWO_ARMS)
    document, notes = bring(path)
    import hashlib

    block: dict[str, Any] = document["provenance"]["imported"]
    assert block["files"] == [
        {
            "path": str(path).replace("\\", "/"),
            "format": "long-table",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": len(TWO_ARMS),
        }
    ]
    assert document["provenance"]["notes"] == list(notes)
    assert json.loads(json.dumps(document)) == document


def test_one_path_under_two_arms_is_refused(tmp_path: Path) -> None:
    path = long_table(tmp_path, "x.csv", "seed,accuracy\n1,0.5\n")
    with pytest.raises(ImportRefused, match="given twice, under a and b"):
        bring([("a", path), ("b", path)], format="long-table")
    with pytest.raises(ImportRefused, match=r"given twice$"):
        bring([("a", path), ("a", path)], format="long-table")


def test_the_top_arm_is_not_its_own_control(tmp_path: Path) -> None:
    path = long_table(tmp_path, "x.csv", TWO_ARMS)
    for layout in (
        Layout(method="new", controls=("new",)),
        Layout(method="new", base=("new",)),
    ):
        with pytest.raises(UsageError, match="new is the top arm by --method"):
            bring(path, layout=layout)
