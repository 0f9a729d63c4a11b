"""Where a study's own spread lies among published ones: shown on every surface, decides nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_studies import Document, analysed, scores, study

from audit.analysis import NotMeasured
from audit.cli.main import main
from audit.facts.training_kind import training_kind
from audit.published import published_arms
from audit.results import from_document

CONTROL, TREATMENT = (0.50, 0.53, 0.47), (0.55, 0.52, 0.58)
# Both arms have this variance, so it is the pooled one.
SD = 0.03


def place(document: Document) -> Any:
    return analysed(document).comparisons[0].published_place


def test_the_sd_is_that_of_the_scores_and_its_place_is_counted() -> None:
    found = place(scores(CONTROL, TREATMENT, 200))
    assert found.sd == pytest.approx(SD)
    arms = published_arms("post-training", 200)
    assert (found.typical.kind, found.typical.arms) == ("post-training", len(arms))
    assert found.above == sum(arm.sd < SD for arm in arms)


def test_outcomes_per_task_give_the_same_place_as_their_means() -> None:
    control = [[4] * n + [0] * (120 - n) for n in (60, 64, 56)]
    treatment = [[4] * n + [0] * (120 - n) for n in (66, 62, 70)]
    found = place(study(control, treatment))
    means = [[sum(row) / 480 for row in arm] for arm in (control, treatment)]
    assert found.sd == pytest.approx(np.sqrt(np.mean(np.var(means, axis=1, ddof=1))))
    assert found.typical.size == "100 to 500 tasks"


def said(**run: Any) -> Document:
    document = scores(CONTROL, TREATMENT, 200)
    for block in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        block.update(run)
    return document


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        ({}, None),
        ({"telemetry": {"loss_type": "dapo"}}, "RL"),
        ({"protocol": {"loss_type": "dr_grpo"}}, "RL"),
        ({"protocol": {"loss_type": "sigmoid"}}, "DPO"),
        ({"protocol": {"loss_type": "nll"}}, "SFT"),
        ({"protocol": {"loss_type": "of my own"}}, None),
        ({"training": [{"step": 1, "rewards": [0.0, 1.0]}]}, "RL"),
    ],
)
def test_the_kind_of_training_is_what_the_runs_say(run: Document, kind: str | None) -> None:
    document = said(**run)
    assert training_kind(from_document(document)) == kind
    assert place(document).typical.kind == (kind or "post-training")


def test_runs_of_two_kinds_are_of_none() -> None:
    document = said(protocol={"loss_type": "grpo"})
    document["seed_results"][0]["protocol"] = {"loss_type": "sigmoid"}
    assert training_kind(from_document(document)) is None


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (scores(CONTROL[:1], TREATMENT[:1], 200), "published spreads are of two trained arms"),
        (scores(CONTROL, TREATMENT, None), "the number of tasks is not recorded"),
    ],
)
def test_a_study_without_a_place_says_why(document: Document, reason: str) -> None:
    found = place(document)
    assert isinstance(found, NotMeasured)
    assert reason in found.reason


def test_every_surface_shows_the_place_and_no_finding_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(scores(CONTROL, TREATMENT, 200)), encoding="utf-8")
    assert main(["verify", str(path)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "among published 0.030 with evaluation noise: above" in words
    assert main(["verify", str(path), "--format", "json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    shown = file["verdicts"]["comparisons"][0]["published_spread"]
    assert (shown["sd"], shown["decides"]) == (pytest.approx(SD), False)
    for template in ("recipe.md.j2", "recipe.html.j2"):
        assert main(["render", str(path), "--template", template]) == 0
        assert "0.030 with evaluation noise: above" in capsys.readouterr().out
