"""The page about training lists every setting with its default."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from audit.training.arms import changed_fields
from audit.training.study_file import Evaluating, Telemetry, Training, read_study

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training.md"
if not PAGE.is_file():
    pytest.skip("the documentation is not beside these tests", allow_module_level=True)
TEXT = PAGE.read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| `(.*?)` \|", TEXT.partition("## Every setting")[2], re.M))
TABLES = [t for t in re.findall(r"```toml\n(.*?)```", TEXT, re.S) if "[task]" in t and "[arms" in t]


@pytest.mark.parametrize("kind", [Training, Evaluating, Telemetry])
def test_every_setting_is_on_the_page(kind: type[Any]) -> None:
    assert {f.name for f in fields(kind)} <= set(ROWS)


def test_the_defaults_on_the_page_are_those_of_the_code() -> None:
    section: type[Any] = Training
    wrong = []
    for line in TEXT.partition("## Every setting")[2].splitlines():
        section = {"[evaluation]": Evaluating, "[telemetry]": Telemetry}.get(
            line.strip("`:"), section
        )
        if row := re.match(r"\| `(\w+)` \| `(.*?)` \|", line):
            name, shown = row.groups()
            if json.dumps(getattr(section(), name)) != shown:
                wrong.append((name, shown))
    assert wrong == []


@pytest.mark.parametrize("table", TABLES)
def test_the_studies_on_the_page_can_be_read(table: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(table)
    assert len(read_study(path).arms) == 2


def test_an_arm_with_training_of_its_own_is_read_as_the_page_says(tmp_path: Path) -> None:
    first, own = TABLES[0], re.findall(r"```toml\n(\[arms\.small-steps\].*?)```", TEXT, re.S)[0]
    path = tmp_path / "study.toml"
    path.write_text(first + own)
    study = read_study(path)
    assert study.arms[-1].training.learning_rate == 1e-4
    assert {"learning_rate", "iterations"} <= set(changed_fields(study))
