from __future__ import annotations

import io
import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from bringing import SAMPLES

from audit.cli.main import main
from audit.importers import IMPORTERS, importer

ONE_SEED = SAMPLES / "whileai/one_seed.json"


def imported(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main(["import", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_document_goes_to_stdout_and_the_notes_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = imported(capsys, "whileai", ONE_SEED)
    assert status == 0
    assert json.loads(out)["schema_version"] == 2
    assert out.endswith("}\n")
    assert all(line.startswith("note: ") for line in err.splitlines())
    assert imported(capsys, "whileai", ONE_SEED, "--quiet") == (0, out, "")


def test_what_is_imported_can_be_verified_from_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = imported(capsys, "auto", ONE_SEED)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(out.encode())))
    assert main(["verify", "-"]) in (0, 1)
    text = capsys.readouterr().out
    assert "REFUSED gain in accuracy of recipe over baseline one-seed" in " ".join(text.split())


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["whileai", SAMPLES / "whileai/no_arms.json"], 1, "no arms"),
        (["trainer-state", SAMPLES / "trainer_state/b1_42_trainer_state.json"], 1, "no result"),
        (["lm-eval", ONE_SEED], 2, "not lm-evaluation-harness output; it looks like the results"),
        (["auto", SAMPLES / "chart.vg.json"], 2, "it looks like a Vega chart"),
        (["auto", "absent.json"], 2, "cannot be read"),
        (["auto", "absent*.json"], 2, "no file matches this pattern"),
        (["tea-leaves", ONE_SEED], 2, "no file, folder or importer 'tea-leaves'"),
        (["whileai"], 2, "no file given"),
        (["whileai", ONE_SEED, "--scale", "100-0"], 2, "--scale"),
        (["whileai", ONE_SEED, "--arm", "name"], 2, "--arm NAME=FILES"),
        (["long-table", ONE_SEED, "--column", "sed=x"], 2, "no role 'sed'"),
        (["long-table", ONE_SEED, "--column", "seed=x"], 2, "not a long table"),
        (["auto", ONE_SEED, "--seed-from", "config"], 2, "comes without a trainer's settings"),
    ],
)
def test_each_failure_has_its_status_and_one_line(
    words: list[object], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = imported(capsys, *words)
    assert (found, out) == (status, "")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ([], 1, "no value column: --map value=NAME of arm, seed, loss"),
        (["--column", "value=loss"], 0, ""),
    ],
)
def test_a_table_is_told_which_column_it_misses(
    options: list[str],
    status: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("arm,seed,loss\na,1,2.5\nb,1,2.75\n", encoding="utf-8")
    found, _, err = imported(capsys, "auto", path, *options)
    assert found == status
    assert message in err


def test_an_archive_of_something_else_is_called_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.txt", "x")
    status, _, err = imported(capsys, "auto", path)
    assert status == 2
    assert "it looks like a zip archive" in err


def test_a_file_is_written_whole_or_not_at_all(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "results.json"
    assert imported(capsys, "auto", ONE_SEED, "-q", "-o", target) == (0, "", "")
    written = target.read_bytes()
    assert json.loads(written)["method"] == "recipe"
    assert imported(capsys, "auto", SAMPLES / "whileai/no_arms.json", "-o", target)[0] == 1
    assert target.read_bytes() == written
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_the_same_input_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lm-eval", f"--arm=a={SAMPLES}/lm_eval/tuned/**/*.json*", "--seed-from", "seed{seed}"]
    first = imported(capsys, *words)
    assert first[0] == 0
    assert imported(capsys, *words) == first


def test_a_pattern_keeps_its_arm_and_files_of_several_formats_meet(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copy(SAMPLES / "per_item/aggregate.json", tmp_path / "b1_42_eval.json")
    shutil.copy(SAMPLES / "trainer_state/b1_42_trainer_state.json", tmp_path)
    words = ("auto", f"--arm=b1={tmp_path}/b1_*", "--seed-from", "b1_{seed}_")
    status, out, _ = imported(capsys, *words)
    run = json.loads(out)["seed_results"][0]
    assert (status, run["seed"], len(run["training"])) == (0, 42, 2)


def test_standard_input_is_a_file_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ONE_SEED.read_bytes())))
    status, out, _ = imported(capsys, "auto", "-")
    assert (status, json.loads(out)["method"]) == (0, "recipe")


def test_the_help_lists_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["import", "--help"])
    text = capsys.readouterr().out
    assert all(entry.name in text for entry in IMPORTERS)


@pytest.mark.parametrize("name", ["lm_eval", "LM-Eval", "inspect_ai", "EEE", "long", "trl"])
def test_importers_go_by_other_names(name: str) -> None:
    assert importer(name) in IMPORTERS


SAMPLE_FILES = sorted(
    path for folder in SAMPLES.iterdir() if folder.is_dir() for path in folder.rglob("*.*")
)


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: path.name)
def test_a_sample_is_known_to_the_importer_of_its_own_folder(path: Path) -> None:
    from audit.importers.foreign import read_foreign

    if path.suffix == ".eval":
        pytest.importorskip("zstandard", reason="recent logs are packed with Zstandard")
    file = read_foreign(str(path))
    fits = [entry.name for entry in IMPORTERS if entry.sniff(file.content, file.name)]
    folder = path.relative_to(SAMPLES).parts[0].replace("_", "-")
    # Rows of JSON Lines may be a long table too, which is asked last.
    assert fits[0] == folder
    assert set(fits[1:]) <= {"long-table"}


def test_a_results_file_is_written_as_records_of_another_format(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "results.json"
    assert imported(capsys, "whileai", ONE_SEED, "-q", "-o", target)[0] == 0
    words = ("results", target, "--to", "every-eval-ever")
    status, out, _ = imported(capsys, *words, "--retrieved", 1_700_000_000)
    records = json.loads(out)
    assert status == 0
    assert [record["evaluation_id"] for record in records] == [
        "recipe/run-0/1700000000",
        "baseline/run-0/1700000000",
    ]
    status, out, err = imported(capsys, *words)
    assert (status, out) == (2, "")
    assert "--retrieved" in err
