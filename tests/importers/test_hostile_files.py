"""Damaged samples of every format: brought over, or refused in one line; never a traceback."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bringing import SAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import AuditError
from audit.importers import fitting
from audit.importers.draft import Options
from audit.importers.foreign import from_source
from audit.importers.study import Layout, Placed, assemble
from audit.reading import Source
from audit.schema import schema_faults

PATHS = [
    path
    for path in sorted(SAMPLES.rglob("*.json*"))
    if path.parent != SAMPLES and path.stat().st_size < 20_000
]
JUNK: list[Any] = [None, True, -1, 3.5, 1e308, 2**60, float("nan"), "", "N/A", "x", [], {}, [None]]
JUNK += [[[]], {"a": 1}, ["a", {}]]


def content_of(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value below the root, of long lists the first few."""
    pairs: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else []
    if isinstance(value, list):
        pairs = enumerate(value[:5])
    return [p for key, inner in pairs for p in [(*here, key), *places(inner, (*here, key))]]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    path = draw(st.sampled_from(PATHS))
    content = copy.deepcopy(content_of(path))
    for _ in range(draw(st.integers(1, 3))):
        where = draw(st.sampled_from(places(content) or [()]))
        if not where:
            break
        holder = content
        for key in where[:-1]:
            holder = holder[key]
        if draw(st.booleans()):
            holder[where[-1]] = copy.deepcopy(draw(st.sampled_from(JUNK)))
        else:
            del holder[where[-1]]
    if path.suffix == ".jsonl" and isinstance(content, list):
        return path.name, "\n".join(map(json.dumps, content)).encode()
    return path.name, json.dumps(content).encode()


TABLES = [
    "arm,seed,task,sample,value\na,1,t,0,1\na,2,t,0,0\nb,1,t,0,1\n",
    'arm,values,mean,std,n_seeds\na,"0.1,0.2",0.15,0.07,2\n',
    "arm,seed_1,seed_2\na,.5,.6\nb,.4,.5\n",
    "seed,x,y\n1,.2,.3\n2,.3,.4\n",
]
PIECES = ["", ",", "\n", '"', "NaN", "1e999", "1e9999", "-", "é", "%", "[]", "true", ";", "\t", "1"]


@st.composite
def torn(draw: st.DrawFn) -> tuple[str, bytes]:
    text = draw(st.sampled_from(TABLES))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(text) - 1)))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + draw(st.integers(0, 3)) :]
    return "table.csv", text.encode()


@settings(max_examples=200, deadline=None)
@given(file=st.one_of(damaged(), torn()), percent=st.booleans())
def test_a_damaged_file_is_brought_over_soundly_or_refused(
    file: tuple[str, bytes], percent: bool
) -> None:
    name, data = file
    source = Source(name, data, hashlib.sha256(data).hexdigest())
    options = Options(scale=(0, 100) if percent else None)
    outcome = brought(source, options)
    if isinstance(outcome, AuditError):
        assert outcome.exit_status in (1, 2)
    elif outcome is not None:
        assert schema_faults(outcome) == []
        json.dumps(outcome, allow_nan=False)


def brought(source: Source, options: Options) -> dict[str, Any] | AuditError | None:
    try:
        foreign = from_source(source)
        found = fitting(foreign.content, foreign.name)
        if found is None:
            return None
        return assemble([Placed(foreign, None, found.name)], options, Layout())[0]
    except AuditError as error:
        return error
