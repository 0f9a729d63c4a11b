"""The software and machine a run was made with."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "accelerate",
    "datasets",
    "numpy",
    "peft",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
    "vllm",
)


def package_versions() -> dict[str, str]:
    """Versions of the packages that training rests on, those that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def code_commit() -> str | None:
    """Return the commit that this code is, or None outside a checkout or in a changed one."""
    package = Path(__file__).resolve().parents[1]
    if not (package.parent / "pyproject.toml").is_file():
        return None  # installed; a repository around the environment is another project's
    try:
        changed, head = (
            subprocess.run(
                ["git", "-C", str(package), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (["status", "--porcelain", "--", "."], ["rev-parse", "HEAD"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return None if changed else head


def environment(device: str, world_size: int) -> dict[str, Any]:
    """Build the ``environment`` block of a run."""
    import torch

    return {
        "python": platform.python_version(),
        "packages": package_versions(),
        "device": device,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "threads": torch.get_num_threads(),
        "world_size": world_size,
    }


def device_name(device: str) -> str:
    """Name the device as a person knows it."""
    import torch

    return torch.cuda.get_device_name() if device == "cuda" else device
