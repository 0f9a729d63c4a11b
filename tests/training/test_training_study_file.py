from __future__ import annotations

from pathlib import Path

import pytest

from audit.errors import AuditError, InputError
from audit.training.arms import changed_fields, protocol, task_of
from audit.training.study_file import read_study

GOOD = """\
seeds = [1, 2]
[task]
name = "addition"
limit = 20
[arms.wide]
role = "method"
clip = "adaptive"
epsilon_low = 0.2
epsilon_high_max = 0.28
[arms.plain]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.28
"""


def read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return read_study(path)


def test_a_study_file_is_read_with_its_defaults(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD)
    study = read_study(path)
    assert study.method.name == "wide"
    assert [(arm.name, seed) for arm, seed in study.launched] == [
        ("wide", 1),
        ("plain", 1),
        ("wide", 2),
        ("plain", 2),
    ]
    assert study.training.updates == 200
    assert changed_fields(study) == ["clip", "epsilon_high", "epsilon_high_max"]
    wide, plain = (protocol(arm, study.training, study.evaluation) for arm in study.arms)
    assert wide["epsilon_high"] is None
    assert plain["epsilon_high_max"] is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds = [1, 2]", "", "seeds: missing"),
        ("seeds = [1, 2]", "seeds = []", "at least one"),
        ("seeds = [1, 2]", "seeds = [1, 1]", "listed twice"),
        ("seeds = [1, 2]", "seeds = [1, true]", "whole numbers"),
        ("seeds = [1, 2]", "seeds = [1, -2]", "whole numbers"),
        ("seeds = [1, 2]", "seed = [1, 2]", "seed: unknown key; did you mean 'seeds'"),
        ('name = "addition"', 'name = "sums"', "task.name: must be one of addition, gsm8k"),
        ('role = "method"', 'role = "best"', "arms.wide.role: must be one of"),
        ('role = "control"', 'role = "method"', "exactly one arm has role 'method', not 2"),
        ('clip = "fixed"', 'clip = "region"', "arms.plain.epsilon_low: means nothing"),
        ("epsilon_high = 0.28", "", "arms.plain.epsilon_high: missing"),
        ("epsilon_high = 0.28", 'epsilon_high = "wide"', "must be a number"),
        ("epsilon_high = 0.28", "epsilon_high = 0.28\nradius = 1.0", "radius: means nothing"),
        ("epsilon_high = 0.28", "epsilon_hi = 0.28", "did you mean 'epsilon_high'"),
        ("[task]", "[training]\nrounds = 0\n[task]", "training.rounds: must be above 0"),
        ("[task]", "[training]\nrounds = 1.5\n[task]", "must be a whole number"),
        ("[task]", "[training]\nuse_vllm = 1\n[task]", "must be true or false"),
        ("[task]", "[training]\ngroup_size = 1\n[task]", "needs two responses"),
        ("[task]", "[training]\nsteps_per_generation = 3\n[task]", "must divide"),
        ("[task]", "[training]\nrounds = 1\naccumulation = 4\n[task]", "cut short"),
        ("[task]", "[telemetry]\nlevel = 'all'\n[task]", "telemetry.level: must be one of"),
        ("[task]", "verified = 3\n[task]", "verified: must be a table"),
        ("[task]", "[[task]]", "task.name: missing"),
        ("[task]", "[task", "not TOML"),
    ],
)
def test_a_faulty_study_file_gets_one_line_with_the_place(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    text = str(caught.value)
    assert message in text
    assert "study.toml" in text
    assert "\n" not in text.split("not TOML")[0]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.toml: No such file"):
        read_study(tmp_path / "nothing.toml")


def test_an_unknown_setting_of_the_task_is_named(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD.replace("limit = 20", "limits = 20"))
    study = read_study(path)
    with pytest.raises(AuditError, match=r"task\.limits: unknown key; did you mean 'limit'"):
        task_of(study.task, str(path))


def test_a_date_in_toml_becomes_text(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD + "[verified]\ndate = 2026-09-18\nusd = 0.5\n")
    assert read_study(path).verified == {"date": "2026-09-18", "usd": 0.5}


def test_reading_a_study_file_loads_neither_torch_nor_trl() -> None:
    import subprocess
    import sys

    code = (
        "import sys, audit.training.study_file, audit.training.arms, audit.training.recorder, "
        "audit.training.ledger, audit.training.rewards, audit.training.decontaminate\n"
        "print([m for m in ('torch', 'trl', 'transformers', 'numpy') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert answer.stdout.strip() == "[]"
