"""What is installed here: versions a figure can depend on, and a digest of audit's own code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from audit import __version__
from audit.resources import resource

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# What verdicts and pages are computed with, then what training needs.
PACKAGES = (
    "numpy",
    "jsonschema-rs",
    "pandas",
    "matplotlib",
    "jinja2",
    "pyarrow",
    "torch",
    "transformers",
    "trl",
)


def version_lines() -> Iterator[str]:
    """Yield ``audit`` and its version, then Python's, then every package that is installed."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    yield f"audit {__version__}"
    yield f"python {platform.python_version()} ({platform.system()} {platform.machine()})"
    for package in PACKAGES:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            continue


@cache
def code_digest() -> str:
    """Return the SHA-256 of every module, schema and table of this installation.

    A version says too little: a checkout keeps its version while its code changes. A checkout and
    a wheel of the same files have the same digest.
    """
    from importlib.resources import files

    digest = hashlib.sha256()
    beside = ((name, resource(name)) for name in ("schemas", "reports/field"))
    for name, top in (("audit", files("audit")), *beside):
        for path, data in _content(top, name):
            digest.update(f"{path}\0{len(data)}\0".encode())
            digest.update(data)
    return digest.hexdigest()


def _content(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    """Yield what judges below a folder, sorted; a wheel has inside it what lies beside else."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        below = f"{path}/{entry.name}"
        if entry.is_dir():
            if entry.name not in ("__pycache__", "reports", "schemas", "templates"):
                yield from _content(entry, below)
        elif entry.name.endswith((".py", ".json", ".csv")):
            yield below, entry.read_bytes()
