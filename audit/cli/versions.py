"""``audit --version``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from audit.installed import version_lines


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
