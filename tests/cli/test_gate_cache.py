"""``audit gate --cache``: the bytes of a fresh run, nothing stale, nothing others put there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_fleet import CARRIED, DATA, ONE_SEED, commit, document, git, repository, study

from audit.cli.main import main
from audit.finding import Waiver
from audit.fleet import cache, history, known_history, signed_files, visiting
from audit.fleet.files import FileResult
from audit.fleet.judging import FINDINGS, PLACES, ROWS, Judge
from audit.fleet.stored import plain, restored_file, stored
from audit.outcomes_file import set_beside
from audit.policy import Policy

FORMATS = ("text", "json", "markdown", "html", "github", "junit", "sarif")
KEY = "a key of these tests alone"
SAMPLES = sorted(DATA.glob("*.json"))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(signed_files.KEY_VARIABLE, KEY)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every sample, two halves of one study, a file that is cut off and one that is no results."""
    reports = tmp_path / "work" / "reports"
    for sample in SAMPLES:
        study(reports, sample.stem, sample)
    study(reports, "half", CARRIED)  # the runs of "full": one family with it
    (reports / "cut.json").write_text('{"schema_version": 2, "method": "m', "utf-8")
    (reports / "other.json").write_text("{}", "utf-8")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were judged, and not taken from the cache."""
    names: list[str] = []
    real = visiting._judge

    def noting(work: visiting.Work) -> Any:
        names.append(Path(work[1]).parent.name)
        return real(work)

    monkeypatch.setattr(visiting, "_judge", noting)
    return names


def gate(folder: Path, made: tuple[str, ...], *options: str) -> dict[str, bytes | int]:
    """Return what the gate writes in each format, and its exit status."""
    folder.mkdir(exist_ok=True)
    also = [word for name in made for word in ("--also", f"{name}={folder / name}")]
    status = main(["gate", "reports", *also, *options, "-j", "1"])
    return {"status": status, **{name: (folder / name).read_bytes() for name in made}}


@pytest.mark.parametrize("made", [FORMATS, ("text", "json", "markdown", "html"), ("junit",)])
def test_what_the_cache_gives_is_what_a_fresh_run_gives_in_every_format(
    made: tuple[str, ...],
    fleet: Path,
    judged: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs, said = [], []
    for name, options in (("fresh", ()), ("cold", CACHED), ("warm", CACHED)):
        judged.clear()
        outputs.append(gate(fleet / name, made, *options))
        said.append(capsys.readouterr())
    assert outputs[0] == outputs[1] == outputs[2]
    assert said[0] == said[1] == said[2]
    assert judged == ["reports", "reports"]  # the file that is cut off, and the one of another kind


CACHED = ("--cache", "../cache")


@pytest.mark.parametrize("keeps", [ROWS, FINDINGS, PLACES])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_result_is_stored_exactly(sample: Path, keeps: str) -> None:
    judge = Judge(Policy(), keeps=keeps)
    file = judge(str(sample))
    text = json.dumps(stored(file))
    assert restored_file(json.loads(text), judge.policy_for(file.name)) == file


def test_a_row_of_a_fleet_takes_a_few_kilobytes() -> None:
    whole = len(json.dumps(stored(Judge(Policy(), keeps=PLACES)(str(CARRIED)))))
    row = len(json.dumps(stored(Judge(Policy())(str(CARRIED)))))
    assert row < 4_000 < whole


def touched(fleet: Path) -> None:
    file = fleet / "work" / "reports" / "full" / "results.json"
    file.write_bytes(file.read_bytes() + b"\n")


def with_policy(fleet: Path) -> None:
    (fleet / "work" / "audit.toml").write_text("min_seeds = 4\n", "utf-8")


def renamed(fleet: Path) -> None:
    (fleet / "work" / "reports" / "full").rename(fleet / "work" / "reports" / "moved")


# What is done between two runs, the options of the second, and which of two files is judged again.
CHANGES: dict[str, tuple[Callable[[Path], None], tuple[str, ...], set[str]]] = {
    "nothing": (lambda fleet: None, (), set()),
    "a byte of the file": (touched, (), {"full"}),
    "its name": (renamed, (), {"moved"}),
    "the policy": (with_policy, (), {"full", "minimal"}),
    "a claim": (lambda fleet: None, ("--claim", "gain accuracy method over control"), {"*"}),
    "what fails": (lambda fleet: None, ("--fail-on", "warning"), {"*"}),
    "rules": (lambda fleet: None, ("--ignore", "SEED"), {"*"}),
    "looks": (lambda fleet: None, ("--looked", "2"), {"*"}),
    "what is kept": (lambda fleet: None, ("--also", "sarif=x.sarif"), {"*"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_result_depends_on_is_judged_again_where_it_changed(
    change: str, tmp_path: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("full", "minimal"):
        study(tmp_path / "work" / "reports", name, DATA / f"{name}.json")
    monkeypatch.chdir(tmp_path / "work")
    main(["gate", "reports", *CACHED])
    judged.clear()
    act, options, expected = CHANGES[change]
    act(tmp_path)
    main(["gate", "reports", *CACHED, *options])
    assert set(judged) == ({"full", "minimal"} if expected == {"*"} else expected)


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = study(tmp_path / "work" / "reports", "full", CARRIED)
    monkeypatch.chdir(tmp_path / "work")
    return file


def run(judged: list[str]) -> list[str]:
    """Gate the one file and return what was judged."""
    judged.clear()
    main(["gate", "reports", *CACHED])
    return list(judged)


def test_other_code_judges_again(
    one: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [run(judged), run(judged)] == [["full"], []]
    monkeypatch.setattr(cache, "_installed", lambda: ("another digest", "audit 0.1.0"))
    assert [run(judged), run(judged)] == [["full"], []]


@pytest.mark.parametrize("kind", ["checkout", "wheel"])
def test_the_digest_is_of_all_that_judges_wherever_it_is_installed(
    kind: str, tmp_path: Path
) -> None:
    from audit import installed
    from audit.resources import resource

    copied = tmp_path / "audit"
    package = Path(installed.__file__).parent
    left_out = shutil.ignore_patterns("__pycache__", "reports", "schemas", "templates")
    shutil.copytree(package, copied, ignore=left_out)
    beside = copied if kind == "wheel" else tmp_path
    for name in ("schemas", "reports/field"):
        shutil.copytree(str(resource(name)), beside / name)
    if kind == "checkout":
        (tmp_path / "pyproject.toml").write_bytes(b"")
    code = "from audit.installed import code_digest; print(code_digest())"

    def digest() -> str:
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    found = [digest()]
    assert found == [installed.code_digest()]
    table, schema = "reports/field/scores.csv", "schemas/results.v2.schema.json"
    for changed in (copied / "numerals.py", beside / table, beside / schema):
        changed.write_bytes(changed.read_bytes() + b"\n")
        found.append(digest())
    assert len(set(found)) == 4


def test_a_waiver_that_may_have_expired_is_asked_for_again_each_day(
    one: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    day = 24 * 3600
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_800_000_000))
    assert [run(judged), run(judged)] == [["full"], []]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_800_000_000 + day))
    assert run(judged) == []  # without a waiver no day decides anything
    waiver = Waiver("unpinned", "", "the data set has no revisions", "2027-03-01")
    Path("audit.toml").write_text(
        "[[waivers]]\n" + "".join(f"{k} = {v!r}\n" for k, v in vars_of(waiver)), "utf-8"
    )
    assert [run(judged), run(judged)] == [["full"], []]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_800_000_000 + 2 * day))
    assert [run(judged), run(judged)] == [["full"], []]


def vars_of(waiver: Waiver) -> list[tuple[str, str]]:
    return [(k, getattr(waiver, k)) for k in ("rule", "pointer", "reason", "expires")]


def test_outcomes_beside_a_file_are_held_against_what_was_judged(
    tmp_path: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "work" / "reports" / "full" / "results.json"
    named, files, _ = set_beside(document(CARRIED), "results.outcomes")
    for name, data in files.items():
        (file.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (file.parent / name).write_bytes(data)
    file.write_text(json.dumps(named), "utf-8")
    monkeypatch.chdir(tmp_path / "work")
    assert [run(judged), run(judged)] == [["full"], []]
    beside = file.parent / min(files)
    whole = beside.read_bytes()
    beside.write_bytes(whole + b"x")
    assert main(["gate", "reports", *CACHED]) == 2
    beside.unlink()
    assert main(["gate", "reports", *CACHED]) == 2
    beside.write_bytes(whole)
    assert run(judged) == []


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_an_entry_of_another_key_is_not_read(
    one: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(signed_files.KEY_VARIABLE, "a key that somebody else made")
    assert run(judged) == ["full"]
    monkeypatch.setenv(signed_files.KEY_VARIABLE, KEY)
    assert [run(judged), run(judged)] == [["full"], []]


def test_a_refusal_does_not_pass_by_the_entry_of_a_file_that_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = study(tmp_path / "work" / "reports", "full", CARRIED)
    monkeypatch.chdir(tmp_path / "work")
    folder = Path("../cache")
    assert main(["gate", "reports", *CACHED]) == 0
    (passed,) = entries(folder)
    file.write_bytes(ONE_SEED.read_bytes())
    assert main(["gate", "reports", *CACHED]) == 1
    (refused,) = set(entries(folder)) - {passed}
    refused.write_bytes(passed.read_bytes())
    assert main(["gate", "reports", *CACHED]) == 1


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def passing(data: bytes) -> bytes:
    signature, _, text = data.partition(b"\n")
    entry = json.loads(text)
    names = list(FileResult.__dataclass_fields__)
    told = [name for name in names if name not in ("report", "error")]
    entry["file"][0][told.index("exit_status")] = 0
    return signature + b"\n" + json.dumps(entry).encode()


@pytest.mark.parametrize("spoil", [cut, passing, lambda data: b"", lambda data: b"\n{}"])
def test_an_entry_that_was_changed_is_ignored_and_the_file_judged_again(
    spoil: Callable[[bytes], bytes],
    tmp_path: Path,
    judged: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study(tmp_path / "work" / "reports", "sick", ONE_SEED)
    monkeypatch.chdir(tmp_path / "work")
    assert main(["gate", "reports", *CACHED]) == 1
    (entry,) = entries(Path("../cache"))
    entry.write_bytes(spoil(entry.read_bytes()))
    judged.clear()
    assert main(["gate", "reports", *CACHED]) == 1
    assert judged == ["sick"]


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("reports/cache", "lies in reports, which is searched"),
        ("reports", "lies in reports, which is searched"),
        ("reports/full/results.json", "is a file; --cache takes a folder"),
        ("link/cache", "lies in reports, which is searched"),
        ("s3://bucket/cache", "is a URL; --cache takes a folder of this machine"),
    ],
)
def test_a_folder_that_is_searched_is_no_cache(
    folder: str, said: str, one: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("link").symlink_to("reports")
    assert main(["gate", "reports", "--cache", folder]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


def test_a_folder_in_the_checkout_is_no_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository(tmp_path / "work", {"full": CARRIED}))
    assert main(["gate", "reports", "--cache", ".audit-cache"]) == 2
    assert "lies in the git work tree" in capsys.readouterr().err
    assert not Path(".audit-cache").exists()


def test_a_short_key_is_refused(
    one: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(signed_files.KEY_VARIABLE, "guess")
    assert main(["gate", "reports", *CACHED]) == 2
    assert capsys.readouterr().err == "audit: AUDIT_CACHE_KEY has fewer than 16 characters\n"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_without_a_key_this_user_has_a_secret_that_no_other_may_read(
    one: Path,
    tmp_path: Path,
    judged: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(signed_files.KEY_VARIABLE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert [run(judged), run(judged)] == [["full"], []]
    secret = tmp_path / "state" / "audit" / "cache-key"
    assert (secret.stat().st_mode & 0o777, len(secret.read_bytes())) == (0o600, 64)
    secret.chmod(0o644)
    capsys.readouterr()
    assert main(["gate", "reports", *CACHED]) == 2
    assert "may be read by others; run chmod 600 on it" in capsys.readouterr().err
    secret.chmod(0o600)
    secret.write_bytes(b"")
    assert main(["gate", "reports", *CACHED]) == 2
    assert "holds no key of the cache" in capsys.readouterr().err
    secret.unlink()
    assert run(judged) == ["full"]  # another secret, and nothing of the old one is believed


def test_a_cache_that_takes_nothing_is_said_once_and_changes_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("full", "minimal"):
        study(tmp_path / "work" / "reports", name, DATA / f"{name}.json")
    monkeypatch.chdir(tmp_path / "work")
    fresh = main(["gate", "reports"]), capsys.readouterr().out
    Path("../cache").mkdir()
    for number in range(256):
        Path(f"../cache/{number:02x}").write_bytes(b"")
    assert (main(["gate", "reports", *CACHED]), (said := capsys.readouterr()).out) == fresh
    assert said.err.count("the cache takes no entry") == 1


@pytest.mark.slow
def test_many_processes_fill_one_cache_at_once(one: Path) -> None:
    words = [sys.executable, "-m", "audit", "gate", "reports", "--format", "json", *CACHED]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(2)]
    outputs = {process.communicate()[0] for process in running}
    outputs.add(subprocess.run(words, stdout=subprocess.PIPE, check=False).stdout)
    assert len(outputs) == 1
    assert not [path for path in entries(Path("../cache")) if path.suffix == ".part"]


def rows(capsys: pytest.CaptureFixture[str], *options: str) -> list[Any]:
    history._repository.cache_clear()
    main(["gate", "reports", "--format", "json", *options])
    return [(row["study"], row["slug"]) for row in json.loads(capsys.readouterr().out)["rows"]]


def test_looks_that_git_shows_are_seen_through_the_cache(
    tmp_path: Path,
    judged: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from test_earlier_looks import study as grown

    top = repository(tmp_path / "work", {})
    monkeypatch.chdir(top)
    file = top / "reports" / "grown" / "results.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(grown(8)), "utf-8")
    commit(top, "eight seeds")
    assert rows(capsys, *CACHED) == [("grown", "supported")]
    judged.clear()
    assert rows(capsys, *CACHED) == [("grown", "supported")]
    assert judged == []
    # A side branch on which the same file once had three seeds is merged: the bytes are the same.
    git(top, "switch", "-q", "--orphan", "side")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(grown(3)), "utf-8")
    commit(top, "three seeds")
    file.write_text(json.dumps(grown(8)), "utf-8")
    commit(top, "eight seeds")
    git(top, "switch", "-q", "main")
    git(top, "merge", "-q", "--allow-unrelated-histories", "-s", "ours", "-m", "both", "side")
    fresh = rows(capsys)
    assert rows(capsys, *CACHED) == fresh
    git(top, "switch", "-q", "side")
    fresh = rows(capsys)
    assert fresh == [("grown", "looks-not-recorded")]
    assert rows(capsys, *CACHED) == fresh
    judged.clear()
    assert rows(capsys, *CACHED) == fresh
    assert judged == []


def test_what_git_said_before_is_what_it_says_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = repository(tmp_path / "work", {"full": CARRIED, "quiet": DATA / "talk-to-solve.json"})
    full, quiet = (top / "reports" / name / "results.json" for name in ("full", "quiet"))

    def edit(file: Path) -> None:
        file.write_bytes(file.read_bytes() + b"\n")
        commit(top, "an edit")

    def side_branch() -> None:
        git(top, "switch", "-q", "-c", "side", "HEAD~1")
        edit(quiet)
        (top / "more.txt").write_text("x", "utf-8")
        commit(top, "more")
        git(top, "switch", "-q", "main")
        git(top, "merge", "-q", "-m", "merged", "side")

    def rename() -> None:
        git(top, "mv", "reports/full", "reports/moved")
        commit(top, "moved")

    def back() -> None:
        git(top, "mv", "reports/moved", "reports/full")
        git(top, "reset", "-q", "--hard", "HEAD~2")

    acts: list[Callable[[], None]] = [lambda: edit(full), lambda: edit(full), side_branch]
    acts += [lambda: print(git(top, "commit", "-q", "--allow-empty", "-m", "none"))]
    acts += [rename, back, lambda: edit(quiet)]
    files = signed_files.SignedFiles(tmp_path / "cache", KEY.encode())
    asked: list[str] = []
    real = history.listing_of

    def noting(path: str, present: bytes) -> history.Listing:
        asked.append(Path(path).parent.name)
        return real(path, present)

    monkeypatch.setattr(known_history, "listing_of", noting)
    taken = 0
    for act in [lambda: None, *acts]:
        act()
        history._repository.cache_clear()
        known = known_history.KnownHistory(files.read, files.write)
        present = list(top.rglob("results.json"))
        asked.clear()
        for file in present:
            data = file.read_bytes()
            assert known.listing_of(str(file), data) == real(str(file), data)
        taken += len(present) - len(asked)
    assert taken >= 4  # each edit of one file leaves what is known of the other


def test_a_policy_with_every_kind_of_value_has_a_plain_form() -> None:
    waiver = Waiver("unpinned", "", "why", "2027-03-01")
    judge = Judge(replace(Policy(), waivers=(waiver,), file=Path("audit.toml")), claims=())
    assert json.loads(json.dumps(plain(judge))) == plain(judge)
    with pytest.raises(TypeError, match="object has no plain form"):
        plain(object())


def test_documents_of_these_tests_are_what_they_say() -> None:
    assert document(CARRIED)["claims"]
    assert document(ONE_SEED)["claims"]
