"""``audit gate`` over many studies: order, formats, parallel processes, changed files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from made_fleet import CARRIED, DATA, ONE_SEED, commit, document, git, repository, study

from audit.analysis import Analysis
from audit.cli.formats.gate_page import forest_svg
from audit.cli.main import main
from audit.finding import Finding
from audit.fleet import workers
from audit.fleet.files import FileResults
from audit.fleet.rows import Row, counts_of, in_order
from audit.views.claim_view import ClaimView, Improvement


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three studies that differ, one file that is cut off, one that is no results file."""
    study(tmp_path / "reports", "carried", CARRIED)
    study(tmp_path / "reports", "one-seed", ONE_SEED)
    study(tmp_path / "reports", "quiet", DATA / "talk-to-solve.json")
    (tmp_path / "reports" / "cut.json").write_text('{"schema_version": 2, "method": "m', "utf-8")
    (tmp_path / "reports" / "other.json").write_text("{}", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["gate", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_a_file_that_cannot_be_read_hides_none_of_the_others(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = gate(capsys, "reports", "--format", "json")
    found = json.loads(out)
    assert status == found["exit_status"] == 2
    assert {row["study"] for row in found["rows"]} == {"carried", "cut", "one-seed", "quiet"}
    assert found["skipped"] == [os.path.join("reports", "other.json")]  # noqa: PTH118
    assert found["counts"] | {"warnings": 0} == {
        "studies": 4,
        "claims": 4,
        "supported": 1,
        "refused": 3,
        "errors": 3,
        "warnings": 0,
        "not_read": 1,
    }
    assert "cut.json:1:" in err


def test_several_processes_print_what_one_prints(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = ("json", "markdown", "html", "github", "junit", "sarif")
    ran = {}
    for jobs in ("1", "3"):
        also = [word for name in made for word in ("--also", f"{name}={jobs}.{name}")]
        ran[jobs] = gate(capsys, "reports", "-j", jobs, *also)
    assert ran["1"] == ran["3"]
    for name in made:
        alone = (fleet / f"1.{name}").read_bytes()
        assert alone == (fleet / f"3.{name}").read_bytes()
        assert alone


def test_many_files_are_shared_by_the_processors_and_few_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "processors", lambda: 2)
    few = set(workers.each(process_of, range(workers.MANY), None, process_of))
    many = set(workers.each(process_of, range(workers.MANY + 1), None, process_of))
    assert few == {os.getpid()}
    assert os.getpid() not in many


def process_of(item: int) -> int:
    return os.getpid()


def dies_on_three(item: int) -> int:
    if item == 3:
        os._exit(9)
    return item * 10


def test_workers_import_nothing_from_the_working_folder(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {*sys.stdlib_module_names, "audit", "numpy", "scipy", "pandas", "jsonschema_rs"}:
        (fleet / f"{name}.py").write_text("open('imported.txt', 'w').write('x')\n", "utf-8")
    code = "import sys; from audit.cli.main import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-P", "-c", code, "gate", "reports", "-j", "3"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    done = subprocess.run(words, capture_output=True, env=environment, check=False)
    assert done.returncode == 2, done.stderr  # one file is cut off
    assert not (fleet / "imported.txt").exists()


@pytest.mark.parametrize("before", [{}, {"PYTHONSAFEPATH": "0"}])
def test_a_process_that_dies_loses_only_the_file_that_killed_it(
    monkeypatch: pytest.MonkeyPatch, before: dict[str, str]
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    for name, value in before.items():
        monkeypatch.setenv(name, value)
    found = list(workers.each(dies_on_three, range(6), 2, lambda item: -item))
    assert found == [0, 10, 20, -3, 40, 50]
    assert os.environ.get("PYTHONSAFEPATH") == before.get("PYTHONSAFEPATH")


def dies_on_twenty(item: int) -> tuple[int, int]:
    if item == 20:
        os._exit(9)
    return item, os.getpid()


def test_a_process_that_dies_among_many_files_costs_few_processes_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "_CHUNK", 4)
    monkeypatch.setattr(workers, "_CHUNKS_EACH", 2)
    found = list(workers.each(dies_on_twenty, range(80), 2, lambda item: (-item, 0)))
    assert [item for item, _ in found] == [-item if item == 20 else item for item in range(80)]
    # Two pools of two, four lists that were handed out, and singly the one that killed its process.
    assert len({process for _, process in found}) <= 2 * 2 + 4 + 4


def test_a_check_that_raises_fails_closed_and_hides_nothing(
    fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.fleet import judging
    from audit.views.claim_view import views_of as real

    def raising(analysis: Analysis, found: Iterable[Finding]) -> Iterator[ClaimView]:
        if "quiet" in analysis.study.results.name:
            raise ZeroDivisionError("by zero")
        return real(analysis, found)

    monkeypatch.setattr(judging, "views_of", raising)
    status, out, err = gate(capsys, "reports")
    assert status == 3
    assert "supported   carried" in out
    assert re.search(r"^NOT JUDGED  quiet\s+a check itself failed$", out, re.MULTILINE)
    assert "a check itself failed: ZeroDivisionError: by zero" in err


def view(word: str, improvement: Improvement | None = None) -> ClaimView:
    """One unclaimed comparison with this verdict."""
    return ClaimView(
        result="not claimed",
        sentence="recipe over control, accuracy",
        typed="recipe over control, accuracy",
        label="",
        slug="",
        estimate="+0.100",
        size="",
        runs="3 v 3",
        judged_by="",
        verdict=word,
        word=word,
        reason="",
        improvement=improvement,
    )


def test_rows_are_sorted_as_asked() -> None:
    rows = [
        Row(0, "b", "b", view("gain", Improvement(0.1, 0.0, 0.2, "tasks"))),
        Row(15, "a", "a", view("refused", Improvement(0.3, None, None, ""))),
        Row(25, "c", "c", None, "could not be read"),
        Row(0, "d", "d", view("loss", Improvement(-0.2, -0.3, -0.1, "tasks"))),
        Row(0, "e", "e", view("flat", Improvement(0.0, -0.1, 0.1, "tasks"))),
    ]
    orders = {
        order: "".join(row.study for row in in_order(rows, order))
        for order in ("worst", "verdict", "delta", "study")
    }
    assert orders == {"worst": "cabde", "verdict": "cadeb", "delta": "abedc", "study": "abcde"}


def test_an_order_is_kept_in_every_format(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = gate(capsys, "reports", "--sort", "study", "--format", "json")
    studies = [row["study"] for row in json.loads(out)["rows"]]
    assert studies == sorted(studies)
    for made in ("text", "markdown", "html"):
        _, page, _ = gate(capsys, "reports", "--sort", "study", "--format", made)
        table = page[max(page.find("| result"), 0) :]  # a comment has its claims above it
        places = [table.index(name) for name in dict.fromkeys(studies)]
        assert places == sorted(places)


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_loads_nothing_and_runs_nothing(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, page, _ = gate(capsys, "reports", "--format", "html")
    found = Elements(page).tags
    tags = [tag for tag, _ in found]
    assert tags.count("svg") == 1
    assert tags.count("tr") == 1 + 6  # three claims of one file, one of another, two without
    assert not {"script", "iframe", "object", "embed", "link", "img", "form"} & set(tags)
    for _, attributes in found:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "src", "xlink:href"):
                assert (value or "").startswith("#")


def test_a_hostile_name_stays_text_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has no file of this name")
    study(tmp_path, "<script>alert(1)<$x^2$>&amp;", CARRIED)
    _, page, _ = gate(capsys, str(tmp_path), "--format", "html")
    assert "script" not in [tag for tag, _ in Elements(page).tags]
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    assert "<script>alert(1)" not in page
    words = "".join(ET.fromstring(svg).itertext())
    study_in_the_picture = "alert(1)<$x^2$>&amp;"
    assert study_in_the_picture in words


def test_the_picture_is_the_same_bytes_each_time() -> None:
    rows = [
        Row(0, "a", "a", view("gain", Improvement(0.1, 0.05, 0.15, "tasks"))),
        Row(0, "\u4e00", "b", view("refused", Improvement(0.1, None, None, ""))),
        Row(0, "c", "c", None),
    ]
    first = forest_svg(rows)
    assert first == forest_svg(rows)
    assert first[1] == 1
    assert forest_svg(rows[2:]) == ("", 1)


def test_a_page_of_a_thousand_rows_stays_within_a_comment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from audit.cli.formats.gate_markdown import gate_markdown
    from audit.policy import Policy

    rows = [Row(0, f"study-{n}", str(n), view("refused")) for n in range(1500)]
    results = FileResults(())
    page = gate_markdown(rows, counts_of(rows, results), results, Policy())
    assert len(page.encode()) < 60_000
    assert "more lines left out" in page


def test_other_formats_are_written_in_the_same_run(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    also = ["--also", "json=r.json", "--also", "html=r.html", "--also", "markdown=r.md"]
    status, out, _ = gate(capsys, "reports", *also)
    assert out == gate(capsys, "reports")[1]
    assert document(fleet / "r.json")["exit_status"] == status
    for made, name in (("html", "r.html"), ("markdown", "r.md")):
        assert (fleet / name).read_text("utf-8") == gate(capsys, "reports", "--format", made)[1]


@pytest.mark.parametrize("key", ["seed_results", "claims"])
def test_a_file_whose_version_was_taken_out_fails_with_all_others(
    key: str, fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (fleet / "reports" / "cut.json").unlink()
    (fleet / "reports" / "other.json").write_text(f'{{"{key}": []}}', "utf-8")
    status, out, err = gate(capsys, "reports")
    assert status == 2
    assert "NOT JUDGED" in out
    assert f"other.json: no schema_version beside {key}" in err


def test_verify_names_what_it_passed_over_as_the_gate_does(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (fleet / "reports" / ".hidden").mkdir()
    (fleet / "reports" / "other.json").unlink()
    line = f"passed over: {os.path.join('reports', '.hidden')}: a hidden folder\n"  # noqa: PTH118
    assert line in gate(capsys, "reports")[1]
    main(["verify", "reports"])
    assert line in capsys.readouterr().out


@pytest.mark.parametrize("entry", ["json", "pdf=x", "json=", "=x"])
def test_an_unknown_further_format_is_wrong_usage(
    entry: str, fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = gate(capsys, "reports", "--also", entry)
    assert status == 2
    assert "--also takes FORMAT=FILE" in err


@pytest.mark.parametrize(
    "products",
    [
        ("--also", "json=a.out", "--also", "html=a.out"),
        ("--also", "json=a.out", "--also", "json=./a.out"),
        ("-o", "a.out", "--also", "json=a.out"),
    ],
)
def test_two_products_in_one_file_are_refused_before_anything_is_written(
    fleet: Path, capsys: pytest.CaptureFixture[str], products: tuple[str, ...]
) -> None:
    status, out, err = gate(capsys, "reports", *products)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "a.out: is named for two formats; give each a file of its own" in err
    assert not (fleet / "a.out").exists()


def test_the_bar_is_for_terminals_only(
    fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "[" not in gate(capsys, "reports/carried")[2]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "[##############################] 1 of 1 files" in gate(capsys, "reports/carried")[2]
    assert gate(capsys, "reports/carried", "--quiet")[2] == ""


@pytest.fixture
def branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose branch adds a one-seed study beside two that main has."""
    top = repository(tmp_path / "repository", {"old": CARRIED, "sick": ONE_SEED})
    git(top, "switch", "-q", "-c", "work")
    study(top / "reports", "n\u00e9w", ONE_SEED)
    commit(top, "a new study")
    git(top, "switch", "-q", "main")
    study(top / "reports", "later-on-main", ONE_SEED)
    commit(top, "main goes on")
    git(top, "switch", "-q", "work")
    monkeypatch.chdir(top)
    return top


def judged(out: str) -> set[str]:
    return {row["study"] for row in json.loads(out)["rows"]}


def test_only_what_a_branch_changed_is_judged(
    branch: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("--changed-since", "main", "--format", "json")
    assert judged(gate(capsys, "reports", *asked)[1]) == {"n\u00e9w"}
    monkeypatch.chdir(branch / "reports")
    assert judged(gate(capsys, ".", *asked)[1]) == {"n\u00e9w"}


def test_nothing_changed_is_clean(branch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = gate(capsys, "reports", "--changed-since", "work")
    assert status == 0
    assert out.startswith("0 studies, nothing to judge ")


def test_a_changed_policy_changes_every_verdict(
    branch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (branch / "audit.toml").write_text("min_seeds = 4\n", "utf-8")
    commit(branch, "a stricter policy")
    _, out, err = gate(capsys, "reports", "--changed-since", "main", "--format", "json")
    assert judged(out) == {"old", "sick", "n\u00e9w"}
    assert "the policy changed (audit.toml is new: min_seeds 3 to 4): all files are judged" in err
    (branch / "audit.toml").unlink()
    commit(branch, "and gone again")
    assert judged(gate(capsys, "reports", "--changed-since", "main", "--format", "json")[1]) == {
        "n\u00e9w"
    }


def test_a_branch_cannot_relax_the_policy_it_is_judged_by(
    branch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(branch, "switch", "-q", "main")
    (branch / "audit.toml").write_text("min_seeds = 5\n", "utf-8")
    commit(branch, "main asks for five seeds")
    git(branch, "switch", "-q", "-c", "relaxed")
    (branch / "audit.toml").unlink()
    commit(branch, "and this branch does not")
    status, out, err = gate(capsys, "reports/old", "--changed-since", "main", "--format", "json")
    assert "audit.toml is gone: min_seeds 5 to 3" in err
    (row,) = json.loads(out)["rows"]
    assert (status, row["slug"]) == (1, "too-few-seeds")
    assert gate(capsys, "reports/old")[0] == 0
    assert gate(capsys, "reports/old", "--policy-from", "main")[0] == 1


WAIVER = """
[[waivers]]
rule = "unpinned"
pointer = ""
reason = "the data set has no revisions"
expires = "2027-03-01"
"""
# The files of a change, None for one that is deleted, and what is said of it.
POLICIES: dict[str, tuple[dict[str, str | None], str]] = {
    "deleted": ({"audit.toml": None}, "audit.toml is gone: min_seeds 5 to 3"),
    "renamed": (
        {"audit.toml": None, "old.toml": "min_seeds = 5\n"},
        "audit.toml is gone: min_seeds 5 to 3",
    ),
    "moved": (
        {"audit.toml": None, "pyproject.toml": "[tool.audit]\nmin_seeds = 5\n"},
        "pyproject.toml is read in place of audit.toml",
    ),
    "loosened": ({"audit.toml": "min_seeds = 3\n"}, "audit.toml: min_seeds 5 to 3"),
    "waived": (
        {"audit.toml": f"min_seeds = 5\n{WAIVER}"},
        "audit.toml: waivers 0 waivers to 1 waiver",
    ),
    "broken": ({"audit.toml": "min_seeds = "}, "audit.toml: cannot be read"),
    "shadowed": (
        {"reports/audit.toml": "min_seeds = 3\n"},
        "reports/audit.toml is read in place of repository/audit.toml: min_seeds 5 to 3",
    ),
}


@pytest.mark.parametrize("how", POLICIES)
def test_whoever_touches_the_policy_is_judged_by_the_old_one(
    how: str, branch: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    git(branch, "switch", "-q", "main")
    (branch / "audit.toml").write_text("min_seeds = 5\n", "utf-8")
    commit(branch, "main asks for five seeds")
    git(branch, "switch", "-q", "-c", "touched")
    files, said = POLICIES[how]
    for name, text in files.items():
        (branch / name).unlink() if text is None else (branch / name).write_text(text, "utf-8")
    commit(branch, how)
    if how == "shadowed":  # by a policy nearer to the folder that the gate runs in
        monkeypatch.chdir(branch / "reports")
    path = "old" if how == "shadowed" else "reports/old"
    words = (path, "--changed-since", "main", "--policy-from", "main")
    status, out, err = gate(capsys, *words, "--format", "json")
    (row,) = json.loads(out)["rows"]
    assert (status, row["slug"]) == (1, "too-few-seeds")
    assert json.loads(out)["policy_change"] == said
    line = f"the policy changed ({said}): all files are judged, by audit.toml at main"
    assert line in " ".join(gate(capsys, *words)[1].split())
    assert line in err
    summary = gate(capsys, *words, "--format", "markdown")[1]
    assert "**The policy changed (" in summary


def test_a_missing_file_is_named_whatever_changed(
    branch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = gate(capsys, "reports/nowhere.json", "--changed-since", "main")
    assert status == 2
    assert "nowhere.json: cannot be read" in err


@pytest.mark.parametrize("revision", ["no-such-branch", "--help", "-O/etc/passwd", "a..b", ""])
def test_an_unknown_revision_is_wrong_usage(
    revision: str, branch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = gate(capsys, "reports", f"--changed-since={revision}")
    assert (status, out) == (2, "")
    assert err.startswith("audit: --changed-since: git knows no commit")


def test_unrelated_histories_are_wrong_usage(
    branch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(branch, "switch", "-q", "--orphan", "alone")
    git(branch, "commit", "-q", "--allow-empty", "-m", "nothing")
    git(branch, "switch", "-q", "work")
    status, _, err = gate(capsys, "reports", "--changed-since", "alone")
    assert status == 2
    assert "no merge base; fetch more history (in CI: fetch-depth: 0)" in err


def test_outside_a_repository_is_wrong_usage(
    fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(fleet.parent))
    status, out, err = gate(capsys, "reports", "--changed-since", "main")
    assert (status, out) == (2, "")
    assert "not a git repository" in err


def test_without_git_that_is_said(
    fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(fleet))
    status, _, err = gate(capsys, "reports", "--changed-since", "main")
    assert status == 2
    assert "git cannot be run" in err


def test_a_detached_report_keeps_its_findings_and_no_analysis() -> None:
    import audit

    report = audit.verify(audit.load(ONE_SEED))
    for located in (True, False):
        small = report.detached(located=located)
        assert small.found == (report.findings if located else report.found)
        assert small.analysis is None
        assert (small.name, small.sha256, small.exit_status) == (
            report.name,
            report.sha256,
            report.exit_status,
        )
