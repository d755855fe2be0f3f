"""Processes that start from nothing, as all do on macOS and Windows, compute the same."""

import multiprocessing

import numpy as np

from holdfast import HierarchicalKMedian


def test_a_spawned_process_fits_the_same():
    rows = np.array([[i % 9, i * i % 7, i % 5] for i in range(90)], dtype=np.float64)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(HierarchicalKMedian(5).fit, (rows,))
    here = HierarchicalKMedian(5).fit(rows)
    assert there.labels_.tolist() == here.labels_.tolist()
    assert there.hierarchy_.costs.tolist() == here.hierarchy_.costs.tolist()
