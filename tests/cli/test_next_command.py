"""``audit next``: stop, or train on? One screen, one word for loops, exit 0 with advice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit.cli.main import main
from audit.simulation import Cell, simulate
from audit.stats import SequentialPlan

Document = dict[str, Any]
CLAIM = {"id": "main", "direction": "gain", "metric": "accuracy", "arm": "recipe"}
CLAIM |= {"against": "control"}
PLAN = {"maximum": {"recipe": 12, "control": 12}, "target_effect": 0.05}
# Studies of a fixed stream: their number, and what the difference seen is.
SMALL_GAIN, SLIGHT_LOSS, LOSS, LARGE = (0.05, 0), (-0.02, 1), (-0.3, 0), (0.3, 0)


def study(seeds: int | tuple[int, int], kind: tuple[float, int], **more: Any) -> Document:
    """Return a study whose runs are numbered from 1 and cost a dollar and five minutes each."""
    delta, number = kind
    pair = seeds if isinstance(seeds, tuple) else (seeds, seeds)
    cell = Cell("arms", 120, (12, 12), (0.03, 0.03), 0.4, delta)
    random = cell.generator()
    for _ in range(number):
        simulate(cell, random)
    document: Document = simulate(cell, random).document()
    (control,) = document["controls"].values()
    control["seed_results"] = control["seed_results"][: pair[0]]
    document["seed_results"] = document["seed_results"][: pair[1]]
    for runs in (control["seed_results"], document["seed_results"]):
        for seed, run in enumerate(runs, start=1):
            run |= {"seed": seed, "cost": {"usd": 1.0, "minutes": 5.0}}
    return {**document, "claims": [CLAIM], **more}


@pytest.fixture
def advised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Document]:
    def ask(document: Document, *options: str, status: int = 0) -> Document:
        path = tmp_path / "results.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        assert main(["next", str(path), "--format", "json", *options]) == status
        answer: Document = json.loads(capsys.readouterr().out)
        return answer

    return ask


@pytest.fixture
def screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    def ask(document: Document, *options: str, status: int = 0) -> list[str]:
        path = tmp_path / "results.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        assert main(["next", str(path), *options]) == status
        return capsys.readouterr().out.splitlines()

    return ask


def words(lines: list[str]) -> str:
    """Return a screen as one line: where it wraps is no matter."""
    return " ".join(" ".join(lines).split())


Ask = Callable[..., Document]
Screen = Callable[..., list[str]]


def test_within_a_plan_one_trains_on_to_the_next_look(advised: Ask) -> None:
    answer = advised(study(4, SMALL_GAIN, plan=PLAN))
    (claim,) = answer["claims"]
    assert answer["advice"] == claim["advice"] == "train-on"
    assert (claim["look"]["seeds"], claim["next_seeds"]) == (4, 5)
    assert claim["more_runs"] == [
        {"arm": arm, "runs": 1, "seeds": [5], "usd": 1.0, "minutes": 5.0}
        for arm in ("recipe", "control")
    ]
    assert 0 < claim["chance_next_look"] < claim["chance_by_maximum"] < 1
    assert claim["effect"] == 0.05
    assert claim["futile_below"] == SequentialPlan(12).futility_bound(4, 0.05)


def test_the_chances_are_those_of_the_statistics(tmp_path: Path, advised: Ask) -> None:
    from audit.analysis import analyse
    from audit.analysis.design import Design
    from audit.results import from_document

    document = study(4, SMALL_GAIN, plan=PLAN)
    (claim,) = advised(document)["claims"]
    comparison = analyse(from_document(document)).claims[0].comparison
    assert comparison is not None
    design = comparison.design
    assert isinstance(design, Design)
    chances = SequentialPlan(12).chances(
        claim["delta"],
        claim["p_value"],
        4,
        effect=0.05,
        components=design.components.with_seed_sd(design.spread.sd),
        tasks=design.tasks,
        samples=design.samples,
    )
    assert claim["chance_next_look"] == pytest.approx(chances.next_look)
    assert claim["chance_by_maximum"] == pytest.approx(chances.by_end)


@pytest.mark.parametrize("direction", ["equivalent", "no loss"])
@pytest.mark.parametrize("plan", [PLAN, None])
def test_where_no_difference_is_claimed_the_chances_assume_none(
    advised: Ask, screen: Screen, direction: str, plan: Document | None
) -> None:
    claim = {**CLAIM, "direction": direction, "margin": 0.06}
    more = {"claims": [claim]} | ({} if plan is None else {"plan": plan})
    document = study(5, (0.0, 2), **more)
    (found,) = advised(document)["claims"]
    assert (found["advice"], found["effect"]) == ("train-on", 0.0)
    assert found["p_value"] > found["needs"]
    assert 0 <= found["chance_next_look"] <= found["chance_by_maximum"] <= 1
    assert found["chance_by_maximum"] > 0.2
    assert "if there is no difference" in words(screen(document))


def test_without_a_plan_the_one_later_look_has_its_chance(advised: Ask, screen: Screen) -> None:
    document = study(4, SMALL_GAIN, claims=[{**CLAIM, "target_effect": 0.05}])
    (found,) = advised(document)["claims"]
    assert found["chance_next_look"] == found["chance_by_maximum"] > 0.5
    assert f"at {found['next_seeds']} runs per arm, if the true difference" in words(
        screen(document)
    )


def test_a_claim_beyond_a_margin_is_held_against_that_margin(advised: Ask) -> None:
    document = study(4, SMALL_GAIN, plan=PLAN)
    (plain,) = advised(document)["claims"]
    document["claims"] = [{**CLAIM, "by": 0.02}]
    (beyond,) = advised(document)["claims"]
    assert beyond["p_value"] > plain["p_value"]
    assert beyond["needs"] == plain["needs"]


def test_the_screen_says_what_is_known_what_to_train_and_what_it_costs(screen: Screen) -> None:
    lines = screen(study(4, SMALL_GAIN, plan=PLAN))
    text = "\n".join(lines)
    assert lines[0].startswith("TRAIN ON  gain in accuracy of recipe over control on simulated")
    assert "look 4 of 4..12" in " ".join(lines[:2])
    assert "needs 0.0056; inconclusive" in text
    assert "  next look   5: one more run per arm, seed 5; 2.00 usd, 10 min" in lines
    assert " at look 5, " in text
    assert " by look 12, if the true" in text
    assert "futile below" in text
    assert max(map(len, lines)) <= 80


def test_before_the_first_look_one_trains_up_to_it(advised: Ask, screen: Screen) -> None:
    (claim,) = advised(study(2, SMALL_GAIN, plan=PLAN))["claims"]
    assert (claim["advice"], claim["next_seeds"]) == ("train-on", 4)
    assert [arm["seeds"] for arm in claim["more_runs"]] == [[3, 4], [3, 4]]
    assert "before look 4..12" in words(screen(study(2, SMALL_GAIN, plan=PLAN)))


def test_the_arm_that_is_behind_gets_the_seeds_of_its_partners_first(
    advised: Ask, screen: Screen
) -> None:
    document = study((4, 6), SMALL_GAIN, plan=PLAN)
    (claim,) = advised(document)["claims"]
    assert claim["next_seeds"] == 5
    (control,) = claim["more_runs"]
    assert (control["arm"], control["runs"], control["seeds"]) == ("control", 1, [5])
    assert "5: one more run of control, seed 5" in words(screen(document))


def test_uneven_maxima_grow_in_proportion(advised: Ask) -> None:
    plan = {**PLAN, "maximum": {"recipe": 12, "control": 6}}
    (claim,) = advised(study((3, 6), SMALL_GAIN, plan=plan))["claims"]
    assert (claim["look"]["seeds"], claim["next_seeds"]) == (6, 7)
    assert {arm["arm"]: arm["runs"] for arm in claim["more_runs"]} == {"recipe": 1, "control": 1}


def test_runs_without_recorded_costs_get_none(advised: Ask, screen: Screen) -> None:
    document = study(4, SMALL_GAIN, plan=PLAN)
    (control,) = document["controls"].values()
    for run in (*document["seed_results"], *control["seed_results"]):
        del run["cost"]
    (claim,) = advised(document)["claims"]
    assert claim["more_runs"][0]["usd"] is None
    assert not any("usd" in line for line in screen(document))


def test_a_supported_claim_stops(advised: Ask, screen: Screen) -> None:
    document = study(4, LARGE, plan=PLAN)
    assert advised(document)["advice"] == "supported"
    assert screen(document)[0].startswith("STOP, supported  gain in accuracy")


def test_a_difference_below_the_line_is_futile(advised: Ask, screen: Screen) -> None:
    document = study(6, SLIGHT_LOSS, plan=PLAN)
    (claim,) = advised(document)["claims"]
    assert claim["advice"] == "futile"
    assert claim["slug"] == "interval-reaches-zero"
    assert claim["delta"] < claim["futile_below"]
    assert "stopping is advice" in words(screen(document))


def test_without_a_target_nothing_is_futile_in_a_plan(advised: Ask) -> None:
    plan = {"maximum": PLAN["maximum"]}
    (claim,) = advised(study(6, SLIGHT_LOSS, plan=plan))["claims"]
    assert (claim["advice"], claim["futile_below"]) == ("train-on", None)
    (claim,) = advised(study(6, SLIGHT_LOSS, plan=plan), "--effect", "0.05")["claims"]
    assert claim["advice"] == "futile"


def test_the_effect_may_be_a_part_of_the_scale_and_one_that_is_none_is_an_error(
    advised: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = study(4, SMALL_GAIN, plan=PLAN)
    assert advised(document, "--effect", "4%") == advised(document, "--effect", "0.04")
    for text in ("0", "-1%", "much", "1e999"):
        assert main(["next", str(tmp_path / "results.json"), f"--effect={text}"]) == 2
        assert "--effect takes a size above 0" in capsys.readouterr().err


def test_the_gate_gives_the_same_advice_and_says_when_stopping_is_advised(
    advised: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aimed = {**PLAN, "target_effect": 0.25}  # a gain of 0.019 is below its line
    cases = {
        "futile": study(6, (0.0, 7), plan=aimed),
        "train-on": study(4, SMALL_GAIN, plan=PLAN),
        "supported": study(4, LARGE, plan=PLAN),
        "at-maximum": study(8, SLIGHT_LOSS, plan={**PLAN, "maximum": {"method": 6, "control": 6}}),
    }
    for word, document in cases.items():
        (claim,) = advised(document)["claims"]
        assert claim["advice"] == word
        main(["gate", str(tmp_path / "results.json"), "--format", "json"])
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        assert row["advice"] == word
        assert any("stopping is advice" in act for act in row["next"]) is (word == "futile")


def test_a_claim_that_only_holm_refuses_says_so_and_its_chances_count_its_rivals(
    advised: Ask, screen: Screen
) -> None:
    # Alone it is supported at this look; the other two, which no look will show, cost it that.
    document = study(6, (0.045, 1), plan=PLAN)
    rivals = [{**CLAIM, "id": name, "by": size} for name, size in (("b", 0.05), ("c", 0.045))]
    assert advised(document)["advice"] == "supported"
    document["claims"] = [CLAIM, *rivals]
    (claim, *_) = advised(document)["claims"]
    assert (claim["advice"], claim["slug"]) == ("train-on", "not-after-holm")
    assert claim["p_value"] < claim["needs"]
    assert "because p = " in words(screen(document))
    assert "after Holm's correction over the claims" in words(screen(document))
    document["claims"] = [CLAIM, rivals[0]]
    (fewer, *_) = advised(document)["claims"]
    assert claim["chance_next_look"] < fewer["chance_next_look"]


@pytest.mark.parametrize(("looked", "seeds"), [(["3", "4"], 5), (["7"], 5)])
def test_a_look_that_cannot_be_judged_needs_no_p_value(
    advised: Ask, looked: list[str], seeds: int
) -> None:
    options = [part for n in looked for part in ("--looked", n)]
    (claim,) = advised(study(seeds, SMALL_GAIN), *options, status=1)["claims"]
    assert (claim["advice"], claim["slug"]) == (None, "unplanned-looks")
    assert claim["needs"] is None


@pytest.mark.parametrize(
    "plan",
    [{}, {"maximum": {"recipe": 12}}, {**PLAN, "looks": [4, 8]}, {**PLAN, "claims": ["mian"]},
     {**PLAN, "claims": []}],
)  # fmt: skip
def test_a_plan_that_cannot_be_read_or_covers_another_claim_is_neither_advice_nor_a_way_out(
    advised: Ask, plan: Document
) -> None:
    (claim,) = advised(study(5, LARGE, plan=plan), status=1)["claims"]
    assert (claim["advice"], claim["slug"]) == (None, "beyond-plan")
    assert not claim["supported"]


def test_a_claim_that_a_plan_for_others_leaves_out_is_judged_by_one_look(advised: Ask) -> None:
    document = study(5, LARGE, plan={**PLAN, "claims": ["main"]})
    document["claims"] = [CLAIM, {**CLAIM, "id": "other", "by": 0.01}]
    planned, other = advised(document)["claims"]
    assert (planned["look"]["kind"], other["look"]["kind"]) == ("plan", "one-look")


def test_a_name_that_no_claim_has_is_met_with_the_nearest(
    advised: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    advised(study(4, SMALL_GAIN, plan=PLAN))
    for option, name in (("--metric", "acuracy"), ("--benchmark", "simulatd")):
        assert main(["next", str(tmp_path / "results.json"), option, name]) == 2
        assert f"no claim is about {name}; the claims are about " in capsys.readouterr().err


def test_where_the_opposite_is_shown_nothing_more_is_trained(advised: Ask) -> None:
    plan = {"maximum": PLAN["maximum"]}
    (claim,) = advised(study(6, LOSS, plan=plan))["claims"]
    assert (claim["advice"], claim["slug"]) == ("futile", "wrong-way")


def test_a_claim_of_a_loss_reads_the_difference_the_other_way(advised: Ask) -> None:
    claim = {**CLAIM, "direction": "loss"}
    losing = advised({**study(6, LOSS, plan=PLAN), "claims": [claim]})
    gaining = advised({**study(6, LARGE, plan=PLAN), "claims": [claim]})
    assert losing["advice"] == "supported"
    assert gaining["advice"] == "futile"


@pytest.mark.parametrize("seeds", [6, 8])
def test_at_the_end_of_a_plan_the_study_ends(advised: Ask, screen: Screen, seeds: int) -> None:
    plan = {**PLAN, "maximum": {"recipe": 6, "control": 6}}
    document = study(seeds, SLIGHT_LOSS, plan=plan)
    assert advised(document)["advice"] == "at-maximum"
    assert "ends at 6" in words(screen(document))


def test_without_a_plan_one_later_look_is_planned(advised: Ask, screen: Screen) -> None:
    document = study(3, SMALL_GAIN, claims=[{**CLAIM, "target_effect": 0.1}])
    (claim,) = advised(document)["claims"]
    assert claim["advice"] == "train-on"
    assert claim["next_seeds"] > 3
    assert 0 < claim["chance_next_look"] == claim["chance_by_maximum"] < 1
    text = words(screen(document))
    assert "as one later look (looked = [3]" in text
    assert "or a new study with a plan: audit plan" in text


def test_after_a_later_look_without_a_plan_the_study_ends(advised: Ask) -> None:
    document = study(5, SMALL_GAIN)
    answer = advised(document, "--looked", "3")
    assert answer["claims"][0]["look"]["kind"] == "after-unplanned-look"
    assert answer["advice"] == "at-maximum"


def test_where_tasks_are_what_is_missing_seeds_are_not_advised(
    advised: Ask, screen: Screen
) -> None:
    document = study(3, SMALL_GAIN, claims=[{**CLAIM, "target_effect": 0.001}])
    assert advised(document, status=1)["advice"] is None
    assert "with fewer no number of seeds is enough" in words(screen(document, status=1))


def test_one_seed_is_told_to_train_more(advised: Ask) -> None:
    (claim,) = advised(study(1, SMALL_GAIN))["claims"]
    assert (claim["advice"], claim["next_seeds"]) == ("train-on", 3)
    assert [arm["seeds"] for arm in claim["more_runs"]] == [[2, 3], [2, 3]]


def test_what_more_runs_cannot_mend_gets_no_advice(advised: Ask, screen: Screen) -> None:
    document = study(4, SMALL_GAIN, plan=PLAN, launched_seeds={"recipe": [1, 2, 3, 4, 5, 6]})
    answer = advised(document, status=1)
    assert answer["advice"] is None
    assert answer["claims"][0]["slug"] == "seeds-not-listed"
    assert "list every launched seed" in words(screen(document, status=1))


def test_a_loop_trains_while_any_claim_can_gain_by_it(advised: Ask) -> None:
    document = study(4, SMALL_GAIN, plan=PLAN)
    document["claims"] = [CLAIM, {**CLAIM, "id": "other", "direction": "loss"}]
    answer = advised(document)
    assert [claim["advice"] for claim in answer["claims"]] == ["train-on", "futile"]
    assert answer["advice"] == "train-on"
    only = advised(document, "--metric", "accuracy", "--benchmark", "simulated")
    assert len(only["claims"]) == 2


def test_a_file_without_a_claim_needs_one(screen: Screen) -> None:
    document = study(4, SMALL_GAIN, plan=PLAN)
    del document["claims"]
    assert screen(document, status=2) == []
    assert screen(document, "--claim", "gain accuracy method over control")


@pytest.mark.parametrize("wrong", [["--effect", "0"], ["--level", "2"], ["--looked", "0"]])
def test_numbers_that_make_no_sense_are_status_2(screen: Screen, wrong: list[str]) -> None:
    screen(study(4, SMALL_GAIN), *wrong, status=2)


def test_github_gets_a_notice_with_its_text_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = study(4, SMALL_GAIN, plan=PLAN)
    document["method"] = "50%: a,b"
    document["claims"] = [{**CLAIM, "arm": "50%: a,b"}]
    document["plan"] = {**PLAN, "maximum": {"method": 12, "control": 12}}
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main(["next", str(path), "--format", "github"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::notice title=TRAIN ON  gain in accuracy of 50%25%3A a%2Cb over ")
    assert "%0Anext look   5: " in line


def test_it_loads_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(study(4, SMALL_GAIN, plan=PLAN)), encoding="utf-8")
    heavy = ("pandas", "statsmodels", "matplotlib", "torch", "scipy", "audit.rules")
    code = (
        "import sys; from audit.cli.main import main; "
        f"main(['next', {str(path)!r}]); "
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
