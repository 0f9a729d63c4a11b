"""Tamper study: how much of a falsified results file ``audit verify`` notices.

Every leaf of an artifact is changed alone, once crudely and once carefully; then whole blocks are
moved, copied or dropped. A change counts as noticed when the report has a warning or error whose
(rule, pointer) the untouched file lacks. Run::

    python benchmarks/tamper.py [RESULTS.json] [--data train.jsonl] [--write benchmarks/tamper.md]

Without a file the project's own ``reports/gppo-framework/results.json`` is taken.
"""

from __future__ import annotations

import argparse
import copy
import json
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import audit
from audit.finding import Severity
from audit.pointer import join, parts
from audit.reading import Source
from audit.results import from_source

FREE_TEXT = ("limitations", "claim_policy", "artifact_path")
OWN = Path(__file__).resolve().parent.parent / "reports" / "gppo-framework" / "results.json"


@dataclass(frozen=True)
class Tamper:
    """One change: where, of what kind, and the changed document."""

    pointer: str
    kind: str
    document: dict[str, Any]


def spoken(document: dict[str, Any], data: Path | None) -> set[tuple[str, str]]:
    """Return (rule, pointer) of every warning and error."""
    raw = json.dumps(document).encode()
    try:
        report = audit.verify(from_source(Source("tampered.json", raw, "")), data)
    except audit.AuditError:
        return {("refused", "")}
    return {(f.rule, f.pointer) for f in report.found if f.severity >= Severity.WARNING}


def leaves(value: Any, here: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (pointer, value) of every leaf outside free text."""
    members = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else None
    )
    if members is None:
        yield here, value
        return
    for key, member in members:
        if key not in FREE_TEXT:
            yield from leaves(member, join(here, key))


def float32(value: float) -> float:
    """Round to single precision."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def text_edit(value: str) -> str:
    """Change one hex digit of a hash, else one letter in the middle."""
    at = len(value) // 2
    old = value[at : at + 1]
    new = "1" if old == "0" else "0" if old in "123456789abcdef" and len(value) >= 40 else "x"
    return value[:at] + (new if new != old else "y") + value[at + 1 :]


def crude(value: Any) -> Any:
    """Return the value a careless hand leaves behind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.07 + 0.003
    return text_edit(value) if isinstance(value, str) else 1


def careful(value: Any) -> Any:
    """Return the value of someone who keeps the precision: float x 1.001 in float32."""
    if isinstance(value, float):
        return float32(value * 1.001)
    return crude(value)


def replaced(document: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """Return a copy with one leaf changed."""
    changed = copy.deepcopy(document)
    here: Any = changed
    *way, last = parts(pointer)
    for token in way:
        here = here[int(token)] if isinstance(here, list) else here[token]
    here[int(last) if isinstance(here, list) else last] = value
    return changed


def leaf_tampers(
    document: dict[str, Any], kind: str, edit: Callable[[Any], Any]
) -> Iterator[Tamper]:
    for pointer, value in leaves(document):
        new = edit(value)
        if new != value or type(new) is not type(value):
            yield Tamper(pointer, kind, replaced(document, pointer, new))


def runs_of(document: dict[str, Any], control: str | None) -> list[dict[str, Any]]:
    """Return the runs of the top arm (None) or of a control, as they stand in the document."""
    arm = document if control is None else document["controls"][control]
    runs: list[dict[str, Any]] = arm["seed_results"]
    return runs


def structural_tampers(document: dict[str, Any]) -> Iterator[Tamper]:
    """Move, copy or drop whole runs, arms, steps and rewards."""
    control = next(iter(document["controls"]))
    for arm in (None, control):
        for index in range(len(runs_of(document, arm))):
            yield from run_tampers(document, arm, index)
            yield from step_tampers(document, arm, index)
    for key in ("seed_results", "method_metrics"):
        changed = copy.deepcopy(document)
        other = changed["controls"][control]
        pairs = (
            [(changed, other)]
            if key == "seed_results"
            else zip(changed["seed_results"], other["seed_results"], strict=True)
        )
        for one, two in pairs:
            one[key], two[key] = two[key], one[key]
        yield Tamper("", f"swap the arms' {key}", changed)


def run_tampers(document: dict[str, Any], arm: str | None, index: int) -> Iterator[Tamper]:
    """Drop, double, relabel a run, or put a neighbour's results under its seed."""
    name = f"run {index} of {arm or 'the method'}"
    for act in ("drop", "double", "relabel", "replace by a copy of the next"):
        changed = copy.deepcopy(document)
        runs = runs_of(changed, arm)
        run = runs[index]
        if act == "drop":
            del runs[index]
        elif act == "double":
            runs.append(copy.deepcopy(run))
        elif act == "relabel":
            run["seed"] += 100
        else:
            twin = copy.deepcopy(runs[(index + 1) % len(runs)])
            runs[index] = {**twin, "seed": run["seed"]}
        yield Tamper("", f"{act} {name}", changed)


def step_tampers(document: dict[str, Any], arm: str | None, index: int) -> Iterator[Tamper]:
    """Turn the rewards of a step, or remove the step."""
    for number, step in enumerate(runs_of(document, arm)[index]["training"]):
        name = f"step {number} of run {index} of {arm or 'the method'}"
        turned = step["rewards"][1:] + step["rewards"][:1]
        if turned != step["rewards"]:
            changed = copy.deepcopy(document)
            runs_of(changed, arm)[index]["training"][number]["rewards"] = turned
            yield Tamper("", f"turn the rewards of {name}", changed)
        changed = copy.deepcopy(document)
        del runs_of(changed, arm)[index]["training"][number]
        yield Tamper("", f"remove {name}", changed)


@dataclass
class Tally:
    """Counts of one kind of tamper."""

    tried: int = 0
    noticed: int = 0

    @property
    def share(self) -> float:
        """Noticed over tried."""
        return self.noticed / self.tried if self.tried else 1.0


def study(
    document: dict[str, Any], data: Path | None
) -> tuple[dict[str, Tally], dict[str, list[str]]]:
    """Return the tallies and the pointers not noticed, by kind."""
    untouched = spoken(document, data)
    tallies: dict[str, Tally] = {}
    missed: dict[str, list[str]] = {}
    sets = (
        ("crude", leaf_tampers(document, "crude", crude)),
        ("careful", leaf_tampers(document, "careful", careful)),
        ("structural", structural_tampers(document)),
    )
    for name, tampers in sets:
        for tamper in tampers:
            noticed = bool(spoken(tamper.document, data) - untouched)
            groups = [name]
            if name != "structural":
                groups.append(f"{name}, {type_of(document, tamper.pointer)}")
            for group in groups:
                tally = tallies.setdefault(group, Tally())
                tally.tried += 1
                tally.noticed += noticed
            if not noticed:
                missed.setdefault(name, []).append(tamper.pointer or tamper.kind)
        print(f"{name}: {tallies[name].noticed} of {tallies[name].tried}", file=sys.stderr)
    return tallies, missed


def type_of(document: dict[str, Any], pointer: str) -> str:
    from audit.pointer import resolve

    value = resolve(document, pointer)
    names = {bool: "flags", int: "whole numbers", float: "floats", str: "texts"}
    return names.get(type(value), "nulls")


def shape(pointer: str) -> str:
    """Return a pointer with its indices replaced, to count alike places."""
    return "/".join("*" if token.isdigit() else token for token in pointer.split("/"))


ONCE = "recorded once, so nothing can contradict it"
WHY = {
    "gradient_l2_norm": "an independent measurement; only step 1 is recorded in both arms",
    "max_abs_log_ratio": "an independent measurement; the edit keeps the column's resolution",
    "loss": "an independent measurement; the edit keeps the float32 lattice",
    "code_commit": "recorded once; any forty hex digits are a commit",
    "training_row": "the rows still increase and the last one is untouched",
    "generated_tokens": "recorded once; the bounds from truncation and max_tokens still hold",
    "truncated_responses": "recorded once; the bounds from examples and tokens still hold",
}


def table(
    name: str, tallies: dict[str, Tally], missed: dict[str, list[str]], with_data: bool
) -> str:
    lines = [
        "# Tamper study",
        "",
        f"File: `{name}` of the gppo-framework study"
        f"{', with its training data' if with_data else ''}. "
        "Command: `python benchmarks/tamper.py`.",
        "",
        "Crude: whole number + 1, float * 1.07 + 0.003, flag flipped, one hex digit or letter "
        "changed. Careful: the same, but float * 1.001 rounded to float32 (a float of 0 cannot be "
        "edited so and is left out). Noticed: a warning or error whose (rule, pointer) the "
        "untouched file lacks. Free text (`limitations`, `claim_policy`, `artifact_path`) is left "
        "out.",
        "",
        "| tampers | tried | noticed | share |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {group} | {tally.tried} | {tally.noticed} | {tally.share:.1%} |"
        for group, tally in tallies.items()
    ]
    for kind, pointers in missed.items():
        lines += ["", f"## Not noticed: {kind}", "", "| places | count | why |", "|---|---|---|"]
        for place, count in sorted(Counter(map(shape, pointers)).items()):
            leaf = place.rpartition("/")[2]
            lines.append(f"| `{place}` | {count} | {WHY.get(leaf, ONCE)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="?", type=Path, default=OWN)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    document = json.loads(options.results.read_text(encoding="utf-8"))
    tallies, missed = study(document, options.data)
    text = table(options.results.name, tallies, missed, options.data is not None)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
