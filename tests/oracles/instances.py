"""Inputs for the laws: each family is a way in which rows can be awkward."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast_paper.draws import heavy_tail, normal, scales, uniform

Random = np.random.Generator


@dataclass(frozen=True)
class Instance:
    """Rows, their weights, and how the grid is to be placed."""

    X: np.ndarray
    weight: np.ndarray | None = None
    placing: dict[str, Any] = field(default_factory=dict)


def _sizes(rng: Random, most: int) -> tuple[int, int]:
    return int(rng.integers(3, most + 1)), int(rng.integers(1, 41))


def gaussian(rng: Random, most: int) -> Instance:
    return Instance(normal(rng, _sizes(rng, most)))


def few_columns(rng: Random, most: int) -> Instance:
    return Instance(uniform(rng, -1, 1, (most, int(rng.integers(1, 4)))))


def groups(rng: Random, most: int) -> Instance:
    n, d = _sizes(rng, most)
    middle = normal(rng, (4, d)) * 50
    return Instance(middle[rng.integers(0, 4, n)] + normal(rng, (n, d)) * 0.1)


def heavy_tailed(rng: Random, most: int) -> Instance:
    return Instance(heavy_tail(rng, (most, int(rng.integers(1, 6)))))


def duplicates(rng: Random, most: int) -> Instance:
    n, d = _sizes(rng, most)
    return Instance(normal(rng, (max(1, n // 3), d))[rng.integers(0, max(1, n // 3), n)])


def collinear(rng: Random, most: int) -> Instance:
    n, d = _sizes(rng, most)
    direction = normal(rng, d) if rng.random() < 0.7 else np.eye(d)[0]
    return Instance(np.outer(normal(rng, n), direction))


def one_point(rng: Random, most: int) -> Instance:
    return Instance(normal(rng, (1, int(rng.integers(1, 41)))) * rng.choice([0.0, 1.0, 1e9]))


def two_points(rng: Random, most: int) -> Instance:
    first = normal(rng, int(rng.integers(1, 41)))
    second = first + normal(rng, first.size) * scales(rng, -30, 30)
    return Instance(np.stack([first, second]))


def all_equal(rng: Random, most: int) -> Instance:
    n, d = _sizes(rng, most)
    return Instance(np.tile(normal(rng, d), (n, 1)))


def integer_ties(rng: Random, most: int) -> Instance:
    d = int(rng.integers(1, 5))
    return Instance(rng.integers(-3, 4, size=(most, d)).astype(float))


def unshifted_lattice(rng: Random, most: int) -> Instance:
    d = int(rng.integers(1, 4))
    return Instance(
        rng.integers(-4, 5, size=(most, d)).astype(float), placing={"random_shift": False}
    )


def boxed_lattice(rng: Random, most: int) -> Instance:
    d = int(rng.integers(1, 4))
    X = rng.integers(0, 8, size=(most, d)).astype(float)
    return Instance(X, placing={"random_shift": False, "root_box": (np.full(d, -0.5), 8.5)})


def boxed(rng: Random, most: int) -> Instance:
    n, d = _sizes(rng, most)
    X = normal(rng, (n, d))
    corner = X.min(axis=0) - uniform(rng, 0, 2, d)
    side = float((X.max(axis=0) - corner).max() * uniform(rng, 1.01, 4.0))
    return Instance(X, placing={"random_shift": False, "root_box": (corner, side)})


def any_scale(rng: Random, most: int) -> Instance:
    return Instance(normal(rng, _sizes(rng, most)) * scales(rng, -498, 498))


def mixed_scales(rng: Random, most: int) -> Instance:
    n, d = _sizes(rng, most)
    sizes = scales(rng, -498, 498) * scales(rng, -40, 0, (n, 1))
    return Instance(normal(rng, (n, d)) * sizes)


def offset(rng: Random, most: int) -> Instance:
    n, d = _sizes(rng, most)
    away = rng.choice([-1.0, 1.0], size=d) * scales(rng, 10, 56, d)
    return Instance(normal(rng, (n, d)) * scales(rng, -10, 10) + away)


def nested(rng: Random, most: int) -> Instance:
    """Powers of two towards one point: as deep as the tree gets, and deeper."""
    d = int(rng.integers(1, 4))
    steps = np.ldexp(1.0, -rng.integers(0, 80, size=most))
    return Instance(steps[:, None] * rng.choice([-1.0, 0.0, 1.0], size=(most, d)))


def whole_weights(rng: Random, most: int) -> Instance:
    n, d = _sizes(rng, most)
    return Instance(normal(rng, (n, d)), rng.integers(1, 100, size=n).astype(float))


def fractional_weights(rng: Random, most: int) -> Instance:
    n, d = _sizes(rng, most)
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    return Instance(X, uniform(rng, 0.01, 1.0, n) * scales(rng, -16, 16))


FAMILIES: dict[str, Callable[[Random, int], Instance]] = {
    make.__name__: make
    for make in (
        gaussian, few_columns, groups, heavy_tailed, duplicates, collinear, one_point, two_points,
        all_equal, integer_ties, unshifted_lattice, boxed_lattice, boxed, any_scale, mixed_scales,
        offset, nested, whole_weights, fractional_weights,
    )
}  # fmt: skip


def make_instance(family: str, number: int, most: int) -> Instance:
    """Instance `number` of a family, with at most `most` rows."""
    rng = np.random.default_rng([number, *family.encode()])
    return FAMILIES[family](rng, most)
