"""Find the folders that stand beside the package: ``schemas``, ``templates``, ``reports``.

A wheel carries them inside the package (hatchling ``force-include``); an editable install or a
checkout has them one level up. The package is asked first, then the checkout, and the checkout
only when its ``pyproject.toml`` shows that it is one. ``importlib.resources`` is slow to load, so
it is asked last, for a package inside a zip.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_PACKAGE = Path(__file__).resolve().parent


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
    parts = name.split("/")
    inside = _PACKAGE.joinpath(*parts)
    if inside.exists():
        return inside
    beside = _PACKAGE.parent.joinpath(*parts)
    if (_PACKAGE.parent / "pyproject.toml").is_file() and beside.exists():
        return beside
    from importlib.resources import files

    zipped = files("audit").joinpath(*parts)
    if zipped.is_file() or zipped.is_dir():
        return zipped
    raise FileNotFoundError(f"{name} is missing from this installation of audit")
