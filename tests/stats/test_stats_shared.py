"""Seeds that both arms share are shown and warned of; they never decide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, ttest_rel

from audit.stats import critical_correlation, shared_seeds
from audit.stats.pivot import IntervalEstimate


def interval(low: float, high: float, level: float = 0.95) -> IntervalEstimate:
    return IntervalEstimate(low, high, 0.01, 8.0, 0.04, level)


GAIN, FLAT = interval(0.01, 0.2), interval(-0.1, 0.2)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=4, max_size=9
    )
)  # fmt: skip
def test_correlation_and_interval_are_scipys(pairs: list[tuple[int, int]]) -> None:
    a, b = ([pair[side] / 100 for pair in pairs] for side in (0, 1))
    found = shared_seeds(dict(enumerate(a)), dict(enumerate(b)), unpaired=FLAT)
    assert found.pairs == len(pairs)
    assert found.interval is not None
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert found.correlation == pytest.approx(pearsonr(a, b).statistic, abs=1e-9)
    else:
        assert found.correlation is None
    differences = np.subtract(b, a)
    if differences.std() > 1e-9:
        known = ttest_rel(b, a)
        ends = known.confidence_interval(0.95)
        assert found.interval.p_value == pytest.approx(known.pvalue, abs=1e-9)
        assert (found.interval.low, found.interval.high) == pytest.approx(tuple(ends), abs=1e-9)


def test_a_correlation_is_negative_below_its_critical_value() -> None:
    rng = np.random.default_rng(0)
    for pairs in (4, 6, 12):
        a, b = rng.normal(size=(2, 40_000, pairs))
        a -= a.mean(axis=1, keepdims=True)
        b -= b.mean(axis=1, keepdims=True)
        r = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
        assert (r < critical_correlation(pairs)).mean() == pytest.approx(0.1, abs=0.006)
    with pytest.raises(ValueError, match="3 pairs"):
        critical_correlation(2)


def test_runs_without_a_partner_are_named() -> None:
    found = shared_seeds({1: "0.5", 2: "0.6", 9: "0.4"}, {2: "0.7", 1: "0.5", 7: "0.9"},
                         unpaired=FLAT)  # fmt: skip
    assert found.seeds == (1, 2)
    assert (found.control_only, found.treatment_only) == ((9,), (7,))
    assert found.critical is None
    assert not found.warns


def test_pairs_that_run_against_each_other_are_warned_of() -> None:
    up, down = {s: s / 10 for s in range(5)}, {s: 0.9 - s / 10 for s in range(5)}
    found = shared_seeds(up, down, unpaired=FLAT)
    assert found.correlation == pytest.approx(-1)
    assert found.runs_against
    assert found.warns
    assert found.agrees is None
    assert not shared_seeds(up, up, unpaired=FLAT).warns


def test_a_gain_that_its_pairs_do_not_show_is_warned_of() -> None:
    control = {1: 0.50, 2: 0.52, 3: 0.48, 4: 0.50}
    clear = {seed: score + 0.1 + seed / 1000 for seed, score in control.items()}
    unclear = {1: 0.70, 2: 0.50, 3: 0.72, 4: 0.48}
    assert shared_seeds(control, clear, unpaired=GAIN).agrees is True
    found = shared_seeds(control, unclear, unpaired=GAIN)
    assert found.agrees is False
    assert found.warns
    # The paired analysis of the outcomes, where given, takes the place of the run means'.
    given_interval = interval(0.02, 0.3)
    other = shared_seeds(control, unclear, unpaired=GAIN, paired=given_interval)
    assert other.interval is given_interval
    assert other.agrees is True
    # A gain contradicted by a loss in pairs is not shown by them either.
    assert shared_seeds(control, clear, unpaired=interval(-0.2, -0.1)).agrees is False


def test_below_four_pairs_nothing_is_warned_of() -> None:
    found = shared_seeds({1: 0.1, 2: 0.2, 3: 0.3}, {1: 0.3, 2: 0.2, 3: 0.1}, unpaired=GAIN)
    assert found.correlation == pytest.approx(-1)
    assert not found.warns
    assert found.agrees is None


def test_without_shared_seeds_there_is_nothing_to_show() -> None:
    found = shared_seeds({1: 0.1}, {2: 0.2}, unpaired=GAIN)
    assert (found.pairs, found.correlation, found.interval) == (0, None, None)
    assert not found.runs_against


def test_the_paired_interval_has_the_level_of_the_one_that_decides() -> None:
    a, b = {s: s / 9 for s in range(4)}, {s: s / 8 + 0.01 for s in range(4)}
    found = shared_seeds(a, b, unpaired=interval(0.01, 0.3, 0.994))
    assert found.interval is not None
    assert found.interval.level == 0.994
