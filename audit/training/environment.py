"""The software and machine a run was made with."""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "accelerate",
    "datasets",
    "latex2sympy2-extended",
    "math-verify",
    "numpy",
    "peft",
    "recipe-audit",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
    "vllm",
)


def now() -> str:
    """Return the time in UTC, to the second, in ISO 8601."""
    return datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds")


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
    """Return the commit that this code is, or None where none is known or the code was changed.

    Of a checkout git tells it; of what ``pip install git+URL`` installed, pip's own note does.
    """
    package = Path(__file__).resolve().parents[1]
    if not (package.parent / "pyproject.toml").is_file():
        return _installed_commit()  # a repository around the environment is another project's
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


def _installed_commit() -> str | None:
    """Return the commit in ``direct_url.json``, which PEP 610 defines."""
    try:
        note = distribution("recipe-audit").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    commit = json.loads(note or "{}").get("vcs_info", {}).get("commit_id")
    return commit if isinstance(commit, str) else None


def environment(device: str, world_size: int) -> dict[str, Any]:
    """Build the ``environment`` block of a run."""
    import torch

    return {
        "python": platform.python_version(),
        "packages": package_versions(),
        "device": device,
        "processor": processor_name(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "threads": torch.get_num_threads(),
        "world_size": world_size,
    }


def processor_name() -> str:
    """Name the processor and the instructions that torch uses of it.

    Sums in another order end in other last bits, so that a seed repeats itself on one kind alone.
    """
    import torch

    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    told = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{told[0] if told else name}, {torch.backends.cpu.get_cpu_capability()}"


def device_name(device: str) -> str:
    """Name the device as a person knows it."""
    import torch

    return torch.cuda.get_device_name() if device == "cuda" else device
