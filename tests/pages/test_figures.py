"""Figures: the same bytes every time, described, and left out with a reason."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.pages.figures import FIGURES, Figure, canvas, draw
from audit.pages.figures.arm_looks import arm_looks
from audit.pages.figures.canvas import INK, PAPER, styled
from audit.pages.figures.drawing import same_drawing
from audit.pages.figures.seeds import spread_out
from audit.pages.recipe import Recipe
from audit.pages.variables import Variables, gather
from audit.policy import Policy
from audit.resources import resource
from audit.results import from_document

FULL = Path(__file__).resolve().parent.parent / "data" / "results" / "full.json"
NAMES = [name for name, _, _ in FIGURES]


def study(document: dict[str, Any]) -> Variables:
    return gather(from_document(document, "results.json"), Policy(), Recipe())


def shipped(name: str) -> Variables:
    return study(json.loads(resource(f"reports/{name}/results.json").read_text(encoding="utf-8")))


def evaluated_twice() -> dict[str, Any]:
    """Return the full file with every run evaluated at step 1 too."""
    document: dict[str, Any] = json.loads(FULL.read_text(encoding="utf-8"))
    for run in (
        *document["seed_results"],
        *(run for arm in document["controls"].values() for run in arm["seed_results"]),
    ):
        last = run["evaluation"]
        earlier = {**last, "checkpoint_step": 1, "correct": last["correct"][::-1]}
        run["evaluations"] = [*run.get("evaluations", ()), earlier]
    return document


@pytest.fixture(scope="module")
def full() -> tuple[Figure, ...]:
    return draw(study(evaluated_twice())).drawn


def test_a_full_file_has_every_figure(full: tuple[Figure, ...]) -> None:
    assert [figure.name for figure in full] == NAMES


def test_two_drawings_have_the_same_bytes(full: tuple[Figure, ...]) -> None:
    again = draw(study(evaluated_twice())).drawn
    assert [figure.svg for figure in again] == [figure.svg for figure in full]
    assert full[0].png() == again[0].png()


def test_a_users_settings_of_matplotlib_change_nothing(full: tuple[Figure, ...]) -> None:
    import matplotlib

    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        again = draw(study(evaluated_twice())).drawn
    assert [figure.svg for figure in again] == [figure.svg for figure in full]


def test_drawing_leaves_matplotlibs_settings_as_they_were() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    with styled():
        pass
    assert dict(matplotlib.rcParams) == before


def test_no_figure_needs_pyplot() -> None:
    import subprocess
    import sys

    code = (
        "import sys, json; from audit.pages import Job, render; "
        f"render(Job(({str(FULL)!r},))); assert 'matplotlib' in sys.modules; "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_a_figure_has_no_date_no_tool_and_no_address_to_load(full: tuple[Figure, ...]) -> None:
    for figure in full:
        text = figure.svg.decode()
        assert not re.search(r"<metadata|Created with|dc:date|<script|<image", text)
        links = re.findall(r'(?:href|src)="([^"]*)"', text)
        assert all(link.startswith("#") for link in links)


def test_figures_can_stand_in_one_document(full: tuple[Figure, ...]) -> None:
    ids = [i for figure in full for i in re.findall(r'\bid="([^"]*)"', figure.inline)]
    assert len(ids) == len(set(ids))
    for figure in full:
        own = set(re.findall(r'\bid="([^"]*)"', figure.inline))
        used = re.findall(r'(?:url\(|href=")#([^)"]*)', figure.inline)
        assert used
        assert set(used) <= own


def test_an_inline_figure_takes_the_pages_ink(full: tuple[Figure, ...]) -> None:
    for figure in full:
        assert INK not in figure.inline
        assert PAPER not in figure.inline
        assert 'role="img" aria-label="' in figure.inline


def test_a_description_tells_the_numbers(full: tuple[Figure, ...]) -> None:
    told = {figure.name: figure.alt for figure in full}
    assert "Round 1 +0.405 [0.305, 0.505]" in told["deltas"]
    assert "fixed-clip: 17 0.350, 18 0.425, 19 0.375; mean 0.383" in told["seeds"]
    assert "mean reward: chi-clip 0.542" in told["training"]
    assert "training seeds 0.000 [0.000, 0.072]" in told["variance"]
    assert "80% from" in told["power"]
    assert "seed 17 " in told["lottery"]
    assert "All 3 v 3 runs" in told["lottery"]


def test_the_mean_over_the_steps_of_a_claim_is_drawn_and_told() -> None:
    def told(document: dict[str, Any]) -> tuple[str, str]:
        (made,) = [f for f in draw(study(document)).drawn if f.name == "checkpoints"]
        return made.alt, made.svg.decode()

    document = evaluated_twice()
    alone, plain = told(document)
    assert alone == "accuracy of every run at steps 1, 2."
    document["claims"][0]["checkpoints"] = [1, 2]
    alt, drawn = told(document)
    (control,) = document["controls"].values()
    means = []
    for run in control["seed_results"]:
        right = run["evaluation"]["correct"]  # backwards at step 1: the mean is that of step 2
        means.append(f"{run['seed']} {sum(right) / sum(run['evaluation']['samples']):.3f}")
    assert f"Means over steps 1, 2: fixed-clip: {', '.join(means)}." in alt
    assert len(drawn) > len(plain)


def test_a_log_that_leaves_out_responses_still_has_its_curves() -> None:
    """The trainer's own means stand in for the rewards and audits that were not kept."""
    from audit.facts.curves import curves

    document = json.loads(
        resource("reports/addition-adaptive-clip/results.json").read_text(encoding="utf-8")
    )
    run = document["seed_results"][0]
    (curve,) = [
        c for c in curves(from_document(document)) if (c.arm, c.run) == (run["method"], "101")
    ]
    first, fourth = run["training"][:2]
    assert "rewards" not in fourth
    assert curve.steps[:2] == (1, 4)
    assert curve.rewards[0] == sum(first["rewards"]) / 128
    assert curve.rewards[1] == fourth["updates"][0]["metrics"]["reward"]
    assert curve.clipped[1] == fourth["updates"][1]["metrics"]["audit/clip_fraction"]
    assert curve.zero_groups[1] == fourth["zero_advantage_groups"] / 16


LEFT_OUT = {
    "adaptive-clip": {
        "seeds": "one training run",
        "lottery": "three training runs per arm",
        "checkpoints": "no two steps",
        "training": "no rewards were logged",
        "variance": "two training runs per arm",
        "power": "two training runs per arm",
    },
    "gppo-framework": {"lottery": "per-task outcomes", "checkpoints": "no two steps"},
    "addition-adaptive-clip": {},
    "addition-seed-lottery": {},
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_figure_without_its_data_says_why(name: str) -> None:
    figures = draw(shipped(name))
    titles = {title: stem for stem, title, _ in FIGURES}
    reasons = {titles[title]: why for title, why in figures.left_out}
    assert reasons.keys() == LEFT_OUT[name].keys()
    assert all(part in reasons[stem] for stem, part in LEFT_OUT[name].items())
    assert [f.name for f in figures.drawn] == [n for n in NAMES if n not in reasons]


def test_a_file_of_one_bare_run_has_no_figure() -> None:
    document = {
        "schema_version": 2,
        "method": "only",
        "seed_results": [{"seed": 1, "method_metrics": {"accuracy": 0.5}}],
    }
    figures = draw(study(document))
    assert figures.drawn == ()
    assert len(figures.left_out) == len(FIGURES)


def test_the_colours_are_told_apart_without_colour() -> None:
    from audit.pages.figures import canvas

    assert len(set(canvas.ARM_MARKERS)) == len(canvas.ARM_COLOURS)
    assert len({str(dash) for dash in canvas.ARM_DASHES}) == len(canvas.ARM_COLOURS)


OTHER = b"<!-- matplotlib 0.1 -->"


def by_another(svg: bytes) -> bytes:
    """Return a drawing as another version of matplotlib might make it."""
    svg = re.sub(rb"<!-- matplotlib [^ ]+ -->", OTHER, svg)
    svg = re.sub(rb'((?:id="|#)[a-z-]+-\d+)(?=[")])', rb"\1z", svg)
    return re.sub(rb"(?<= )\d+\.\d+(?= )", lambda m: b"%.6f" % (float(m[0]) + 0.9), svg)


def test_no_id_hashes_a_coordinate_that_processors_round_differently(
    full: tuple[Figure, ...],
) -> None:
    numbered = 0
    for figure in full:
        ids = re.findall(rb'\bid="([^"]+)"', figure.svg)
        assert not [one for one in ids if re.search(rb"[0-9a-f]{10}$", one)]
        own = [one for one in ids if one.startswith(figure.name.encode() + b"-")]
        used = re.findall(rb'(?:href="|url\()#([^")]+)', figure.svg)
        assert set(own) == set(used)
        numbered += len(own)
    assert numbered > 20


def test_a_drawing_by_another_version_is_the_same_within_a_line(full: tuple[Figure, ...]) -> None:
    for figure in full:
        other = by_another(figure.svg)
        assert other != figure.svg
        assert same_drawing(other, figure.svg)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"seed 17", b"seed 18"),
        (b"#0072b2", b"#0072b3"),
        (b"<g id=", b"<g class='x' id="),
        (b"M 1", b"M 9"),
    ],
)
def test_a_drawing_that_shows_something_else_is_another(
    full: tuple[Figure, ...], old: bytes, new: bytes
) -> None:
    svg = full[1].svg
    old = old if old in svg else b"seeds 18"
    edited = svg.replace(old, new, 1)
    assert edited != svg
    assert not same_drawing(edited, svg)
    assert not same_drawing(by_another(edited), svg)


def test_one_version_of_matplotlib_must_give_the_same_bytes(full: tuple[Figure, ...]) -> None:
    svg = full[0].svg
    moved = re.sub(rb"(?<=L )\d+\.\d+", lambda m: b"%.6f" % (float(m[0]) + 0.001), svg, count=1)
    assert moved != svg
    assert not same_drawing(moved, svg)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12).map(sorted),
    st.floats(0.01, 0.2),
)
def test_labels_keep_their_order_and_their_distance_and_move_no_more_than_they_must(
    wanted: list[float], gap: float
) -> None:
    placed = spread_out(wanted, gap)
    assert all(b - a >= gap - 1e-9 for a, b in pairwise(placed))
    assert sum(placed) == pytest.approx(sum(wanted))  # they move apart, not away
    if all(b - a >= gap for a, b in pairwise(wanted)):
        assert placed == pytest.approx(wanted)


def test_ten_seeds_are_all_named_in_the_order_of_their_points() -> None:
    (seeds,) = [f for f in draw(shipped("addition-seed-lottery")).drawn if f.name == "seeds"]
    named = re.findall(r">seeds? ([\d, ]+)<", seeds.svg.decode())
    results = json.loads(
        resource("reports/addition-seed-lottery/results.json").read_text(encoding="utf-8")
    )
    expected = {str(run["seed"]) for run in results["seed_results"]}
    assert {seed for label in named for seed in label.split(", ")} == expected


def test_an_arm_has_one_colour_and_one_label_in_every_figure() -> None:
    variables = shipped("addition-adaptive-clip")
    looks = arm_looks(variables)
    assert len({look.colour for look in looks.values()}) == len(looks)
    drawn = {figure.name: figure.svg.decode() for figure in draw(variables).drawn}
    others = [canvas.GREEN, canvas.VERMILION, canvas.INK, canvas.FAINT]
    for arm in variables.arms:
        look = looks[arm.name]
        if not arm.is_base:
            assert look.colour not in others
            for name in ("seeds", "training"):
                assert look.colour in drawn[name], (name, arm.name)
                assert look.label in drawn[name], (name, arm.name)
    arms = {look.colour for look in looks.values()} - {canvas.FAINT}
    for name in ("lottery", "variance", "power", "deltas"):  # of differences, not of arms
        assert not [colour for colour in arms if colour in drawn[name]], name


def test_no_figure_or_page_tells_the_power_for_the_difference_that_was_seen() -> None:
    variables = shipped("gppo-framework")
    told = {figure.name: figure.alt for figure in draw(variables).drawn}
    assert "to see +0.030" in told["power"]
    assert "seen" not in told["power"]
    assert variables.headline is not None
    assert variables.headline.needs.startswith("491 ")
