"""Imports go one way and names have one meaning: layers, circles, classes and modules."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

import audit

PACKAGE = Path(audit.__file__).resolve().parent

# Top first. A row may import from itself only where the name ends in a star.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli*",),
    ("fleet*",),
    ("pages*",),
    ("exports*", "notebook", "testing"),
    ("coverage", "report"),
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
    ("schema", "sources", "outcomes_file"),
    ("outcome_columns",),
    ("stats*", "published", "reading", "writing", "simulation", "run_record"),
    ("git", "stores", "cluster", "installed"),
    (
        "pointer",
        "finding",
        "errors",
        "paths",
        "failure",
        "numerals",
        "reasons",
        "resources",
        "run_names",
        "safetext",
        "display",
        "column",
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
    """The package's own; a wheel carries the reports inside it, and one has a reward program."""
    return sorted(p for p in PACKAGE.rglob("*.py") if PACKAGE / "reports" not in p.parents)


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


def imported_modules(path: Path) -> set[str]:
    """Return the modules of the package a file imports, in functions and for types too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            members = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {member if member in NAMES else node.module for member in members}
    return (found & NAMES) - {module_name(path), FRONT_DOOR}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_name(path) for path in modules()}

# The front door names every public home, and imports them on first use.
FRONT_DOOR = "audit"


def circles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules that import each other, directly or through others (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            place = stack.index(node)
            members, stack[place:] = stack[place:], []
            if len(members) > 1:
                found.add(frozenset(members))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def test_no_modules_import_each_other() -> None:
    graph = {
        module_name(path): imported_modules(path)
        for path in modules()
        if module_name(path) != FRONT_DOOR
    }
    assert {tuple(sorted(circle)) for circle in circles(graph)} == set()


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, ["ab"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, ["abc"]),
        ({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}}, ["ab", "cd"]),
    ],
)
def test_a_circle_is_found_however_long(graph: dict[str, set[str]], expected: list[str]) -> None:
    assert circles(graph) == {frozenset(members) for members in expected}


# Module names that two rooms use; the list only shrinks.
KNOWN_MODULES = {
    # What a room makes of one thing: a statistic, a fact, a comparison, a page.
    *("arms", "averages", "conditions", "deltas", "environment", "outcomes", "rounds", "study"),
    # A command and what it calls, a format and its writer, a helper of two rooms.
    *("markdown", "numbers", "plan", "render", "rows", "settings"),
}


def twice(names: list[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def test_a_public_class_name_has_one_meaning() -> None:
    names = [
        node.name
        for path in modules()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert twice(names) == set()


def test_a_module_name_has_one_meaning() -> None:
    names = [path.stem for path in modules() if path.stem not in ("__init__", "__main__")]
    assert twice(names) - KNOWN_MODULES == set()
    assert twice(names) >= KNOWN_MODULES, "a name has one meaning now: take it out of the list"
