"""The run and the step in the name of a model."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.run_names import run_of


@pytest.mark.parametrize(
    "names",
    [
        ("out/x/checkpoint-100", "out/x/checkpoint-200", "out/x", "./out/x/final/"),
        ("org/model@step1000", "org/model@step2000", "org/model", "org/model@main"),
        ("m,revision=step5,dtype=half", "m,revision=step9,dtype=half"),
        ("runs/a/global_step_5/actor/huggingface", "runs/a/global_step_10/actor", "runs\\a"),
        ("a/step_100/model.safetensors", "a/step_200.pt", "a/epoch=3-step=9.ckpt", "a/best"),
        ("a/checkpoints/000100/weights.bin", "a/checkpoints/000200", "a/checkpoints"),
        ("team/p/model-1:v3", "team/p/model-1:latest", "team/p/model-1"),
        ("llama-step2k-lora", "llama-step3000-lora"),
    ],
)
def test_steps_of_one_run_have_one_name(names: tuple[str, ...]) -> None:
    assert len({run_of(name).run for name in names}) == 1
    assert run_of(names[0]).run
    assert run_of(names[0]).step is not None


@pytest.mark.parametrize(
    "names",
    [
        ("a2_vi_123_step50", "a2_vi_42_step50"),
        ("out/seed1/checkpoint-100", "out/seed2/checkpoint-100"),
        ("ckpt100/seed1", "ckpt100/seed2"),
        ("org/m,revision=step50-seed-1", "org/m,revision=step50-seed-2"),
        ("org/m@step50-seed1", "org/m@step50-seed2"),
        ("steps10-lr1", "steps20-lr1"),
        ("out/1234", "out/1235"),
        ("model-v1", "model-v2"),
        ("org/model-7B", "org/model-1.5B"),
        ("@cf/org/model", "@hf/org/model"),
        ("grpo-seed42/hf", "grpo-seed43/hf"),
    ],
)
def test_no_two_trainings_have_one_name(names: tuple[str, str]) -> None:
    assert run_of(names[0]).run != run_of(names[1]).run


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("x/step1.5k", 1500),
        ("x/step2M", 2_000_000),
        ("x/epoch0.5", 0.5),
        ("x/checkpoint-0000500", 500),
        ("x/epoch3/step_200", 200),
        ("org/m-step7:v3", 7),
        ("org/m@step3000", 3000),
        ("x/step7B", None),
        ("x/superstep7", None),
        ("x/step" + "9" * 5000, None),
        ("", None),
    ],
)
def test_the_last_step_named_is_the_step(name: str, step: float | None) -> None:
    assert run_of(name).step == step


@pytest.mark.parametrize("name", ["step_7", "checkpoint-3/model.safetensors", "latest", "/", "."])
def test_a_step_alone_names_no_run(name: str) -> None:
    assert run_of(name).run == ""


@given(st.lists(st.sampled_from(
    ["a", "/", "\\", "-", "_", "@", ":", "step", "checkpoint", "7", "k", ".", "seed1", "hf", "v2",
     ",revision=", "best", "checkpoints", " ", "\0", "٣"]), max_size=12).map("".join))  # fmt: skip
def test_any_name_comes_apart(name: str) -> None:
    run, step = run_of(name)
    assert isinstance(run, str)
    assert step is None or step >= 0


@given(st.from_regex(r"[a-z]{1,5}(/[a-z]{1,5}){0,2}", fullmatch=True), st.integers(0, 10**9))
def test_a_checkpoint_below_a_run_is_a_step_of_it(run: str, step: int) -> None:
    assert run_of(f"{run}/checkpoint-{step}") == (run_of(run).run, step)
    assert run_of(f"{run}@step{step}") == (run_of(run).run, step)


def test_a_hostile_name_takes_no_time() -> None:
    run_of("-" * 200_000 + "step7" + "-" * 200_000)
    run_of("@" * 100_000 + "step" * 100_000)


def test_names_load_no_numpy() -> None:
    code = "import sys, audit.run_names; print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
