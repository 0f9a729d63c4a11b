"""A rendered page: its text and the files beside it; writing it is its only effect."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from audit.errors import UsageError
from audit.pages.figures.drawing import same_drawing
from audit.paths import is_file, is_folder
from audit.writing import write_together

# Longer differences are cut; the number of lines left out is said.
MOST_LINES = 200


@dataclass(frozen=True)
class Page:
    """A page and its figures.

    Attributes
    ----------
    name : str
        Suggested file name, e.g. ``page.md``.
    text : str
    files : mapping of str to bytes
        Figures by their path from the page.
    retired : tuple of str
        Paths of figures that such a page may have and this one has not.
    warnings : tuple of str
        One line each, about the prose.
    """

    name: str
    text: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    retired: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def write(self, path: str | Path) -> None:
        """Write the page and its figures, all of them or none, the page last.

        Figures of an earlier page that this one has not are removed.

        Raises
        ------
        UsageError
            When a file cannot be written; page and figures are as they were then.
        """
        target = Path(path)
        if is_folder(target):  # told before the figures are written
            raise UsageError("cannot be written: it is a folder", path=str(path))
        _make_folder(target.parent)
        files: dict[str | Path, bytes] = {}
        for name, data in self.files.items():
            files[target.parent / name] = data
            _make_folder((target.parent / name).parent)
        write_together(files | {target: self.text.encode("utf-8")})
        for old in self._stray(target.parent):
            old.unlink()

    def differences(self, path: str | Path) -> Iterator[str]:
        """Yield the lines that say how a committed page differs; none when it is fresh.

        The text as a unified diff, figures by name.
        """
        target = Path(path)
        try:
            old = target.read_bytes().decode("utf-8", errors="surrogateescape")
        except FileNotFoundError:
            yield f"{target}: there is no such page; audit render writes it"
            return
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", path=str(path)) from None
        yield from _diff(old, self.text, str(target))
        for name, data in self.files.items():
            beside = target.parent / name
            if not is_file(beside):
                yield f"{beside}: the figure is missing"
            elif not same_drawing(beside.read_bytes(), data):
                yield f"{beside}: the figure is not what the data gives"
        for stray in self._stray(target.parent):
            yield f"{stray}: the page has no such figure"

    def _stray(self, folder: Path) -> list[Path]:
        """Return figures of an earlier page that lie beside this one; no other file."""
        return [folder / name for name in self.retired if is_file(folder / name)]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", path=str(folder)) from None


def _diff(old: str, new: str, name: str) -> Iterator[str]:
    if old == new:
        return
    lines = list(
        difflib.unified_diff(
            old.splitlines(),
            new.splitlines(),
            f"{name} (committed)",
            f"{name} (from the data)",
            lineterm="",
        )
    )
    yield from lines[:MOST_LINES]
    if not lines:
        yield f"{name}: differs in line endings or in its last line"
    if len(lines) > MOST_LINES:
        yield f"... {len(lines) - MOST_LINES} more lines differ"
