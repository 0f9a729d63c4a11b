"""The software and machine a run was made with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
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
