"""Find the folders that stand beside the package: ``schemas``, ``templates``, ``reports``.

A wheel carries them inside the package (hatchling ``force-include``); an editable install or a
checkout has them one level up. The package is asked first, then the checkout, and the checkout
only when its ``pyproject.toml`` shows that it is one.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def resource(name: str) -> Traversable:
    """Return a shipped file or folder, readable from a folder or from inside a zip.

    Parameters
    ----------
    name : str
        Path with forward slashes, e.g. ``"schemas/results.v2.schema.json"``.

    Raises
    ------
    FileNotFoundError
        When the installation lacks it.
    """
    inside = files("audit").joinpath(*name.split("/"))
    if inside.is_file() or inside.is_dir():
        return inside
    checkout = Path(__file__).resolve().parent.parent
    beside = checkout.joinpath(*name.split("/"))
    if (checkout / "pyproject.toml").is_file() and beside.exists():
        return beside
    raise FileNotFoundError(f"{name} is missing from this installation of audit")
