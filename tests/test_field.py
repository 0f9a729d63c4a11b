"""The field, judged: committed tables against pandas, SciPy and the collection they are from."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from audit.published import (
    KINDS,
    POST_TRAINING,
    place_among_published,
    published_arms,
    typical_seed_sds,
)

pytest.importorskip(
    "field_judged",
    reason="benchmarks/ is not beside these tests: they run against an installed wheel",
)

import field
import field_tables
from field_judged import Judged, judged

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "reports" / "field"
BANK = ROOT.parent / "shared" / "bank"
SIZES = ((0, 99), (100, 500), (501, math.inf))


@pytest.fixture(scope="module")
def rows() -> tuple[Judged, ...]:
    return judged()


@pytest.fixture(scope="module")
def sds() -> pd.DataFrame:
    """Every arm of the quartiles with its sd, by pandas alone."""
    table = pd.read_csv(TABLES / "scores.csv", dtype={"seed": str})
    table = table[table["in_quartiles"] == "yes"]
    table["score"] /= table["scale"].map({"0-1": 1.0, "0-100": 100.0})
    keys = ["study", "source", "arm", "kind", "benchmark", "tasks"]
    return table.groupby(keys)["score"].std().reset_index()


@pytest.mark.parametrize("kind", [*KINDS, POST_TRAINING])
@pytest.mark.parametrize(("low", "high"), SIZES)
def test_the_usual_sds_are_the_quartiles_that_pandas_gives(
    sds: pd.DataFrame, kind: str, low: int, high: float
) -> None:
    of_kind = sds if kind == POST_TRAINING else sds[sds["kind"] == kind]
    chosen = of_kind[of_kind["tasks"].between(low, high)]
    found = typical_seed_sds(low, kind)
    if found is None:
        assert chosen.empty
        return
    assert (found.arms, found.sources) == (len(chosen), chosen["source"].nunique())
    expected = chosen["score"].quantile([0.25, 0.5, 0.75]).round(3)
    assert found.quartiles == pytest.approx(tuple(expected))
    medians = chosen.groupby("source")["score"].median()
    assert found.source_quartiles == pytest.approx(
        tuple(medians.quantile([0.25, 0.5, 0.75]).round(3))
    )
    middle = found.quartiles[1]
    place = place_among_published(middle, low, kind)
    assert place is not None
    assert place.above == (chosen["score"] < middle).sum()


def test_the_table_holds_what_it_says() -> None:
    with (TABLES / "scores.csv").open(encoding="utf-8", newline="") as file:
        scores = list(csv.DictReader(file))
    arms = {(row["study"], row["arm"], row["benchmark"]) for row in scores}
    assert (len(scores), len(arms)) == (1123, 217)
    assert sum(len(published_arms(POST_TRAINING, tasks)) for tasks in (1, 100, 501)) == 170
    with (TABLES / "sources.csv").open(encoding="utf-8", newline="") as file:
        listed = {row["source"] for row in csv.DictReader(file)}
    assert {row["source"] for row in scores} <= listed


def test_an_unknown_kind_of_training_has_no_usual_sd() -> None:
    with pytest.raises(ValueError, match="no typical sd of 'magic'"):
        typical_seed_sds(100, "magic")


def values(runs: Sequence[tuple[str, str]]) -> list[float]:
    return [float(score) for _, score in runs]


@pytest.mark.filterwarnings("ignore:Precision loss occurred:RuntimeWarning")  # three equal scores
def test_every_interval_is_scipy_s(rows: tuple[Judged, ...]) -> None:
    for row in rows:
        ours, theirs = values(row.treatment), values(row.control)
        if not ours:
            continue
        found: Any = (
            stats.ttest_ind(ours, theirs, equal_var=False) if theirs else stats.ttest_1samp(ours, 0)
        )
        ends = found.confidence_interval(0.95)
        shift = 0.0 if theirs else float(row.row["control_mean"])
        expected = (ends.low - shift, ends.high - shift)
        assert (row.welch.low, row.welch.high) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        if row.paired is not None:
            theirs_by_seed = dict(row.control)
            partners = [float(theirs_by_seed[seed]) for seed, _ in row.treatment]
            ends = stats.ttest_rel(ours, partners).confidence_interval(0.95)
            pair = (row.paired.low, row.paired.high)
            assert pair == pytest.approx((ends.low, ends.high), rel=1e-9, abs=1e-12)


def test_twelve_of_twenty_five_gains_stand_and_fifteen_where_pairs_count(
    rows: tuple[Judged, ...],
) -> None:
    gains = [row for row in rows if (row.row["type"], row.row["word"]) == ("recipe", "gain")]
    assert len(gains) == 25
    assert sum(row.welch.low > 0 for row in gains if row.row["better"] == "higher") == 11
    assert sum(row.welch.high < 0 for row in gains if row.row["better"] == "lower") == 1
    assert [sum(row.stands for row in gains), sum(row.stands_paired for row in gains)] == [12, 15]
    # Clopper and Pearson.
    ends = [float(stats.beta.ppf(0.025, 12, 14)), float(stats.beta.ppf(0.975, 13, 13))]
    assert "12 of 25 stand, exact 95% interval 28% to 69%" in "\n".join(field.counts(rows))
    assert ends == pytest.approx([0.278, 0.687], abs=0.001)


def test_the_gate_refuses_one_gain_that_welch_alone_would_let_stand(
    rows: tuple[Judged, ...],
) -> None:
    gains = [r for r in rows if (r.row["type"], r.row["word"]) == ("recipe", "gain") and r.gate[0]]
    assert Counter((row.stands, row.gate[1]) for row in gains) == {
        (True, ""): 9,
        (False, "interval-reaches-zero"): 8,
        (True, "interval-reaches-zero"): 1,
    }


def test_the_committed_page_is_what_the_tables_give(rows: tuple[Judged, ...]) -> None:
    assert list(field.page(rows).differences(field.PAGE)) == []


@pytest.mark.skipif(not BANK.is_dir(), reason="the collected scores are not beside this checkout")
def test_the_tables_are_made_from_the_collected_scores() -> None:
    for name, columns, made in field_tables.tables(BANK):
        with (TABLES / name).open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            assert tuple(reader.fieldnames or ()) == tuple(columns)
            assert list(reader) == made


@pytest.mark.skipif(not BANK.is_dir(), reason="the collected scores are not beside this checkout")
def test_every_comparison_agrees_with_the_collection(rows: tuple[Judged, ...]) -> None:
    with (BANK / "comparisons.csv").open(encoding="utf-8", newline="") as file:
        collected = list(csv.DictReader(file))
    assert len(rows) == len(collected) == 122
    for row, theirs in zip(rows, collected, strict=True):
        assert (row.row["study"], row.title) == (
            theirs["study"],
            f"{theirs['arm_a']} over {theirs['arm_b']}",
        )
        stands = theirs["stands"] == "yes"
        assert row.stands == stands
        assert row.stands_paired == ((theirs["stands_if_paired"] or theirs["stands"]) == "yes")
        # Means of the collection have five digits.
        shown = [(row.welch.low, "welch95_lo"), (row.welch.high, "welch95_hi")]
        if row.paired is not None:
            shown += [(row.paired.low, "paired95_lo"), (row.paired.high, "paired95_hi")]
        for ours, name in shown:
            assert ours == pytest.approx(float(theirs[name]), rel=2e-4, abs=2e-5)
