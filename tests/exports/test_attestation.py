"""Statements: the same bytes everywhere, and whatever is changed in one is named by its place."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from made_fleet import CARRIED, ONE_SEED

from audit import __version__
from audit.cli.main import main
from audit.exports.attestation import canonical, is_plain_name
from audit.exports.recompute import LARGEST_STATEMENT_BYTES, recompute
from audit.policy import Policy, policy_of, read_policy
from audit.resources import resource

STATEMENT = "results.intoto.json"
Printed = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a results file and its statement, to copy."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copy(CARRIED, folder / "results.json")
    words = ["--to", "attestation", "-o", str(folder / STATEMENT)]
    assert main(["export", str(folder / "results.json"), *words]) == 0
    return folder


@pytest.fixture
def study(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a results file and its statement."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: Printed) -> str:
    """Return the one line on stderr; nothing may stand on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    return err


def document() -> Any:
    return json.loads(Path(STATEMENT).read_text(encoding="utf-8"))


def put(content: Any) -> None:
    Path(STATEMENT).write_bytes(canonical(content))


def test_a_statement_is_an_in_toto_statement_about_the_bytes_of_its_file(study: Path) -> None:
    made = document()
    assert made["_type"] == "https://in-toto.io/Statement/v1"
    digest = sha256(Path("results.json").read_bytes()).hexdigest()
    assert made["subject"][0] == {"name": "results.json", "digest": {"sha256": digest}}
    dataset = json.loads(CARRIED.read_text(encoding="utf-8"))["dataset"]
    named = {subject["name"]: subject["digest"]["sha256"] for subject in made["subject"]}
    for name, partition in dataset["partition_sha256"].items():
        assert named[f"{dataset['source_id']}#{name}"] == partition


def test_a_statement_keeps_its_schema_by_another_validator(study: Path) -> None:
    text = resource("schemas/attestation.v1.schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    assert list(Draft202012Validator(schema).iter_errors(document())) == []
    assert schema["$id"] == document()["predicateType"]


def test_a_statement_says_what_the_gate_says(study: Path, capsys: Printed) -> None:
    main(["gate", "results.json", "--format", "json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    verdicts = document()["predicate"]["verdicts"]
    assert [v["claim"] for v in verdicts] == [r["claim"] for r in rows]
    for verdict, row in zip(verdicts, rows, strict=True):
        shared = verdict.keys() & row.keys()
        assert {"supported", "delta", "verdict", "weakened_by", "evidence"} <= shared
        assert {key: verdict[key] for key in shared} == {key: row[key] for key in shared}


def test_the_same_file_gives_the_same_bytes_wherever_and_whenever(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    before = Path(STATEMENT).read_bytes()
    elsewhere = study / "some" / "where"
    elsewhere.mkdir(parents=True)
    shutil.copy("results.json", elsewhere)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "4000000000")
    assert main(["export", str(elsewhere / "results.json"), "--to", "attestation"]) == 0
    assert capsys.readouterr().out.encode() == before
    assert canonical(document()) == before


def test_a_statement_holds_beside_its_file_and_says_what_it_says(
    study: Path, capsys: Printed
) -> None:
    assert main(["verify", STATEMENT]) == 0
    out = capsys.readouterr().out
    assert "holds, byte for byte" in out
    assert "supported: gain in accuracy of chi-clip over fixed-clip on addition" in out
    assert "the built-in defaults" in out


# Where a statement is changed, and what the line begins with.
CHANGES: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("predicate", "verdicts", 0, "supported"), False, "/predicate/verdicts/0/supported: says f"),
    (("predicate", "verdicts", 0, "delta"), "+0.9", "/predicate/verdicts/0/delta: says"),
    (("predicate", "verdicts", 0, "weakened_by"), [], "/predicate/verdicts/0/weakened_by: holds 0"),
    (("predicate", "claims"), [], "/predicate/claims: holds 0 entries, computed 1"),
    (("predicate", "claims", 0, "margin"), 0.01, "/predicate/claims/0/margin: says 0.01"),
    (("predicate", "rules"), ["READ001"], "/predicate/rules: holds 1 entries"),
    (("predicate", "findings"), [], "/predicate/findings: holds 0 entries"),
    (("predicate", "policy_sha256"), "0" * 64, "/predicate/policy_sha256: says"),
    (("predicate", "policy", "level"), 0.99, "/predicate/policy_sha256: says"),
    (("predicate", "policy", "ignore"), ["MECH"], "/predicate/policy_sha256: says"),
    (("subject", 1, "digest", "sha256"), "0" * 64, "/subject/1/digest/sha256: says"),
    (("subject", 0, "digest", "sha256"), "0" * 64, "/subject/0/digest/sha256: says"),
]


@pytest.mark.parametrize(("place", "value", "line"), CHANGES, ids=[c[2] for c in CHANGES])
def test_whatever_is_changed_is_named_by_its_place(
    place: tuple[str | int, ...], value: Any, line: str, study: Path, capsys: Printed
) -> None:
    changed = document()
    owner = changed
    for step in place[:-1]:
        owner = owner[step]
    owner[place[-1]] = value
    put(changed)
    assert main(["verify", STATEMENT]) == 1
    out = capsys.readouterr().out
    assert "does not hold for results.json" in out
    assert any(printed.startswith(f"  {line}") for printed in out.splitlines()), out


def test_a_changed_results_file_is_told_by_its_digest_before_anything_is_judged(
    study: Path, capsys: Printed
) -> None:
    Path("results.json").write_bytes(Path("results.json").read_bytes() + b"\n")
    assert main(["verify", STATEMENT]) == 1
    out = capsys.readouterr().out
    assert "/subject/0/digest/sha256: says" in out
    assert len(out.splitlines()) == 2


def test_the_same_content_in_other_bytes_does_not_hold(study: Path, capsys: Printed) -> None:
    Path(STATEMENT).write_text(json.dumps(document(), indent=2), encoding="utf-8")
    assert main(["verify", STATEMENT]) == 1
    assert "the content is the same and the bytes are not" in capsys.readouterr().out


def test_a_statement_of_another_version_is_not_compared(study: Path, capsys: Printed) -> None:
    changed = document()
    changed["predicate"]["tool"]["version"] = "99.0"
    changed["predicate"]["verdicts"][0]["supported"] = False
    put(changed)
    assert main(["verify", STATEMENT]) == 2
    line = said(capsys)
    assert 'made by audit "99.0" and this is ' + __version__ in line
    assert "not compared" in line


def test_what_a_policy_asks_is_in_the_statement_and_is_said(study: Path, capsys: Printed) -> None:
    Path("audit.toml").write_text(
        'min_seeds = 9\nlevel = 0.99\n[[overrides]]\npaths = ["*"]\nmargin = 1\n', encoding="utf-8"
    )
    assert main(["export", "results.json", "--to", "attestation", "-o", STATEMENT]) == 0
    Path("audit.toml").unlink()  # the statement holds what judged it
    predicate = document()["predicate"]
    assert predicate["verdicts"][0]["slug"] == "too-few-seeds"
    digest = sha256(canonical(predicate["policy"])).hexdigest()
    assert predicate["policy_sha256"] == digest
    capsys.readouterr()
    assert main(["verify", STATEMENT]) == 0
    out = capsys.readouterr().out
    assert "refused (too-few-seeds)" in out
    assert "other than the defaults: level = 0.99, margin = 1.0, min_seeds = 9" in out


def test_a_waiver_is_not_applied_so_that_no_day_decides(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    before = Path(STATEMENT).read_bytes()
    weak = [one["slug"] for one in document()["predicate"]["verdicts"][0]["weakened_by"]]
    assert "not-measured-locally" in weak
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1796000000")  # November 2026
    Path("audit.toml").write_text(
        '[[waivers]]\nrule = "not-measured-locally"\npointer = "/*"\nreason = "known"\n'
        'expires = "2027-03-31"\n',
        encoding="utf-8",
    )
    main(["gate", "results.json", "--format", "json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert "not-measured-locally" not in [one["slug"] for one in row["weakened_by"]]
    assert main(["export", "results.json", "--to", "attestation", "-o", STATEMENT]) == 0
    assert Path(STATEMENT).read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        'min_seeds = 7\nlevel = 0.9\nmargin = 1\nselect = ["SEED"]\nbase = "allow"\n',
        'guardrails = [{metric = "accuracy", margin = 1}]\nrequire = ["claims"]\n',
        'guardrails = [{metric = "f1", benchmark = "mmlu", margin = 0.02}]\npairs = "agree"\n',
    ],
)
def test_a_policy_comes_back_from_its_document(text: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(text, encoding="utf-8")
    policy = read_policy(path)
    told = json.loads(canonical(policy.document()))
    assert policy_of(told) == policy
    assert canonical(policy_of(told).document()) == canonical(policy.document())


# ---- hostile statements --------------------------------------------------------------------


def changed_subject(name: Any) -> Any:
    made = document()
    made["subject"][0]["name"] = name
    return made


NAMES = ["../results.json", "/etc/passwd", "a/../results.json", "..", ".", "", "C:results.json"]
NAMES += ["..\\results.json", "results.json\0", "x" * 300, "sub/results.json"]


@pytest.mark.parametrize("name", NAMES)
def test_no_path_of_a_statement_is_followed(name: str, study: Path, capsys: Printed) -> None:
    (study / "sub").mkdir()
    shutil.copy("results.json", study / "sub")
    assert not is_plain_name(name)
    put(changed_subject(name))
    assert main(["verify", STATEMENT]) == 2
    line = said(capsys)
    assert "/subject/0/name" in line
    assert len(line) < 300


def test_a_link_is_not_followed_and_a_folder_or_nothing_is_no_file(
    study: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Printed
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "results.json"
    Path("results.json").rename(outside)
    assert main(["verify", STATEMENT]) == 2
    assert "is not beside the statement" in said(capsys)
    Path("results.json").symlink_to(outside)
    assert main(["verify", STATEMENT]) == 2
    assert "is a link" in said(capsys)
    Path("results.json").unlink()
    Path("results.json").mkdir()
    assert main(["verify", STATEMENT]) == 2
    assert "is no file" in said(capsys)


def without(*place: str | int) -> Any:
    made = document()
    owner = made
    for step in place[:-1]:
        owner = owner[step]
    del owner[place[-1]]
    return made


def with_value(value: Any, *place: str | int) -> Any:
    made = document()
    owner = made
    for step in place[:-1]:
        owner = owner[step]
    owner[place[-1]] = value
    return made


WRONG: dict[str, Callable[[], Any]] = {
    "a list": lambda: [document()],
    "a number": lambda: 7,
    "another type": lambda: with_value("https://in-toto.io/Statement/v0.1", "_type"),
    "another predicate": lambda: with_value("https://slsa.dev/provenance/v1", "predicateType"),
    "no subject": lambda: without("subject"),
    "an empty subject": lambda: with_value([], "subject"),
    "a subject that is text": lambda: with_value("results.json", "subject"),
    "a name that is a number": lambda: changed_subject(7),
    "no digest": lambda: without("subject", 0, "digest"),
    "a short digest": lambda: with_value("ab", "subject", 0, "digest", "sha256"),
    "no predicate": lambda: without("predicate"),
    "a predicate that is a list": lambda: with_value([], "predicate"),
    "no policy": lambda: without("predicate", "policy"),
    "a policy that is text": lambda: with_value("lax", "predicate", "policy"),
    "a policy of one seed": lambda: with_value(1, "predicate", "policy", "min_seeds"),
    "a policy with a key more": lambda: with_value(1, "predicate", "policy", "trust"),
    "a version that is a list": lambda: with_value([], "predicate", "tool", "version"),
    "verdicts that are text": lambda: with_value("all supported", "predicate", "verdicts"),
    "a verdict more than one knows": lambda: with_value({"claim": "x"}, "predicate", "verdicts", 0),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_statement_of_the_wrong_shape_is_one_line(
    what: str, study: Path, capsys: Printed
) -> None:
    put(WRONG[what]())
    assert main(["verify", STATEMENT]) == 2
    assert STATEMENT in said(capsys)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "empty"),
        (b"{", "not JSON"),
        (b"\xff{}", "not UTF-8"),
        (b'{"a":' * 400 + b"1" + b"}" * 400, "nested deeper"),
        (b'{"_type":1,"_type":2}', "duplicate-key"),
        (b'{"_type":NaN}', "non-finite"),
    ],
)
def test_bytes_that_are_no_statement_are_one_line(
    data: bytes, line: str, study: Path, capsys: Printed
) -> None:
    Path(STATEMENT).write_bytes(data)
    assert main(["verify", STATEMENT]) == 2
    assert line in said(capsys)


def test_a_huge_statement_is_not_read(study: Path, capsys: Printed) -> None:
    with Path(STATEMENT).open("wb") as file:
        file.truncate(LARGEST_STATEMENT_BYTES + 1)
    assert main(["verify", STATEMENT]) == 2
    assert "larger than 16 MiB" in said(capsys)


def test_a_policy_larger_than_any_is_not_judged_by(study: Path, capsys: Printed) -> None:
    made = document()
    rail = {"metric": "accuracy", "benchmark": "subtraction", "margin": 0.01}
    made["predicate"]["policy"]["guardrails"] = [rail] * 2000
    put(made)
    assert main(["verify", STATEMENT]) == 2
    assert "larger than 64 KiB" in said(capsys)


def test_what_holds_is_not_said_when_only_failures_are_asked_for(
    study: Path, capsys: Printed
) -> None:
    assert main(["verify", STATEMENT, "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_what_cannot_be_judged_is_not_attested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.json").write_text('{"schema_version": 2}', encoding="utf-8")
    Path("other.json").write_text("{}", encoding="utf-8")
    for name in ("broken.json", "other.json", "missing.json"):
        assert main(["export", name, "--to", "attestation", "-o", STATEMENT]) == 2
        assert name in said(capsys)
        assert not Path(STATEMENT).exists()


@pytest.mark.parametrize(
    "more",
    [
        ["results.json"],
        ["--claim", "gain accuracy method over control"],
        ["--policy", "audit.toml"],
        ["--select", "SEED"],
        ["--format", "json"],
    ],
)
def test_nothing_beside_a_statement_is_silently_passed_over(
    more: list[str], study: Path, capsys: Printed
) -> None:
    assert main(["verify", STATEMENT, *more]) == 2
    assert said(capsys)


def test_several_statements_give_the_highest_status(study: Path, capsys: Printed) -> None:
    shutil.copy(ONE_SEED, "one.json")
    assert main(["export", "one.json", "--to", "attestation", "-o", "one.intoto.json"]) == 0
    assert main(["verify", STATEMENT, "one.intoto.json"]) == 0
    assert "refused (one-seed)" in capsys.readouterr().out
    Path("one.json").unlink()
    assert main(["verify", STATEMENT, "one.intoto.json"]) == 2
    out, err = capsys.readouterr()
    assert "holds, byte for byte" in out
    assert "one.intoto.json" in err


def test_a_statement_is_never_written_over_its_file(study: Path, capsys: Printed) -> None:
    before = Path("results.json").read_bytes()
    os.link("results.json", "hard.json")
    for output in ("results.json", "hard.json"):
        words = ["export", "results.json", "--to", "attestation", "-o", output, "--force"]
        assert main(words) == 2
        assert "is an input of this command" in said(capsys)
    assert main(["verify", STATEMENT, "-o", STATEMENT, "--force"]) == 2
    assert Path("results.json").read_bytes() == before


def test_the_library_gives_the_same_answer(study: Path) -> None:
    found = recompute(STATEMENT)
    assert found.holds
    assert found.loosened == {}
    assert found.predicate["policy"] == json.loads(canonical(Policy().document()))
