"""Law 1, the parts: cells against exact integers, the trie against its definition."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from notes import over_numbers
from oracles.instances import FAMILIES, make_instance
from oracles.naive_tree import ROOT, exact_position, exact_shift, naive_tree, paths_of
from oracles.stages import Planted, Splits, plant

import holdfast.tree as tree_room
from holdfast import HierarchicalKMedian
from holdfast._machine.jit import read_only
from holdfast.grid import Cells, Grid, cells
from holdfast.grid._kernels import DIMENSION_BITS
from holdfast.grid.cells import z_order
from holdfast.grid.place import DEPTH
from holdfast_paper.unshifted import UnshiftedKMedian

ONES = (1 << 64) - 1
BLOCKS = 40
LOWEST = -1280
over_families = pytest.mark.parametrize("family", FAMILIES)


def scattered(n: int, d: int, seed: int) -> np.ndarray:
    """Most rows in tight knots of many sizes, some equal, some far out: no two bits alike."""
    rng = np.random.default_rng(seed)
    knots = rng.normal(size=(6, d)) * 100
    spread = 2.0 ** -rng.integers(0, 45, size=(n, 1)).astype(float)
    X = knots[rng.integers(0, 6, n)] + rng.normal(size=(n, d)) * spread
    X[:: n // 10] *= 1e4
    again = rng.integers(0, n, n // 5)
    X[again] = X[rng.integers(0, n, again.size)]
    return X


# ---------------------------------------------------------------------------------- the grid


def bare_grid(shift: list[int], root_exponent: int) -> Grid:
    """A grid with the given shift per dimension, in units of its lowest bit."""
    blocks = [[value >> (64 * i) & ONES for value in shift] for i in range(BLOCKS)]
    d = len(shift)
    nothing = np.zeros(d)
    return Grid(
        origin=nothing,
        scale=1.0,
        shift=np.array(blocks, dtype=np.uint64),
        root_exponent=root_exponent,
        anchor=np.zeros(d, dtype=np.uint64),
        lowest=nothing,
    )


def exact_words(X: np.ndarray, grid: Grid) -> list[list[int]]:
    """Finest cell of each coordinate, modulo 2^64."""
    low = grid.root_exponent - DEPTH - LOWEST
    return [
        [(exact_position(x, grid, j) + exact_shift(grid, j) >> low) & ONES for j, x in enumerate(r)]
        for r in X
    ]


@pytest.mark.parametrize("root_exponent", [-1074, -700, -65, -1, 0, 1, 63, 64, 500, 1020])
def test_locate_sums_all_bits(root_exponent):
    """Random values and shifts of all sizes around the window, and far from it."""
    rng = np.random.default_rng(root_exponent & ONES)
    low = root_exponent - DEPTH
    for _ in range(40):
        runs = [
            rng.choice([0, ONES, int(rng.integers(0, ONES, dtype=np.uint64))]) for _ in range(5)
        ]
        filler = runs[0]
        shift = sum(
            int(filler if rng.random() < 0.6 else rng.choice(runs)) << (64 * i)
            for i in range(BLOCKS)
        )
        exponents = np.clip(low + rng.integers(-260, 120, size=(20, 1)), -1074, 1023)
        X = np.ldexp(rng.uniform(0.5, 1.0, size=(20, 1)), exponents)
        X[::3] = np.ldexp(1.0, exponents[::3])  # single bits carry furthest
        X *= rng.choice([-1.0, 1.0], size=X.shape)
        grid = bare_grid([shift], root_exponent)
        assert grid.locate(X).tolist() == exact_words(X, grid)


@pytest.mark.parametrize("root_exponent", [-690, -3, 0, 40, 900])
@pytest.mark.parametrize("below", [2, 3, 5, 52, 53, 63, 64, 65, 127, 128, 129, 200, 321])
def test_bits_below_the_window_decide_by_their_carry(root_exponent, below):
    """One bit of a row, and a shift of ones from that bit up to the window, or all but one."""
    low = root_exponent - DEPTH
    ones = ((1 << below) - 1) << (low - below - LOWEST)
    bit = 1 << (low - below - LOWEST)
    X = np.array([[math.ldexp(1.0, low - below)] * 4, [-math.ldexp(1.0, low - below)] * 4])
    window = 5 << (low - LOWEST)
    grid = bare_grid([window + ones, window + ones - bit, window, window + bit], root_exponent)
    assert grid.locate(X).tolist() == exact_words(X, grid) == [[6, 5, 5, 5], [5, 5, 4, 5]]


@over_families
@over_numbers(6)
def test_coordinates_are_exact_cells_above_the_lowest_root_cell(family, number):
    instance = make_instance(family, number, 32)
    planted = plant(instance.X, instance.weight, seed=number, **instance.placing)
    paths = paths_of(instance.X, planted.grid)
    lowest = [min(indices) for indices in zip(*(path[0] for path in paths), strict=True)]
    expected = [[a - (b << DEPTH) for a, b in zip(p[-1], lowest, strict=True)] for p in paths]
    assert planted.grid.locate(instance.X).tolist() == expected
    assert planted.cells.coordinates[planted.leaf_of_row].tolist() == expected


@over_families
@over_numbers(6)
def test_root_cells_are_the_smallest_that_hold_the_diagonal(family, number):
    instance = make_instance(family, number, 32)
    grid = plant(instance.X, instance.weight, seed=number, **instance.placing).grid
    if "root_box" in instance.placing:
        assert grid.root_exponent == 0
        assert {path[0] for path in paths_of(instance.X, grid)} == {(0,) * instance.X.shape[1]}
        return
    y = instance.X * grid.scale
    sides = [Fraction(b) - Fraction(a) for a, b in zip(y.min(axis=0), y.max(axis=0), strict=True)]
    squared = sum(side**2 for side in sides)
    if squared == 0:
        assert grid.root_exponent == -1074
    else:
        assert (
            Fraction(4) ** (grid.root_exponent - 1) < squared <= Fraction(4) ** grid.root_exponent
        )


def fit_in_box(X: np.ndarray, corner: float, side: float) -> HierarchicalKMedian | None:
    """Fit in a box, or None where the box is refused by name."""
    box = ([corner], side)
    model = UnshiftedKMedian(len(X), root_box=box, epsilon=0.0)
    try:
        return model.fit(X)
    except ValueError as error:
        if "root_box" not in str(error):
            raise
        return None


def test_root_box_is_one_cell_however_its_rows_round():
    """Rows just inside the upper faces: scaling must not round them into a second root cell."""
    rng = np.random.default_rng(3)
    outside = []
    for _ in range(300):
        corner, side = float(rng.choice([0.0, rng.normal()])), float(rng.uniform(0.1, 10.0))
        last = math.nextafter(corner + side, -math.inf)
        X = np.array([[corner], [corner + side / 2], [last]])
        model = fit_in_box(X, corner, side)
        if model is not None:
            paths = paths_of(X, model.hierarchy_.locator.grid)
            if {path[0] for path in paths} != {(0,)}:
                outside.append((corner, side))
    assert outside == []


@pytest.mark.parametrize("side", [1e-300, 1e-310, 5e-324])
def test_tiny_root_box_tells_rows_apart_or_is_refused(side):
    """One over the side of the box may not be a double."""
    X = np.array([[0.0], [side / 2]])
    model = fit_in_box(X, 0.0, side)
    if model is not None:
        assert (model.hierarchy_.costs[0] > 0.0) == (X[0] != X[1])


# ---------------------------------------------------------------------------------- the order


def interleaved(coordinates: np.ndarray) -> list[str]:
    """All bits of each row, the highest of every dimension first."""
    bits = [[f"{word:064b}" for word in row] for row in coordinates.tolist()]
    return ["".join("".join(level) for level in zip(*row, strict=True)) for row in bits]


def check_order(X: np.ndarray, cells: Cells, grid: Grid) -> None:
    """Leaves strictly in Z-order, rows of a leaf by content, then by number."""
    keys = interleaved(cells.coordinates)
    assert all(a < b for a, b in pairwise(keys))
    assert sorted(cells.order.tolist()) == list(range(len(X)))
    by_row = interleaved(grid.locate(X))
    for leaf, key in enumerate(keys):
        rows = cells.order[cells.start[leaf] : cells.start[leaf + 1]].tolist()
        assert rows
        assert {by_row[row] for row in rows} == {key}
        assert rows == sorted(rows, key=lambda row: (X[row].tolist(), row))


@over_families
@over_numbers(6)
def test_leaves_are_in_z_order(family, number):
    instance = make_instance(family, number, 32)
    planted = plant(instance.X, instance.weight, seed=number, **instance.placing)
    check_order(instance.X, planted.cells, planted.grid)


@pytest.mark.parametrize(
    ("n", "d"), [(25, 1), (26, 7), (300, 2), (1000, 12), (2500, 1), (8191, 1), (8192, 2), (9000, 3)]
)
def test_many_leaves_are_in_z_order(n, d):
    for X in (scattered(n, d, n), np.random.default_rng(n).normal(size=(n, d))):
        planted = plant(X, seed=n)
        check_order(X, planted.cells, planted.grid)


def made_words(n: int, d: int, kind: str) -> np.ndarray:
    """Spread, in few places, with one far away, or all but equal."""
    rng = np.random.default_rng([n, d])
    words = rng.integers(0, 1 << 64, size=(n, d), dtype=np.uint64)
    if kind == "few":
        words >>= np.uint64(61)
    if kind == "outlier":
        words[1:] >>= np.uint64(40)
    if kind == "close":
        words = (words & np.uint64(1)) << rng.integers(0, 64, size=(n, 1), dtype=np.uint64)
    return words


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("kind", ["spread", "few", "outlier", "close"])
@pytest.mark.parametrize(("n", "d"), [(7, 1), (700, 2), (4000, 1), (4000, 3), (2000, 40)])
def test_sorting_is_stable_in_any_number_of_parts(monkeypatch, n, d, kind, parts):
    monkeypatch.setattr(cells, "cut_rows", lambda n: [n * i // parts for i in range(parts + 1)])
    words = made_words(n, d, kind)
    keys = interleaved(words)
    assert z_order(words).tolist() == sorted(range(n), key=lambda row: (keys[row], row))


# ---------------------------------------------------------------------------------- the trie


def leaf_ranges(planted: Planted) -> dict[int, tuple[int, int]]:
    """First and last leaf below each node; every node is reached exactly once."""
    tree, splits = planted.tree, Splits(planted.tree)
    ranges = {2 * leaf: (leaf, leaf) for leaf in range(tree.n_leaves)}
    for i in tree.closing.tolist():
        left, right = ranges[int(splits.left[i])], ranges[int(splits.right[i])]
        assert left[1] == i
        assert right[0] == i + 1
        assert 2 * i + 1 not in ranges
        ranges[2 * i + 1] = (left[0], right[1])
    return ranges


def check_links(planted: Planted) -> None:
    tree, splits = planted.tree, Splits(planted.tree)
    m = tree.n_leaves
    ranges = leaf_ranges(planted)
    assert sorted(ranges) == list(range(2 * m - 1))
    parent = {
        int(child): 2 * i + 1 for i in range(m - 1) for child in (splits.left[i], splits.right[i])
    }
    (root,) = set(ranges) - set(parent)
    assert ranges[root] == (0, m - 1)
    assert tree.nodes["parent"].tolist() == [parent.get(node, -1) for node in range(2 * m - 1)]


def check_splits(planted: Planted) -> None:
    """An inner node holds exactly the leaves that share the bits before its own, both ways on."""
    tree, splits = planted.tree, Splits(planted.tree)
    d = planted.cells.coordinates.shape[1]
    keys = interleaved(planted.cells.coordinates)
    ranges = leaf_ranges(planted)
    for i in range(tree.n_leaves - 1):
        first, last = ranges[2 * i + 1]
        place = (63 - int(splits.bit[i])) * d + int(splits.dim[i])
        prefix = keys[first][:place]
        assert all(keys[leaf][:place] == prefix for leaf in (first, i, i + 1, last))
        assert first == 0 or keys[first - 1][:place] != prefix
        assert last == tree.n_leaves - 1 or keys[last + 1][:place] != prefix
        assert keys[i][place] == "0"
        assert keys[i + 1][place] == "1"


def check_counts(planted: Planted, weight: np.ndarray | None, n: int) -> None:
    tree, cells = planted.tree, planted.cells
    given = np.ones(n) if weight is None else weight
    of_leaf = np.bincount(planted.leaf_of_row, weights=given)
    np.testing.assert_allclose(cells.weight * cells.weight_unit, of_leaf, rtol=1e-12)
    assert not np.mod(cells.weight, 1.0).any()
    for node, (first, last) in leaf_ranges(planted).items():
        assert tree.nodes["weight"][node] == cells.weight[first : last + 1].sum()
    assert tree.total_weight == pytest.approx(given.sum(), rel=1e-12)


@over_families
@over_numbers(6)
def test_trie_is_what_its_definition_says(family, number):
    instance = make_instance(family, number, 32)
    planted = plant(instance.X, instance.weight, seed=number, **instance.placing)
    check_links(planted)
    check_splits(planted)
    check_counts(planted, instance.weight, len(instance.X))


@pytest.mark.parametrize(("n", "d"), [(300, 2), (1000, 12), (2500, 1)])
def test_larger_trie_is_what_its_definition_says(n, d):
    X = scattered(n, d, n + 1)
    planted = plant(X, seed=n)
    check_links(planted)
    check_splits(planted)
    check_counts(planted, None, n)


@over_families
@over_numbers(6)
def test_best_gains_and_cells_are_the_oracles(family, number):
    """M(v): all rows below v come from the distance of v's parent to their best center below v."""
    instance = make_instance(family, number, 24)
    planted = plant(instance.X, instance.weight, seed=number, **instance.placing)
    naive = naive_tree(instance.X, instance.weight, planted.grid)
    tree, splits = planted.tree, Splits(planted.tree)
    location = naive.location[planted.cells.first_rows]  # of each leaf
    unit = Fraction(planted.cells.weight_unit) / naive.weight_unit
    for node, (first, last) in leaf_ranges(planted).items():
        parent = int(tree.nodes["parent"][node])
        bit = DEPTH if parent < 0 else int(splits.bit[parent // 2])
        above = ROOT >> (DEPTH - bit)
        below = location[first : last + 1]
        gains = [(naive.weight[below] * (above - naive.distance[below, x])).sum() for x in below]
        assert tree.nodes["best"][node] == pytest.approx(float(max(gains) / unit / ROOT), rel=1e-12)
        level = DEPTH if node % 2 == 0 else DEPTH - 1 - int(splits.bit[node // 2])
        if node % 2 == 0 or int(splits.bit[node // 2]) != bit:
            cell = naive.paths[below[0]][level] if level >= 0 else None
            inside = [x for x in range(naive.size) if level < 0 or naive.paths[x][level] == cell]
            assert sorted(below) == inside


def test_ranges_linked_apart_are_the_same_tree(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.RandomState(4)
    for n in (20, 300, 3000):
        splits = rng.randint(0, 40, size=n - 1).astype(np.int32) << DIMENSION_BITS
        weight, found = rng.randint(1, 9, size=n).astype(np.float64), []
        for parts in (1, 2, 5):
            monkeypatch.setattr(tree_room, "cut_rows", lambda n, parts=parts: [0] * parts + [n])
            nodes = np.zeros(2 * n - 1, dtype=tree_room._NODE)
            root = tree_room._link_nodes(read_only(splits), weight, nodes)
            found.append((root, nodes.tobytes()))
        assert found[1:] == found[:1] * 2
