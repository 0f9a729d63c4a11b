"""Shared pieces of the training tests; the whole folder is skipped without the extra."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

MISSING = [name for name in ("torch", "trl") if find_spec(name) is None]
WITHOUT_TORCH = (
    "test_training_docs.py",
    "test_training_recorder.py",
    "test_training_rewards.py",
    "test_training_smollm2.py",
    "test_training_study_file.py",
    "test_training_until_decided.py",
)


class SkippedModule(pytest.Module):
    """A test module that cannot be imported here, reported with the reason."""

    def collect(self) -> NoReturn:
        pytest.skip(
            f"the extra 'train' is not installed ({' and '.join(MISSING)} missing)",
            allow_module_level=True,
        )


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> SkippedModule | None:
    if MISSING and module_path.name not in WITHOUT_TORCH:
        return SkippedModule.from_parent(parent, path=module_path)
    return None


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    if MISSING:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)  # the tiny model is slower, and noisier in time, on more
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("base")


@pytest.fixture(scope="session")
def task() -> Any:
    from audit.training.tasks.addition import Addition

    return Addition(limit=20, train_prompts=300, holdout_tasks=40, warm_up_steps=120)


@pytest.fixture
def study_path(tmp_path: Path) -> Callable[..., Path]:
    """Write the tiny study with pieces of its text replaced."""
    from training.studies import STUDY

    def write(*changes: tuple[str, str]) -> Path:
        text = STUDY
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The study run once, in this process and without interruption; times taken out."""
    from training.studies import STUDY, audit_train, without_times

    folder = tmp_path_factory.mktemp("reference")
    (folder / "study.toml").write_text(STUDY)
    assert audit_train(str(folder / "study.toml")) == 0
    return without_times(folder / "results.json")


TrainerFactory = Callable[..., Any]


@pytest.fixture
def arguments(tmp_path: Path) -> Callable[..., Any]:
    """GRPOConfig of a small run; keywords replace settings."""
    from trl import GRPOConfig

    from audit.training.arguments import activation_checkpointing

    def make(**changes: Any) -> Any:
        settings: dict[str, Any] = {
            "output_dir": str(tmp_path / "trainer"),
            "per_device_train_batch_size": 32,
            "num_generations": 8,
            "max_completion_length": 4,
            "max_steps": 6,
            "num_iterations": 2,
            "steps_per_generation": 1,
            "gradient_accumulation_steps": 1,
            "learning_rate": 1e-3,
            "lr_scheduler_type": "constant",
            "loss_type": "grpo",
            "epsilon": 0.2,
            "epsilon_high": 0.28,
            "logging_steps": 1,
            "save_strategy": "no",
            "report_to": "none",
            "bf16": False,
            **activation_checkpointing(False),
            "use_cpu": True,
            "disable_tqdm": True,
            "seed": 3,
        }
        return GRPOConfig(**{**settings, **changes})

    return make


@pytest.fixture
def parts(task: Any, cache: Path) -> Callable[[], dict[str, Any]]:
    """Fresh model, tokenizer, data and reward, as keywords of either trainer."""
    from datasets import Dataset

    from audit.training.rewards import ScoreReward

    def make() -> dict[str, Any]:
        items = task.partition().train
        return {
            "model": task.fresh_model(cache),
            "processing_class": task.tokenizer(cache),
            "reward_funcs": ScoreReward(task.scorer),
            "train_dataset": Dataset.from_list(
                [{"prompt": i.prompt, "answer": i.answer, "row": i.row} for i in items]
            ),
        }

    return make


@pytest.fixture
def audited(arguments: Any, parts: Any) -> TrainerFactory:
    """An AuditedGRPOTrainer at level full; keywords go to it, ``args`` to its arguments."""
    from audit.training.recorder import Recorder
    from audit.training.trainer import AuditedGRPOTrainer
    from audit.training.trust_region import FixedClip

    def make(*, args: dict[str, Any] | None = None, **changes: Any) -> Any:
        region = changes.pop("trust_region", FixedClip(0.2, 0.28))
        recorder = Recorder("full", 8, region.geometry, region.topology)
        return AuditedGRPOTrainer(
            args=arguments(**(args or {})),
            trust_region=region,
            recorder=recorder,
            **{**parts(), **changes},
        )

    return make


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings of torch, TRL and their like about themselves are not this project's to fix."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for category in ("FutureWarning", "DeprecationWarning", "UserWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{category}"))
