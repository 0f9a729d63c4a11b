"""Import every real file of `../shared/data/real` and write what came of each.

`python benchmarks/importing_outcomes.py` writes docs/importing-outcomes.md; the files themselves
are not part of the project. The test suite holds the page fresh where the files are at hand.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.analysis import analyse
from audit.errors import AuditError
from audit.importers import fitting
from audit.importers.draft import Options
from audit.importers.foreign import read_foreign
from audit.importers.sniff import other_kind
from audit.importers.study import Layout, Placed, assemble
from audit.report import verify
from audit.results import from_document

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT.parent / "shared" / "data" / "real"
PAGE = ROOT / "docs" / "importing-outcomes.md"


@dataclass(frozen=True)
class Case:
    """Files to import together, as the command line would name them."""

    files: tuple[tuple[str | None, str], ...]
    layout: Layout = field(default_factory=Layout)
    options: Options = field(default_factory=Options)
    words: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of one case: exit status, importer, one line, the document."""

    case: Case
    status: int
    importer: str
    line: str
    document: dict[str, Any] | None


# What single files cannot say, said as a user would.
TOGETHER = (
    Case(
        ((None, "multiseed/xling_stats.csv"),),
        Layout(base=("Base",), controls=("A1",), method="A2"),
        Options(where={"benchmark": "math500"}),
        "--where benchmark=math500 --base Base --control A1 --method A2",
    ),
    Case(
        (
            ("a2", "peritem/xling_a2_vi_42_aime2024.json"),
            ("a2", "peritem/xling_a2_vi_7_aime2024.json"),
            ("a2", "trainer_state/trainer_state_a2_vi_42.json"),
        ),
        Layout(seed_from="a2_vi_{seed}"),
        Options(),
        "--arm a2=… --seed-from 'a2_vi_{seed}'",
    ),
    Case(
        (
            ("m", "lm_eval/results_math_perturbed_2026-01-21.json"),
            ("m", "lm_eval/samples_math_perturbed_2026-01-21.jsonl"),
        ),
        words="--arm m=…",
    ),
)


def cases(real: Path) -> list[Case]:
    """Return every real file by itself, then those that belong together."""
    files = sorted(path.relative_to(real).as_posix() for path in real.glob("*/*"))
    return [Case(((None, name),)) for name in files] + list(TOGETHER)


def outcome(case: Case, real: Path) -> Outcome:
    """Import one case and return what came of it."""
    names: list[str] = []
    try:
        placed = []
        for arm, name in case.files:
            file = read_foreign(str(real / name))
            found = fitting(file.content, file.name)
            if found is None:
                what = other_kind(file.content) or "no known kind"
                return Outcome(case, 2, "", f"no importer reads this file: {what}", None)
            placed.append(Placed(file, arm, found.name))
            names.append(found.name)
        document, _ = assemble(placed, case.options, case.layout)
    except AuditError as error:
        return Outcome(case, error.exit_status, _joined(names), error.message, None)
    return Outcome(case, 0, _joined(names), _summary(document), document)


def _joined(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _summary(document: dict[str, Any]) -> str:
    arms = {document["method"]: document} | document.get("controls", {})
    return "; ".join(_arm(name, block["seed_results"]) for name, block in arms.items())


def _arm(name: str, runs: list[dict[str, Any]]) -> str:
    seeds = [run["seed"] for run in runs]
    labels = (
        "no seed"
        if None in seeds
        else f"seed{'s' * (len(seeds) > 1)} " + ", ".join(map(str, seeds))
    )
    blocks = [b for run in runs for b in (run.get("evaluation"), *run.get("evaluations", ())) if b]
    tasks = max((len(b.get("task_ids") or b.get("scores") or ()) for b in blocks), default=0)
    status = {run.get("status", "finished") for run in runs} - {"finished"}
    words = [f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}", labels]
    words += [f"{tasks} tasks"] if tasks else ["scores alone"]
    words += sorted(status)
    words += ["training log"] if any("training" in run for run in runs) else []
    return f"{name}: {', '.join(words)}"


def page(real: Path) -> str:
    """Return the page in Markdown."""
    outcomes = [outcome(case, real) for case in cases(real)]
    lines = [
        "# What came of importing real files",
        "",
        "Files of eight tools and scripts as their authors published them, each given to",
        "`audit import auto` by itself, then together with what single files cannot say.",
        "Exit status 0 is brought over, 1 is of the format but not without inventing, 2 is not",
        "of any format. Written by `python benchmarks/importing_outcomes.py`.",
        "",
        "| file | importer | exit | what came over, or why not |",
        "|---|---|---|---|",
    ]
    for found in outcomes:
        files = "<br>".join(name for _, name in found.case.files)
        words = f"<br>`{found.case.words}`" if found.case.words else ""
        line = _cell(found.line)
        lines.append(f"| {files}{words} | {found.importer or '-'} | {found.status} | {line} |")
    lines += ["", *_recipes(outcomes)]
    return "\n".join(lines) + "\n"


def _recipes(outcomes: list[Outcome]) -> list[str]:
    lines = [
        "## The recipes, judged",
        "",
        "What the file printed for its recipe against its baseline, beside what its training",
        "seeds carry.",
        "",
        "| file | printed | seeds | delta over seeds | verdict on accuracy | claims refused |",
        "|---|---|---|---|---|---|",
    ]
    recipes = (found for found in outcomes if found.importer == "whileai")
    return lines + [
        _recipe(found.case.files[0][1], found.document)
        for found in recipes
        if found.document is not None
    ]


def _recipe(name: str, document: dict[str, Any]) -> str:
    results = from_document(document)
    analysis = analyse(results)
    compared = next(
        c
        for c in analysis.comparisons
        if (c.metric, c.arm, c.against) == ("accuracy", "recipe", "baseline")
    )
    printed = next(
        p
        for p in document["reported"]["comparisons"]
        if (p["arm"], p["against"]) == ("recipe", "baseline")
    )
    said = f"{printed['delta']:+.3f} {printed.get('verdict', '')}".strip()
    seeds = " v ".join(str(len(b["seed_results"])) for b in (document, _baseline(document)))
    delta = "-" if compared.delta is None else f"{compared.delta:+.3f}"
    refused = f"{len(analysis.refused_claims)} of {len(document.get('claims', ()))}"
    return f"| {name} | {said} | {seeds} | {delta} | {compared.verdict.text} | {refused} |"


def _baseline(document: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = document["controls"]["baseline"]
    return block


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def errors(document: dict[str, Any]) -> list[str]:
    """Return the errors `audit verify` finds in an imported document."""
    report = verify(from_document(document))
    return [
        f"{f.slug} {f.pointer}: {f.message}" for f in report.findings if f.severity.name == "ERROR"
    ]


def main() -> int:
    """Write the page."""
    if not REAL.is_dir():
        print(f"no real files at {REAL}", file=sys.stderr)
        return 2
    PAGE.write_text(page(REAL), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
