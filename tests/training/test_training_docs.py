"""The page about training lists every setting with its default."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from audit.training.arms import changed_fields
from audit.training.study_file import (
    BenchmarkSettings,
    Evaluating,
    Telemetry,
    Training,
    read_study,
)
from audit.training.tasks.addition import Addition
from audit.training.tasks.gsm8k import Gsm8k

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
    starts: dict[str, type[Any]] = {
        "`[task]` of `addition`": Addition,
        "`[task]` of `gsm8k`": Gsm8k,
        "`[training]`": Training,
        "`[evaluation]`": Evaluating,
        "`[[evaluation.benchmarks]]`": BenchmarkSettings,
        "`[telemetry]`": Telemetry,
    }
    section: type[Any] | None = None
    wrong, seen = [], set()
    for line in TEXT.partition("## Every setting")[2].splitlines():
        section = next((kind for start, kind in starts.items() if line.startswith(start)), section)
        if section and (row := re.match(r"\| `(\w+)` \| `(.*?)` \|", line)):
            name, shown = row.groups()
            seen.add(section)
            (found,) = (f for f in fields(section) if f.name == name)
            make = found.default_factory
            default = make() if callable(make) else found.default
            if json.dumps(default) != shown:
                wrong.append((name, shown))
    assert wrong == []
    assert seen == set(starts.values())


@pytest.mark.parametrize("table", TABLES)
def test_the_studies_on_the_page_can_be_read(table: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(table)
    assert len(read_study(path).arms) == 2


@pytest.mark.skipif(find_spec("trl") is None, reason="it trains: the extra 'train' is missing")
def test_the_script_on_the_page_writes_a_file_without_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import audit
    from training.studies import save_character_model

    (script,) = re.findall(r"```python\n(import json.*?)```", TEXT, re.S)
    smaller = {
        'STEPS, SEEDS = "my-model", 200, [1, 2, 3]': 'STEPS, SEEDS = "my-model", 16, [1, 2, 3]',
        "max_completion_length=64": "max_completion_length=8, use_cpu=True",
        "max_tokens=64": "max_tokens=8",
        "learning_rate=1e-5": "learning_rate=1e-2",
    }
    for old, new in smaller.items():
        assert old in script
        script = script.replace(old, new)
    monkeypatch.chdir(tmp_path)
    save_character_model(Path("my-model"))
    for name, count in (("train.jsonl", 20), ("heldout.jsonl", 5)):
        rows = [{"question": f"{n % 9 + 1}?", "answer": str(n % 9 + 1)} for n in range(count)]
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    exec(script, {})
    report = audit.verify(audit.load("results.json"))
    assert report.exit_status == 0, report.findings
    compared = audit.analyse(audit.load("results.json")).comparisons
    assert [(c.arm, c.against) for c in compared][:1] == [("adaptive-clip", "fixed-clip")]


def test_an_arm_with_training_of_its_own_is_read_as_the_page_says(tmp_path: Path) -> None:
    first, own = TABLES[0], re.findall(r"```toml\n(\[arms\.small-steps\].*?)```", TEXT, re.S)[0]
    path = tmp_path / "study.toml"
    path.write_text(first + own)
    study = read_study(path)
    assert study.arms[-1].training.learning_rate == 1e-4
    assert {"learning_rate", "iterations"} <= set(changed_fields(study))
