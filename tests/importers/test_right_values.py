"""Published figures that went wrong, brought over and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bringing import bring

from audit.analysis import Analysis, Floor, analyse
from audit.cli.main import main
from audit.errors import ImportRefused
from audit.importers.study import Layout
from audit.results import from_document


def judged(tmp_path: Path, text: str, **layout: Any) -> Analysis:
    path = tmp_path / "scores.csv"
    path.write_text(text, encoding="utf-8")
    document, _ = bring(path, layout=Layout(**layout))
    return analyse(from_document(document))


def test_duplicate_seeds_are_refused_on_the_way_in(tmp_path: Path) -> None:
    text = "arm,seed,accuracy\na,0,0.764\na,0,0.7708\na,1,0.7664\n"
    with pytest.raises(ImportRefused, match="arm a, seed 0 is there twice"):
        judged(tmp_path, text)


def test_five_greedy_repeats_of_the_base_give_their_floor(tmp_path: Path) -> None:
    repeats = [0.920, 0.905, 0.905, 0.915, 0.905]
    rows = [f"base,r{i},{value}" for i, value in enumerate(repeats)]
    text = "\n".join(["arm,run,accuracy", *rows, "a,x,0.91", "b,y,0.92"])
    analysis = judged(tmp_path, text, controls=("a",), base=("base",))
    floor = analysis.comparisons[0].floor
    assert isinstance(floor, Floor)
    assert floor.noise.run_std == pytest.approx(0.00707, abs=5e-6)
    assert floor.value == pytest.approx(0.0278, abs=5e-5)


def test_three_gains_over_a_fixed_control_have_a_wide_interval(tmp_path: Path) -> None:
    gains = {1: 0.554, 2: 0.335, 3: 0.294}
    lines = [f"{seed},{0.1},{round(0.1 + gain, 3)}" for seed, gain in gains.items()]
    analysis = judged(tmp_path, "\n".join(["seed,control,recipe", *lines]), controls=("control",))
    compared = analysis.comparisons[0]
    assert compared.delta == pytest.approx(0.39433, abs=1e-5)
    paired = compared.description.paired_t
    assert paired is not None
    assert (paired.low, paired.high) == pytest.approx((0.047, 0.742), abs=5e-4)
    assert min(pair.delta for pair in compared.description.pairs) < 0.30


def test_the_mean_of_the_gains_is_printed_with_its_interval_and_the_smallest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scores.csv"
    rows = "1,0.1,0.654\n2,0.11,0.445\n3,0.09,0.384\n"
    path.write_text("seed,control,recipe\n" + rows, encoding="utf-8")
    study = tmp_path / "results.json"
    said = ["--control", "control", "--seed-is", "training"]
    command = ["import", "auto", str(path), *said, "-o", str(study)]
    assert main(command) == 0
    capsys.readouterr()
    assert main(["verify", str(study)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "per seed 1 +0.554 2 +0.335 3 +0.294" in text
    assert "paired by seed +0.394 [0.047, 0.742] (p = 0.039) by Student's t" in text


def test_printed_scores_are_judged_where_the_evaluation_has_no_outcomes(tmp_path: Path) -> None:
    header = "arm,seed,benchmark,accuracy,n_samples"
    rows = [f"{arm},{seed},sums,{0.5 + seed / 100},100" for arm in "ab" for seed in (1, 2, 3)]
    analysis = judged(tmp_path, "\n".join([header, *rows]), controls=("a",))
    compared = analysis.comparisons[0]
    assert compared.seeds == (3, 3)
    assert compared.delta == 0
