"""Any trainer of TRL is recorded by one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.errors import UsageError
from audit.recording import RecordedRun
from audit.run_record import read_record
from audit.schema import schema_faults
from audit.training.callback import AuditCallback
from training.studies import save_character_model

STEPS = 3
TEXTS = [f"{n} plus {n} is {2 * n}." for n in range(8)]
PAIRS = [
    {"prompt": f"{n}+{n}=", "chosen": f"{2 * n}", "rejected": f"{2 * n + 1}"} for n in range(8)
]
PROMPTS = [{"prompt": f"{n}+{n}="} for n in range(8)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "characters"
    save_character_model(folder)
    return folder


def evens(completions: list[str], **_: Any) -> list[float]:
    return [float(len(text) % 2 == 0) for text in completions]


def trainer_of(kind: str, model: Path, folder: Path, seed: int = 1, **changes: Any) -> Any:
    """Return a trainer of TRL over a tiny model, as a user would build it."""
    import trl
    import trl.experimental.online_dpo as online_dpo
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from audit.training.arguments import activation_checkpointing

    rows = {"SFT": [{"text": text} for text in TEXTS], "DPO": PAIRS}.get(kind, PROMPTS)
    home = online_dpo if kind == "OnlineDPO" else trl
    own = {
        "GRPO": {"num_generations": 4, "max_completion_length": 4},
        "RLOO": {"num_generations": 4, "max_completion_length": 4},
        "OnlineDPO": {"max_new_tokens": 4},
    }.get(kind, {})
    args = getattr(home, f"{kind}Config")(
        output_dir=str(folder),
        seed=seed,
        max_steps=STEPS,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        bf16=False,
        use_cpu=True,
        disable_tqdm=True,
        **activation_checkpointing(False),
        **own,
    )
    changes = {**({"reward_funcs": evens} if own else {}), **changes}
    return getattr(home, f"{kind}Trainer")(
        model=AutoModelForCausalLM.from_pretrained(model),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=AutoTokenizer.from_pretrained(model, padding_side="left"),
        **changes,
    )


def scored(study: audit.Study, arm: str, seed: int) -> None:
    """Give a finished run the evaluation without which a training log is no result."""
    study.evaluate(arm, seed, "sums", ["a", "b"], [seed % 2, 1], samples=2)


def runs_of(study: audit.Study) -> list[Any]:
    document = study.document()
    assert schema_faults(document) == []
    found: list[Any] = document["seed_results"]
    return found


@pytest.mark.parametrize("kind", ["GRPO", "RLOO", "OnlineDPO", "SFT", "DPO"])
def test_one_line_records_a_training(kind: str, model: Path, tmp_path: Path) -> None:
    study = audit.Study("tuned", folder=tmp_path / "runs")
    for seed in (1, 2):
        trainer = trainer_of(kind, model, tmp_path / "out", seed)
        trainer.add_callback(AuditCallback(study, "tuned"))
        trainer.train()
        scored(study, "tuned", seed)
    first, second = runs_of(study)
    assert (first["seed"], second["seed"]) == (1, 2)
    assert [step["step"] for step in first["training"]] == [1, 2, 3]
    history = [row for row in trainer.state.log_history if "loss" in row]
    logged = [step["updates"][0]["metrics"] for step in second["training"]]
    for name in ("loss", "grad_norm", "learning_rate"):
        assert [row[name] for row in logged] == [row[name] for row in history]
    assert not any("runtime" in name or "step_time" in name for row in logged for name in row)
    assert first["initial_parameters_sha256"] == second["initial_parameters_sha256"]
    assert first["final_parameters_sha256"] != first["initial_parameters_sha256"]
    assert first["final_parameters_sha256"] != second["final_parameters_sha256"]
    assert first["identified_by"] == "trainer-record"
    assert first["environment"]["packages"]["trl"]
    assert first["device"] == "cpu"
    assert first["cost"]["minutes"] > 0


def record_of(study: audit.Study) -> dict[str, Any]:
    (path,) = study.folder.glob("*.run.jsonl")
    first: dict[str, Any] = json.loads(path.read_text().splitlines()[0])
    return first


def test_the_settings_name_the_trainer_its_model_and_data_and_no_place(
    model: Path, tmp_path: Path
) -> None:
    from peft import LoraConfig

    study = audit.Study("tuned", folder=tmp_path / "runs")
    adapter = LoraConfig(r=2, target_modules=["q_proj"])
    trainer = trainer_of("SFT", model, tmp_path / "out", peft_config=adapter)
    trainer.add_callback(AuditCallback(study, "tuned"))
    trainer.train()
    config = record_of(study)["config"]
    assert config["trainer"] == "SFT"
    assert config["learning_rate"] == 1e-2
    assert config["max_steps"] == STEPS
    assert config["model"]["name"] == model.name
    assert config["model"]["trained_parameters"] < config["model"]["parameters"]
    assert config["adapter"]["r"] == 2
    assert config["train_rows"] == len(TEXTS)
    assert str(tmp_path) not in json.dumps(config)


def test_arms_that_differ_in_one_setting_differ_in_it_alone(model: Path, tmp_path: Path) -> None:
    study = audit.Study("quick", control="slow", folder=tmp_path / "runs")
    for arm, rate in (("quick", 1e-2), ("slow", 1e-4)):
        for seed in (1, 2):
            trainer = trainer_of("SFT", model, tmp_path / arm, seed)
            trainer.args.learning_rate = rate
            trainer.add_callback(AuditCallback(study, arm))
            trainer.train()
            scored(study, arm, seed)
    assert study.document()["change"]["fields"] == ["learning_rate"]


def test_a_run_begun_outside_is_not_ended_and_takes_evaluations(
    model: Path, tmp_path: Path
) -> None:
    study = audit.Study("tuned", folder=tmp_path / "runs")
    trainer = trainer_of("DPO", model, tmp_path / "out")
    with study.run("tuned", seed=trainer.args.seed, config={"beta": 0.1}) as run:
        run.evaluate("sums", ["a", "b"], [0, 1], samples=2, step=0)
        trainer.add_callback(AuditCallback(run))
        trainer.train()
        run.evaluate("sums", ["a", "b"], [1, 2], samples=2)
    document = study.document()
    (only,) = document["seed_results"]
    assert only["evaluation"]["correct"] == [1, 2]
    assert document["base_evaluations"][0]["evaluation"]["correct"] == [0, 1]
    assert only["parameters_changed"]


def test_what_ends_a_training_is_its_failure(model: Path, tmp_path: Path) -> None:
    def broken(completions: list[str], **_: Any) -> list[float]:
        raise RuntimeError("the judge is gone")

    study = audit.Study("tuned", folder=tmp_path / "runs")
    trainer = trainer_of("GRPO", model, tmp_path / "out", reward_funcs=broken)
    run = study.run("tuned", seed=1)
    trainer.add_callback(AuditCallback(run))
    with pytest.raises(RuntimeError, match="judge"), run:
        trainer.train()
    assert run.path is not None
    status, reason = read_record(run.path, "").status
    assert status == "failed"
    assert str(reason).startswith("RuntimeError: the judge is gone")


def test_a_training_that_goes_on_from_a_checkpoint_says_so(model: Path, tmp_path: Path) -> None:
    study = audit.Study("tuned", folder=tmp_path / "runs")
    trainer = trainer_of("SFT", model, tmp_path / "out")
    trainer.args.save_strategy, trainer.args.save_steps = "steps", 2
    trainer.train()
    trainer.add_callback(AuditCallback(study, "tuned"))
    trainer.train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-2"))
    assert record_of(study)["config"]["resumed_from_step"] == 2
    scored(study, "tuned", 1)
    (only,) = runs_of(study)
    assert [step["step"] for step in only["training"]] == [3]


def test_the_weights_are_those_of_a_training_without_the_record(
    model: Path, tmp_path: Path
) -> None:
    from audit.training.parameters import parameters_sha256

    study = audit.Study("tuned", folder=tmp_path / "runs")
    plain = trainer_of("GRPO", model, tmp_path / "out")
    plain.train()
    recorded = trainer_of("GRPO", model, tmp_path / "out")
    recorded.add_callback(AuditCallback(study, "tuned"))
    recorded.train()
    scored(study, "tuned", 1)
    (only,) = runs_of(study)
    assert only["final_parameters_sha256"] == parameters_sha256(plain.model)


def test_the_audited_trainer_puts_its_telemetry_into_the_record(
    audited: Any, tmp_path: Path
) -> None:
    study = audit.Study("tuned", folder=tmp_path / "runs")
    trainer = audited(callbacks=[AuditCallback(study, "tuned")])
    trainer.train()
    scored(study, "tuned", trainer.args.seed)
    (only,) = runs_of(study)
    wanted = json.loads(json.dumps(trainer.record()))
    assert {name: only[name] for name in wanted} == wanted
    assert only["initial_parameters_sha256"] == trainer.initial_parameters_sha256


def test_a_study_needs_an_arm_and_a_run_has_one(tmp_path: Path) -> None:
    study = audit.Study("tuned", folder=tmp_path / "runs")
    with pytest.raises(UsageError, match="a study and an arm"):
        AuditCallback(study)
    run = study.run("tuned", seed=1)
    assert isinstance(run, RecordedRun)
    with pytest.raises(UsageError, match="or a run alone"):
        AuditCallback(run, "tuned")
