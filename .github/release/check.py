"""Whether a tag may be released: the owner is filled in, and tag, name and version agree.

    python .github/release/check.py TAG NAME OWNER REPOSITORY_OWNER

Prints what is wrong, a line each; the status is 1 where anything is.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def wrong(root: Path, tag: str, name: str, owner: str, repository_owner: str) -> Iterator[str]:
    """Yield what keeps the release from being made."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (root / "audit" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    version = found[1] if found else "unknown"
    if not owner:
        yield "OWNER is not filled in at the top of .github/workflows/release.yml"
    elif owner != repository_owner:
        yield f"this repository belongs to {repository_owner}, and OWNER is {owner}"
    if name != project["name"]:
        yield f"NAME is {name}, and pyproject.toml builds {project['name']}"
    if tag.startswith("v") and tag != f"v{version}":
        yield f"the tag is {tag}, and the version is {version}"
    if tag.startswith("v") and f"## {version} (unreleased)" in _changes(root):
        yield f"CHANGELOG.md calls {version} unreleased"


def _changes(root: Path) -> str:
    return (root / "CHANGELOG.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    problems = list(wrong(ROOT, *sys.argv[1:5]))
    print("\n".join(problems))
    sys.exit(bool(problems))
