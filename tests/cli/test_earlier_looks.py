"""Looks that the file does not record and git shows: the gate refuses, and no verdict changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_fleet import commit, git, repository

from audit.cli.main import main
from audit.fleet import history
from audit.git import git as asked_of_git
from audit.simulation import Cell, simulate

Document = dict[str, Any]
CLAIM: Document = {"id": "main", "direction": "gain", "metric": "accuracy"}
CLAIM |= {"arm": "recipe", "against": "control"}
# The first three runs per arm of this study do not show its gain, all eight do.
CELL = Cell("arms", 120, (8, 8), (0.05, 0.05), 0.4, 0.08)


def study(seeds: int, **more: Any) -> Document:
    whole: Document = simulate(CELL, CELL.generator()).document()
    (control,) = whole["controls"].values()
    control["seed_results"] = control["seed_results"][:seeds]
    whole["seed_results"] = whole["seed_results"][:seeds]
    return {**whole, "claims": [CLAIM], **more}


def put(file: Path, document: Document, message: str = "results") -> None:
    """Commit a results file as it now is."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
    commit(top_of(file), message)


def top_of(file: Path) -> Path:
    return next(parent for parent in file.parents if (parent / ".git").exists())


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    history._repository.cache_clear()
    top = repository(tmp_path / "work", {})
    monkeypatch.chdir(top)
    return top / "reports" / "results.json"


@pytest.fixture
def gated(capsys: pytest.CaptureFixture[str]) -> Any:
    def gate(file: Path, *options: str) -> tuple[Document, str]:
        history._repository.cache_clear()
        status = main(["gate", str(file), "--format", "json", *options])
        out, err = capsys.readouterr()
        answer = json.loads(out)
        assert answer["exit_status"] == status
        return answer["rows"][0], err

    return gate


def test_the_study_of_these_tests_is_what_they_say(file: Path, gated: Any) -> None:
    put(file, study(3))
    assert gated(file)[0]["slug"] == "interval-reaches-zero"
    git(top_of(file), "checkout", "-q", "--orphan", "other")
    put(file, study(8))
    row, err = gated(file)
    assert (row["supported"], err) == (True, "")


def test_a_claim_that_was_refused_with_fewer_seeds_is_refused_and_the_line_to_add_is_printed(
    file: Path, gated: Any
) -> None:
    put(file, study(3))
    first = git(top_of(file), "rev-parse", "--short=7", "HEAD")
    put(file, study(8))
    row, err = gated(file)
    assert (row["slug"], row["supported"]) == ("looks-not-recorded", False)
    assert row["verdict"].startswith("gain")
    assert f"judged at 3 runs per arm and refused (commit {first})" in row["reason"]
    assert '"looked": [3]' in row["reason"]
    assert "--looked 3" in row["reason"]
    assert err == ""


def test_the_look_once_recorded_is_judged_as_a_later_look(file: Path, gated: Any) -> None:
    put(file, study(3))
    put(file, study(8))
    asked = gated(file, "--looked", "3")[0]
    put(file, study(8, looked=[3]))
    for row in (asked, gated(file)[0]):
        assert row["supported"]
        assert "after-unplanned-look" in [weak["slug"] for weak in row["weakened_by"]]


def test_what_is_not_committed_is_judged_against_what_is(file: Path, gated: Any) -> None:
    put(file, study(3))
    file.write_text(json.dumps(study(8)), encoding="utf-8")
    assert gated(file)[0]["slug"] == "looks-not-recorded"


def test_a_renamed_file_keeps_its_looks(file: Path, gated: Any) -> None:
    put(file, study(3))
    later = file.with_name("later.json")
    git(top_of(file), "mv", str(file), str(later))
    put(later, study(5))
    put(later, study(8))
    assert gated(later)[0]["slug"] == "looks-not-recorded"


def test_verify_and_gate_say_the_same(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(file, study(3))
    put(file, study(8))
    assert main(["verify", str(file)]) == 1
    assert "looks-not-recorded" in capsys.readouterr().out


NO_LOOK = [
    ("below the fewest seeds a claim may rest on", study(2)),
    ("nothing was claimed", {**study(3), "claims": []}),
    ("another thing was claimed", study(3, claims=[{**CLAIM, "direction": "equivalent"}])),
    ("it could not be read", {"schema_version": 99}),
    ("it is no results file", {"a": 1}),
]


@pytest.mark.parametrize(
    "earlier", [document for _, document in NO_LOOK], ids=[t for t, _ in NO_LOOK]
)
def test_a_version_that_judged_nothing_is_no_look(
    file: Path, gated: Any, earlier: Document
) -> None:
    put(file, earlier)
    put(file, study(8))
    assert gated(file)[0]["supported"]


def test_other_runs_under_the_same_name_are_another_study(file: Path, gated: Any) -> None:
    random = CELL.generator()
    simulate(CELL, random)
    other: Document = simulate(CELL, random).document()
    (control,) = other["controls"].values()
    control["seed_results"] = control["seed_results"][:3]
    other["seed_results"] = other["seed_results"][:3]
    put(file, {**other, "claims": [CLAIM]})
    assert gated(file)[0]["slug"] == "interval-reaches-zero"
    put(file, study(8))
    assert gated(file)[0]["supported"]


PLAN: Document = {"maximum": {"recipe": 8, "control": 8}, "first": 3, "declared": "6f0c2a1"}


def test_looks_of_the_plan_itself_need_no_record(file: Path, gated: Any) -> None:
    put(file, study(3, plan=PLAN))
    assert gated(file)[0]["slug"] == "interval-reaches-zero"
    put(file, study(8, plan=PLAN))
    assert gated(file)[0]["supported"]


@pytest.mark.parametrize("before", [{}, {"plan": {**PLAN, "maximum": {"recipe": 5, "control": 5}}}])
def test_a_plan_that_came_after_a_look_covers_it_not(
    file: Path, gated: Any, before: Document
) -> None:
    put(file, study(3, **before))
    put(file, study(8, plan=PLAN))
    row, _ = gated(file)
    assert row["slug"] == "looks-not-recorded"
    assert "without this plan" in row["reason"]
    assert "in place of the plan" in row["reason"]


def test_a_plan_that_was_dropped_leaves_its_looks(file: Path, gated: Any) -> None:
    put(file, study(3, plan=PLAN))
    put(file, study(8))
    assert gated(file)[0]["slug"] == "looks-not-recorded"


def test_in_a_shallow_clone_the_gate_says_what_it_did_not_check(
    file: Path, gated: Any, tmp_path: Path
) -> None:
    put(file, study(3))
    put(file, study(8))
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{top_of(file)}", "shallow")
    clone = tmp_path / "shallow" / "reports" / "results.json"
    row, err = gated(clone)
    assert row["supported"]
    assert err.count("\n") == 1
    assert "earlier versions not checked for looks: the history is shallow" in err


def test_next_sees_the_looks_that_the_gate_sees(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def advice(*options: str) -> tuple[int, Document]:
        history._repository.cache_clear()
        status = main(["next", str(file), "--format", "json", *options])
        return status, json.loads(capsys.readouterr().out)["claims"][0]

    put(file, study(3))
    put(file, study(8))
    status, claim = advice()
    assert (status, claim["advice"], claim["slug"]) == (1, None, "looks-not-recorded")
    status, claim = advice("--looked", "3")
    assert (status, claim["look"]["kind"]) == (0, "after-unplanned-look")


def test_a_refused_claim_asks_nothing_of_git(
    file: Path, gated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(file, study(3))

    def never(*_: object) -> None:
        raise AssertionError("git was asked")

    monkeypatch.setattr("audit.fleet.earlier_looks.listing_of", never)
    assert gated(file)[0]["slug"] == "interval-reaches-zero"


def test_a_long_history_costs_a_bounded_number_of_calls_and_says_what_is_left_out(
    file: Path, gated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for note in range(6):
        put(file, study(8, looked=[], notes=str(note)))
    calls: list[str] = []

    def counted(folder: Path, *arguments: str, **more: Any) -> bytes:
        calls.append(arguments[0])
        return asked_of_git(folder, *arguments, **more)

    monkeypatch.setattr(history, "git", counted)
    monkeypatch.setattr(history, "MOST_VERSIONS", 3)
    row, err = gated(file)
    assert row["supported"]
    assert len(calls) == 5
    assert "2 of them are too many" in err
    monkeypatch.setattr(history, "MOST_COMMITS", 4)
    assert "only the last 4 commits were searched" in gated(file)[1]


@pytest.mark.parametrize("name", [":(top)x.json", "a[1].json", "é b.json", "-n.json"])
def test_a_file_of_any_name_has_its_history(file: Path, gated: Any, name: str) -> None:
    named = file.with_name(name)
    put(named, study(3))
    put(named, study(8))
    assert gated(named)[0]["slug"] == "looks-not-recorded"


def test_outside_a_repository_there_is_no_history(tmp_path: Path) -> None:
    assert history.history_of(str(tmp_path / "results.json"), b"{}") == history.History()


def test_nothing_in_the_repository_changes(file: Path, gated: Any) -> None:
    put(file, study(3))
    put(file, study(8))
    folder = top_of(file) / ".git"
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}
    gated(file)
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()} == before


def test_looks_that_only_the_history_shows_are_not_attested_away(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(file, study(3))
    put(file, study(8))
    history._repository.cache_clear()
    statement = file.with_name("results.intoto.json")
    words = ["export", str(file), "--to", "attestation", "-o", str(statement)]
    assert main(words) == 1
    assert '"looked": [3]' in capsys.readouterr().err
    assert not statement.exists()
    put(file, study(8, looked=[3]))
    history._repository.cache_clear()
    assert main(words) == 0
    (verdict,) = json.loads(statement.read_text(encoding="utf-8"))["predicate"]["verdicts"]
    assert "look 8" in verdict["look"]
