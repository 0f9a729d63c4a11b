"""The table of studies as one HTML page: no script, nothing loaded, every text escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from audit.cli.fleet.forest import forest_svg, plotted
from audit.cli.fleet.row import HEADING, Row
from audit.cli.fleet.text import reasons, summary, waived
from audit.cli.formats.groups import count
from audit.cli.outcomes import Outcomes
from audit.policy import Policy
from audit.safetext import inert, visible

_STYLE = """\
:root { color-scheme: light; font: 15px/1.5 system-ui, sans-serif; color: #1f2328; }
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #d0d7de; padding: .35rem .6rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
td:nth-child(3), td:nth-child(4) { white-space: nowrap; }
.gain td:last-child { color: #1a7f37; } .loss td:last-child { color: #b35900; }
.refused td:last-child { color: #8250df; } .unjudged td:last-child { color: #cf222e; }
.table, figure { overflow-x: auto; margin: 1.5rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption, footer { color: #57606a; }
"""


def page(rows: Sequence[Row], outcomes: Outcomes, policy: Policy) -> str:
    """Return the whole page, ending in a newline."""
    return inert("\n".join(_lines(rows, outcomes, policy)) + "\n")


def _lines(rows: Sequence[Row], outcomes: Outcomes, policy: Policy) -> Iterator[str]:
    title = _text(f"audit gate: {summary(rows, outcomes)}")
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield '<head><meta charset="utf-8">'
    allowed = "default-src 'none'; style-src 'unsafe-inline'"
    yield f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>"
    yield f"<style>\n{_STYLE}</style></head>"
    yield f"<body><h1>{title}</h1>"
    yield from _table(rows)
    yield from _figure(rows)
    yield from _list("Refused, and what would settle it", reasons(rows, outcomes))
    unread = (visible(str(file.error)) for file in outcomes.files if file.error is not None)
    yield from _list("Not judged", unread)
    yield from _footer(outcomes, policy)
    yield "</body></html>"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield '<div class="table"><table>'
    heading = "".join(f'<th scope="col">{name}</th>' for name in HEADING)
    yield f"<thead><tr>{heading}</tr></thead><tbody>"
    for row in rows:
        cells = "".join(f"<td>{_text(cell)}</td>" for cell in row.cells)
        kind = row.word or ("unjudged" if row.badness else "nothing")
        yield f'<tr class="{kind}">{cells}</tr>'
    yield "</tbody></table></div>"


def _figure(rows: Sequence[Row]) -> Iterator[str]:
    svg = forest_svg(rows)
    if not svg:
        return
    left_out = len(rows) - len(plotted(rows))
    more = f" {count(left_out, 'row')} not drawn." if left_out else ""
    yield f"<figure>\n{svg}"
    yield (
        "<figcaption>Difference and interval of each row, in the order of the table. Hollow: "
        "refused. Dashed: the interval knows nothing of the variance between training runs."
        f"{more}</figcaption></figure>"
    )


def _list(heading: str, lines: Iterator[str]) -> Iterator[str]:
    items = [f"<li>{_text(line)}</li>" for line in lines]
    if items:
        yield from (f"<h2>{heading}</h2><ul>", *items, "</ul>")


def _footer(outcomes: Outcomes, policy: Policy) -> Iterator[str]:
    words = [f"policy: {visible(policy.source)}"]
    if waived(outcomes):
        words.append(f"{count(waived(outcomes), 'finding')} waived")
    if outcomes.skipped:
        words.append(f"{count(len(outcomes.skipped), 'JSON file')} without schema_version")
    yield f"<footer>{_text('; '.join(words))}</footer>"


def _text(text: str) -> str:
    return escape(visible(text))
