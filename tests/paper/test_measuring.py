"""What cells compute, against the slow and obvious way."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from holdfast import HierarchicalKMedian, average_sensitivity, k_median_cost
from holdfast.clusterers import as_clusterer
from holdfast.stability.plan import repeat_seeds
from holdfast_paper.cells import Stored
from holdfast_paper.compute import compute_cell
from holdfast_paper.methods import FixedTreeClusterer
from holdfast_paper.plan import Cell, InputSource
from holdfast_paper.records import _tidy_sensitivity
from holdfast_paper.rules import SENSITIVITY_RULES

SOURCE = InputSource()
CELL = Cell(
    panel="p", kind="trials", data="iris", digest="", seed=5, method="tree_1", series="same_seed",
    delete=0.05, n_clusters=(2, 4), last=6, trials=6, repeats=3,
)  # fmt: skip


def fix_tree(model: HierarchicalKMedian, X: np.ndarray, max_clusters: int) -> FixedTreeClusterer:
    settings = model.set_params(max_centers=max_clusters)._settings_for(X)
    return FixedTreeClusterer(settings, "", X.min(axis=0), X.max(axis=0))


def test_trials_in_blocks_equal_average_sensitivity():
    X = SOURCE.load("wine").X
    whole = average_sensitivity(
        HierarchicalKMedian(1, method="tree", epsilon=1.0), X, n_clusters=[6, 12], delete=[0.2], trials=6,
        repeats=3, random_state=5, n_jobs=1, measure="symmetric_difference")  # fmt: skip
    cell = replace(CELL, data="wine", delete=0.2, n_clusters=(6, 12))
    parts = [replace(cell, first=0, last=4), replace(cell, first=4)]
    records = _tidy_sensitivity([Stored(c, compute_cell(c, SOURCE), 0.0) for c in parts])
    assert_allclose([r["sensitivity"] for r in records], whole.mean[0])
    assert_allclose([r["standard_error"] for r in records], whole.standard_error[0])
    assert_allclose([r["low"] for r in records], whole.interval()[0, :, 0])
    assert_allclose(
        [r["moved_fraction"] for r in records], whole.in_measure("moved_fraction").mean[0]
    )
    assert_allclose([r["moved"] for r in records], whole.in_measure("moved").mean[0])
    assert all(r["standard_error"] > 0.0 for r in records)  # or it could not fail


def test_all_deletions_equal_refits():
    cell = replace(CELL, kind="all_deletions", delete=1, last=3, data="line-50")
    X = SOURCE.load("line-50").X
    (two, four) = _tidy_sensitivity([Stored(cell, compute_cell(cell, SOURCE), 0.0)])
    whole = average_sensitivity(
        HierarchicalKMedian(1, method="tree", epsilon=1.0), X, n_clusters=[2, 4], trials="all", repeats=3,
        random_state=5, n_jobs=1, keep_labels=True, measure="symmetric_difference")  # fmt: skip
    assert_allclose([two["sensitivity"], four["sensitivity"]], whole.mean[0])
    assert_allclose([two["standard_error"], four["standard_error"]], whole.standard_error[0])


def test_all_deletions_on_the_fixed_tree_equal_refits_on_it():
    # Without the row at (15.5, 0) the root's level changes for many seeds.
    cell = replace(CELL, kind="all_deletions", delete=1, last=8, repeats=8, data="clnss-50")
    X = SOURCE.load("clnss-50").X
    model = HierarchicalKMedian(1, method="tree", epsilon=1.0)
    whole = average_sensitivity(
        fix_tree(model, X, 4), X, n_clusters=[2, 4], trials="all", repeats=8,
        random_state=5, n_jobs=1, measure="symmetric_difference")  # fmt: skip
    means = {}
    for series in ("fixed_tree", "same_seed"):
        one = replace(cell, series=series)
        records = _tidy_sensitivity([Stored(one, compute_cell(one, SOURCE), 0.0)])
        means[series] = [record["sensitivity"] for record in records]
    assert_allclose(means["fixed_tree"], whole.mean[0])
    assert means["same_seed"] != means["fixed_tree"]


def test_earth_mover_cells_equal_average_sensitivity():
    cell = replace(CELL, series="earth_mover", last=3, trials=3)
    X = SOURCE.load("iris").X
    whole = average_sensitivity(
        HierarchicalKMedian(1, method="tree", epsilon=1.0), X, n_clusters=[2, 4], delete=[0.05], trials=3,
        repeats=3, random_state=5, n_jobs=1, coupling="earth_mover", measure="symmetric_difference")  # fmt: skip
    records = _tidy_sensitivity([Stored(cell, compute_cell(cell, SOURCE), 0.0)])
    assert_allclose([r["sensitivity"] for r in records], whole.mean[0])
    assert_allclose([r["self_distance"] for r in records], whole.self_distance[0])


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_fixed_tree_is_the_tree_with_its_empty_nodes_kept(epsilon):
    # A row of weight next to nothing keeps its leaf, its nodes and the bounding box, and leaves
    # all other counts as they are: the tree of all rows after a deletion.
    X = np.random.default_rng(3).normal(size=(60, 2))
    removed = np.array([int(X[:, 0].argmax()), 7])  # an extreme row, and another
    kept = np.delete(np.arange(60), removed)
    fixed = fix_tree(HierarchicalKMedian(1, method="tree", epsilon=epsilon), X, 8)
    weight = np.ones(60)
    weight[removed] = 1e-9
    for seed in range(20):
        model = HierarchicalKMedian(
            1, method="tree", epsilon=epsilon, max_centers=8, random_state=seed
        )
        whole, found = model.fit(X, sample_weight=weight).hierarchy_, fixed.fit(X[kept], seed)
        assert_allclose(whole.costs, found.costs, rtol=1e-6)
        if epsilon > 0.0:  # the greedy has ties, which even such a weight decides
            assert_array_equal(whole.cut(8)[kept], found.cut(8))


def test_fixed_tree_differs_from_a_rebuilt_one_where_the_root_moves():
    X = np.concatenate((np.random.default_rng(3).normal(size=(60, 2)), [[9.0, 9.0]]))
    model = HierarchicalKMedian(1, method="tree", epsilon=0.0)
    fixed, rebuilt = fix_tree(model, X, 4), as_clusterer(model)
    differ = [
        not np.array_equal(fixed.fit(X[:-1], seed).cut(4), rebuilt.fit(X[:-1], seed).cut(4))
        for seed in range(20)
    ]
    assert any(differ)
    assert all(
        np.array_equal(fixed.fit(X, seed).cut(4), rebuilt.fit(X, seed).cut(4)) for seed in range(5)
    )


def test_fixed_tree_refuses_rows_from_elsewhere():
    X = np.zeros((3, 2)) + np.arange(3)[:, None]
    fixed = fix_tree(HierarchicalKMedian(1, method="tree"), X, 2)
    with pytest.raises(ValueError, match="outside of the bounding box"):
        fixed.fit(X + 1.0, 0)


def test_cost_cells_use_the_seeds_of_their_block():
    cell = replace(CELL, kind="cost", n_clusters=(1, 2, 3), repeats=4, first=2, last=4)
    X = SOURCE.load("iris").X
    model = as_clusterer(HierarchicalKMedian(1, method="tree", epsilon=1.0), max_clusters=3)
    seeds = repeat_seeds(5, 4)[2:]
    expected = [[k_median_cost(X, model.fit(X, s).cut(k)) for k in (1, 2, 3)] for s in seeds]
    assert_allclose(compute_cell(cell, SOURCE)["costs"], expected)


def test_clusterability_of_two_blobs():
    cell = replace(CELL, kind="clusterability", data="iris", options=(("radius", 1.0), ("min_samples", 3.0)))  # fmt: skip
    found = compute_cell(cell, SOURCE)
    X = SOURCE.load("iris").X
    assert sum(found["sizes"]) + found["noise"] == X.shape[0]
    assert max(found["max_intra"]) <= 1.0 < min(found["min_inter"])


def sensitivity_record(method: str, n_rows: int, value: float, error: float = 0.1) -> dict:
    return {
        "method": method, "title": method, "n_rows": n_rows, "sensitivity": value,
        "standard_error": error, "protocol": "rebuild", "coupling": "same_seed",
    }  # fmt: skip


def test_rules_tell_growth_from_rest():
    claim = {"id": "x", "method": "a", "slope": 0.25, "fit": 0.95}
    steep = [sensitivity_record("a", n, 0.5 * n) for n in (50, 100, 150)]
    flat = [sensitivity_record("a", n, 0.1 * n) for n in (50, 100, 150)]
    bent = [sensitivity_record("a", n, v) for n, v in ((50, 1.0), (100, 99.0), (150, 60.0))]
    outcomes = [SENSITIVITY_RULES["grows"](claim, rows) for rows in (steep, flat, bent)]
    assert [outcome.margin >= 0.0 for outcome in outcomes] == [True, False, False]
    assert outcomes[0].margin == pytest.approx(0.25)
    assert outcomes[0].error == pytest.approx(0.1 / np.sqrt(5000.0))


def test_rules_compare_with_a_reference():
    claim = {"id": "x", "methods": ["a", "b"], "reference": "c", "fraction": 0.2}
    rows = [sensitivity_record("a", 300, 90.0), sensitivity_record("b", 300, 10.0)]
    rows.append(sensitivity_record("c", 300, 100.0))
    outcome = SENSITIVITY_RULES["stays_low"](claim, rows)
    assert outcome.margin == pytest.approx(0.1)
    assert outcome.error == pytest.approx(0.001)
