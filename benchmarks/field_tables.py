"""Tables of published scores, one row a training run, and of the comparisons made of them.

    python benchmarks/field_tables.py FOLDER [-o reports/field]

FOLDER holds a collection's `bank.csv` (one row per arm and seed) and `comparisons.csv` (one row per
published comparison: both means, Welch's interval, the published word). Numbers and names of
repositories alone go into the tables:

- `scores.csv`: study, source, arm, kind, benchmark, its tasks and answers per task, scale, seed,
  score, and whether the arm enters the quartiles;
- `comparisons.csv`: which arms of `scores.csv` are compared, and the published word. Where a study
  prints no score per run, or only one arm's, the standard error and the degrees of freedom stand
  in their place, as Welch's interval of the printed mean, sd and number of runs gives them;
- `sources.csv`: the repositories and revisions of each source.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from scipy import stats

ROOT = Path(__file__).resolve().parent.parent
Row = Mapping[str, str]

SCORES = (
    *("study", "source", "arm", "kind", "benchmark", "tasks", "answers", "scale", "seed", "score"),
    "in_quartiles",
)
COMPARISONS = (
    *("study", "source", "type", "kind", "benchmark", "scale", "better", "treatment", "control"),
    *("treatment_arms", "control_arms", "treatment_runs", "control_runs", "treatment_mean"),
    *("control_mean", "standard_error", "df", "word", "printed_low", "printed_high", "printed_by"),
)
_TYPES = {
    "recipe v recipe": "recipe",
    "trained v base": "base",
    "pretraining record v the best earlier one": "record",
}
# Families of studies whose first word is not their name.
_TWO_WORDS = ("code", "grpo", "parameter", "rm", "cartpole", "lexmask")
# What a comparison calls an arm that another study of the source lists.
_ELSEWHERE = {
    ("vivace-v2", "gspo+cispo+grpo"): tuple(f"vivace-v2/{a}" for a in ("gspo", "cispo", "grpo")),
    ("vivace-v2", "dapo x2+dr_grpo"): (
        *("vivace-v2/dapo_ep2", "vivace-v2/dapo_ep1", "vivace-v2/dr_grpo"),
    ),
    ("whileai-talk-to-solve", "recipe"): ("whileai-talk-methods/baseline",),
    ("nips-sage", "drgrpo_g4"): ("nips-full/drgrpo_g4",),
    ("holdfast-dpo", "sft 4B"): ("holdfast-en/sft 4B 4k",),
    ("holdfast-dpo", "sft 8B"): ("holdfast-en/sft 8B 4k",),
}
_LOWER_IS_BETTER = ("FineWeb val bpb", "steps to format .8")
_WITHOUT_ENDS = (*_LOWER_IS_BETTER, "CartPole last 30", "reward model score")
# A comparison's name of an arm is cut after so many characters.
_CUT = 30
# Means of the collection have five digits.
_MEAN_TOLERANCE = 1e-4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "reports" / "field")
    options = parser.parse_args()
    for name, columns, rows in tables(options.folder):
        with (options.output / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def tables(folder: Path) -> Iterator[tuple[str, Sequence[str], list[dict[str, str]]]]:
    """Yield the name, the columns and the rows of each table."""
    bank, compared = _read(folder / "bank.csv"), _read(folder / "comparisons.csv")
    yield "scores.csv", SCORES, [_score(row) for row in bank]
    arms: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in bank:
        arms[row["study"], row["benchmark"]][row["arm"]].append(float(row["score"]))
    yield "comparisons.csv", COMPARISONS, [_comparison(row, arms) for row in compared]
    yield "sources.csv", ("source", "repository", "revisions"), list(_sources([*bank, *compared]))


def source_of(study: str) -> str:
    """Return the family of a study: those of one family share people, code and models."""
    words = study.split("-")
    return "-".join(words[:2]) if words[0] in _TWO_WORDS else words[0]


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _score(row: Row) -> dict[str, str]:
    return {
        **{name: row[name] for name in ("study", "arm", "kind", "benchmark", "scale", "seed")},
        "source": source_of(row["study"]),
        "tasks": row["n"],
        "answers": row["k"],
        "score": row["score"],
        "in_quartiles": row["in_quartiles"],
    }


def _comparison(
    row: Row, arms: Mapping[tuple[str, str], Mapping[str, list[float]]]
) -> dict[str, str]:
    sides = [_arms(row, side, arms) for side in ("a", "b")]
    known = sides[0] and (sides[1] or row["seeds_b"] == "1")
    low, high, df = (float(row[name]) for name in ("welch95_lo", "welch95_hi", "df"))
    error = (high - low) / 2 / float(stats.t.ppf(0.975, df))
    printed = re.match(r"\[(-?[\d.]+), (-?[\d.]+)\] ?(\w*)", row["printed"])
    return {
        **{name: row[name] for name in ("study", "kind", "benchmark")},
        "source": source_of(row["study"]),
        "type": _TYPES[row["type"]],
        "scale": _scale(row),
        "treatment": row["arm_a"],
        "control": row["arm_b"],
        "treatment_arms": "; ".join(sides[0]) if known else "",
        "control_arms": "; ".join(sides[1]) if known else "",
        "treatment_runs": row["seeds_a"],
        "control_runs": row["seeds_b"],
        "treatment_mean": row["mean_a"],
        "control_mean": row["mean_b"],
        "standard_error": "" if known else f"{error:.6g}",
        "df": "" if known else row["df"],
        "better": "lower" if row["benchmark"] in _LOWER_IS_BETTER else "higher",
        "word": row["published_word"],
        "printed_low": printed[1] if printed else "",
        "printed_high": printed[2] if printed else "",
        "printed_by": printed[3] if printed else "",
    }


def _scale(row: Row) -> str:
    """Return the scale of both means; empty where it has no ends."""
    if row["benchmark"] in _WITHOUT_ENDS:
        return ""
    return "0-100" if max(float(row["mean_a"]), float(row["mean_b"])) > 1 else "0-1"


def _arms(
    row: Row, side: str, arms: Mapping[tuple[str, str], Mapping[str, list[float]]]
) -> tuple[str, ...]:
    """Return ``study/arm`` of the runs behind one side; empty where they are not in the bank."""
    study, name, runs = row["study"], row[f"arm_{side}"], int(row[f"seeds_{side}"])
    listed = arms.get((study, row["benchmark"]), {})
    found = tuple(
        f"{study}/{arm}"
        for arm in listed
        if arm == name or (len(name) >= _CUT and arm.startswith(name))
    )
    found = found or _ELSEWHERE.get((study, name), ())
    scores = [
        score
        for place in found
        for score in arms[place.split("/", 1)[0], row["benchmark"]][place.split("/", 1)[1]]
    ]
    if not scores or row["seed_scores"].startswith("mean"):
        return ()
    mean = float(row[f"mean_{side}"])
    if len(scores) != runs or abs(sum(scores) / runs - mean) > _MEAN_TOLERANCE * max(1, abs(mean)):
        raise SystemExit(f"{study}: the runs of {name} are not those that were compared")
    return found


def _sources(rows: Iterable[Row]) -> Iterator[dict[str, str]]:
    """Yield each source once, with the revisions of its repository."""
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for row in rows:
        text = row["source"]
        named = re.match(r"[\w.-]+/[\w.-]+(?:#\d+)?", text)
        name = named[0] if named else "not identified"
        revisions = found[source_of(row["study"]), name]
        revisions.update(dict.fromkeys(re.findall(r"@([0-9a-f]{8})", text)))
    for (source, name), revisions in sorted(found.items()):
        yield {"source": source, "repository": name, "revisions": " ".join(revisions)}


if __name__ == "__main__":
    main()
