"""The adapters of the documentation, run as they are printed there.

Where a framework is not installed its test is skipped. verl and W&B are stood in for by classes
with the same methods, since neither can run here.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from made_trackers import wandb_log

import audit
from audit.importers.folder.bringing_in import bring_in
from audit.importers.folder.said import Said
from audit.schema import schema_faults

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "recording.md"
SAMPLES = ROOT / "tests" / "data" / "foreign" / "inspect"
pytestmark = pytest.mark.skipif(
    not PAGE.is_file(), reason="docs/ is not beside these tests: they run against a wheel"
)


def code(heading: str) -> str:
    """Return the Python block below a heading of the page."""
    below = PAGE.read_text("utf-8").split(f"\n### {heading}", 1)[1]
    return below.split("```python\n", 1)[1].split("```", 1)[0]


def printed(heading: str) -> dict[str, Any]:
    """Return what the block defines."""
    names: dict[str, Any] = {}
    exec(compile(code(heading), f"{PAGE.name} {heading}", "exec"), names)
    return names


def runs(study: audit.Study) -> list[dict[str, Any]]:
    document = study.document()
    assert schema_faults(document) == []
    return [
        *document["seed_results"],
        *(run for arm in document.get("controls", {}).values() for run in arm["seed_results"]),
    ]


def scored(model: object = None) -> tuple[list[str], list[int], int]:
    """Return tasks, correct answers, answers drawn; a stand-in for an evaluation."""
    draw = random.Random(repr(model))
    return ["a", "b", "c"], [draw.randint(0, 4) for _ in range(3)], 4


@pytest.mark.parametrize(
    "heading",
    [
        "PyTorch",
        "TRL and Hugging Face Trainer",
        "Lightning",
        "verl",
        "lm-eval",
        "Inspect",
        "W&B beside it",
    ],
)
def test_an_adapter_is_short(heading: str) -> None:
    lines = [line for line in code(heading).splitlines() if line.strip()]
    assert len(lines) <= 30, len(lines)


def test_the_plain_loop_takes_at_most_25_lines() -> None:
    block = PAGE.read_text("utf-8").split("$ cat > train.py", 1)[1].split("> END", 1)[0]
    lines = [line for line in block.splitlines()[1:] if line.strip("> ")]
    assert 5 < len(lines) <= 25


def test_a_pytorch_loop_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.chdir(tmp_path)
    names = printed("PyTorch")
    for arm in names["study"].arms:
        for seed in (1, 2):
            names["train"](arm, seed, {"lr": 0.1, "steps": 5}, scored)
    found = runs(names["study"])
    assert len({run["final_parameters_sha256"] for run in found}) == 2  # the arms do the same here
    assert all(run["parameters_changed"] for run in found)
    assert [len(run["training"]) for run in found] == [5] * 4
    assert found[0]["environment"]["packages"]["torch"]
    assert found[0]["environment"]["device"] in ("cpu", "cuda")


def test_a_hugging_face_trainer_is_recorded(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x: Any, labels: Any) -> dict[str, Any]:
            return {"loss": ((self.layer(x)[:, 0] - labels) ** 2).mean()}

    study = audit.Study("warmup", folder=tmp_path / "runs")
    names = printed("TRL and Hugging Face Trainer")
    for seed in (1, 2, 3):
        transformers.set_seed(seed)
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"),
            max_steps=4,
            logging_steps=1,
            seed=seed,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
        )
        rows = [{"x": torch.randn(2), "labels": torch.randn(())} for _ in range(16)]
        trainer = transformers.Trainer(Model(), arguments, train_dataset=rows)
        if seed < 3:
            names["train_and_evaluate"](study, "warmup", trainer, scored)
        else:
            names["train"](study, "warmup", trainer)
            study.evaluate("warmup", seed, "sums", *scored())
    found = runs(study)
    assert [run["seed"] for run in found] == [1, 2, 3]
    assert all("loss" in run["training"][0]["updates"][0]["metrics"] for run in found)
    assert all(run["parameters_changed"] for run in found)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of Lightning's own code
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lightning_is_recorded(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = self.layer(batch).square().mean()
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    study = audit.Study("warmup", folder=tmp_path / "runs")
    recorder = printed("Lightning")["Record"]
    with study.run("warmup", seed=1) as run:
        trainer = lightning.Trainer(
            max_steps=4,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[recorder(run)],
        )
        loader = torch.utils.data.DataLoader(torch.randn(16, 2), batch_size=4)
        trainer.fit(Module(), loader)
        run.evaluate("sums", *scored())
    (only,) = runs(study)
    assert [step["step"] for step in only["training"]] == [1, 2, 3, 4]
    assert "train_loss" in only["training"][-1]["updates"][0]["metrics"]
    assert only["parameters_changed"]


def test_verl_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Tracking:
        """Stands in for verl's, which has this method."""

        written: list[tuple[dict[str, Any], int]] = []  # noqa: RUF012 - of one test

        def log(self, data: dict[str, Any], step: int, backend: str | None = None) -> None:
            self.written.append((data, step))

    for name in ("verl", "verl.utils", "verl.utils.tracking"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["verl.utils.tracking"].Tracking = Tracking  # type: ignore[attr-defined]
    names = printed("verl")
    dump = tmp_path / "2.jsonl"
    rows = [
        {"input": f"q{n // 4}", "gts": "4", "acc": n % 3 == 0, "step": 2, "score": 1.0}
        for n in range(12)
    ]
    dump.write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = audit.Study("dapo", folder=tmp_path / "runs")
    with study.run("dapo", seed=1) as run:
        names["record_steps"](run)
        logger = sys.modules["verl.utils.tracking"].Tracking()
        for step in range(3):
            logger.log(data={"actor/pg_loss": 0.5, "words": "x"}, step=step)
        names["record_dump"](run, "gsm8k", dump)
    assert len(Tracking.written) == 3
    (only,) = runs(study)
    assert [step["step"] for step in only["training"]] == [1, 2]
    block = only["evaluation"]
    assert (sum(block["correct"]), block["samples"], block["checkpoint_step"]) == (4, [4, 4, 4], 2)


def finished(folder: Path) -> audit.Study:
    study = audit.Study("tuned", folder=folder / "runs")
    with study.run("tuned", seed=1) as run:
        run.log(8, loss=0.5)
    return study


def test_an_evaluation_by_lm_eval_is_recorded(tmp_path: Path) -> None:
    samples = [
        {"doc_id": n, "filter": kind, "exact_match": float(n % 2 if kind == "none" else 0)}
        for n in range(4)
        for kind in ("none", "strict-match")
    ]
    study = finished(tmp_path)
    results = {"samples": {"sums": samples}}
    printed("lm-eval")["record_lm_eval"](study, "tuned", 1, results, "sums")
    (only,) = runs(study)
    block = only["evaluation"]
    assert (block["task_ids"], block["correct"]) == ([0, 1, 2, 3], [0, 1, 0, 1])
    assert block["checkpoint_step"] == 8


def test_an_evaluation_by_inspect_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = SAMPLES / "success.json"
    document = json.loads(path.read_text())
    try:
        import inspect_ai.log  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
    except ImportError:
        module = ModuleType("inspect_ai.log")
        module.read_eval_log = lambda path: _log(path)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
        monkeypatch.setitem(sys.modules, "inspect_ai.log", module)
    scorer = next(iter(document["samples"][0]["scores"]))
    study = finished(tmp_path)
    printed("Inspect")["record_inspect"](study, "tuned", 1, str(path), scorer)
    (only,) = runs(study)
    block = only["evaluation"]
    right = sum(sample["scores"][scorer]["value"] in ("C", 1) for sample in document["samples"])
    assert sum(block["correct"]) == right
    assert sum(block["samples"]) == len(document["samples"])


def _log(path: str) -> Any:
    """Return a log with the members that the adapter reads."""
    document = json.loads(Path(path).read_text())
    samples = [
        SimpleNamespace(
            id=sample["id"],
            error=sample.get("error"),
            scores={k: SimpleNamespace(value=v["value"]) for k, v in sample["scores"].items()},
        )
        for sample in document["samples"]
    ]
    return SimpleNamespace(samples=samples, eval=SimpleNamespace(task=document["eval"]["task"]))


def test_a_run_of_wandb_beside_a_record_is_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tracked:
        """Stands in for a W&B run: writes the .wandb file that the real one writes."""

        def __init__(self, id: str, group: str, config: dict[str, Any], project: str) -> None:
            self.id, self.group, self.seed = id, group, config["seed"]
            self.rows: dict[int, dict[str, object]] = {}

        def log(self, figures: dict[str, object], step: int) -> None:
            self.rows[step] = figures

        def finish(self) -> None:
            folder = tmp_path / "runs" / "wandb" / f"offline-run-20260101_080000-{self.id}"
            folder.mkdir(parents=True)
            data = wandb_log(self.id, self.group, self.seed, self.rows)
            (folder / f"run-{self.id}.wandb").write_bytes(data)

    module = ModuleType("wandb")
    module.init = Tracked  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    study = audit.Study("warmup", control="plain", folder=tmp_path / "runs")
    train = printed("W&B beside it")["train"]
    for arm in study.arms:
        for seed in (1, 2):
            steps = [{"loss": 0.5 / seed}, {"loss": 0.25 / seed}]
            train(study, arm, seed, {"seed": seed, "arm": arm}, steps, scored)
    brought = bring_in([str(tmp_path / "runs")], Said())
    assert brought.document is not None, brought.questions
    alone = study.document()
    for document in (brought.document, alone):
        document.pop("provenance")  # one names the files of W&B too
        document.pop("change")  # and the setting that the stand-in writes
    assert brought.document == alone


def test_a_run_beside_records_that_is_of_none_of_them_is_asked_about(tmp_path: Path) -> None:
    study = audit.Study("warmup", folder=tmp_path / "runs")
    with study.run("warmup", seed=1) as run:
        run.evaluate("sums", *scored())
    folder = tmp_path / "runs" / "wandb" / "offline-run-20260101_080000-other"
    folder.mkdir(parents=True)
    log = wandb_log("other", "warmup", 2, {10: {"eval/sums/accuracy": 0.5}})
    (folder / "run-other.wandb").write_bytes(log)
    brought = bring_in([str(tmp_path / "runs")], Said())
    assert brought.document is None
    assert "is of no recorded run: --exclude" in brought.questions[0]
    alone = bring_in([str(tmp_path / "runs")], Said(readers=("recorded",)))
    assert alone.document is not None
