"""Strings made to break a page, and a results file that holds one in every text field."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

FULL = Path(__file__).resolve().parent.parent / "data" / "results" / "full.json"

STRINGS = [
    "a | b || c",
    "`code` ``` fence",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "</title></style></svg></td></table><h1>x</h1><!-- ",
    "{{ 7 * 7 }}{% for x in y %}{# z #}",
    "one\n\n# two\n| --- | --- |\n```\nthree",
    "\u202eright to left\u202c \u2066isolate\u2069 \u200f",
    "]( javascript:alert(1) ) [x](https://example.org/pixel) ![y](https://example.org/pixel)",
    "https://example.org/a?b=c&d=<e>",
    "$x$ @someone #1 :tada: ~~gone~~ **bold** \\",
    "\x00\x07\x1b[31mred\x7f\ufeff",
    "x" * 10_000,
    '" onmouseover="alert(1)" \'',
    "&lt;b&gt; &#124; &amp;",
    "漢字 עברית العربية \U0001f600",
]


def made_hostile(change: Callable[[str], str]) -> dict[str, Any]:
    """Return the sample results file with ``change`` applied to the text a source may choose."""
    document: dict[str, Any] = copy.deepcopy(json.loads(FULL.read_text(encoding="utf-8")))
    document["method"] = change("method")
    document["controls"] = {change("control"): document["controls"].pop("fixed-clip")}
    for claim in document["claims"]:
        claim["id"] = change("claim")
        claim["arm"], claim["against"] = "method", change("control")
    document["change"]["summary"] = change("summary")
    document["dataset"]["source_id"] = change("data")
    document["checkpoint"]["public_id"] = change("model")
    document["limitations"] = [change("limitation")]
    document.pop("launched_seeds")
    document["verified"] |= {"by": change("by"), "versions": {change("name"): change("version")}}
    for entry in document["rounds"]:
        entry["change"], entry["verdict"] = change("change"), change("verdict")
        entry["scores"] = {change("control"): 0.4, change("method"): 0.8}
        entry["seeds_per_arm"] = {change("control"): 3, change("method"): 3}
    document["reported"]["comparisons"] = []
    document["reported"]["arms"] = {}
    runs = document["seed_results"] + next(iter(document["controls"].values()))["seed_results"]
    for run in runs:
        run["run_id"] = change(f"run {run['seed']}") + str(id(run))
        run["cost"]["device"] = change("device")
        run["environment"]["packages"] = {change("package"): change("version")}
    blocks = [*runs, *document["base_evaluations"]]
    for block in blocks:
        for evaluation in (block["evaluation"], *block["evaluations"]):
            evaluation["benchmark"] = change(evaluation["benchmark"]) + evaluation["benchmark"]
    for claim in document["claims"]:
        claim["benchmark"] = change("addition") + "addition"
    return document
