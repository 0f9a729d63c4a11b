"""Write every generated file again: the one command after a change that the output shows.

    python tests/refresh.py

Rules, reasons, the studies' pages, the page of the field, the comments on sample pull requests and
every console block of README, CONTRIBUTING and docs are made from the code as it stands. After it
``git diff`` is empty on a tree that is up to date.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import field
import index
from documented import ROOT, refresh
from field_judged import judged
from pull_requests import PULL_REQUESTS, commented, sample

from audit.cli.main import main

GENERATED = {
    "docs/rules.md": ["rules", "--format", "markdown"],
    "docs/reasons.md": ["explain", "--format", "markdown"],
}


def printed(arguments: list[str]) -> str:
    """Return what a command prints; it must not fail."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = main(arguments)
    if status:
        raise SystemExit(f"audit {' '.join(arguments)} ended with status {status}")
    return out.getvalue()


def main_refresh() -> None:
    """Refresh everything, saying what changed."""
    for name, arguments in GENERATED.items():
        write(ROOT / name, printed(arguments))
    print(printed(["render", str(ROOT / "reports")]), end="")
    field.page(judged()).write(field.PAGE)
    write(index.README, index.page())
    for name in PULL_REQUESTS:
        with tempfile.TemporaryDirectory() as folder:
            write(sample(name), commented(name, Path(folder))[1])
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        before = page.read_text(encoding="utf-8")
        refresh(page)
        if page.read_text(encoding="utf-8") != before:
            print(page.relative_to(ROOT))


def write(path: Path, text: str) -> None:
    """Write a file where its content changed."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main_refresh()
