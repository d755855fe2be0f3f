"""Law 5: SciPy accepts the linkage matrix and finds the same clusters in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from laws.configurations import CONFIGURATIONS, Configuration
from laws.inputs import INPUTS
from notes import noting
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram, fcluster, is_monotonic, is_valid_linkage

from holdfast import HierarchicalKMedian, Hierarchy

SEVERAL_ROWS = [data for data in INPUTS if data.n_rows > 1]
over_configurations = pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)


def canonical(labels: NDArray[np.int32]) -> NDArray[np.intp]:
    """Rename clusters by their first row: equal for equal partitions."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def distinct_heights(linkage: NDArray[np.float64]) -> list[int]:
    """Every k at which SciPy can part the merges done from the merges undone by height."""
    n = linkage.shape[0] + 1
    heights = np.concatenate(([-1.0], linkage[:, 2], [np.inf]))
    return [k for k in range(1, n + 1) if heights[n - k] < heights[n - k + 1]]


def check_linkage(hierarchy: Hierarchy) -> list[int]:
    """Check everything about the linkage; return the k whose partitions were compared."""
    linkage = hierarchy.linkage()
    n, n_centers = hierarchy.n_rows, hierarchy.n_centers
    assert linkage.shape == (n - 1, 4)
    assert linkage.dtype == np.float64
    assert is_valid_linkage(linkage, throw=True)
    assert is_monotonic(linkage)
    # Rows join their last cluster at height 0, then each split is undone at the cost before it.
    heights = np.concatenate((np.zeros(n - n_centers), hierarchy.costs[::-1][1:]))
    np.testing.assert_array_equal(linkage[:, 2], heights)
    # SciPy looks at the numbers of rows only when it draws.
    count = np.ones(2 * n - 1)
    for i, (a, b) in enumerate(linkage[:, :2].astype(int)):
        count[n + i] = count[a] + count[b]
    np.testing.assert_array_equal(linkage[:, 3], count[n:])
    compared = [k for k in distinct_heights(linkage) if k <= n_centers]
    for k in compared:
        found = fcluster(linkage, k, "maxclust")
        np.testing.assert_array_equal(canonical(found), canonical(hierarchy.cut(k)))
    return compared


@over_configurations
def test_scipy_finds_the_same_clusters(configuration: Configuration):
    for data in SEVERAL_ROWS:
        with noting(data):
            model = configuration.estimator().fit(data.rows, sample_weight=data.weight)
            compared = check_linkage(model.hierarchy_)
            costs = model.hierarchy_.costs
            falls = {1} | {k for k in range(2, costs.size + 1) if costs[k - 2] > costs[k - 1]}
            assert falls <= set(compared)


@over_configurations
def test_scipy_finds_the_same_clusters_where_the_hierarchy_stops(configuration: Configuration):
    for number, data in enumerate(SEVERAL_ROWS):
        with noting(data):
            model = configuration.estimator(max_centers=(1, 2, 9)[number % 3])
            hierarchy = model.fit(data.rows, sample_weight=data.weight).hierarchy_
            compared = check_linkage(hierarchy)
            if hierarchy.costs[-1] > 0.0:
                assert hierarchy.n_centers in compared


def test_linkage_of_one_row_is_empty():
    hierarchy = HierarchicalKMedian(1, method="tree").fit([[1.0, 2.0]]).hierarchy_
    assert hierarchy.linkage().shape == (0, 4)


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize("n_locations", [20_000, 40])
def test_dendrogram_of_many_leaves_is_drawn_truncated(epsilon: float, n_locations: int):
    n = 20_000
    rows = np.random.RandomState(0).standard_normal((n_locations, 3))
    rows = np.resize(rows, (n, 3))  # repeats make the merges one chain
    hierarchy = HierarchicalKMedian(1, method="tree", epsilon=epsilon).fit(rows).hierarchy_
    linkage = hierarchy.linkage()
    assert is_valid_linkage(linkage, throw=True)
    drawn = dendrogram(linkage, truncate_mode="lastp", p=30, no_plot=True)
    shown = hierarchy.sizes(30)
    in_brackets = [int(text.strip("()")) if "(" in text else 1 for text in drawn["ivl"]]
    assert sorted(in_brackets) == sorted(shown.tolist())


DEEP = """
import inspect, json, sys
import numpy as np
from models import build_model

def depth_of(linkage):
    n = linkage.shape[0] + 1
    depth = np.zeros(2 * n - 1, dtype=int)
    for i, (a, b) in enumerate(linkage[:, :2].astype(int)):
        depth[n + i] = 1 + max(depth[a], depth[b])
    return int(depth.max())

# One row on each axis at every scale: the tree is as deep as it has rows.
d, scales = 5, 24
rows = np.concatenate([np.eye(d) * 2.0**-i for i in range(scales)])
build_model(2).fit(rows[:7]).predict(rows[:7])  # imports what it needs
limit = len(inspect.stack()) + 60
sys.setrecursionlimit(limit)
deepest = 0
for settings in ({"epsilon": 0}, {"epsilon": 1}, {"epsilon": 1, "random_shift": False}):
    model = build_model(3, **settings).fit(rows)
    model.predict(rows)
    hierarchy = model.hierarchy_
    hierarchy.cut(hierarchy.n_centers)
    hierarchy.sizes(7)
    deepest = max(deepest, depth_of(hierarchy.linkage()))
print(json.dumps({"limit": limit, "deepest": deepest}))
"""


def test_nothing_recurses_however_deep_the_tree():
    # Without the compiler, so that a kernel that calls itself meets Python's limit as well.
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", DEEP],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[1],  # where models.py is
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)
    assert seen["deepest"] > seen["limit"]
