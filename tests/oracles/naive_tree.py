"""The tree, its distances and both algorithms, straight from [LHBP25], in exact integers.

Slow on purpose and independent of the fast code: of the library it takes the facts that place the
grid (origin, scale, shift, root level, depth) and nothing else. Every level of the tree is written
out, every pair of rows has its distance, every candidate has its cost computed from scratch.

Distances are whole numbers in units of the smallest one, `ROOT` being that of rows in different
root cells: 4 sqrt(d) s_R in the data's units. Two rows whose lowest common cell lies l levels below
s_R are at ``ROOT / 2**(l + 1)``, that is 2 sqrt(d) times its side; rows that share the finest cell
are at 0.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from holdfast.grid import Grid
from holdfast.grid.place import DEPTH

ROOT = 1 << (DEPTH + 1)
_SHIFT_STARTS = -1280  # binary exponent of the lowest bit of a grid's shift

Cell = tuple[int, ...]
Path = tuple[Cell, ...]  # the cells of one row, from side s_R down to the finest


def exact_shift(grid: Grid, j: int) -> int:
    """Shift of a dimension in units of ``2**_SHIFT_STARTS``."""
    return sum(int(block) << (64 * i) for i, block in enumerate(grid.shift[:, j]))


def exact_position(value: float, grid: Grid, j: int) -> int | None:
    """Scaled coordinate in units of ``2**_SHIFT_STARTS``; None where the scaling overflows."""
    with np.errstate(over="ignore"):
        y = float((np.float64(value) - grid.origin[j]) * np.float64(grid.scale))
    if not math.isfinite(y):
        return None
    position = Fraction(y) * 2**-_SHIFT_STARTS
    assert position.denominator == 1
    return int(position)


def paths_of(X: np.ndarray, grid: Grid) -> list[Path | None]:
    """Absolute index of the cell of each row at every level; None for rows beyond all doubles."""
    shift = [exact_shift(grid, j) for j in range(X.shape[1])]
    finest = grid.root_exponent - DEPTH - _SHIFT_STARTS
    paths: list[Path | None] = []
    for row in X:
        place = [exact_position(value, grid, j) for j, value in enumerate(row)]
        if None in place:
            paths.append(None)
            continue
        place = [a + b for a, b in zip(place, shift, strict=True)]
        # Shifting a whole number to the right is division by a power of two, rounded down.
        exponents = [finest + DEPTH - level for level in range(DEPTH + 1)]
        paths.append(tuple(tuple(a >> exponent for a in place) for exponent in exponents))
    return paths


def tree_distance(a: Path | None, b: Path | None) -> int:
    """DIST_T of two rows."""
    if a is None or b is None or a[0] != b[0]:
        return ROOT
    lowest = max(level for level in range(DEPTH + 1) if a[level] == b[level])
    return 0 if lowest == DEPTH else ROOT >> (lowest + 1)


def whole_weights(weight: Sequence[float]) -> tuple[list[int], Fraction]:
    """Weights as whole numbers of one common unit, exactly."""
    exact = [Fraction(float(w)) for w in weight]
    unit = Fraction(1, math.lcm(*(w.denominator for w in exact)))
    return [int(w / unit) for w in exact], unit


@dataclass(frozen=True)
class NaiveTree:
    """Distinct locations with their weights and the distances between all of them.

    Attributes
    ----------
    paths : the cells of each location
    location : the location of each row
    weight : whole weight of each location, in units of `weight_unit`
    distance : (m, m) array of whole numbers
    unit : `ROOT` in the data's units
    """

    paths: list[Path]
    location: np.ndarray
    weight: np.ndarray
    weight_unit: Fraction
    distance: np.ndarray
    unit: float

    @property
    def size(self) -> int:
        """Number of locations."""
        return len(self.paths)

    @property
    def total_weight(self) -> float:
        return float(sum(self.weight) * self.weight_unit)

    def in_data_units(self, cost: int) -> float:
        return float(Fraction(cost, ROOT) * self.weight_unit * Fraction(self.unit))


def naive_tree(X: np.ndarray, weight: Sequence[float] | None, grid: Grid) -> NaiveTree:
    """Compute all cells of all rows and all distances of all locations."""
    whole, weight_unit = whole_weights([1.0] * len(X) if weight is None else weight)
    paths = paths_of(X, grid)
    location_of = {finest: i for i, finest in enumerate(dict.fromkeys(p[-1] for p in paths))}
    location = np.array([location_of[path[-1]] for path in paths])
    m = len(location_of)
    of_location: list[Path] = [()] * m
    weights = np.array([0] * m, dtype=object)
    for row, path in enumerate(paths):
        of_location[location[row]] = path
        weights[location[row]] += whole[row]
    d = X.shape[1]
    return NaiveTree(
        paths=of_location,
        location=location,
        weight=weights,
        weight_unit=weight_unit,
        distance=_all_distances(of_location),
        unit=4.0 * math.sqrt(d) * 2.0**grid.root_exponent / grid.scale,
    )


def _all_distances(paths: list[Path]) -> np.ndarray:
    """`tree_distance` of all pairs, level by level."""
    m = len(paths)
    distance = np.full((m, m), ROOT, dtype=object)
    for level in range(DEPTH + 1):
        number: dict[Cell, int] = {}
        cell = np.array([number.setdefault(path[level], len(number)) for path in paths])
        same = cell[:, None] == cell[None, :]
        distance[same] = 0 if level == DEPTH else ROOT >> (level + 1)
    return distance


def cost_of(tree: NaiveTree, centers: Sequence[int]) -> int:
    """COST_T(P, S); with no centers, everything is at the root's distance."""
    if len(centers) == 0:
        return ROOT * sum(tree.weight)
    return int((tree.distance[:, list(centers)].min(axis=1) * tree.weight).sum())


def costs_with_each(tree: NaiveTree, centers: Sequence[int]) -> list[int]:
    """COST_T(P, {x} + S) for every location x."""
    nearest = np.full(tree.size, ROOT, dtype=object)
    if len(centers) > 0:
        nearest = tree.distance[:, list(centers)].min(axis=1)
    nearest_with_each = np.minimum(nearest[:, None], tree.distance)
    return (nearest_with_each * tree.weight[:, None]).sum(axis=0).tolist()


def greedy(tree: NaiveTree) -> list[int]:
    """[LHBP25], Alg. 1 for all k; the first of several best candidates."""
    centers: list[int] = []
    while len(centers) < tree.size:
        costs = costs_with_each(tree, centers)
        free = [x for x in range(tree.size) if x not in centers]
        centers.append(min(free, key=lambda x: costs[x]))
    return centers


def nearest_labels(tree: NaiveTree, centers: Sequence[int]) -> np.ndarray:
    """Nearest center of each location under DIST_T, the earlier one where several are."""
    return tree.distance[:, list(centers)].argmin(axis=1)  # the first of several least ones


def label_cells(tree: NaiveTree, centers: Sequence[int]) -> dict[tuple[int, Cell], int]:
    """Cells labelled by [LHBP25], Alg. 1: each center's highest ancestor without earlier ones.

    The tree's root, all space, is level -1. Keys are (level, cell).
    """
    label: dict[tuple[int, Cell], int] = {}
    occupied: set[tuple[int, Cell]] = set()
    for t, center in enumerate(centers):
        ancestors = list(ancestors_of(tree.paths[center]))
        highest = next((cell for cell in reversed(ancestors) if cell not in occupied), None)
        if highest is not None:
            label[highest] = t
        occupied.update(ancestors)
    return label


def ancestors_of(path: Path | None) -> Iterator[tuple[int, Cell]]:
    """Cells that contain a row, the finest first, all space last."""
    if path is not None:
        for level in range(DEPTH, -1, -1):
            yield level, path[level]
    yield -1, ()


def ancestor_label(path: Path | None, label: dict[tuple[int, Cell], int]) -> int:
    """Label of the closest labelled ancestor of any row."""
    return next(label[cell] for cell in ancestors_of(path) if cell in label)


def coolest_temperature(tree: NaiveTree, best_cost: int, epsilon: float) -> float:
    """Lower end of lambda's interval, in units of the smallest distance times the weight unit."""
    return epsilon * best_cost / (6.0 * math.log(max(tree.total_weight, 2.0)))


def law_of_next(
    tree: NaiveTree,
    centers: Sequence[int],
    epsilon: float,
    *,
    nodes: int = 48,
    share: tuple[float, float] = (0.0, 1.0),
) -> np.ndarray:
    """Probability of each location to be the next center by [LHBP25], Alg. 2.

    Candidates are the locations that are no centers yet, each counting with its weight. The
    average over lambda, uniform on [B, 2B], is a Gauss-Legendre sum of `nodes` points; with
    `share` = (a, b), lambda is uniform on [(1 + a) B, (1 + b) B] instead.
    """
    costs = costs_with_each(tree, centers)
    free = np.array([x not in set(centers) for x in range(tree.size)])
    best = min(cost for cost, is_free in zip(costs, free, strict=True) if is_free)
    weight = np.where(free, tree.weight.astype(float), 0.0)
    excess = np.array([float(cost - best) for cost in costs])
    excess[~free] = 0.0
    if best == 0:  # lambda is 0: the best choice, and only one candidate is left then
        weight[excess > 0.0] = 0.0
    if best == 0 or math.isinf(epsilon):
        return weight / weight.sum()
    coolest = coolest_temperature(tree, best, epsilon)
    points, quadrature = _gauss_legendre(nodes)
    low, high = (1.0 + share[0]) * coolest, (1.0 + share[1]) * coolest
    temperatures = low + (high - low) * (points + 1.0) / 2.0
    law = weight * np.exp(-excess / temperatures[:, None])
    law /= law.sum(axis=1, keepdims=True)
    return quadrature @ law / 2.0


@lru_cache
def _gauss_legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(nodes)


def law_of_first(tree: NaiveTree, epsilon: float, rounds: int) -> dict[tuple[int, ...], float]:
    """Probability of every sequence of the first `rounds` centers."""
    law = {(): 1.0}
    for _ in range(rounds):
        longer: dict[tuple[int, ...], float] = {}
        for centers, probability in law.items():
            for x, p in enumerate(law_of_next(tree, centers, epsilon)):
                if x not in centers:
                    longer[(*centers, x)] = probability * float(p)
        law = longer
    return law
