"""The scripts that measure error rates, on a few studies: what is certain, and that they run."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "study_kinds",
    reason="benchmarks/ is not beside these tests: they run against an installed wheel",
)
import calibration
import past_the_gate
import power_kept
from calibration import Count
from calibration_cells import SECTIONS, Cell, cells
from judged import elsewhere, judge, read
from study_kinds import Recipe, copies_of_one_run, counted, edited, gain, seed_noise
from tricks import TRICKS, Trick

import audit
from audit.analysis import analyse
from audit.simulation import SEED_TASK_SD, TASK_EFFECT_SD, TASK_SD, success_chances

EVERY = list(cells())
# One cell of each section, and of each kind of claim where a section has several.
FIRST = list({(cell.section, *sorted(cell.most)): cell for cell in reversed(EVERY)}.values())
# In these cells nothing may be called, whatever the outcomes are.
CERTAIN = [
    cell for cell in EVERY if cell.most.get("called") == 0 and cell.expected.get("refused") == 1
]


def test_cells_tricks_and_designs_have_names_of_their_own() -> None:
    for names in (
        [cell.name for cell in EVERY],
        [trick.name for trick in TRICKS],
        [design.name for design in power_kept.DESIGNS],
    ):
        assert len(names) == len(set(names))


@pytest.mark.parametrize("cell", FIRST, ids=[cell.name for cell in FIRST])
def test_a_study_of_each_kind_counts_what_its_cell_expects(cell: Cell) -> None:
    events = cell.study(cell.generator())
    assert set(cell.expected) | set(cell.most) <= set(events)
    columns = next(section.columns for section in SECTIONS if section.title == cell.section)
    assert len(cell.design) == len(columns)


@pytest.mark.parametrize("cell", CERTAIN, ids=[cell.name for cell in CERTAIN])
def test_what_is_no_replication_is_refused_whatever_its_outcomes(cell: Cell) -> None:
    found = calibration.run_cell(cell, 2)
    assert found.rate("called") == 0
    assert found.rate("refused") == 1


@pytest.mark.parametrize(
    "trick", [t for t in TRICKS if t.refused], ids=[t.name for t in TRICKS if t.refused]
)
def test_a_trick_that_shows_in_the_file_never_passes(trick: Trick) -> None:
    assert past_the_gate.judge_trick(trick, 120, 3, None).now == 0


@pytest.mark.parametrize(
    "trick", [t for t in TRICKS if not t.refused], ids=[t.name for t in TRICKS if not t.refused]
)
def test_the_other_tricks_make_documents_that_keep_the_schema(trick: Trick) -> None:
    found = past_the_gate.judge_trick(trick, 40, 1, None)
    assert found.studies == sum(found.reasons.values()) == 1


@pytest.mark.parametrize("design", power_kept.DESIGNS, ids=[d.name for d in power_kept.DESIGNS])
def test_a_design_with_a_true_gain_makes_a_document_that_keeps_the_schema(
    design: power_kept.Design,
) -> None:
    small = replace(design.recipe, tasks=40, clusters=(4,) * 10 if design.recipe.clusters else ())
    read(design.make(small, np.random.default_rng(1)))


def test_runs_that_nobody_calls_trainings_are_refused_and_a_word_settles_it() -> None:
    design = next(d for d in power_kept.DESIGNS if "bare seed column" in d.name)
    document = design.make(design.recipe, np.random.default_rng(1))
    assert judge(document).slug == "runs-not-identified"
    document["runs_are"] = {"recipe": "trainings", "control": "trainings"}
    assert judge(document).slug != "runs-not-identified"


def test_three_files_that_share_the_controls_runs_are_one_family_of_claims() -> None:
    alone, joined = (next(t for t in TRICKS if t.name.endswith(e)) for e in ("out ids", "by id"))
    passed = {}
    for trick in (alone, joined):
        for number in count():
            first = trick.make(120, np.random.default_rng(number))[0]
            claim = analyse(read(first)).claims[0]
            if claim.supported and claim.p_value > 0.05 / 3:
                break
        passed[trick.name] = past_the_gate.together([first] * 3)[0]
    assert passed == {alone.name: True, joined.name: False}


def test_a_document_that_breaks_the_schema_is_no_study() -> None:
    document = counted(copies_of_one_run(Recipe(40), "1", np.random.default_rng(1)), 4)
    document["claims"] = [gain(direction="better")]
    with pytest.raises(ValueError, match="direction"):
        read(document)


def test_another_interpreter_judges_the_same_document_alike() -> None:
    honest, copied = (
        TRICKS[0].make(60, np.random.default_rng(3))[0],
        counted(copies_of_one_run(Recipe(60), "exact", np.random.default_rng(3)), 4),
    )
    with elsewhere(Path(sys.executable)) as other:
        assert Path(other.package) == Path(audit.__file__).parent
        for document in (honest, copied):
            assert other.judge(document) == judge(document)
        assert other.judge(honest, {"level": 0.5}) == judge(honest, {"level": 0.5})


def test_an_interrupted_calibration_goes_on_where_it_was(tmp_path: Path) -> None:
    state, wanted = tmp_path / "state.jsonl", [replace(c, studies=6) for c in CERTAIN[:2]]
    calibration.measure(state, wanted)
    whole = state.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 2 * calibration.BATCHES
    state.write_text("".join(lines[:2]), encoding="utf-8")
    calibration.measure(state, wanted)

    def counts(text: str) -> list[tuple[str, int, dict[str, float]]]:
        entries = map(json.loads, text.splitlines())
        return [(e["cell"], e["batch"], e["count"]["events"]) for e in entries]

    assert counts(state.read_text(encoding="utf-8")) == counts(whole)
    done = calibration.by_cell(calibration.recorded(state))
    assert {found.studies for found in done.values()} == {6}


def test_the_page_names_a_cell_that_calls_too_much() -> None:
    cell = next(cell for cell in EVERY if cell.most.get("called") == 0.055)
    right = Count(1000, {"called": 55, "refused": 0, "naive": 60})
    wrong = Count(1000, {"called": 90, "refused": 0, "naive": 60})
    assert calibration.page({cell.name: right})[1] == []
    text, outside = calibration.page({cell.name: wrong})
    assert len(outside) == 1
    assert outside[0].startswith(cell.section)
    assert f"* {outside[0]}" in text.splitlines()


def test_a_cell_with_a_known_reason_stands_apart() -> None:
    cell = next(cell for cell in EVERY if cell.known)
    text, outside = calibration.page({cell.name: Count(50, {"called": 20, "refused": 0})})
    assert outside == []
    assert cell.known in text


def test_a_cell_that_must_never_call_is_out_of_bounds_at_the_first() -> None:
    cell = CERTAIN[0]
    assert calibration.out_of_bounds(cell, Count(1000, {"called": 1}), "called")
    assert not calibration.out_of_bounds(cell, Count(1000, {"called": 0}), "called")


@pytest.mark.parametrize("number", [1, 7, 30])
def test_an_edited_copy_differs_in_one_answer_on_so_many_tasks(number: int) -> None:
    random = np.random.default_rng(number)
    run = random.integers(0, 5, 30)
    apart = np.abs(edited(run, 4, str(number), random) - run)
    assert apart.sum() == number
    assert apart.max() == 1


def test_a_swapped_copy_keeps_its_total() -> None:
    random = np.random.default_rng(2)
    run = random.integers(0, 5, 120)
    copy = edited(run, 4, "swapped", random)
    assert sorted(copy) == sorted(run)
    assert 0 < (copy != run).sum() <= 30


@pytest.mark.parametrize("rate", [0.05, 0.34, 0.8])
def test_chances_have_the_rate_as_their_mean_over_tasks(rate: float) -> None:
    spread = (TASK_SD**2 + TASK_EFFECT_SD**2 + SEED_TASK_SD**2) ** 0.5
    logits = np.random.default_rng(5).normal(0, spread, 200_000)
    assert success_chances(rate, logits).mean() == pytest.approx(rate, abs=0.003)
    wide = success_chances(np.array([rate, rate]), logits * 2, 2 * spread)
    assert wide.mean(axis=1) == pytest.approx([rate, rate], abs=0.004)


@pytest.mark.parametrize("shared", [-0.6, 0.0, 0.6])
def test_seeds_that_both_arms_share_correlate_as_they_should(shared: float) -> None:
    recipe = Recipe(seeds=(20_000, 20_000), sd=(0.02, 0.05), shared=shared)
    one, other = seed_noise(recipe, np.random.default_rng(6))
    assert np.corrcoef(one, other)[0, 1] == pytest.approx(shared, abs=0.03)
    assert (one.std(), other.std()) == pytest.approx((0.02, 0.05), rel=0.03)


def test_a_long_tail_keeps_mean_and_spread_and_leans_down() -> None:
    recipe = Recipe(seeds=(40_000, 3), sd=(0.05, 0.05), tails=(True, False))
    noise = seed_noise(recipe, np.random.default_rng(8))[0]
    assert noise.mean() == pytest.approx(0, abs=0.001)
    assert noise.std() == pytest.approx(0.05, rel=0.05)
    assert ((noise / noise.std()) ** 3).mean() == pytest.approx(-2, abs=0.3)


ROOT = Path(__file__).resolve().parent.parent


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of every row of the tables of a page."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[part.strip() for part in line.strip("|").split("|")] for line in lines]


def part_of(page: Path, heading: str) -> str:
    return page.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_the_documentation_has_the_error_rates_that_were_measured() -> None:
    table = rows_of(part_of(ROOT / "docs/statistics.md", "How often it is wrong, measured"))
    assert len(table) > 10
    for section, design, rate, _ in table[2:]:
        found = rows_of(part_of(ROOT / "benchmarks/calibration.md", section))
        assert any(rate in row for row in found), (section, design)


def test_the_documentation_has_the_tricks_as_they_were_measured() -> None:
    page = rows_of((ROOT / "benchmarks/past_the_gate.md").read_text(encoding="utf-8"))
    measured = {row[0]: row[:5] for row in page}
    assert set(measured) >= {trick.name for trick in TRICKS}
    table = rows_of(part_of(ROOT / "docs/verdicts.md", "What passes and should not"))
    assert len(table) > 10
    for row in table[2:]:
        assert row == measured[row[0]]
