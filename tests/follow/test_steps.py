"""The steps of following against their definition, and independent of threads."""

import hashlib
import os
from dataclasses import replace

import numpy as np
import pytest
from follow.series import blobs, releases
from oracles.naive_follow import Naive

from holdfast import HierarchicalKMedian
from holdfast.follow import state
from holdfast.follow.ideas import Ideas
from holdfast.follow.state import Levels, Problem, Units, caution_for, solve_as
from holdfast.follow.structure import _keep_filled, settle_rows

PATHS = {0: ("a", 0), 1: ("a", 1), 2: ("b", 2), 3: ("b", 3), 4: ("b", 4)}
LEVELS = Levels(
    (2, 5),
    np.array([[0, 2], [0, 3], [1, 4], [1, 5], [1, 6]], dtype=np.int32),
    np.array([0, 1, 0, 1, 2, 3, 4]),
)


def make_units(rows, origin):
    count = np.ones(rows.shape[0], dtype=np.int64)
    known = np.where(origin >= 0, 1, 0)
    key = np.arange(rows.shape[0], dtype=np.uint64)
    steady = np.arange(count.size) % 3 > 0
    return Units(
        rows, count, key, origin.astype(np.int32), known, known, False, np.zeros(count.size), steady
    )


@pytest.mark.parametrize("limit", [None, 0, 3, 10])
@pytest.mark.parametrize("far_out", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_rows_settle_as_defined(seed, far_out, limit):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-(1 << 20), 1 << 20, size=(60, 3)) / (1 << 20)
    if far_out:  # so that means shift, and J may rise although each row saves
        rows /= 1.0 - rows * rows
    origin = np.concatenate((np.arange(5), rng.integers(-1, 5, size=55)))
    start = np.where(origin >= 0, origin, rng.integers(0, 5, size=60))
    price = [0.0, 0.1, 0.25, 1.0][seed % 4]
    caution = [1.0, 1.0] if seed < 4 else [1.25, 2.0]
    naive = Naive(rows, [None if y < 0 else int(y) for y in origin], PATHS, price, limit, caution)
    expected = naive.settle(start.tolist())
    known = LEVELS.names[LEVELS.path]
    units = make_units(rows, origin)
    problem = Problem(units, known, np.ones(2), np.full(2, price), limit, 0, np.array(caution))
    cost = solve_as(problem, LEVELS, start.astype(np.int32)).cost
    problem = replace(problem, ref=cost)
    found = settle_rows(problem, solve_as(problem, LEVELS, start.astype(np.int32)))
    assert found.leaf.tolist() == expected
    assert found.value == pytest.approx(naive.objective(expected), rel=1e-12)
    assert found.moved.tolist() == naive.moved(expected)


def test_the_last_row_of_a_leaf_stays():
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [9.0]])
    origin = np.array([0, 1, 2, 3, 4, 4])
    problem = Problem(
        *(make_units(rows, origin), LEVELS.names[LEVELS.path], np.ones(2), np.zeros(2)),
        *(None, 0, np.ones(2)),
    )
    found = solve_as(problem, LEVELS, origin.astype(np.int32))
    for wanted, allowed in (
        ([1, 0, 2, 3, 4, 4], [1, 0, 2, 3, 4, 4]),  # two rows change places
        ([1, 1, 2, 3, 3, 4], [0, 1, 2, 3, 3, 4]),
        ([1, 1, 2, 3, 4, 4], [0, 1, 2, 3, 4, 4]),
    ):
        leaf = np.array(wanted, dtype=np.int32)
        assert _keep_filled(problem.units, found, leaf) == (allowed != origin.tolist())
        assert leaf.tolist() == allowed


def test_following_lowers_the_objective():
    rows = blobs(21)
    model = HierarchicalKMedian(4, max_centers=8).fit(rows, ids=np.arange(240))
    later = rows + np.repeat([0.0, 2.5, 0.0], 80)[:, None]
    after = model.follow(later, ids=np.arange(240), levels=(4, 8), price=0.1)
    report = after.follow_
    gained = np.sum(report.cost / report.cost_of_staying) + 0.1 * np.sum(report.moved)
    assert 0 < np.sum(report.moved)
    assert gained < 2.0


@pytest.mark.parametrize(
    ("n", "sizes", "expected"), [(800, (4, 16), [1.816, 2.762]), (2, (4, 8), [3.0, 3.0])]
)
def test_caution_is_what_chance_explains(n, sizes, expected):
    """The most that chance explains among n k savings; nothing is left of it in large tables."""
    units = make_units(np.zeros((n, 4)), np.zeros(n))
    assert caution_for(units, sizes) == pytest.approx(expected, abs=1e-3)
    units = make_units(np.broadcast_to(0.0, (n, 10**9)), np.zeros(n))
    assert (caution_for(units, sizes) < 1.01).all()


def test_noise_moves_nobody():
    """A tenth of the rows is replaced by rows of the same kind, again and again: no reason to move."""
    rng = np.random.default_rng(5)
    places = np.array([[0, 0], [24, 0], [0, 24], [24, 24]], dtype=float)

    def draw(group):
        return places[group] + rng.integers(-256, 257, size=(group.size, 2, 12)).sum(axis=2) / 512

    ids, group = np.arange(400), np.arange(400) % 4
    rows = draw(group)
    model = HierarchicalKMedian(4, max_centers=16).fit(rows, ids=ids).polish((4, 12))
    for release in range(1, 9):
        gone = rng.permutation(400)[:40]
        ids[gone], rows[gone] = 1000 * release + gone, draw(group[gone])
        model = model.follow(rows.copy(), ids=ids.copy())
        assert model.moves_.size == 0


def test_the_number_of_cores_changes_nothing(monkeypatch):
    rows = blobs(22, n=9000, d=2)
    later = rows + np.repeat([0.0, 0.25, 0.0], 3000)[:, None]
    found = []
    monkeypatch.setattr(state, "_LEAST", 1000)  # so that threads share the work
    for cores in (1, 3):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        model = HierarchicalKMedian(4, max_centers=8).fit(rows, ids=np.arange(9000))
        found.append(model.follow(later, ids=np.arange(9000), levels=(2, 4, 8)))
    one, three = (model.hierarchy_ for model in found)
    assert found[0].moves_.size > 0
    assert np.array_equal(one.finest, three.finest)
    assert np.array_equal(one.costs, three.costs)
    assert np.array_equal(one.center_indices, three.center_indices)
    assert np.array_equal(one.locator.points, three.locator.points)
    assert np.array_equal(found[0].moves_, found[1].moves_)


@pytest.mark.parametrize("scale", [2.0**-990, 2.0**900])
def test_extreme_values_move_like_others(scale):
    rows = blobs(23, n=80)
    later = rows + np.repeat([0.0, 2.5], 40)[:, None]
    found = []
    for factor in (1.0, scale):
        model = HierarchicalKMedian(4, max_centers=8).fit(rows * factor, ids=np.arange(80))
        found.append(model.follow(later * factor, ids=np.arange(80), price=0.1))
    assert np.isfinite(found[1].hierarchy_.costs).all()
    assert (found[1].follow_.cost <= found[1].follow_.cost_of_staying).all()


def test_rows_of_no_weight_are_labeled_as_by_predict():
    rows, weight = blobs(24, n=90), np.repeat([1.0, 0.0, 2.0], 30)
    model = HierarchicalKMedian(4, max_centers=8).fit(rows, sample_weight=weight)
    later = rows + np.repeat([0.0, 0.25, 0.5], 30)[:, None]
    for _ in range(2):
        model = model.follow(later, sample_weight=weight, levels=(2, 4, 8))
        assert np.array_equal(model.labels_[30:60], model.predict(later[30:60]))


def test_result_is_what_it_was():
    """Labels and names of a chain, as a hash: following must not change unnoticed."""
    data = releases(3, count=4)
    model = HierarchicalKMedian(4, max_centers=8).fit(data[0][1], ids=data[0][0])
    digest = hashlib.blake2b(digest_size=8)
    for ids, rows in data[1:]:
        model = model.follow(rows, ids=ids, levels=(2, 4, 8), price=0.1)
        order = np.argsort(ids)
        for k in range(1, 9):
            names = model.hierarchy_.names(k)[model.hierarchy_.cut(k)]
            digest.update(names[order].astype("<i8").tobytes())
    assert model.hierarchy_.naming.next_name > 8
    assert digest.hexdigest() == "15b49b32f21a4e91"


def test_splits_that_cannot_pay_are_left_out_and_nothing_else_changes(monkeypatch):
    (ids, rows), *weeks = releases(3, count=3, n=900, leaving=0.3, changing=0.5)
    told = []
    bound = Ideas.can_make_up

    def follow_all(rule, k):
        monkeypatch.setattr(Ideas, "can_make_up", rule)
        model = HierarchicalKMedian(k).fit(rows, ids=ids)
        for names, today in weeks:
            model = model.follow(today, ids=names, levels=[3, k], price=0.05)
        return model.hierarchy_

    def listen(self, q, spent):
        told.append(bound(self, q, spent))
        return told[-1]

    for k in (6, 8):
        found, expected = follow_all(listen, k), follow_all(lambda *_: True, k)
        np.testing.assert_array_equal(found.finest, expected.finest)
        np.testing.assert_array_equal(found.costs, expected.costs)
    assert set(told) == {True, False}
