"""Splits between means of sparse rows: those of the same rows as a dense table."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.centers import proposals, samples, sparse_proposals
from holdfast.centers.keyed_table import collect_table
from holdfast.centers.means import choose_means

SHAPES = [(3, 4), (40, 1), (60, 3), (200, 15), (200, 16), (500, 40), (300, 150), (80, 1500)]
KINDS = ["positive", "both signs", "far from zero", "counts", "binary"]


def sparse_rows(n: int, d: int, kind: str, seed: int) -> csr_array:
    """Some columns are never used, some rows are repeated, some are empty (under Euclid)."""
    rng = np.random.default_rng([seed, n, d, KINDS.index(kind)])
    values = rng.random((n, d))
    if kind == "both signs":
        values = values - 0.5
    elif kind == "counts":
        values = np.ceil(4.0 * values)
    elif kind == "binary":
        values = np.ones((n, d))
    elif kind == "far from zero":
        values = values + 1000.0
    values[rng.random((n, d)) > (0.5 if d < 5 else min(0.3, 10.0 / d))] = 0.0
    values[:, rng.random(d) < 0.1] = 0.0
    values[n // 2 : n // 2 + n // 8] = values[: n // 8]
    return csr_array(values)


def with_values(rows: csr_array) -> csr_array:
    return rows[np.flatnonzero(np.diff(rows.indptr))]


def assert_same_splits(rows, weight=None, splits=10, epsilon=0.0, spherical=False, seed=0):
    """Centers, parents and labels; costs up to rounding."""
    dense, sparse = (
        choose_means(collect_table(X, weight, spherical, seed), epsilon, splits, seed)
        for X in (rows.toarray(), rows)
    )
    assert sparse.center.tolist() == dense.center.tolist()
    assert sparse.parent.tolist() == dense.parent.tolist()
    assert sparse.label.tolist() == dense.label.tolist()
    assert sparse.exhausted == dense.exhausted
    np.testing.assert_allclose(sparse.costs, dense.costs, rtol=1e-9, atol=1e-7 * dense.costs[0])


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_whole_hierarchy_is_that_of_dense_rows(n, d):
    """Where no two distances are equal; rounding settles ties."""
    for kind in KINDS[:3]:
        assert_same_splits(sparse_rows(n, d, kind, 0), splits=n)


@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_clusters_are_those_of_dense_rows(n, d, spherical):
    for kind in KINDS:
        rows = sparse_rows(n, d, kind, 0)
        rows = with_values(rows) if spherical else rows
        weight = np.random.default_rng(1).integers(1, 4, rows.shape[0]).astype(float)
        assert rows.shape[0] > 1
        for given in (None, weight, weight / 3.0):
            tied = kind in KINDS[2:]  # distances are equal, or nearly
            assert_same_splits(rows, given, 5 if tied else 10, 0.001, spherical)


@pytest.mark.parametrize("spherical", [False, True])
def test_samples_are_those_of_dense_rows(spherical, monkeypatch):
    monkeypatch.setattr(samples, "SCORED", 20)
    monkeypatch.setattr(samples, "SCORED_VALUES", 0)
    monkeypatch.setattr(proposals, "SAMPLE", 40)
    monkeypatch.setattr(proposals, "_POOL", 80)
    rows = with_values(sparse_rows(900, 30, "positive", 2))
    weight = np.random.default_rng(1).integers(1, 4, rows.shape[0]).astype(float)
    for given in (None, weight):
        assert_same_splits(rows, given, 40, 0.01, spherical)


def test_threads_and_order_do_not_matter(monkeypatch):
    rows = sparse_rows(700, 60, "positive", 3)
    order = np.random.default_rng(4).permutation(700)
    first = choose_means(collect_table(rows, None, False, 0), 0.01, 60, 0)
    monkeypatch.setattr(sparse_proposals, "_THREADED", 100)
    monkeypatch.setattr(sparse_proposals.os, "cpu_count", lambda: 3)
    again = choose_means(collect_table(rows[order], None, False, 0), 0.01, 60, 0)
    assert again.label.tolist() == first.label[order].tolist()
    chosen = rows[order[again.center]] - rows[first.center]  # one of several equal rows
    assert abs(chosen).max() == 0.0
    assert again.costs.tolist() == first.costs.tolist()
    for one, other in zip(first.planes, again.planes, strict=True):
        assert one.offset == other.offset
        np.testing.assert_array_equal(one.normal, other.normal)


def test_extreme_values_neither_overflow_nor_vanish():
    for scale in (2.0**1000, 2.0**-1000):
        rows = sparse_rows(60, 8, "both signs", 5) * scale
        assert_same_splits(rows, splits=20)


@pytest.mark.parametrize("spherical", [False, True])
def test_values_that_vanish_beside_others_count_as_zeros(spherical):
    """Scaled to a common range or to length 1, some are zeros although they are stored."""
    rows = with_values(sparse_rows(60, 8, "both signs", 5))
    rows.data[::11] *= 2.0**-1000
    rows.data[1::11] *= 2.0**1000
    rows.data[2::11] = 0.0
    rows = rows[np.flatnonzero(abs(rows).max(axis=1).toarray() > 0.0)]
    assert_same_splits(rows, splits=5, spherical=spherical)


def test_rows_without_any_value_are_one_cluster():
    found = choose_means(collect_table(csr_array((5, 3)), None, False, 0), 0.0, 5, 0)
    assert found.center.size == 1
    assert found.exhausted
