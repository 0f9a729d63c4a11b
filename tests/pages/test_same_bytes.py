"""A page is the same bytes under another locale, time zone, hash seed and folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audit.resources import resource

STUDY = Path(str(resource("reports/gppo-framework")))
PLACES = [
    {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "0"},
    {"LC_ALL": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1", "COLUMNS": "40"},
    {"LC_ALL": "POSIX", "LANG": "tr_TR", "TZ": "America/St_Johns", "PYTHONHASHSEED": "12345"},
]


def rendered(folder: Path, place: dict[str, str], template: str) -> dict[str, bytes]:
    folder.mkdir(parents=True)
    for name in ("results.json", "recipe.toml"):
        shutil.copy(STUDY / name, folder / name)
    command = [sys.executable, "-m", "audit", "render", "results.json", "-o", "out/page"]
    root = Path(__file__).resolve().parent.parent.parent
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    environment = os.environ | place | {"PYTHONPATH": path}
    subprocess.run(
        [*command, "--template", template], cwd=folder, env=environment, check=True, timeout=120
    )
    out = folder / "out"
    return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}


@pytest.mark.parametrize(("template", "places"), [("recipe.md.j2", 3), ("recipe.html.j2", 2)])
def test_a_page_does_not_depend_on_where_it_is_made(
    tmp_path: Path, template: str, places: int
) -> None:
    pages = [
        rendered(tmp_path.joinpath(f"place {n}", *["deep"] * n), place, template)
        for n, place in enumerate(PLACES[:places])
    ]
    assert pages[0]["page"]
    assert all(page == pages[0] for page in pages)
