"""The picture of a hierarchy says what the cuts say."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from holdfast import HierarchicalKMedian
from holdfast.hierarchy.model import nested_order

ROWS = np.random.default_rng(3).normal(size=(60, 2)) + 6.0 * np.arange(60)[:, None] // 20
HIERARCHY = HierarchicalKMedian(1, method="tree").fit(ROWS).hierarchy_


def bars_of(ax, k):
    """Bars of cut k, from left to right, as (left, width, color)."""
    found = [bar for bar in ax.patches if bar.get_y() < k < bar.get_y() + bar.get_height()]
    found.sort(key=lambda bar: bar.get_x())
    return [(bar.get_x(), bar.get_width(), bar.get_facecolor()) for bar in found]


def test_bars_are_the_sizes_of_the_clusters():
    ax = HIERARCHY.plot(9)
    for k in range(1, 10):
        bars = bars_of(ax, k)
        order = [t for t in nested_order(HIERARCHY.parent, 9) if t < k]
        assert [width for _, width, _ in bars] == HIERARCHY.sizes(k)[order].tolist()
        assert bars[0][0] == 0
        assert sum(width for _, width, _ in bars) == 60
    assert len(ax.patches) == sum(range(1, 10))


def test_every_cut_has_the_rows_of_a_coarser_one_together():
    order = nested_order(HIERARCHY.parent, 40)
    assert sorted(order) == list(range(40))
    finest = np.argsort(order)[HIERARCHY.cut(40)]
    for k in (1, 2, 5, 17):
        for t in range(k):
            places = np.unique(finest[HIERARCHY.cut(k) == t])
            assert places[-1] - places[0] == places.size - 1


def test_axes_are_taken_or_made_and_few_centers_are_all_drawn():
    _, given = plt.subplots()
    assert HIERARCHY.plot(4, given) is given
    plt.close()
    few = HierarchicalKMedian(2, method="tree").fit([[0.0], [1.0], [5.0]]).hierarchy_
    assert len(few.plot().patches) == 1 + 2 + 3


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"holdfast\[plot\]"):
        HIERARCHY.plot()
