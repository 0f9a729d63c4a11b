"""The versions a figure can depend on, read without importing a package."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from audit import __version__

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


class VersionAction(argparse.Action):
    """Print the versions and end."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Print a line a version and exit with 0."""
        print("\n".join(version_lines()))
        parser.exit()
