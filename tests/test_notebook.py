"""At a prompt, in a notebook and in a test suite: short texts, frames, and a claim as a test."""

from __future__ import annotations

import json
import pickle
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.errors import InputError, UsageError
from audit.results import from_document
from audit.testing import assert_supported
from audit.views.study_view import TIMES

FULL = Path(__file__).resolve().parent / "data" / "results" / "full.json"
CLAIMED = "loss accuracy fixed-clip over chi-clip on addition"
REFUSED = "gain accuracy fixed-clip over chi-clip on addition"


@pytest.fixture(scope="module")
def results() -> audit.Results:
    return audit.load(FULL)


@pytest.fixture(scope="module")
def analysis(results: audit.Results) -> audit.Analysis:
    return audit.analyse(results, claims=[REFUSED])


def test_everything_is_one_short_line_at_a_prompt(
    results: audit.Results, analysis: audit.Analysis
) -> None:
    report = audit.verify(results)
    for shown in (results, report, analysis, *analysis.claims, *analysis.comparisons):
        assert "\n" not in repr(shown)
        assert len(repr(shown)) < 400
    assert repr(results).endswith(
        f"full.json: chi-clip, 3 seeds {TIMES} 2 arms, addition 10 tasks, tiny-adder>"
    )
    assert "checks passed" in repr(report)
    assert "2 claims, 1 supported" in repr(analysis)


def test_a_claim_is_the_line_of_the_gate(analysis: audit.Analysis) -> None:
    supported, refused = map(repr, analysis.claims)
    assert supported.startswith(
        "SUPPORTED  gain in accuracy of chi-clip over fixed-clip on addition"
    )
    assert "+0.425 [0.340, 0.510]   3 v 3 (A)" in supported
    assert refused.startswith("REFUSED  gain in accuracy of fixed-clip over chi-clip")
    assert refused.endswith("wrong-way")
    assert analysis.claims[0].delta == pytest.approx(0.425)


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_notebook_gets_a_table_whose_text_is_text(results: audit.Results) -> None:
    document = json.loads(FULL.read_text("utf-8"))
    name = "<script>alert(1)</script>&<b>"
    document["controls"][name] = document["controls"].pop("fixed-clip")
    for claim in document["claims"]:
        claim["against"] = name
    spoilt = from_document(document, "results.json")
    plain: list[Any] = [results, audit.verify(results), audit.analyse(results)]
    hostile: list[Any] = [spoilt, audit.verify(spoilt), audit.analyse(spoilt)]
    for one, other in zip(plain, hostile, strict=True):
        told = Tags(other._repr_html_())
        assert not told.open
        assert set(told.tags) <= {"p", "table", "tr", "th", "td"}
        assert set(Tags(one._repr_html_()).tags) == set(told.tags)
        assert "<script" not in other._repr_html_()
    assert "GAIN, supported" in plain[2]._repr_html_()


def test_what_shows_itself_still_pickles(results: audit.Results) -> None:
    again = pickle.loads(pickle.dumps(results))
    assert again == results


def test_frames_of_runs_tasks_and_claims_hold_the_numbers_of_the_file(
    results: audit.Results, analysis: audit.Analysis
) -> None:
    tasks = results.to_frame("tasks")
    first = results.runs[0].evaluations[0]
    own = tasks[(tasks.arm == "chi-clip") & (tasks.seed == 17) & (tasks.benchmark == "addition")]
    own = own[own.metric == "accuracy"]
    assert list(own.task) == list(first.task_ids or ())
    assert list(own.correct) == first.counts
    assert own.score.mean() == pytest.approx(first.mean)
    frame = analysis.to_frame()
    assert list(frame.supported[:2]) == [True, False]
    assert list(frame.reason[:2].fillna("")) == ["", "wrong-way"]
    assert len(frame) == len(analysis.claims) + len(analysis.comparisons) - 2
    row = frame.iloc[0]
    assert (row.arm, row.against, row.runs, row.word) == ("chi-clip", "fixed-clip", 3, "gain")
    assert row.low < row.delta < row.high
    assert list(results.to_frame().columns) == list(results.to_frame("runs").columns)
    with pytest.raises(ValueError, match="'runs' or 'tasks'"):
        results.to_frame("seeds")


def test_a_claim_about_what_is_not_there_has_its_row(results: audit.Results) -> None:
    frame = audit.analyse(results, claims=["gain speed chi-clip over nobody"]).to_frame()
    row = frame[frame.reason == "unknown-arm"].iloc[0]
    assert (row.metric, row.against) == ("speed", "nobody")
    assert row.isna()["delta"]


def test_a_document_is_read_as_strictly_as_its_file(results: audit.Results) -> None:
    document = json.loads(FULL.read_text("utf-8"))
    assert audit.load(document).runs == results.runs
    with pytest.raises(InputError, match="no schema_version"):
        audit.load({"method": "x"})
    with pytest.raises(UsageError, match="is no JSON"):
        audit.load(document | {"note": {1, 2}})
    found = audit.load(document | {"note": float("nan")})
    assert [defect.pointer for defect in found.defects] == ["/note"]


def test_a_folder_of_runs_is_read_as_an_import_reads_it(tmp_path: Path) -> None:
    study = audit.Study("tuned", control="plain", folder=tmp_path / "runs")
    for arm in ("tuned", "plain"):
        for seed in (1, 2):
            with study.run(arm, seed=seed) as run:
                run.evaluate("sums", ["a", "b", "c"], [1, 0, seed % 2], [1, 1, 1])
    found = audit.load(tmp_path / "runs")
    assert [arm.name for arm in found.arms] == ["tuned", "plain"]
    assert len(found.runs) == 4
    (tmp_path / "empty").mkdir()
    with pytest.raises(audit.AuditError):
        audit.load(tmp_path / "empty")


def test_a_supported_claim_passes(results: audit.Results) -> None:
    for given in (results, FULL, str(FULL), json.loads(FULL.read_text("utf-8"))):
        assert_supported(given, CLAIMED)


def test_a_refused_claim_fails_in_five_lines(results: audit.Results) -> None:
    with pytest.raises(AssertionError) as failed:
        assert_supported(results, REFUSED)
    lines = str(failed.value).splitlines()
    assert len(lines) == 5
    assert lines[0].endswith("on addition: wrong-way")
    assert "-0.425 [-0.510, -0.340]" in lines[1]
    assert [line.split()[0] for line in lines[2:]] == ["why", "next", "more"]
    assert "audit explain wrong-way" in lines[4]


def test_a_claim_of_what_is_not_there_fails_in_five_lines_too(results: audit.Results) -> None:
    with pytest.raises(AssertionError) as failed:
        assert_supported(results, "gain speed chi-clip over fixed-clip")
    assert len(str(failed.value).splitlines()) == 5
    with pytest.raises(UsageError):
        assert_supported(results, "it is better")
