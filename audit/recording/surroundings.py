"""What a run was made with, found without being told: software, machine, commit of the code."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# Packages that decide what training and decoding do; those that are installed are recorded.
_PACKAGES = (
    "accelerate",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "flash-attn",
    "flax",
    "inspect-ai",
    "jax",
    "lightning",
    "lm-eval",
    "math-verify",
    "numpy",
    "openrlhf",
    "optax",
    "peft",
    "pytorch-lightning",
    "recipe-audit",
    "sglang",
    "tensorflow",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
    "unsloth",
    "verl",
    "vllm",
)
_GIT_SECONDS = 10


def package_versions() -> dict[str, str]:
    """Versions of the packages that training rests on, those that are installed."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def environment() -> dict[str, Any]:
    """Return the ``environment`` block of a run as far as it is known when the run starts."""
    block: dict[str, Any] = {"python": platform.python_version(), "packages": package_versions()}
    processor = processor_name()
    return block | ({"processor": processor} if processor else {})


def loaded_environment() -> dict[str, Any]:
    """Return what torch says of itself, where the training loop has loaded it by now."""
    block: dict[str, Any] = {}
    world_size = os.environ.get("WORLD_SIZE", "")
    if world_size.isdecimal() and int(world_size):
        block["world_size"] = int(world_size)
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "get_num_threads"):
        return block
    block["threads"] = torch.get_num_threads()
    block["deterministic"] = bool(torch.are_deterministic_algorithms_enabled())
    block["device"] = "cuda" if torch.cuda.is_initialized() else "cpu"
    return block


def hardware() -> str | None:
    """Return the name of the GPU that torch uses, where it uses one."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
        return None
    return str(torch.cuda.get_device_name())


def processor_name() -> str:
    """Name the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    told = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return told[0] if told else platform.processor() or platform.machine()


def code_commit() -> dict[str, Any]:
    """Return the commit of the program that runs, and whether its tracked files were changed.

    The program is the script that Python was started with; in a notebook or a shell it is the
    working folder. Empty where it is in no git repository.
    """
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    folder = Path(script).resolve().parent if script else Path.cwd()
    commands = (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    try:
        commit, changed = (
            subprocess.run(
                ["git", "-C", str(folder), *words],
                capture_output=True,
                text=True,
                check=True,
                timeout=_GIT_SECONDS,
            ).stdout.strip()
            for words in commands
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"commit": commit, "changed": bool(changed)}
