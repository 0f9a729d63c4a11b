"""The HTML page in headless Chromium: no script runs, no request is made, it can be read."""

from __future__ import annotations

import json
import re
import shutil
import socketserver
import subprocess
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from hostile_documents import STRINGS, made_hostile

from audit.cli.main import main
from audit.pages import Job, render
from audit.resources import resource

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine"),
]


class Asked(socketserver.ThreadingTCPServer):
    """A local server that only notes what it is asked for."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        self.paths: list[str] = []
        asked = self.paths

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                # Chromium looks for updates of its parts; the switches below do not stop it.
                if not self.path.startswith("/service/update2/"):
                    asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            do_POST = do_CONNECT = do_GET  # noqa: N815 - names http.server looks for

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


def browse(page: Path, folder: Path, *options: str) -> str:
    """Open a page and return the document as the browser has it."""
    assert BROWSER is not None
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        # The browser's own errands, which are no requests of the page.
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-features=NetworkTimeServiceQuerying,OptimizationHints,MediaRouter",
        "--no-first-run",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=2000",
        *options,
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)
    return done.stdout


def test_a_hostile_page_runs_no_script_and_asks_for_nothing(tmp_path: Path) -> None:
    with Asked() as server:
        address = f"http://{server.address}"
        attack = (
            f"<script>document.title='ran';fetch('{address}/fetch')</script>"
            f"<img src='{address}/img' onerror=\"document.title='ran'\">"
            "<svg onload=\"document.title='ran'\">"
            f"<link rel=stylesheet href='{address}/css'><iframe src='{address}/frame'></iframe>"
            f"</title></style></svg><style>@import '{address}/import';</style>"
        )
        texts = [attack, *STRINGS[:11]]
        document = made_hostile(lambda field: f"{field} {texts[hash_of(field) % len(texts)]}")
        (tmp_path / "results.json").write_text(json.dumps(document))
        (tmp_path / "recipe.toml").write_text(
            'title = "{{ method }}"\nclaim = "{{ results.change.summary }}"\n'
        )
        job = Job((str(tmp_path / "results.json"),), "recipe.html.j2")
        page = tmp_path / "page.html"
        page.write_text(render(job).text, encoding="utf-8")
        # Every host is sent to the local server, so that a request anywhere would be seen.
        seen = browse(page, tmp_path, f"--host-resolver-rules=MAP * {server.address}", "--dump-dom")
        assert server.paths == []
    assert "<title>ran" not in seen
    assert "<footer>Rendered by" in seen
    assert seen.count("<figure>") == 6


def hash_of(text: str) -> int:
    """Return a number that is the same in every process."""
    return sum(text.encode())


def test_the_check_sees_a_page_that_does_run_and_ask(tmp_path: Path) -> None:
    with Asked() as server:
        page = tmp_path / "page.html"
        page.write_text(
            f"<title>x</title><script>document.title='ran'</script><img src='http://{server.address}/i'>"
        )
        seen = browse(page, tmp_path, "--dump-dom")
        assert server.paths == ["/i"]
    assert "<title>ran" in seen


@pytest.mark.parametrize("options", [[], ["--blink-settings=preferredColorScheme=0"]])
def test_a_screenshot_shows_ink_on_paper(tmp_path: Path, options: list[str]) -> None:
    import matplotlib.image

    results = str(resource("reports/gppo-framework/results.json"))
    page = tmp_path / "page.html"
    page.write_text(render(Job((results,), "recipe.html.j2")).text, encoding="utf-8")
    shot = tmp_path / "shot.png"
    browse(page, tmp_path, "--window-size=900,1200", f"--screenshot={shot}", *options)
    grey = matplotlib.image.imread(shot)[..., :3].mean(axis=2)
    dark = bool(options)
    assert bool(grey[0, 0] < 0.2) is dark
    ink = grey > 0.7 if dark else grey < 0.3
    assert 0.01 < ink.mean() < 0.2


MEASURE = """<title>x</title><iframe id=f style="width:{width}px;height:4000px;border:0"></iframe>
<script>
const frame = document.getElementById("f");
frame.onload = () => {{
  const page = frame.contentDocument;
  const narrow = [...page.querySelectorAll("td, th")].filter(cell => {{
    const range = page.createRange();
    range.selectNodeContents(cell);
    const longest = Math.max(...cell.textContent.split(/\\s+/).map(word => word.length));
    // Narrower than four of its letters are wide, a cell breaks its words letter by letter.
    return longest > 3 && cell.clientWidth > 0 && cell.clientWidth < 20;
  }});
  const texts = [...page.querySelectorAll("svg text")].map(t => t.getBoundingClientRect().height);
  document.title = JSON.stringify({{
    wide: page.documentElement.scrollWidth, narrow: narrow.length, smallest: Math.min(...texts),
  }});
}};
frame.srcdoc = {page};
</script>"""


def measured(text: str, width: int, folder: Path) -> dict[str, float]:
    """Lay a page out in a frame and return its width, its narrow cells, its smallest drawn text."""
    bare = re.sub(r"<meta http-equiv=[^>]*>", "", text)  # the frame's own policy allows a script
    page = folder / "measure.html"
    quoted = json.dumps(bare).replace("</", "<\\/")
    page.write_text(MEASURE.format(width=width, page=quoted), encoding="utf-8")
    seen = browse(page, folder, "--window-size=1400,1000", "--dump-dom")
    title = re.search(r"<title>(.*?)</title>", seen)
    assert title is not None
    found: dict[str, float] = json.loads(title[1])
    return found


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", ["adaptive-clip", "gppo-framework", "fleet"])
def test_a_page_fits_a_phone_and_a_desk(
    name: str, width: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables and figures scroll in their own boxes; the page itself does not."""
    reports = resource("reports")
    if name == "fleet":  # in a folder whose path is longer than a line of a phone
        deep = tmp_path / "a_folder_of_studies_of_a_long_name" / "and_one_below_it_with_another"
        shutil.copytree(str(reports), deep)
        main(["gate", str(deep), "--format", "html", "-q"])
        text = capsys.readouterr().out
    else:
        text = render(Job((str(reports / name / "results.json"),), "recipe.html.j2")).text
    found = measured(text, width, tmp_path)
    assert found["wide"] <= width
    assert found["narrow"] == 0
    assert found["smallest"] >= 9
