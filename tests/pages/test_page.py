"""The pages of the committed studies, what they must show, and ``--check``."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from audit.cli.main import main
from audit.errors import UsageError
from audit.pages import Job, render
from audit.pages.figures.drawing import same_drawing
from audit.pages.page import Page
from audit.resources import resource

REPORTS = Path(str(resource("reports")))
FULL = Path(__file__).resolve().parent.parent / "data" / "results" / "full.json"


@pytest.fixture(scope="module")
def adaptive() -> str:
    return render(Job((str(REPORTS / "adaptive-clip" / "results.json"),))).text


@pytest.fixture(scope="module")
def gppo() -> str:
    return render(Job((str(REPORTS / "gppo-framework" / "results.json"),))).text


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Return a copy of the committed studies that a test may spoil."""
    copy = tmp_path / "reports"
    shutil.copytree(REPORTS, copy)
    return copy


SECTIONS = ["Recipe", "Run", "Result", "Checks", "Climb", "Learned", "References"]

# What the printed page of the study has, cell by cell, and what is added to it.
ADAPTIVE = [
    "| Base, no training | 0.342 | [0.280, 0.410] | 0.580 | \N{EN DASH} | 0 | \N{EN DASH} |",
    "| 0.467 | [0.400, 0.540] | 0.700 | 1 | 40 | 12.8 |",
    "| 0.517 | [0.450, 0.590] | 0.742 | 1 | 40 | 7.6 |",
    "**+0.050 [0.000, 0.100]** over 120 tasks",
    r"run\_std 0.0087",
    "0 of 512 train rows dropped",
    "untrained 725 → baseline 413, recipe 542",
    "(fixed bound) 0.610, Recipe (sliding bound) 0.590 | -0.013 [-0.054, +0.031] | flat |",
    "(fixed bound) 0.573, Recipe (sliding bound) 0.508 | -0.065 [-0.117, -0.013] |",
    "(fixed bound) 0.467, Recipe (sliding bound) 0.517 | +0.050 [0.000, 0.100] | flat |",
    "a floor of 0.024",
    "0.053 with Student's quantile",
    "z = 3.1 (p = 0.0018), 4.8 floors of 0.024 as printed and 2.2 of 0.053",
    "no verdict: one training seed",
    "| no verdict: one training seed per arm, and the interval leaves the training variance out |",
    "Verified 2026-09-18",
    "torch 2.7.1",
    "20.4 minutes of training on 1 x L40S, \\$0.68",
    "One right keeps 0.28; all but one right gets 0.2114",
]


@pytest.mark.parametrize("shown", ADAPTIVE)
def test_the_adaptive_clip_page_shows(adaptive: str, shown: str) -> None:
    assert shown in adaptive


GPPO = [
    "+0.083 [-0.294, +0.460]",
    "flat on this benchmark: inconclusive, underpowered",
    "The mechanism never acted: gppo-framework clipped in 0 of the 36 response audits",
    "carry no information about its noise",
    "| To see +0.030 | 491 to more than 1000 seeds per arm in a new study |",
    "| 42 | 0.750 | 0.750 |",
    "| 43 | 0.500 | 0.750 |",
    "| Differences by seed, Student's t (decides nothing) | [-0.275, +0.442] |",
    "gppo-framework 23,762, grpo-control 16,276",
    "3 of 3 seeds start alike in both arms",
]


@pytest.mark.parametrize("shown", GPPO)
def test_the_gppo_page_shows(gppo: str, shown: str) -> None:
    assert shown in gppo


LOTTERY = [
    "on addition-50, mean of 5 steps, 80 to 100: **-0.005 [-0.016, +0.006]** over 300 tasks",
    "on addition-50, at step 100: **+0.007 [-0.016, +0.030]** over 300 tasks",
    "| fixed clip | 0.494 | [0.472, 0.516] | – | 10 |",  # noqa: RUF001
    """said "won" for 0, "lost" for 2 and "flat" for 8 of the 10 pairs of runs at one seed""",
    "and for 1, 9 and 90 of all 100 pairs of one run per arm",
    "| 204 | -0.037 | [-0.055, -0.019] | lost |",
    "| 203 | +0.038 | [0.007, 0.068] | won |",
    "| 209 | +0.015 | [-0.006, +0.035] | flat |",
    "excluded zero in 10% of them",
    "adaptive-clip 2110 of 16000 (13%)",
    "a ratio left its bounds in 1,000 of 1,000 such updates and in 1,000 of 1,000",
    "data shuffle seed 0;",
    "10 of 10 seeds start alike in both arms",
]


@pytest.mark.parametrize("template", ["recipe.md.j2", "recipe.html.j2"])
def test_the_lottery_page_tells_what_each_seed_would_have_reported(template: str) -> None:
    made = render(Job((str(REPORTS / "addition-seed-lottery" / "results.json"),), template))
    assert made.warnings == ()
    if template == "recipe.md.j2":
        assert [part for part in LOTTERY if part not in made.text] == []
    else:
        assert "<h3>One seed each</h3>" in made.text
        assert "and for 1, 9 and 90 of all 100 pairs of one run per arm" in made.text
        row = "<td>203</td><td>+0.038</td><td>[0.007, 0.068]</td><td>won</td>"
        assert row in made.text


def test_a_study_of_one_score_a_run_has_no_section_of_single_seeds(gppo: str) -> None:
    assert "### One seed each" not in gppo


def test_a_page_has_its_sections_in_order(adaptive: str, gppo: str) -> None:
    for page, word, empty in (
        (adaptive, "NO VERDICT, one training seed", ""),
        (gppo, "flat: INCONCLUSIVE, not claimed", "Climb"),  # one round: nothing to tell
    ):
        expected = [word, *(section for section in SECTIONS if section != empty)]
        assert re.findall(r"^## (.*)$", page, flags=re.MULTILINE) == expected


def test_the_word_a_conflict_and_one_seed_are_said_above_the_recipe(adaptive: str) -> None:
    before = adaptive[: adaptive.index("## Recipe")]
    assert before.splitlines()[2] == "## NO VERDICT, one training seed"
    assert "Why: recipe has one training run." in before
    assert "Round 3 repeats round 2 unchanged" in before
    assert "changed sign" in before


@pytest.mark.parametrize("study", ["adaptive-clip", "gppo-framework"])
def test_a_page_names_the_hash_of_its_data(study: str) -> None:
    import hashlib

    data = (REPORTS / study / "results.json").read_bytes()
    page = (REPORTS / study / "page.md").read_text(encoding="utf-8")
    assert f"sha256 `{hashlib.sha256(data).hexdigest()}`" in page


def test_every_figure_of_a_page_lies_beside_it_and_is_described(gppo: str) -> None:
    images = re.findall(r"!\[(.+)\]\((figures/[a-z]+\.svg)\)", gppo)
    assert [path for _, path in images] == [
        f"figures/{name}.svg" for name in ("deltas", "seeds", "training", "variance", "power")
    ]
    assert all(len(alt) > 40 for alt, _ in images)
    for _, path in images:
        assert (REPORTS / "gppo-framework" / path).is_file()


def test_a_figure_without_data_is_left_out_and_the_page_says_why(adaptive: str) -> None:
    assert adaptive.count("![") == 1
    assert "Figures left out: every training run's score" in adaptive
    assert "no rewards were logged by step" in adaptive


def test_the_committed_pages_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "--check", str(REPORTS), "-j", "1"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        ("page", "-Verdict: gain"),
        ("hash", "+Rendered by `audit render` from `results.json`, sha256"),
        ("figure", "the figure is not what the data gives"),
        ("no figure", "the figure is missing"),
        ("stray", "the page has no such figure"),
        ("no page", "there is no such page"),
        ("crlf", "differs in line endings"),
        ("prose", "+* \\*Another"),
        ("fleet", " studies, all of them gains"),
    ],
)
def test_what_was_edited_by_hand_is_caught(
    reports: Path, capsys: pytest.CaptureFixture[str], spoil: str, told: str
) -> None:
    study = reports / "adaptive-clip"
    page, fleet = study / "page.md", reports / "README.md"
    text = page.read_text(encoding="utf-8")
    if spoil == "page":
        page.write_text(text.replace("Verdict: **no verdict: one training seed**", "Verdict: gain"))
    elif spoil == "hash":
        results = study / "results.json"
        results.write_bytes(results.read_bytes() + b"\n")
    elif spoil == "figure":
        figure = study / "figures" / "deltas.svg"
        figure.write_bytes(figure.read_bytes().replace(b"#1b1f24", b"#1b1f25", 1))
    elif spoil == "no figure":
        (study / "figures" / "deltas.svg").unlink()
    elif spoil == "stray":
        (study / "figures" / "power.svg").write_text("<svg/>")
    elif spoil == "no page":
        page.unlink()
    elif spoil == "crlf":
        page.write_bytes(text.replace("\n", "\r\n").encode())
    elif spoil == "prose":
        prose = study / "recipe.toml"
        prose.write_text(
            prose.read_text(encoding="utf-8").replace("learned = [", "learned = ['*Another',")
        )
    else:
        words = fleet.read_text(encoding="utf-8")
        fleet.write_text(
            words.replace("studies, each judged by the same rule", "studies, all of them gains")
        )
    checked = reports if spoil == "fleet" else study
    assert main(["render", "--check", str(checked), "-j", "1"]) == 1
    assert told in capsys.readouterr().out


def test_a_folder_is_rendered_to_what_is_committed(reports: Path) -> None:
    studies = [recipe.parent for recipe in reports.glob("*/recipe.toml")]
    figures = [figure for study in studies for figure in study.glob("figures/*.svg")]
    for made in [*(study / "page.md" for study in studies), *figures, reports / "README.md"]:
        made.unlink()
    assert main(["render", str(reports), "-j", "2"]) == 0
    for path in sorted(p for p in REPORTS.rglob("*") if p.is_file()):
        again = (reports / path.relative_to(REPORTS)).read_bytes()
        if path.suffix == ".svg":
            assert same_drawing(path.read_bytes(), again)
        else:
            assert again == path.read_bytes()


def test_results_json_here_is_the_default(
    reports: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(reports / "adaptive-clip")
    assert main(["render"]) == 0
    out, err = capsys.readouterr()
    assert out == (REPORTS / "adaptive-clip" / "page.md").read_text(encoding="utf-8")
    assert "figures not written" in err


def test_a_stale_figure_is_removed_when_a_page_is_written(reports: Path) -> None:
    study = reports / "adaptive-clip"
    stray, own = study / "figures" / "power.svg", study / "figures" / "drawn-by-hand.svg"
    stray.write_text("<svg/>")
    own.write_text("<svg/>")
    assert main(["render", str(study / "results.json"), "-o", str(study / "page.md")]) == 0
    assert not stray.exists()
    assert own.exists()


def test_a_label_of_no_arm_is_a_warning(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = reports / "adaptive-clip"
    (study / "recipe.toml").write_text("[labels]\nbase = 'start'\nrecpie = 'new'\n")
    assert main(["render", str(study / "results.json")]) == 0
    captured = capsys.readouterr()
    assert "warning: labels: no arm is called 'recpie'; there are base, baseline" in captured.err
    assert captured.err.count("no arm is called") == 1


def test_an_arm_without_a_finished_run_is_not_said_to_have_one_seed(reports: Path) -> None:
    path = reports / "gppo-framework" / "results.json"
    results = json.loads(path.read_text())
    for run in results["seed_results"]:
        run |= {"status": "failed", "method_metrics": None}
    path.write_text(json.dumps(results))
    (path.parent / "recipe.toml").write_text("title = 'x'\n")
    assert "has one training seed." not in render(Job((str(path),))).text


def test_a_page_that_would_replace_a_folder_leaves_no_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").mkdir()
    study = str(REPORTS / "adaptive-clip" / "results.json")
    assert main(["render", study, "-o", str(tmp_path / "page.md")]) == 2
    assert "it is a folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_the_summary_of_a_crowded_study_is_below_64_kb(tmp_path: Path) -> None:
    document = json.loads((REPORTS / "gppo-framework" / "results.json").read_text())
    long = "long name " * 30
    for number in range(14):
        document["controls"][f"control {number} {long}"] = document["controls"]["grpo-control"]
    document["claims"] = [
        {"id": f"{n}", "metric": "accuracy", "direction": "gain", "against": "grpo-control"}
        for n in range(40)
    ]
    (tmp_path / "results.json").write_text(json.dumps(document))
    page = render(Job((str(tmp_path / "results.json"),), "summary.md.j2"))
    assert len(page.text.encode()) < 64_000
    assert "| untrained model |" in page.text


def test_a_users_own_template_gets_the_same_variables(tmp_path: Path) -> None:
    own = tmp_path / "own.md.j2"
    own.write_text("{{ headline.value | signed }} {{ method | code }} {{ arms | length }}\n")
    page = render(Job((str(REPORTS / "gppo-framework" / "results.json"),), str(own)))
    assert page.text == "+0.083 `gppo-framework` 3\n"
    assert page.files == {}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["render", "none.json"], "none.json"),
        (["render", "{study}", "--template", "none.md.j2"], "no template 'none.md.j2'"),
        (["render", "{study}", "--template", "x/none.md.j2"], "no such template"),
        (["render", "{study}", "{study}", "-o", "x.md"], "-o names one page"),
        (["render", "{reports}", "--recipe", "x.toml"], "--recipe is for one results file"),
        (["render", "{study}", "-j", "0"], "--jobs must be at least 1"),
        (["render", "{empty}"], "no study"),
        (["render", "{study}", "-o", "{study}/page.md"], "cannot be written"),
        (["render", "{study}", "-o", "{study}/new/page.md"], "cannot be written"),
        (["render", "{study}", "--check", "-o", "{empty}"], "cannot be read: Is a directory"),
        (["templates", "--show", "../pyproject.toml"], "no shipped template"),
    ],
)
def test_what_cannot_be_rendered_is_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    places = {
        "study": str(REPORTS / "adaptive-clip" / "results.json"),
        "reports": str(REPORTS),
        "empty": str(tmp_path),
    }
    assert main([argument.format(**places) for argument in arguments]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


def test_an_error_in_one_of_several_pages_names_its_file_and_line(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (reports / "gppo-framework" / "recipe.toml").write_text("title = 'x'\nclaim = '{{ gone }}'")
    assert main(["render", "--check", str(reports), "-j", "2"]) == 2
    err = capsys.readouterr().err
    assert f"{reports / 'gppo-framework' / 'recipe.toml'}:2: claim: 'gone' is undefined" in err


def test_a_page_that_fails_leaves_the_old_one(reports: Path) -> None:
    study = reports / "adaptive-clip"
    before = (study / "page.md").read_bytes()
    (study / "recipe.toml").write_text("claim = '{{ gone }}'")
    assert main(["render", str(study / "results.json"), "-o", str(study / "page.md")]) == 2
    assert (study / "page.md").read_bytes() == before


def test_the_reference_names_every_attribute_a_template_may_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from dataclasses import fields

    from audit.pages.reference import RECORDS
    from audit.pages.variables import Variables

    assert main(["templates"]) == 0
    text = capsys.readouterr().out
    hidden = {"source", "analysis", "report", "recipe"}
    for record in (*RECORDS, Variables):
        _, _, section = (record.__doc__ or "").partition("Attributes\n")
        for field in fields(record):
            if record is Variables and field.name in hidden:
                continue
            assert re.search(rf"\b{field.name}\b", section), (record, field.name)
            assert re.search(rf"^  .*\b{field.name}\b", text, flags=re.MULTILINE)


def test_a_page_does_not_call_a_clip_idle_whose_run_counted_it_acting(tmp_path: Path) -> None:
    """The few audits of a sparse log show no clipping; the run's own count does."""
    document = json.loads((REPORTS / "addition-adaptive-clip" / "results.json").read_text())
    for run in document["seed_results"]:
        for step in run["training"]:
            for update in step["updates"]:
                for audit in update.get("response_audits", ()):
                    audit["clip_fraction"] = audit["gated_clip_fraction"] = 0.0
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document))
    text = render(Job((str(path),), "recipe.md.j2")).text
    assert "never acted" not in text
    assert "adaptive-clip clipped in 500 of 500" in text
    for run in document["seed_results"]:
        run["clip_activity"] |= {"updates_that_clipped": 0, "gated_clipped_tokens": 0}
    path.write_text(json.dumps(document))
    text = render(Job((str(path),), "recipe.md.j2")).text
    assert "adaptive-clip clipped in 0 of the 500 updates that could have shown it" in text


@pytest.mark.parametrize("template", ["recipe.md.j2", "recipe.html.j2"])
def test_the_price_of_a_study_is_the_sum_of_its_runs_and_of_the_evaluations_of_the_base(
    template: str, tmp_path: Path
) -> None:
    document = json.loads(FULL.read_text(encoding="utf-8"))
    bases = document["base_evaluations"]
    runs = [
        *document["seed_results"],
        *(run for arm in document["controls"].values() for run in arm["seed_results"]),
    ]
    for base in bases:
        base["cost"]["usd"] = 0.1
    for run in runs:
        run["cost"]["usd"] = 1.0
    document["verified"]["usd"] = 5.0
    path = tmp_path / "results.json"

    def page() -> str:
        path.write_text(json.dumps(document))
        return render(Job((str(path),), template)).text.replace("\\$", "$")

    spent = "1.5 minutes of training on cpu, $6.30 with the evaluations of the base."
    assert f"{spent} Repeating it cost $5.00." in page()
    del bases[0]["cost"]["usd"]  # no sum without it, and no figure beside another
    assert "1.5 minutes of training on cpu, $5.00." in page()
    del document["verified"]
    assert "1.5 minutes of training on cpu." in page()
    del document["base_evaluations"]
    assert "1.5 minutes of training on cpu, $6.00." in page()
    del runs[0]["cost"]["minutes"]
    assert "repeated the study. Cost $6.00." in page()


def test_a_page_that_cannot_be_written_leaves_its_figures_as_they_were(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    Page("page.md", "old", {"figures/a.svg": b"old", "figures/b.svg": b"old"}).write(page)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    # A folder stands where the second figure is to lie.
    new = Page("page.md", "new", {"figures/a.svg": b"new", "figures": b"new"})
    with pytest.raises(UsageError, match="it is a folder"):
        new.write(page)
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before
