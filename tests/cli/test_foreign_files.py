"""A file that is no results file gets one clear line and status 2, whatever it is."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.cli.main import main
from audit.importers import describe, fitting
from audit.results import VERSIONS

Verify = Callable[[Path], tuple[int, str, list[str]]]


def zipped(name: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(name, "{}")
    return data.getvalue()


NO_VERSION = "not a results file: no schema_version; it looks like "
FOREIGN = {
    "lm_eval_results.json": NO_VERSION + "lm-evaluation-harness output; `audit import lm-eval",
    "lm_eval_0.3.json": NO_VERSION + "lm-evaluation-harness output; `audit import lm-eval",
    "lm_eval_v0.json": NO_VERSION + "lm-evaluation-harness output; `audit import lm-eval",
    "lm_eval_samples.jsonl": "not a results file: it looks like lm-evaluation-harness output; "
    "`audit import lm-eval",
    "inspect_log.json": NO_VERSION + "an Inspect evaluation log; `audit import inspect",
    "trainer_state.json": NO_VERSION
    + "a Hugging Face Trainer's training log; `audit import trainer",
    "recipe_results.json": NO_VERSION + "the results of a whileai recipe; `audit import whileai",
    "answers_of_one_run.json": NO_VERSION + "one run's answers on one benchmark",
    "per_seed_summary.json": NO_VERSION + "a summary with lists of one value per seed",
    "one_seed_shard.json": NO_VERSION + "one run's answers on one benchmark",
    "marl_eval.json": NO_VERSION + "marl-eval output; `audit import marl-eval",
    "chart.vg.json": NO_VERSION + "a Vega chart, which holds no results",
    "lighteval_results.json": NO_VERSION + "lighteval results",
    "scores.csv": "not a results file: it looks like a long table of outcomes",
    "rows.jsonl": "not a results file: it looks like JSON Lines, one document a line",
    "list.json": NO_VERSION + "a long table of outcomes; `audit import long-table",
    "number.json": NO_VERSION + "a single JSON value",
    "unknown.json": "not a results file: no schema_version",
    "truncated.json": "the file looks cut off",
    "page.json": "not a results file: it looks like HTML or XML",
    "version_1.json": "schema_version 1 is unknown; this audit reads version "
    + " and ".join(str(version) for version in VERSIONS),
}
BYTES = {
    "empty": (b"", "the file is empty (0 bytes)"),
    "blank": (b" \n\t\n", "the file holds only white space"),
    "bom alone": (b"\xef\xbb\xbf", "the file holds only white space"),
    "lfs pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
        "run `git lfs pull`",
    ),
    "zip": (b"PK\x03\x04" + b"\0" * 30, "a zip archive, not JSON"),
    "inspect archive": (
        zipped("_journal/start.json"),
        "it looks like an Inspect evaluation log; `audit import inspect",
    ),
    "parquet": (b"PAR1\x15\x04", "a Parquet file, not JSON"),
    "gzip": (b"\x1f\x8b\x08\0", "a gzip archive, not JSON"),
    "table without a value": (
        b"arm,seed,loss\na,1,2.5\n",
        "it looks like a table in CSV; `audit import long-table",
    ),
    "utf-16": ('{"schema_version": 2}'.encode("utf-16"), "text in UTF-16"),
    "latin-1": (b'{"schema_version": 2, "method": "caf\xe9"}', "not UTF-8"),
    "deep": (b'{"schema_version":' + b"[" * 5000 + b"]" * 5000 + b"}", "nested deeper than"),
    "very deep": (b"[" * 200_000, "nested deeper than"),
    "two documents": (b'{"schema_version": 2}\n[]', "more text after the end"),
    "control character": (b'{"schema_version": 2, "method": "\x1b[31m"}', "not JSON"),
    "python": (b"{'schema_version': 2}", "not JSON"),
    "version as text": (b'{"schema_version": "2"}', "schema_version '2' is unknown"),
    "version true": (b'{"schema_version": true}', "schema_version True is unknown"),
    "version list": (b'{"schema_version": [2]}', "schema_version list is unknown"),
    "version NaN": (b'{"schema_version": NaN}', "is unknown"),
}


@pytest.fixture
def verify(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Verify:
    monkeypatch.chdir(tmp_path)

    def run(path: Path) -> tuple[int, str, list[str]]:
        status = main(["verify", str(path)])
        out, err = capsys.readouterr()
        return status, out, err.splitlines()

    return run


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_gets_one_line_that_says_what_it_is(
    name: str, verify: Verify, root: Path
) -> None:
    path = root / "tests" / "data" / "foreign" / name
    status, out, lines = verify(path)
    assert (status, out, len(lines)) == (2, "", 1)
    assert lines[0].startswith(f"audit: {path}")
    assert FOREIGN[name] in lines[0]


def test_every_foreign_sample_stands_in_the_table(root: Path) -> None:
    folder = root / "tests" / "data" / "foreign"
    assert {path.name for path in folder.iterdir() if path.suffix not in ("", ".md")} == set(
        FOREIGN
    )


@pytest.mark.parametrize("name", BYTES)
def test_bytes_that_are_no_results_file_get_one_line(
    name: str, verify: Verify, tmp_path: Path
) -> None:
    data, words = BYTES[name]
    path = tmp_path / "results.json"
    path.write_bytes(data)
    status, out, lines = verify(path)
    assert (status, out, len(lines)) == (2, "", 1)
    assert lines[0].startswith(f"audit: {path}")
    assert words in lines[0]


def test_every_real_file_gets_one_line_and_status_2(verify: Verify, shared: Path) -> None:
    files = [path for path in sorted((shared / "data/real").rglob("*")) if path.is_file()]
    assert len(files) > 30
    for path in files:
        if path.name == "LOG.md":
            continue
        status, out, lines = verify(path)
        assert (status, out, len(lines)) == (2, "", 1), path
        assert "it looks like" in lines[0] or path.parent.name == "broken", lines[0]


def test_the_refusal_names_the_importer() -> None:
    words = describe({"recipe": "a", "arms": {}}, "r.json")
    assert words.startswith("; it looks like the results of a whileai recipe")
    assert words.endswith("`audit import whileai r.json` brings it over")


KEYS = """
    recipe arms whileai version status eval results versions configs n-shot log_history global_step
    $schema run_id benchmark responses seed config per_task_x a_per_seed step_count doc_id resps
    config_general report_version tool files
""".split()  # noqa: SIM905 - a list of thirty words is read better as a text
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=15,
)


@settings(max_examples=200, deadline=None)
@given(document=JSON)
def test_sniffing_never_raises_on_values_of_the_wrong_type(document: object) -> None:
    assert isinstance(describe(document, "any.json"), str)
    found = fitting(document, "any.json")
    assert found is None or found.sniff(document, "any.json")


def test_our_own_report_is_not_taken_for_results(verify: Verify, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    source = tmp_path / "results.json"
    source.write_text(json.dumps({"schema_version": 2}), encoding="utf-8")
    assert main(["verify", str(source), "--format", "json", "--output", str(target)]) == 1
    _, _, lines = verify(target)
    assert lines[0].endswith("it looks like a report of audit itself")
