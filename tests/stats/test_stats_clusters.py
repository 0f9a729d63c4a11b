"""Clusters of tasks: the ratio form against brute force, its special cases, and stems of ids."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm  # type: ignore[import-untyped]  # it ships no types
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import InsufficientData
from audit.stats import base_delta, cluster_f_test, seed_delta, stem_clusters, stem_of
from audit.stats.clusters import between_clusters, clusters_of, seed_by_cluster


@st.composite
def studies(draw: Any, k: int = 4) -> tuple[Any, Any, list[int]]:
    """Two arms of counts and a label for each task, at least two of them."""
    tasks = draw(st.integers(3, 9))
    arms = [
        np.array(draw(st.lists(st.lists(st.integers(0, k), min_size=tasks, max_size=tasks),
                               min_size=2, max_size=4)))
        for _ in range(2)
    ]  # fmt: skip
    labels = draw(st.lists(st.integers(0, 3), min_size=tasks, max_size=tasks))
    labels[0], labels[1] = 0, 1
    return arms[0], arms[1], labels


def by_hand(y: Any, labels: list[int]) -> tuple[float, Any, Any]:
    """q of a matrix of rates, with w and f of each cluster, straight from the definition."""
    y, names = np.asarray(y, dtype=float), sorted(set(labels))
    tasks, c = y.shape[1], len(names)
    sizes = np.array([labels.count(name) for name in names])
    w = sizes * c / tasks
    f = 1 - 2 * w / c + (w**2).sum() / c**2
    means = np.array([y[:, np.array(labels) == name].mean(axis=1) for name in names]).T
    m = (w * means).sum(axis=1) / c
    assert m == pytest.approx(y.mean(axis=1))
    rest = w * (means - means.mean(axis=0) - m[:, None] + m.mean())
    return float((rest**2 / f).sum() / ((len(y) - 1) * c)), w, f


@given(studies())
def test_the_mean_squares_are_those_of_their_definition(study: tuple[Any, Any, list[int]]) -> None:
    control, treatment, labels = study
    groups = clusters_of(labels, len(labels))
    q, w, f = by_hand(control / 4, labels)
    assert float(seed_by_cluster(control, 4, groups)) == pytest.approx(q, abs=1e-12)
    d = treatment.mean(axis=0) / 4 - control.mean(axis=0) / 4
    names = sorted(set(labels))
    d_c = np.array([d[np.array(labels) == name].mean() for name in names])
    v = (w**2 * (d_c - d.mean()) ** 2 / f).sum() / len(names)
    result = seed_delta(control, treatment, samples=4, clusters=labels)
    assert result.v_t == pytest.approx(v, abs=1e-12)
    assert result.effective_clusters == pytest.approx(len(names) ** 2 / (w**2).sum())


@given(studies())
def test_clusters_never_change_delta_or_the_variance_of_run_means(
    study: tuple[Any, Any, list[int]],
) -> None:
    control, treatment, labels = study
    plain = seed_delta(control, treatment, samples=4)
    clustered = seed_delta(control, treatment, samples=4, clusters=labels)
    assert clustered.delta == plain.delta
    assert (clustered.control.s2, clustered.treatment.s2) == (
        plain.control.s2, plain.treatment.s2)  # fmt: skip
    assert clustered.control.identical == plain.control.identical


@given(studies(), st.booleans())
def test_a_cluster_for_each_task_is_the_plain_rule(
    study: tuple[Any, Any, list[int]], paired: bool
) -> None:
    control, treatment, labels = study
    if paired:
        runs = min(len(control), len(treatment))
        control, treatment = control[:runs], treatment[:runs]
    plain = seed_delta(control, treatment, samples=4, paired=paired)
    single = seed_delta(
        control, treatment, samples=4, paired=paired, clusters=list(range(len(labels)))
    )
    assert (single.x, single.v_t, single.u, single.control) == (
        plain.x, plain.v_t, plain.u, plain.control)  # fmt: skip
    assert single.fixed == plain.fixed
    # With clusters x counts with its own degrees of freedom, so there are never more of them.
    assert single.raw.df <= plain.raw.df


@given(studies(), st.integers(2, 4))
def test_clusters_of_one_size_are_the_plain_rule_on_their_means(
    study: tuple[Any, Any, list[int]], size: int
) -> None:
    control, treatment, _ = study
    tasks = control.shape[1]
    rng = np.random.default_rng(int(control.sum()))
    # Counts of `size` tasks that add up to the cluster's count times their number.
    wide = [np.repeat(arm, size, axis=1) for arm in (control, treatment)]
    order = rng.permutation(tasks * size)
    labels = np.repeat(np.arange(tasks), size)[order].tolist()
    spread = seed_delta(wide[0][:, order], wide[1][:, order], samples=4, clusters=labels)
    means = seed_delta(control, treatment, samples=4, clusters=list(range(tasks)))
    if not (means.control.saturated or means.treatment.saturated):
        assert (spread.x, spread.u, spread.raw, spread.fixed) == (
            means.x, means.u, means.raw, means.fixed)  # fmt: skip


@given(studies(), st.randoms())
def test_neither_the_order_of_tasks_nor_the_names_of_clusters_matter(
    study: tuple[Any, Any, list[int]], random: Any
) -> None:
    control, treatment, labels = study
    order = list(range(len(labels)))
    random.shuffle(order)
    names = {label: f"item {label}" for label in labels}
    one = seed_delta(control, treatment, samples=4, clusters=labels)
    two = seed_delta(control[:, order], treatment[:, order], samples=4,
                     clusters=[names[labels[i]] for i in order])  # fmt: skip
    assert one == two


def test_the_mean_squares_are_unbiased_with_unequal_clusters() -> None:
    rng = np.random.default_rng(4)
    sizes = [9, 5, 3, 2, 2, 1, 1, 1]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    groups = clusters_of(labels.tolist(), len(labels))
    # Cluster effects alone: the variance of the weighted mean is sum n^2 / T^2, so V / C too.
    values = rng.normal(0, 1000, (4000, len(sizes))).round().astype(np.int64)[:, labels]
    found = np.mean([float(between_clusters(row, 1000, groups)) for row in values]) / len(sizes)
    true = sum(n * n for n in sizes) / len(labels) ** 2
    assert found == pytest.approx(true, rel=0.05)


def test_large_counts_are_exact() -> None:
    rng = np.random.default_rng(0)
    control = rng.integers(0, 10**6, (3, 60))
    labels = [t // 7 for t in range(60)]
    groups = clusters_of(labels, 60)
    assert seed_by_cluster(control, 10**6, groups) == seed_by_cluster(
        control.astype(object), 10**6, groups
    )


def test_paired_arms_and_the_base_take_clusters() -> None:
    rng = np.random.default_rng(6)
    rates = np.repeat(rng.random(12), 10)
    labels = [t // 10 for t in range(120)]
    shift = np.repeat(rng.normal(0, 0.15, 12), 10)
    control = rng.binomial(4, rates, (5, 120))
    treatment = rng.binomial(4, np.clip(rates + shift, 0, 1), (5, 120))
    for paired in (False, True):
        tasks = seed_delta(control, treatment, samples=4, paired=paired)
        items = seed_delta(control, treatment, samples=4, paired=paired, clusters=labels)
        assert items.paired == paired
        assert items.random.high - items.random.low > 1.5 * (tasks.random.high - tasks.random.low)
    against = base_delta(control, treatment, samples=4, clusters=labels)
    assert against.raw.se > 1.5 * base_delta(control, treatment, samples=4).raw.se
    single = base_delta(control, treatment, samples=4, clusters=list(range(120)))
    assert single.x == base_delta(control, treatment, samples=4).x


@pytest.mark.parametrize(("labels", "error"), [([1] * 6, InsufficientData), ([1, 2], ValueError)])
def test_clusters_that_are_none_are_refused(labels: list[int], error: type[Exception]) -> None:
    with pytest.raises(error, match="cluster"):
        seed_delta([[1] * 6, [0] * 6], [[1] * 6, [0] * 6], samples=1, clusters=labels)


@settings(max_examples=20)
@given(studies())
def test_the_f_test_is_analysis_of_variance(study: tuple[Any, Any, list[int]]) -> None:
    control, treatment, labels = study
    if len(set(labels)) == len(labels):
        return
    d = treatment.mean(axis=0) - control.mean(axis=0)
    groups = [d[np.array(labels) == name] for name in sorted(set(labels))]
    found = cluster_f_test(control, treatment, samples=4, clusters=labels)
    if found.statistic is None or all(np.ptp(g) == 0 for g in groups):
        return
    oracle = scipy.stats.f_oneway(*groups)
    assert found.statistic == pytest.approx(oracle.statistic, rel=1e-8, abs=1e-8)
    assert found.p_value == pytest.approx(oracle.pvalue, rel=1e-8, abs=1e-8)


def test_the_f_test_is_that_of_statsmodels_and_needs_a_shared_cluster() -> None:
    rng = np.random.default_rng(9)
    control, treatment = rng.binomial(4, 0.4, (3, 20)), rng.binomial(4, 0.6, (3, 20))
    labels = [t % 6 for t in range(20)]
    d = (treatment.mean(axis=0) - control.mean(axis=0)) / 4
    dummies = np.array([[float(label == i) for i in range(6)] for label in labels])
    oracle = sm.OLS(d, dummies).fit().f_test(np.eye(6)[1:] - np.eye(6)[:-1])
    found = cluster_f_test(control, treatment, samples=4, clusters=labels)
    assert found.statistic == pytest.approx(float(oracle.fvalue), rel=1e-8)
    with pytest.raises(InsufficientData, match="its own cluster"):
        cluster_f_test(control, treatment, samples=4, clusters=list(range(20)))


# Stems


@pytest.mark.parametrize(
    ("task", "stem"),
    [
        ("item-3/variant-7", "item-3/variant"),
        ("a - 1", "a"),
        ("a:b|c@d", "a:b|c"),
        ("x__1__", "x"),
        ("word", None),
        ("", None),
        ("-7", None),
        ("a" * 5000 + "-1", "a" * 5000),
    ],
)
def test_the_stem_is_all_before_the_last_token(task: str, stem: str | None) -> None:
    assert stem_of(task) == stem


def ids(sizes: list[int]) -> list[str]:
    return [f"item{i}-{j}" for i, size in enumerate(sizes) for j in range(size)]


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        ([10] * 12, "clusters"),
        ([2] * 8, "clusters"),
        ([2] * 7, "none"),
        ([2] * 10 + [1] * 20, "clusters"),
        ([2] * 10 + [1] * 21, "none"),
        ([20] * 8, "clusters"),
        ([21] + [5] * 20, "topics"),
        ([100], "none"),
        ([50, 50], "topics"),
        ([1] * 50, "none"),
        ([], "none"),
    ],
)
def test_stems_are_clusters_where_many_tasks_share_few_each(sizes: list[int], kind: str) -> None:
    assert stem_clusters(ids(sizes)).kind == kind


def test_stems_serve_as_clusters() -> None:
    stems = stem_clusters([*ids([3] * 10), "alone"])
    assert len(stems.labels) == 31
    assert (stems.groups, stems.largest, stems.labels[-1]) == (11, 3, "alone")
    assert clusters_of(stems.labels, 31).effective == Fraction(31**2, 10 * 9 + 1)
