"""Law 7: what belongs to a cell or a row stays when other rows come and go."""

import math

import numpy as np
import pytest
from oracles.instances import make_instance
from oracles.naive_tree import ROOT, naive_tree, paths_of
from oracles.stages import Planted, Splits, plant
from scipy import stats
from scipy.spatial.distance import pdist, squareform

from holdfast._machine.hash import combine_arrays, purpose_key
from holdfast._machine.jit import writing_kernel
from holdfast.grid import Grid, place_grid
from holdfast.grid.cells import row_keys
from holdfast.grid.place import DEPTH
from holdfast.tree._kernels import branch_key_at

ALPHA = 1e-4
FAMILIES = [
    "gaussian", "few_columns", "groups", "heavy_tailed", "collinear", "integer_ties",
    "unshifted_lattice", "any_scale", "mixed_scales", "offset", "whole_weights",
]  # fmt: skip

Inner = dict[int, tuple[int, int, int, int, frozenset[bytes]]]


@writing_kernel
def branch_keys(source, splits, place, keys):
    for i in range(keys.size):
        keys[i] = branch_key_at(i, source, splits, place)


# ---------------------------------------------------------------------------------- deletions


def leaves_by_key(planted: Planted, X: np.ndarray) -> dict[int, tuple[bytes, float]]:
    """Content and weight of each leaf."""
    first = planted.cells.first_rows
    weights = (planted.cells.weight * planted.cells.weight_unit).tolist()
    contents = [(X[row] + 0.0).tobytes() for row in first]
    return dict(
        zip(planted.tree.leaf_key.tolist(), zip(contents, weights, strict=True), strict=True)
    )


def inner_by_key(planted: Planted, X: np.ndarray) -> Inner:
    """Absolute level, dimension, weight of each side, and contents below, of each inner node."""
    tree, grid = planted.tree, planted.grid
    contents = [(X[row] + 0.0).tobytes() for row in planted.cells.first_rows]
    below: dict[int, frozenset[bytes]] = {2 * i: frozenset([c]) for i, c in enumerate(contents)}
    nodes: Inner = {}
    splits, keys = Splits(tree), np.empty(tree.splits.size, dtype=np.uint64)
    branch_keys(tree.source, tree.splits, tree.place, keys)
    for i in tree.closing.tolist():
        left, right = int(splits.left[i]), int(splits.right[i])
        below[2 * i + 1] = below[left] | below[right]
        nodes[int(keys[i])] = (
            grid.root_exponent + int(splits.bit[i]),
            int(splits.dim[i]),
            float(tree.nodes["weight"][left] * tree.weight_unit),
            float(tree.nodes["weight"][right] * tree.weight_unit),
            below[2 * i + 1],
        )
    assert len(nodes) == tree.n_leaves - 1  # no two nodes share a key
    return nodes


def lone_rows(X: np.ndarray) -> list[int]:
    """Rows without a duplicate."""
    _, group, size = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    return np.flatnonzero(size[group.ravel()] == 1).tolist()


def check_deletion(before: Planted, after: Planted, X: np.ndarray, row: int) -> None:
    """One leaf and one inner node fewer, lower counts on one path, all else as it was."""
    rest = np.delete(X, row, axis=0)
    gone = (X[row] + 0.0).tobytes()
    leaves, fewer_leaves = leaves_by_key(before, X), leaves_by_key(after, rest)
    (lost,) = [key for key, (content, _) in leaves.items() if content == gone]
    weight = leaves.pop(lost)[1]
    assert fewer_leaves == leaves
    nodes, fewer_nodes = inner_by_key(before, X), inner_by_key(after, rest)
    assert set(fewer_nodes) < set(nodes)
    (merged,) = set(nodes) - set(fewer_nodes)
    # The node that went is the one that parted the row from its nearest neighbours.
    assert gone in nodes[merged][-1]
    assert all(nodes[merged][-1] <= node[-1] for node in nodes.values() if gone in node[-1])
    for key, (level, dim, left, right, below) in fewer_nodes.items():
        old_level, old_dim, old_left, old_right, old_below = nodes[key]
        assert (level, dim) == (old_level, old_dim)
        assert below == old_below - {gone}
        if gone in old_below:
            assert sorted([old_left - left, old_right - right]) == [0.0, weight]
        else:
            assert (left, right) == (old_left, old_right)


@pytest.mark.parametrize("family", FAMILIES)
def test_deletion_and_return_leave_all_other_keys_alone(family):
    checked = 0
    for number in range(6):
        instance = make_instance(family, number, 24)
        X, weight = instance.X, instance.weight
        before = plant(X, weight, seed=number, **instance.placing)
        if before.cells.n_merged:
            continue
        for row in lone_rows(X):
            rest = np.delete(X, row, axis=0)
            rest_weight = None if weight is None else np.delete(weight, row)
            after = plant(rest, rest_weight, seed=number, **instance.placing)
            if after.grid.root_exponent != before.grid.root_exponent:
                continue
            check_deletion(before, after, X, row)
            checked += 1
            again = np.vstack([rest, X[row]])
            weight_again = None if weight is None else np.append(rest_weight, weight[row])
            back = plant(again, weight_again, seed=number, **instance.placing)
            assert leaves_by_key(back, again) == leaves_by_key(before, X)
            assert inner_by_key(back, again) == inner_by_key(before, X)
    assert checked >= 20


def test_deletions_that_move_the_anchor_are_among_them():
    """A row alone in the lowest root cells: they go with it, and no key may notice."""
    rng = np.random.default_rng(0)
    moved = 0
    for seed in range(60):
        X = rng.normal(size=(8, 2))
        before = plant(X, seed=seed)
        for row in range(8):
            after = plant(np.delete(X, row, axis=0), seed=seed)
            same_root = after.grid.root_exponent == before.grid.root_exponent
            if same_root and (after.grid.anchor != before.grid.anchor).any():
                check_deletion(before, after, X, row)
                moved += 1
    assert moved >= 10


def test_a_row_moves_no_key_but_through_the_root():
    """When the root's level does change, nodes below both roots keep their keys too."""
    rng = np.random.default_rng(1)
    changed = 0
    for seed in range(40):
        X = rng.standard_cauchy(size=(20, 2))
        before = plant(X, seed=seed)
        row = int(np.abs(X - np.median(X, axis=0)).sum(axis=1).argmax())
        rest = np.delete(X, row, axis=0)
        after = plant(rest, seed=seed)
        change = before.grid.root_exponent - after.grid.root_exponent
        if not 0 < change < 8:  # above, rows may share the finest cells of the larger root
            continue
        changed += 1
        below_both = after.grid.root_exponent + DEPTH
        old, new = inner_by_key(before, X), inner_by_key(after, rest)
        shared = {key for key, node in new.items() if node[0] < below_both}
        assert shared <= set(old)
        assert all(new[key][:2] == old[key][:2] for key in shared)
        assert set(leaves_by_key(after, rest)) < set(leaves_by_key(before, X))
    assert changed >= 10


# ---------------------------------------------------------------------------------- the root


@pytest.mark.parametrize("share", [0.97, 0.8, 0.6, 0.5, 0.3])
def test_root_changes_as_often_as_the_design_says(share):
    """Without its extreme row the diagonal is `share` times as long: 3,000 seeds, two-sided."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0.3, 0.7, size=(10, 3)) * share
    X[0], X[1], extreme = 0.0, share, np.ones(3)
    seeds = 3000
    changes = 0
    for seed in range(seeds):
        with_it = place_grid(np.zeros(3), extreme, seed).root_exponent
        without = place_grid(np.zeros(3), X.max(axis=0), seed).root_exponent
        assert without <= with_it
        changes += with_it != without
    expected = min(1.0, math.log2(1.0 / share))
    if expected == 1.0:
        assert changes == seeds
    else:
        assert stats.binomtest(changes, seeds, expected).pvalue > ALPHA


# ---------------------------------------------------------------------------------- distances


@pytest.mark.parametrize("d", range(1, 21))
def test_tree_distance_is_never_below_euclidean(d):
    for seed in range(4):
        rng = np.random.default_rng([d, seed])
        X = rng.normal(size=(16, d)) * 10.0 ** rng.uniform(-3, 3, size=(16, 1))
        naive = naive_tree(X, None, plant(X, seed=seed).grid)
        assert naive.size == 16
        on_tree = (naive.distance / ROOT).astype(float) * naive.unit
        assert (on_tree >= squareform(pdist(X))).all()


def distances_on_tree(X: np.ndarray, seed: int) -> np.ndarray:
    """DIST_T of all pairs from the fast code's coordinates."""
    grid = place_grid(X.min(axis=0), X.max(axis=0), seed)
    words = grid.locate(X)
    differ = np.bitwise_or.reduce(words[:, None, :] ^ words[None, :, :], axis=2)
    high, low = differ >> np.uint64(32), differ & np.uint64((1 << 32) - 1)
    _, bits_high = np.frexp(high.astype(np.float64))  # halves are exact in a double
    _, bits_low = np.frexp(low.astype(np.float64))
    bits = np.where(high > 0, 32 + bits_high, bits_low)
    return np.where(differ == 0, 0.0, np.ldexp(grid.unit, bits - 1 - DEPTH))


def test_fast_distances_are_the_oracles():
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(10, 1 + seed))
        naive = naive_tree(X, None, plant(X, seed=seed).grid)
        expected = (naive.distance / ROOT).astype(float) * naive.unit
        np.testing.assert_allclose(distances_on_tree(X, seed), expected, rtol=1e-12)


DISTORTION = 4.0
"""Committed: mean DIST_T / Euclidean distance over seeds, in units of d log2(Lambda)."""


@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("ratio", [2.0**4, 2.0**7, 2.0**10])
def test_mean_distortion_grows_no_faster_than_d_log_lambda(d, ratio):
    """Pairs at all scales, along an axis and along the diagonal; the worst pair counts.

    Two rows at distance r along the diagonal part at cells of side s with probability at most
    sqrt(d) r / s, and half of these are together at the next level: 2 d r for each of the
    log2(Lambda) levels, and a few d r more for the root and for what is below r.
    """
    steps = np.concatenate([[0.0], np.geomspace(1.0, ratio, 6)])
    diagonal = np.outer(steps, np.ones(d)) / math.sqrt(d)
    axis = np.outer(steps[1:], np.eye(d)[0])
    X = np.vstack([diagonal, axis]) + 0.123
    apart = squareform(pdist(X))
    pairs = apart > 1e-9
    spread = apart[pairs].max() / apart[pairs].min()
    seeds = 1000
    total = sum(distances_on_tree(X, seed) for seed in range(seeds))
    mean = total[pairs] / seeds / apart[pairs]
    unit = d * math.log2(spread)
    print(f"d {d}, Lambda {spread:.0f}: mean distortion {mean.max() / unit:.2f} d log2(Lambda)")
    assert 1.0 <= mean.min()
    assert mean.max() <= DISTORTION * unit


# ---------------------------------------------------------------------------------- the window


def absolute_index(grid: Grid, X: np.ndarray, exponent: int, bits: int) -> np.ndarray:
    """Lowest `bits` bits of the absolute index of each row's cell of side 2^exponent."""
    finest = grid.locate(X) + (grid.anchor << np.uint64(DEPTH))
    up = exponent - (grid.root_exponent - DEPTH)
    assert up >= 0
    assert up + bits <= 64
    return (finest >> np.uint64(up)) & np.uint64((1 << bits) - 1)


@pytest.mark.parametrize("d", [1, 3, 17])
def test_cells_of_a_row_do_not_depend_on_the_other_rows(d):
    """The same rows under bounding boxes up to 2^40 times as wide."""
    rng = np.random.default_rng(d)
    for seed in range(10):
        X = rng.normal(size=(6, d)) * 10.0 ** rng.uniform(-100, 100)
        near = plant(X, seed=seed).grid
        size = float(np.abs(X).max())
        paths = paths_of(X, near)
        for doublings in (0, 1, 2, 7, 20, 40):
            corners = np.array([[-1.0] * d, [1.0] * d]) * size * 2.0**doublings
            corners += rng.uniform(-0.5, 0.5, size=corners.shape) * size
            lower = np.minimum(corners[0], X.min(axis=0))
            upper = np.maximum(corners[1], X.max(axis=0))
            far = place_grid(lower, upper, seed)
            assert far.scale == near.scale
            assert far.root_exponent >= near.root_exponent
            up = far.root_exponent - near.root_exponent
            # Levels that both windows reach: from the finest of `far` to the top of `near`.
            for exponent in (far.root_exponent - DEPTH, near.root_exponent - 1):
                if exponent < near.root_exponent - DEPTH or exponent > near.root_exponent:
                    continue
                bits = min(20, near.root_exponent + 1 - exponent, 64 - up)
                indices = absolute_index(far, X, exponent, bits)
                np.testing.assert_array_equal(indices, absolute_index(near, X, exponent, bits))
                level = near.root_exponent - exponent
                exact = [[index % (1 << bits) for index in path[level]] for path in paths]
                assert indices.tolist() == exact


def test_scale_and_shift_depend_on_the_seed_alone():
    here = place_grid(np.zeros(3), np.ones(3), 7)
    there = place_grid(np.full(3, -1e100), np.full(3, 1e90), 7)
    other = place_grid(np.zeros(3), np.ones(3), 8)
    assert here.scale == there.scale != other.scale
    np.testing.assert_array_equal(here.shift, there.shift)
    assert (here.shift != other.shift).all()


@pytest.mark.parametrize("n", [1, 7, 8, 9, 20])
def test_key_of_a_row_hashes_its_values_one_after_the_other(n):
    X = np.arange(3.0 * n).reshape(n, 3) / 7.0 - 1.0
    keys = np.full(n, purpose_key(5, "row"))
    for column in X.T:
        keys = combine_arrays(keys, (column + 0.0).view(np.uint64))
    assert row_keys(X, 5).tolist() == keys.tolist()
