from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from bringing import SAMPLES, bring, runs

from audit.errors import ImportRefused, InputError
from audit.importers.foreign import read_foreign

FOLDER = SAMPLES / "inspect"
SUCCESS: dict[str, Any] = json.loads((FOLDER / "success.json").read_text(encoding="utf-8"))


def written(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(SUCCESS | changes), encoding="utf-8")
    return path


def archived(path: Path, log: dict[str, Any], kind: int, finished: bool = True) -> Path:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", kind) as archive:
        head = {key: value for key, value in log.items() if key not in ("samples", "reductions")}
        archive.writestr("header.json" if finished else "_journal/start.json", json.dumps(head))
        for sample in log["samples"]:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
    path.write_bytes(data.getvalue())
    return path


def sample(task: Any, epoch: int, value: Any, **more: Any) -> dict[str, Any]:
    return {"id": task, "epoch": epoch, "scores": {"match": {"value": value}}} | more


def test_epochs_are_reduced_per_item() -> None:
    document, _ = bring(FOLDER / "success.json")
    block = runs(document)[0]["evaluation"]
    assert block["task_ids"] == ["add-1", "add-2", "add-3", "add-4"]
    assert (block["correct"], block["samples"]) == ([2, 1, 0, 2], [2, 2, 2, 2])
    assert block["mean_tokens"] == [1.0] * 4


def test_a_packed_log_says_the_same_as_a_plain_one() -> None:
    pytest.importorskip("zstandard", reason="recent logs are packed with Zstandard")
    plain, _ = bring(FOLDER / "success.json")
    packed, _ = bring(FOLDER / "success.eval")
    assert runs(packed) == runs(plain)


def test_a_log_packed_the_old_way_is_read_too(tmp_path: Path) -> None:
    plain, _ = bring(FOLDER / "success.json")
    packed, _ = bring(archived(tmp_path / "log.eval", SUCCESS, zipfile.ZIP_DEFLATED))
    assert runs(packed)[0]["evaluation"] == runs(plain)[0]["evaluation"]


def test_a_log_without_a_header_is_still_running(tmp_path: Path) -> None:
    log = {key: value for key, value in SUCCESS.items() if key != "status"}
    path = archived(tmp_path / "log.eval", log, zipfile.ZIP_DEFLATED, finished=False)
    document, _ = bring(path)
    assert runs(document)[0]["status"] == "running"


@pytest.mark.parametrize(("status", "is_"), [("error", "failed"), ("cancelled", "failed")])
def test_a_log_that_did_not_succeed_is_no_finished_run(
    status: str, is_: str, tmp_path: Path
) -> None:
    document, notes = bring(written(tmp_path, status=status))
    assert runs(document)[0]["status"] == is_
    assert any(f"status {status}, not a finished run" in note for note in notes)


def test_an_errored_sample_is_counted_as_drawn_and_not_right() -> None:
    document, notes = bring(FOLDER / "one_sample_errored.json")
    block = runs(document)[0]["evaluation"]
    assert block["correct"] == [2, 2, 2, 1]
    assert block["samples"] == [2, 2, 2, 2]
    assert block["errored"] == [0, 0, 0, 1]
    assert any("1 samples ended in an error" in note for note in notes)


def test_a_partly_right_answer_makes_scores_not_counts(tmp_path: Path) -> None:
    samples = [sample("a", 1, "C"), sample("b", 1, "P"), sample("c", 1, "N")]
    document, _ = bring(written(tmp_path, samples=samples), metric="match")
    assert runs(document)[0]["evaluation"]["scores"] == [1.0, 0.5, 0.0]


def test_a_score_that_is_nan_is_an_errored_answer(tmp_path: Path) -> None:
    samples = [sample("a", 1, "C"), sample("b", 1, float("nan")), sample("c", 1, "I")]
    document, notes = bring(written(tmp_path, samples=samples))
    block = runs(document)[0]["evaluation"]
    assert (block["task_ids"], block["correct"]) == (["a", "b", "c"], [1, 0, 0])
    assert (block["samples"], block["errored"]) == ([1, 1, 1], [0, 1, 0])
    assert "sums, match: 1 answer has no value: counted as errored, and as wrong" in notes


def test_one_item_and_epoch_twice_is_refused(tmp_path: Path) -> None:
    samples = [sample("a", 1, "C"), sample("a", 1, "I")]
    with pytest.raises(ImportRefused, match="task a, sample 1 is there twice"):
        bring(written(tmp_path, samples=samples))


def test_unequal_epochs_are_averaged_aloud(tmp_path: Path) -> None:
    samples = [sample("a", 1, "C"), sample("a", 2, "I"), sample("b", 1, "C")]
    document, notes = bring(written(tmp_path, samples=samples))
    assert runs(document)[0]["evaluation"]["samples"] == [2, 1]
    assert any("1 to 2 samples per task" in note for note in notes)


def test_reduced_scores_serve_where_samples_were_not_logged(tmp_path: Path) -> None:
    document, _ = bring(written(tmp_path, samples=[]))
    block = runs(document)[0]["evaluation"]
    assert (block["correct"], block["samples"]) == ([2, 1, 0, 2], [2, 2, 2, 2])


def test_the_printed_accuracy_serves_where_no_item_has_a_score(tmp_path: Path) -> None:
    document, notes = bring(written(tmp_path, samples=[], reductions=[]))
    assert runs(document)[0]["method_metrics"] == {
        "accuracy": 0.625,
        "examples": 8,
    }
    assert any("no item has a score of its own" in note for note in notes)


def test_a_finished_log_without_any_score_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="no score in the log: 0 samples"):
        bring(written(tmp_path, samples=[], reductions=[], results={"scores": []}))


def test_the_decoding_seed_is_a_condition_and_no_training_seed(tmp_path: Path) -> None:
    document, _ = bring(written(tmp_path, plan={"config": {"seed": 7, "temperature": 0.5}}))
    run = runs(document)[0]
    assert run["seed"] is None
    assert run["evaluation"]["condition"] == {"temperature": 0.5, "seed": 7, "engine": "mockllm"}


def test_a_damaged_archive_is_unreadable(tmp_path: Path) -> None:
    data = bytearray((FOLDER / "success.eval").read_bytes())
    with zipfile.ZipFile(FOLDER / "success.eval") as archive:
        data[archive.getinfo("samples/add-1_epoch_1.json").header_offset + 100] ^= 0xFF
    path = tmp_path / "damaged.eval"
    path.write_bytes(bytes(data))
    with pytest.raises(InputError):
        bring(path)


def test_the_size_of_an_archive_is_looked_at_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.importers.foreign.LARGEST_FILE_BYTES", 100)
    with pytest.raises(InputError, match="unpacks to more than"):
        read_foreign(str(archived(tmp_path / "log.eval", SUCCESS, zipfile.ZIP_DEFLATED)))


@pytest.mark.parametrize("header", [{}, {"eval": None}, {"eval": {"task": "x"}}])
def test_an_archive_whose_header_names_no_model_is_unreadable(
    header: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
    with pytest.raises(InputError, match="names no task and model"):
        bring(path)


def test_scores_that_are_all_text_are_counted_before_the_printed_ones_serve(
    tmp_path: Path,
) -> None:
    samples = [sample(task, 1, "N/A") for task in ("a", "b")]
    _, notes = bring(written(tmp_path, samples=samples))
    assert "2 missing values in sums, match" in notes


def test_a_member_larger_than_it_says_is_not_unpacked_whole(tmp_path: Path) -> None:
    size = 64 << 20
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b" " * size)
    path = tmp_path / "lie.eval"
    announced = size.to_bytes(4, "little")
    path.write_bytes(data.getvalue().replace(announced, (100).to_bytes(4, "little")))
    content = read_foreign(str(path)).content
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="cannot be unpacked"):
            content.document("header.json")
        assert tracemalloc.get_traced_memory()[1] < size / 4
    finally:
        tracemalloc.stop()
