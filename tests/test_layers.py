"""The table of layers: a module imports only from rows below its own, or from its own room."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "audit"

# Top first. A row may import from itself only where the name ends in a star.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli*",),
    ("fleet*",),
    ("pages*",),
    ("report",),
    ("rules*",),
    ("training*",),
    ("recording*",),
    ("views*",),
    ("analysis*",),
    ("facts*",),
    ("claims", "partition"),
    ("results",),
    ("importers*", "sound"),
    ("policy",),
    ("config",),
    ("schema", "sources"),
    ("stats*", "reading", "writing", "simulation", "run_record"),
    ("git",),
    (
        "pointer",
        "finding",
        "errors",
        "failure",
        "numerals",
        "reasons",
        "resources",
        "run_names",
        "safetext",
        "__init__",
    ),
)
ROW = {name.rstrip("*"): row for row, names in enumerate(LAYERS) for name in names}
OPEN = {name.rstrip("*") for names in LAYERS for name in names if name.endswith("*")}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
            found.add(node.module)
    return {name for name in found if name == "audit" or name.startswith("audit.")}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def own_room(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_from_below(path: Path) -> None:
    here = own_room(path)
    if here == "__init__":
        return  # the front door names every public home, and imports them on first use
    assert here in ROW, f"{here} has no row in the table of layers"
    for name in imports(path):
        there = room(name)
        if there not in ROW or there == "__init__" or (here == there and here in OPEN):
            continue
        assert ROW[there] > ROW[here], f"{path.name} imports {name}"
